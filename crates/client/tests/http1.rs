//! Calls to scripted upstreams, made by a worker for clients over real sockets.

mod calls;

use calls::*;
use hayami_client::Origin;
use hayami_net::dial::Peer;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

#[test]
fn requests_one_after_the_other_share_a_connection() {
    let (address, opened) = always(OK);
    let server = server(origin(&[address]));
    for _ in 0..5 {
        let got = server.ask("GET", "/a");
        assert!(got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with("hello"), "{got}");
        assert!(got.contains("x-a: b\r\n") && got.contains("content-length: 5\r\n"), "{got}");
    }
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    let counters = server.ask("GET", "/counters");
    let want = "Counters { opened: 1, reused: 4, failed: 0, resumed: 0 } idle 1 in flight 0";
    assert!(counters.contains(want), "{counters}");
    server.stop();
}

#[test]
fn ten_thousand_requests_of_a_hundred_clients_open_at_most_a_hundred_connections() {
    let (address, opened) = always(OK);
    let server = server(origin(&[address]));
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let mut stream = server.connect();
                let mut answer = Vec::new();
                for round in 0..100 {
                    stream.write_all(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
                    let head = read_head(&mut stream).expect("a head");
                    assert!(head.starts_with("HTTP/1.1 200 "), "{round}: {head}");
                    answer.resize(5, 0);
                    stream.read_exact(&mut answer).expect("content");
                    assert_eq!(answer, b"hello");
                }
            });
        }
    });
    let connections = opened.load(Ordering::SeqCst);
    assert!((1..=100).contains(&connections), "{connections}");
    server.stop();
}

