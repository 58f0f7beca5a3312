//! Streaming calls through the proxy: gRPC and similar calls may pause, but not forever.

use crate::support::certificates::Authority;
use crate::support::h2::{Frame, flag, frame, kind};
use crate::support::peers::{Peer, free_port};
use crate::support::upstream::{Conn, Upstream};
use crate::support::{Scratch, Server, Wire, missing, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The upstream at `/`, with these lines at the top.
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

/// An HTTP/2 upstream with prior knowledge: all frames received are passed to `script`.
fn speaking_http2(script: impl Fn(&mut Conn, &Frame) + Send + Sync + 'static) -> Upstream {
    Upstream::scripted(move |conn| {
        conn.bytes(24);
        conn.send(frame(kind::SETTINGS, 0, 0, ""));
        while let Some(head) = conn.bytes(9) {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let payload = conn.bytes(length as usize).unwrap_or_default();
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            if (head[3], head[4] & flag::ACK) == (kind::SETTINGS, 0) {
                conn.send(frame(kind::SETTINGS, flag::ACK, 0, ""));
            }
            script(conn, &Frame { kind: head[3], flags: head[4], stream, payload });
        }
    })
}

const CLEAR: &str = "proxy.http2.force-cleartext: ON\nhttp1-request-io-timeout: 1";

/// The head of a response with status 200.
fn ok(stream: u32) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_HEADERS, stream, [0x88])
}

#[test]
fn a_silent_client_holds_upstreams_no_longer_than_streaming_calls_may_pause() {
    let resets = Arc::<AtomicUsize>::default();
    let seen = Arc::clone(&resets);
    let upstream = speaking_http2(move |_, frame| {
        if frame.kind == kind::RST_STREAM {
            seen.fetch_add(1, Ordering::SeqCst);
        }
    });
    let dir = Scratch::new();
    let server = before(&dir, &upstream, &format!("proxy.timeout.stream: 1500\n{CLEAR}"));
    let mut wire = Wire::open(&server.address);
    let began = Instant::now();
    for call in 0..100 {
        wire.ask(2 * call + 1, "POST", "/a.B/c", GRPC, false);
    }
    for call in 0..100 {
        assert_eq!(wire.answer(2 * call + 1).status, 504);
    }
    assert!(began.elapsed() >= Duration::from_millis(1500), "not before their time");
    until("every call is reset", || resets.load(Ordering::SeqCst) == 100);
    server.until_stderr("no data in either direction for 1500 ms (proxy.timeout.stream)");
    wire.ping();
}

#[test]
fn a_call_that_moves_in_one_direction_goes_on() {
    // Responds, and sends a piece at intervals regardless of the client.
    let upstream = speaking_http2(|conn, head| {
        if head.kind == kind::HEADERS {
            conn.send(ok(head.stream));
            for _ in 0..15 {
                std::thread::sleep(Duration::from_millis(200));
                conn.send(frame(kind::DATA, 0, head.stream, "x"));
            }
        }
    });
    let dir = Scratch::new();
    let lines = format!("proxy.timeout.stream: 2000\nproxy.timeout.io: 10000\n{CLEAR}");
    let server = before(&dir, &upstream, &lines);
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "POST", "/a.B/c", GRPC, false);
    let mut pieces = 0;
    while pieces < 15 {
        let piece = wire.next_of(kind::DATA);
        assert_eq!(piece.flags & flag::END_STREAM, 0);
        pieces += piece.payload.len();
    }
    // Then neither side sends anything.
    assert!(wire.reset_of(1).is_some());
    server.until_stderr("no data in either direction for 2000 ms (proxy.timeout.stream)");
}

#[test]
fn a_client_that_says_something_now_and_then_keeps_its_call() {
    let upstream = speaking_http2(|conn, end| {
        if (end.kind, end.flags & flag::END_STREAM) == (kind::DATA, flag::END_STREAM) {
            conn.send(ok(end.stream));
            conn.send(frame(kind::DATA, flag::END_STREAM, end.stream, "done"));
        }
    });
    let dir = Scratch::new();
    let server = before(&dir, &upstream, &format!("proxy.timeout.stream: 2000\n{CLEAR}"));
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
fn to_an_upstream_that_speaks_http_1_the_content_type_changes_nothing() {
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(silent));
    let server = before(&dir, &upstream, "http1-request-io-timeout: 1");
    for kind in ["text/plain", "application/grpc", "application/grpc-web+proto", "application/connect+json"] {
        let mut wire = Wire::open(&server.address);
        wire.ask(1, "POST", "/a.B/c", &[("content-type", kind)], false);
        assert_eq!(wire.answer(1).status, 408, "{kind}");
        until("the upstream's connection is closed", || upstream.open() == 0);
    }
}

#[test]
fn an_upstream_that_chooses_http_1_over_tls_gets_no_call_without_deadlines() {
    if missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    Authority::new(&dir).issue_leaf();
    let port = free_port();
    let _nginx = Peer::nginx(
        &dir,
        &format!(
            "listen 127.0.0.1:{port} ssl; ssl_certificate DIR/tls/leaf.pem; ssl_certificate_key DIR/tls/leaf.key; \
             location / {{ proxy_pass http://127.0.0.1:1; }}"
        ),
    );
    let text = format!(
        "num-threads: 1\nhttp1-request-io-timeout: 1\nproxy.ssl.cafile: {}\nhosts: {{default: {{paths: {{/: \
         {{proxy.reverse.url: 'https://localhost:{port}'}}}}}}}}\n",
        dir.text("tls/ca.pem")
    );
    let server = Server::config(&dir, &text);
    let mut wire = Wire::open(&server.address);
    for call in [1, 3] {
        wire.ask(call, "POST", "/a.B/c", GRPC, false);
        assert_eq!(wire.answer(call).status, 408);
    }
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
