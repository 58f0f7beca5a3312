//! Streaming calls through the proxy: gRPC and its like may pause, and not for ever.

use crate::support::h2::{flag, frame, kind};
use crate::support::upstream::{Conn, Upstream};
use crate::support::{Scratch, Server, Wire, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The upstream behind `/`, with these lines at the top.
#[track_caller]
fn before(dir: &Scratch, upstream: &Upstream, lines: &str) -> Server {
    let url = format!("http://{}", upstream.address);
    let hosts = format!("hosts: {{default: {{paths: {{/: {{proxy.reverse.url: '{url}'}}}}}}}}");
    Server::config(dir, &format!("num-threads: 1\n{lines}\n{hosts}\n"))
}

const GRPC: &[(&str, &str)] = &[("content-type", "application/grpc"), ("te", "trailers")];

/// Reads a request's head, and waits until the connection ends.
fn silent(conn: &mut Conn) {
    if conn.head().is_some() {
        conn.is_closed();
    }
}

#[test]
fn a_silent_client_holds_upstreams_no_longer_than_streaming_calls_may_pause() {
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(silent));
    let server = before(&dir, &upstream, "proxy.timeout.stream: 1500\nhttp1-request-io-timeout: 1");
    let mut wire = Wire::open(&server.address);
    let began = Instant::now();
    for call in 0..100 {
        wire.ask(2 * call + 1, "POST", "/a.B/c", GRPC, false);
    }
    until("every call has a connection", || upstream.open() == 100);
    until("all of them are given up", || upstream.open() == 0);
    assert!(began.elapsed() >= Duration::from_millis(1500), "not before their time");
    for call in 0..100 {
        assert_eq!(wire.answer(2 * call + 1).status, 504);
    }
    server.until_stderr("nothing has moved in either direction for 1500 ms (proxy.timeout.stream)");
    wire.get(201, "/plain").ping();
}

#[test]
fn a_silent_client_s_calls_are_reset_at_an_upstream_that_speaks_http_2() {
    let resets = Arc::<AtomicUsize>::default();
    let seen = Arc::clone(&resets);
    let upstream = Upstream::scripted(move |conn| {
        conn.octets(24);
        conn.send(frame(kind::SETTINGS, 0, 0, ""));
        while let Some(head) = conn.octets(9) {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            conn.octets(length as usize);
            match (head[3], head[4] & flag::ACK) {
                (kind::SETTINGS, 0) => _ = conn.send(frame(kind::SETTINGS, flag::ACK, 0, "")),
                (kind::RST_STREAM, _) => _ = seen.fetch_add(1, Ordering::SeqCst),
                _ => {}
            }
        }
    });
    let dir = Scratch::new();
    let server = before(&dir, &upstream, "proxy.timeout.stream: 1500\nproxy.http2.force-cleartext: ON");
    let mut wire = Wire::open(&server.address);
    for call in 0..10 {
        wire.ask(2 * call + 1, "POST", "/a.B/c", GRPC, false);
    }
    for call in 0..10 {
        assert_eq!(wire.answer(2 * call + 1).status, 504);
    }
    until("every call is reset", || resets.load(Ordering::SeqCst) == 10);
}

/// Answers, and sends a piece every so often whatever the client says.
fn talkative(conn: &mut Conn) {
    while conn.head().is_some() {
        conn.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for _ in 0..15 {
            std::thread::sleep(Duration::from_millis(200));
            if !conn.send("1\r\nx\r\n") {
                return;
            }
        }
        conn.is_closed();
    }
}

#[test]
fn a_call_that_moves_in_one_direction_goes_on() {
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(talkative));
    let server = before(&dir, &upstream, "proxy.timeout.stream: 2000\nproxy.timeout.io: 10000");
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "POST", "/a.B/c", GRPC, false);
    let mut pieces = 0;
    while pieces < 15 {
        let piece = wire.next_of(kind::DATA);
        assert_eq!(piece.flags & flag::END_STREAM, 0);
        pieces += piece.payload.len();
    }
    // Then both are silent.
    assert!(wire.reset_of(1).is_some());
    until("the upstream's connection is closed", || upstream.open() == 0);
    server.until_stderr("nothing has moved in either direction for 2000 ms (proxy.timeout.stream)");
}

#[test]
fn a_client_that_says_something_now_and_then_keeps_its_call() {
    let upstream = Upstream::scripted(|conn| {
        while conn.head().is_some() {
            while conn.chunk().is_some_and(|chunk| !chunk.is_empty()) {}
            conn.trailers();
            conn.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
        }
    });
    let dir = Scratch::new();
    let server = before(&dir, &upstream, "proxy.timeout.stream: 2000\nhttp1-request-io-timeout: 1");
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "POST", "/a.B/c", GRPC, false);
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(300));
        wire.frame(kind::DATA, 0, 1, "x");
    }
    wire.frame(kind::DATA, flag::END_STREAM, 1, "");
    assert_eq!(wire.answer(1).text(), "done");
}

#[test]
fn over_http_1_the_content_type_changes_nothing() {
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(silent));
    let server = before(&dir, &upstream, "http1-request-io-timeout: 1");
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.answer().status, 408);
    until("the upstream's connection is closed", || upstream.open() == 0);
}
