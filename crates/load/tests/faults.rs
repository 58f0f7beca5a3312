//! Servers that stall, abort, send wrong data or are unreachable: counted, never a hang or a panic.

mod support;

use hayami_load::plan::{Address, Expect, Plan, Protocol, Until};
use hayami_load::{Errors, Outcome};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use support::{answer_each, ok, outcome, plan, read_request, serve, wait_for_end};

/// A server that reads a request, does `fault`, and closes.
fn faulty(fault: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    serve(move |mut stream, _| {
        if read_request(&mut stream, &mut Vec::new()) {
            fault(&mut stream);
        }
    })
}

fn says(answer: &'static str) -> SocketAddr {
    faulty(move |stream| {
        let _ = stream.write_all(answer.as_bytes());
    })
}

fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("an address")
}

fn errors(change: impl Fn(&mut Errors)) -> Errors {
    let mut errors = Errors::default();
    change(&mut errors);
    errors
}

/// Eight requests and their results.
fn check(name: &str, address: SocketAddr, want: Errors) -> Outcome {
    let outcome = outcome(&plan(address, 8));
    assert_eq!(outcome.tally.errors, want, "{name}");
    outcome
}

#[test]
fn every_kind_of_fault_is_counted_as_what_it_is() {
    check("nobody listens", nobody(), errors(|errors| errors.connect = 8));
    check("closed without an answer", faulty(|_| {}), errors(|errors| errors.reset = 8));
    check("reset with unread bytes", serve(|_, _| {}), errors(|errors| errors.reset = 8));
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf";
    check("half of the content", says(half), errors(|errors| errors.short = 8));
    let chunk = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhalf";
    check("half of a chunk", says(chunk), errors(|errors| errors.short = 8));
    check("no HTTP", says("SSH-2.0-x\r\n\r\n"), errors(|errors| errors.protocol = 8));
    let two = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab";
    check("two lengths", says(two), errors(|errors| errors.protocol = 8));
    let stalls = faulty(|stream| wait_for_end(stream.try_clone().expect("a copy")));
    check("no answer in time", stalls, errors(|errors| errors.timeout = 8));
    let stalls = faulty(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
        wait_for_end(stream.try_clone().expect("a copy"));
    });
    check("half an answer in time", stalls, errors(|errors| errors.timeout = 8));
}

#[test]
fn an_answer_too_much_is_a_fault_and_the_first_one_counts() {
    let address = serve(|stream, _| {
        answer_each(stream, b"HTTP/1.1 204 x\r\n\r\nHTTP/1.1 204 x\r\n\r\n");
    });
    let tally = outcome(&plan(address, 8)).tally;
    assert!(tally.responses > 0 && tally.errors.protocol > 0, "{:?}", tally.errors);
    assert_eq!(tally.errors.total(), tally.errors.protocol);
}

#[test]
fn wrong_answers_are_answers_and_errors() {
    let gone = serve(|stream, _| answer_each(stream, b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n"));
    let outcome = check("410", gone, errors(|errors| errors.status = 8));
    assert_eq!(
        (outcome.tally.responses, outcome.tally.successes(), outcome.tally.statuses.classes()[4]),
        (8, 0, 8)
    );

    let address = serve(|stream, _| answer_each(stream, &ok("hello")));
    let body = |body: &'static [u8]| Expect { body: Some(body.into()), ..Expect::default() };
    let cases = [
        (body(b"hello"), 0),
        (body(b"hellO"), 8),
        (body(b"hell"), 8),
        (body(b"hello!"), 8),
        (Expect { length: Some(5), ..Expect::default() }, 0),
        (Expect { length: Some(6), ..Expect::default() }, 8),
    ];
    for (expect, wrong) in cases {
        let plan = Plan { expect, ..plan(address, 8) };
        let tally = support::outcome(&plan).tally;
        assert_eq!((tally.responses, tally.errors), (8, errors(|errors| errors.content = wrong)));
    }
}

#[test]
fn a_server_that_dies_is_survived_until_the_time_is_over() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let streams: Vec<_> = (0..4).filter_map(|_| listener.accept().ok()).collect();
        drop(listener);
        for (mut stream, _) in streams {
            let mut left = Vec::new();
            for _ in 0..50 {
                if !read_request(&mut stream, &mut left) || stream.write_all(&ok("hi")).is_err() {
                    return;
                }
            }
        }
    });
    let mut plan = plan(address, 0);
    plan.until = Until::Elapsed(Duration::from_millis(300));
    let outcome = outcome(&plan);
    assert!(outcome.tally.responses == 200 && outcome.tally.errors.connect > 0, "{:?}", outcome.tally.errors);
    assert_eq!(outcome.elapsed, Duration::from_millis(300));
}

#[test]
fn a_count_that_cannot_be_reached_ends_all_the_same() {
    let began = Instant::now();
    let mut plan = plan(nobody(), 1_000_000);
    plan.timeout = Duration::from_secs(1);
    let tally = outcome(&plan).tally;
    assert!(tally.errors.connect > 0 && tally.errors.connect < 10_000);
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_file_that_is_no_socket_is_an_error_of_connecting() {
    let mut plan = plan(nobody(), 4);
    plan.targets[0].address = Address::Unix("/dev/null".into());
    assert_eq!(outcome(&plan).tally.errors, errors(|errors| errors.connect = 4));
}

#[test]
fn tls_with_a_server_that_speaks_none_is_an_error_of_tls() {
    for protocol in [Protocol::Auto, Protocol::Http2] {
        let mut plan = plan(serve(|stream, _| answer_each(stream, &ok("hi"))), 4);
        plan.targets[0].secure = true;
        plan.protocol = protocol;
        let tally = outcome(&plan).tally;
        assert_eq!(tally.errors.total(), 4, "{:?}", tally.errors);
        assert_eq!(tally.errors.tls + tally.errors.timeout, 4, "{:?}", tally.errors);
    }
}
