//! The client against small servers on a thread.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::*;

/// A server that treats every connection with `serve`; its thread ends with the test program.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> SocketAddrV4 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { unreachable!("bound to IPv4") };
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            serve(stream.unwrap());
        }
    });
    address
}

fn load(address: SocketAddrV4, depth: usize) -> Outcome {
    let load =
        Load { address, request: b"GET / HTTP/1.1\r\n\r\n".to_vec(), connections: 1, depth, content: 2 };
    let core = pin::usable_cores().unwrap()[0];
    run(&load, Duration::from_millis(50), core).unwrap()
}

#[test]
fn a_connection_per_request_counts_each_response_once() {
    let outcome = load(
        server(|mut stream| {
            let _ = stream.read(&mut [0; 100]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        }),
        1,
    );
    assert!(outcome.responses > 0, "{outcome:?}");
    assert_eq!(outcome.errors, 0, "{outcome:?}");
    assert_eq!(outcome.octets, outcome.responses * 59, "{outcome:?}");
}

#[test]
fn pipelined_requests_are_all_answered_before_the_next_are_sent() {
    let outcome = load(
        server(|mut stream| {
            let mut requests = [0; 18 * 4];
            while stream.read_exact(&mut requests).is_ok() {
                let _ = stream.write_all(&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".repeat(4));
            }
        }),
        4,
    );
    assert!(outcome.responses >= 4 && outcome.responses.is_multiple_of(4), "{outcome:?}");
    assert_eq!(outcome.errors, 0, "{outcome:?}");
}

#[test]
fn a_wrong_status_and_an_early_close_are_errors_and_no_responses() {
    for answer in [
        &b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nok"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",
        b"",
    ] {
        let outcome = load(
            server(move |mut stream| {
                let _ = stream.read(&mut [0; 100]);
                let _ = stream.write_all(answer);
            }),
            1,
        );
        assert!(outcome.errors > 0 && outcome.responses == 0, "{outcome:?}");
    }
}