#[test]
fn responses_of_every_framing_arrive_whole() {
    let cases: &[(&str, &[u8], &str, &str)] = &[
        ("GET", b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "content-length: 0\r\n", "\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 ", "\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n\r\n", "etag: \"x\"", "\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 7000\r\n\r\n", "content-length: 7000\r\n", "\r\n\r\n"),
        (
            "GET",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nsum: 1\r\n\r\n",
            "transfer-encoding: chunked\r\n",
            "abcde\r\n0\r\nsum: 1\r\n\r\n",
        ),
        (
            "GET",
            b"HTTP/1.1 103 Early Hints\r\nlink: y\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
            "interim: 103\r\n",
            "x",
        ),
        ("GET", b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx", "closes: true\r\n", "x"),
    ];
    for (method, bytes, line, end) in cases {
        let (address, _) = always(bytes);
        let server = server(origin(&[address]));
        for round in 0..2 {
            let got = server.ask(method, "/a");
            assert!(got.contains(line) && got.ends_with(end), "{round}: {got}");
        }
        server.stop();
    }
}

#[test]
fn content_up_to_the_end_of_the_connection_arrives_whole() {
    let (address, opened) = upstream(|_, mut stream| {
        read_head(&mut stream).expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("sent");
        stream.write_all(&vec![b'x'; 300_000]).expect("sent");
    });
    let server = server(origin(&[address]));
    for _ in 0..2 {
        let mut stream = server.connect();
        stream.write_all(b"GET / HTTP/1.0\r\nhost: x\r\n\r\n").expect("sent");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("read");
        assert_eq!(all.iter().filter(|byte| **byte == b'x').count(), 300_000);
    }
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    server.stop();
}

#[test]
fn large_content_arrives_whole_and_leaves_a_connection_that_can_be_used_again() {
    const LEN: usize = 20 << 20;
    let (address, opened) = upstream(|_, mut stream| {
        let content: Vec<u8> = (0..LEN).map(|i| (i / 7) as u8).collect();
        while read_head(&mut stream).is_some() {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {LEN}\r\n\r\n").expect("sent");
            stream.write_all(&content).expect("sent");
        }
    });
    let server = server(origin(&[address]));
    for _ in 0..2 {
        let mut stream = server.connect();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
        let head = read_head(&mut stream).expect("a head");
        assert!(head.contains(&format!("content-length: {LEN}\r\n")), "{head}");
        let mut content = vec![0; LEN];
        stream.read_exact(&mut content).expect("content");
        assert!(content.iter().enumerate().all(|(i, byte)| *byte == (i / 7) as u8));
    }
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    server.stop();
}

#[test]
fn a_response_that_just_fills_a_buffer_leaves_a_connection_that_can_be_used_again() {
    for total in (9..=18).map(|bits| 1_usize << bits) {
        let (address, opened) = upstream(move |_, mut stream| {
            let fields = "HTTP/1.1 200 OK\r\ncontent-length: ";
            // Leading zeros keep the length of the head constant.
            let length = total - fields.len() - "000000\r\n\r\n".len();
            let mut response = format!("{fields}{length:06}\r\n\r\n").into_bytes();
            response.resize(total, b'x');
            while read_head(&mut stream).is_some() {
                stream.write_all(&response).expect("sent");
            }
        });
        let server = server(origin(&[address]));
        for _ in 0..3 {
            assert!(server.ask("GET", "/a").ends_with("xxxx"), "{total}");
        }
        assert_eq!(opened.load(Ordering::SeqCst), 1, "{total}");
        server.stop();
    }
}

#[test]
fn a_client_that_does_not_read_stops_its_upstream() {
    const LEN: usize = 512 << 20;
    let (tell, told) = channel();
    let (address, _) = upstream(move |_, mut stream| {
        read_head(&mut stream).expect("a request");
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {LEN}\r\n\r\n").expect("sent");
        stream.set_write_timeout(Some(Duration::from_millis(500))).expect("set");
        let piece = vec![0; 1 << 20];
        let sent = (0..LEN >> 20).take_while(|_| stream.write_all(&piece).is_ok()).count();
        tell.send(sent).expect("somebody listens");
    });
    let server = server(origin(&[address]));
    let mut stream = server.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
    read_head(&mut stream).expect("a head");
    let mebibytes = told.recv().expect("told");
    assert!(mebibytes < 128, "{mebibytes} MiB are somewhere on the way");
    drop(stream);
    server.stop();
}

#[test]
fn broken_answers_are_failures_and_cost_their_connection() {
    let huge = [b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'x'; 70_000], b"\r\n\r\n".to_vec()].concat();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "waiting for the response: the upstream closed the connection"),
        (b"HTTP/1.1 200 OK\r\nx".to_vec(), "reading the response's head: the upstream closed the connection"),
        (b"220 smtp ready\r\n".to_vec(), "the status line is malformed"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx".to_vec(), "repeated"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nx".to_vec(), "not a decimal number"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(), "both"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n".to_vec(), "coding is unknown"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n".to_vec(), "without being asked"),
        (b"HTTP/1.1 100 Continue\r\n\r\n".repeat(40), "more interim responses than"),
        (huge, "longer than the limit"),
    ];
    for (bytes, want) in cases {
        let shown = bytes.escape_ascii().to_string();
        let (address, opened) = upstream(move |_, mut stream| {
            if read_head(&mut stream).is_some() {
                let _ = stream.write_all(&bytes);
            }
        });
        let server = server(origin(&[address]));
        for round in 1..3 {
            let got = server.ask("GET", "/a");
            assert!(got.starts_with("HTTP/1.1 502 ") && got.contains(want), "{shown:.60}: {got}");
            assert!(got.ends_with("again true"), "a GET may be sent elsewhere: {got}");
            assert_eq!(opened.load(Ordering::SeqCst), round);
        }
        server.stop();
    }
}

#[test]
fn content_that_is_cut_off_does_not_look_complete() {
    let cases: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhelloo\r\n",
    ];
    for bytes in cases {
        let (address, _) = upstream(move |_, mut stream| {
            read_head(&mut stream).expect("a request");
            stream.write_all(bytes).expect("sent");
        });
        let server = server(origin(&[address]));
        let got = server.ask("GET", "/a");
        let whole = got.ends_with("0\r\n\r\n") || got.contains("content-length: 5");
        assert!(!whole && !got.contains(" 502 "), "{got}");
        server.stop();
    }
}

#[test]
fn bytes_that_nobody_asked_for_answer_no_request() {
    let (address, opened) =
        always(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n\r\nevil");
    let server = server(origin(&[address]));
    for round in 1..4 {
        assert!(server.ask("GET", "/a").ends_with("\r\n\r\nx"));
        assert_eq!(opened.load(Ordering::SeqCst), round);
    }
    server.stop();
}

/// Each connection answers one request, reads a second one and closes.
fn forgetful() -> (SocketAddr, Arc<AtomicUsize>, Receiver<String>) {
    let (tell, requests) = channel();
    let (address, opened) = upstream(move |_, mut stream| {
        for answered in [true, false] {
            let Some(head) = read_head(&mut stream) else { return };
            let _ = tell.send(head);
            if answered {
                let _ = stream.write_all(OK);
            }
        }
    });
    (address, opened, requests)
}

#[test]
fn a_connection_that_ends_under_a_repeatable_request_is_replaced() {
    let (address, opened, requests) = forgetful();
    let server = server(origin(&[address]));
    for _ in 0..4 {
        let got = server.ask("GET", "/a");
        assert!(got.ends_with("hello"), "{got}");
    }
    // The second, third and fourth request arrived twice each.
    assert_eq!((opened.load(Ordering::SeqCst), requests.try_iter().count()), (4, 7));
    server.stop();
}

#[test]
fn a_request_that_must_not_be_repeated_is_not() {
    let (address, _, requests) = forgetful();
    let server = server(origin(&[address]));
    assert!(server.ask("POST", "/a").ends_with("hello"));
    let got = server.ask("POST", "/a");
    assert!(got.contains("closed the connection") && got.ends_with("again false"), "{got}");
    assert_eq!(requests.try_iter().count(), 2);
    server.stop();
}

#[test]
fn small_content_of_a_repeatable_request_is_sent_once_more() {
    for (path, end) in [("/length/3", "uuu"), ("/chunked/3", "uuu\r\n0\r\nsum: 1\r\n\r\n")] {
        let (tell, contents) = channel();
        let (address, _) = upstream(move |number, mut stream| {
            for round in 0.. {
                if read_head(&mut stream).is_none() {
                    return;
                }
                let content = read_until(&mut stream, end).expect("content");
                tell.send(content).expect("somebody listens");
                if (number, round) == (0, 1) {
                    return;
                }
                stream.write_all(OK).expect("sent");
            }
        });
        let server = server(origin(&[address]));
        for _ in 0..2 {
            let got = server.ask("PUT", path);
            assert!(got.ends_with("hello"), "{got}");
        }
        assert_eq!(contents.try_iter().count(), 3, "the second came twice");
        server.stop();
    }
}

#[test]
fn a_connection_that_ends_while_it_is_idle_leaves_the_pool() {
    let (address, opened) = upstream(|_, mut stream| {
        read_head(&mut stream).expect("a request");
        stream.write_all(OK).expect("sent");
    });
    let server = server(origin(&[address]));
    for round in 1..3 {
        assert!(server.ask("POST", "/a").ends_with("hello"));
        server.await_counters("idle 0 in flight 0");
        assert_eq!(opened.load(Ordering::SeqCst), round);
    }
    server.stop();
}

#[test]
fn an_idle_connection_is_closed_after_its_time() {
    let (tell, ended) = channel();
    let (address, _) = upstream(move |_, mut stream| {
        read_head(&mut stream).expect("a request");
        stream.write_all(OK).expect("sent");
        tell.send(stream.read(&mut [0]).expect("no error")).expect("somebody listens");
    });
    let server = server(impatient(&[address]));
    assert!(server.ask("GET", "/a").ends_with("hello"));
    assert_eq!(ended.recv().expect("told"), 0);
    server.await_counters("idle 0 in flight 0");
    server.stop();
}

#[test]
fn a_connection_that_its_upstream_keeps_for_no_time_is_not_used_again() {
    let bytes = b"HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 1\r\n\r\nx";
    let (address, opened) = always(bytes);
    let server = server(origin(&[address]));
    for round in 1..4 {
        assert!(server.ask("POST", "/a").ends_with("\r\n\r\nx"));
        assert_eq!(opened.load(Ordering::SeqCst), round);
    }
    server.stop();
}

#[test]
fn uploads_arrive_whole_in_both_framings() {
    const LEN: usize = 3_000_000;
    let (address, opened) = upstream(|_, mut stream| {
        while let Some(head) = read_head(&mut stream) {
            let mut bytes = 0;
            if head.contains("transfer-encoding: chunked\r\n") {
                loop {
                    let line = read_until(&mut stream, "\r\n").expect("a chunk");
                    let size = usize::from_str_radix(line.trim(), 16).expect("a size");
                    bytes += size;
                    let mut chunk = vec![0; if size == 0 { 0 } else { size + 2 }];
                    stream.read_exact(&mut chunk).expect("data");
                    if size == 0 {
                        assert_eq!(read_head(&mut stream).as_deref(), Some("sum: 1\r\n\r\n"));
                        break;
                    }
                }
            } else {
                assert!(head.contains(&format!("content-length: {LEN}\r\n")), "{head}");
                stream.read_exact(&mut vec![0; LEN]).expect("content");
                bytes = LEN;
            }
            assert_eq!(bytes, LEN);
            stream.write_all(OK).expect("sent");
        }
    });
    let server = server(origin(&[address]));
    for kind in ["length", "chunked", "length"] {
        let got = server.ask("POST", &format!("/{kind}/{LEN}"));
        assert!(got.ends_with("hello"), "{got}");
    }
    assert_eq!(opened.load(Ordering::SeqCst), 1);
    server.stop();
}

#[test]
fn an_answer_before_the_end_of_the_request_is_delivered_and_ends_the_connection() {
    let (tell, ended) = channel();
    let (address, _) = upstream(move |_, mut stream| {
        read_head(&mut stream).expect("a request");
        stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno").expect("sent");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        tell.send(rest.len()).expect("somebody listens");
    });
    let server = server(origin(&[address]));
    for path in ["/silence", "/length/100000000"] {
        let got = server.ask("POST", path);
        assert!(got.starts_with("HTTP/1.1 413 ") && got.ends_with("no"), "{got}");
        assert!(ended.recv().expect("told") < 50_000_000);
    }
    server.await_counters("idle 0 in flight 0");
    server.stop();
}

#[test]
fn a_client_that_leaves_takes_its_request_back() {
    for begin in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nx"] {
        let (tell, told) = channel();
        let (address, _) = upstream(move |_, mut stream| {
            tell.send(read_head(&mut stream).expect("a request").len()).expect("somebody listens");
            stream.write_all(begin).expect("sent");
            tell.send(stream.read(&mut [0]).unwrap_or(0)).expect("somebody listens");
        });
        let server = server(origin(&[address]));
        let mut stream = server.connect();
        stream.write_all(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
        assert!(told.recv().expect("told") > 0);
        drop(stream);
        assert_eq!(told.recv().expect("told"), 0, "the end of the connection");
        server.await_counters("idle 0 in flight 0");
        server.stop();
    }
}

#[test]
fn silence_in_each_phase_is_a_timeout() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "waiting for the response: timed out"),
        (b"HTTP/1.1 200 O", "reading the response's head: timed out"),
    ];
    for (bytes, want) in cases {
        let (address, _) = upstream(|_, mut stream| {
            read_head(&mut stream).expect("a request");
            stream.write_all(bytes).expect("sent");
            let _ = stream.read(&mut [0]);
        });
        let server = server(impatient(&[address]));
        let got = server.ask("GET", "/a");
        assert!(got.starts_with("HTTP/1.1 502 ") && got.contains(want), "{got}");
        server.stop();
    }
    let (address, _) = upstream(|_, mut stream| {
        read_head(&mut stream).expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello").expect("sent");
        let _ = stream.read(&mut [0]);
    });
    let server = server(impatient(&[address]));
    assert!(server.ask("GET", "/a").ends_with("hello"), "the end is missing");
    server.stop();
}

#[test]
fn the_next_address_is_tried_and_nobody_there_is_a_failure() {
    let free = || TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("an address");
    let (address, _) = always(OK);
    let server_two = server(origin(&[free(), address]));
    assert!(server_two.ask("POST", "/length/3").ends_with("hello"));
    let counters = server_two.ask("GET", "/counters");
    assert!(counters.contains("Counters { opened: 1, reused: 0, failed: 1, resumed: 0 }"), "{counters}");
    server_two.stop();
    let server = server(origin(&[free(), free()]));
    let got = server.ask("POST", "/length/3");
    assert!(got.contains("connecting: Connection refused") && got.ends_with("again true"), "{got}");
    server.stop();
}

#[test]
fn an_upstream_may_be_a_socket_in_the_file_system() {
    let path = std::env::temp_dir().join(format!("hayami-upstream-{}", std::process::id()));
    let listener = UnixListener::bind(&path).expect("bound");
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepted");
        let (mut all, mut byte) = (Vec::new(), [0]);
        while stream.read(&mut byte).is_ok_and(|bytes| bytes > 0) {
            all.push(byte[0]);
            if all.ends_with(b"\r\n\r\n") {
                stream.write_all(OK).expect("sent");
            }
        }
        all.windows(4).filter(|bytes| bytes == b"\r\n\r\n").count()
    });
    let server = server(Origin { peers: vec![Peer::Unix(path.clone())], ..origin(&[]) });
    for _ in 0..2 {
        assert!(server.ask("GET", "/a").ends_with("hello"));
    }
    server.stop();
    std::fs::remove_file(path).expect("removed");
    assert_eq!(thread.join().expect("joined"), 2);
}

#[test]
fn without_a_pool_every_request_says_that_it_is_the_last() {
    let (tell, heads) = channel();
    let (address, opened) = upstream(move |_, mut stream| {
        let _ = tell.send(read_head(&mut stream).expect("a request"));
        stream.write_all(OK).expect("sent");
        let _ = stream.read(&mut [0]);
    });
    let server = server(Origin { idle: 0, ..origin(&[address]) });
    for _ in 0..2 {
        assert!(server.ask("GET", "/a").ends_with("hello"));
        assert!(heads.recv().expect("a head").contains("connection: close\r\n"));
    }
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    server.stop();
}

#[test]
fn a_connection_that_is_not_made_is_a_timeout_and_the_next_address_is_tried() {
    // A full backlog: the kernel accepts no connection.
    let full = TcpListener::bind("127.0.0.1:0").expect("bound");
    rustix::net::listen(&full, 0).expect("listening");
    let silent = full.local_addr().expect("an address");
    let patience = Duration::from_millis(100);
    let connect = || std::net::TcpStream::connect_timeout(&silent, patience).ok();
    let _queue: Vec<_> = std::iter::from_fn(connect).take(10).collect();
    let alone = server(impatient(&[silent]));
    let got = alone.ask("POST", "/length/10");
    assert!(got.contains("Failure(connecting: timed out") && got.contains("again true"), "{got}");
    alone.await_counters("opened: 0, reused: 0, failed: 1,");
    alone.stop();

    let (address, _) = always(OK);
    let mut both = origin(&[silent, address]);
    both.timeouts.connect = patience;
    let with_another = server(both);
    assert!(with_another.ask("GET", "/a").ends_with("hello"));
    with_another.stop();
}

#[test]
fn a_panic_behind_an_event_costs_its_call_and_no_other() {
    let (address, _) = always(OK);
    let server = server(origin(&[address]));
    let mut broken = server.connect();
    broken.write_all(b"GET /panics HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
    for _ in 0..5 {
        assert!(server.ask("GET", "/a").ends_with("hello"));
    }
    drop(broken);
    server.stop();
}
