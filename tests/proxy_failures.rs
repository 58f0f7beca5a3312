//! The reverse proxy and failing upstreams: the client's response, and the log lines.

use crate::support::h2::{code, flag, frame, get, kind, request};
use crate::support::upstream::{Conn, Upstream, unused_address};
use crate::support::{Answer, Launch, Scratch, Server, Wire, until};
use std::time::Duration;

fn config(urls: &str, lines: &str) -> String {
    format!("num-threads: 1\n{lines}\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: {urls}}}}}}}}}\n")
}

fn before(dir: &Scratch, upstream: &Upstream, lines: &str) -> Server {
    Server::config(dir, &config(&format!("http://{}", upstream.address), lines))
}

/// Answers the first request of every connection with these bytes, and closes.
fn saying(bytes: &'static str) -> Upstream {
    Upstream::scripted(move |conn| {
        if conn.request().is_some() {
            conn.send(bytes);
        }
    })
}

/// Reads a request and sends nothing until the proxy closes.
fn silent(conn: &mut Conn) {
    if conn.request().is_some() {
        conn.is_closed();
    }
}

#[test]
fn broken_answers_become_502_and_the_log_says_why() {
    let closed = "the upstream closed the connection";
    let cases = [
        ("", closed),
        ("HTTP/1.1 200 OK\r\nContent-", closed),
        ("garbage\r\n\r\n", "the status line is malformed"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "the Content-Length field is repeated",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "the Content-Length field is not a decimal number"),
        ("HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", "the field value has a control character"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "the server sent 101 without being asked to",
        ),
        ("HTTP/1.1 100 Continue\r\n\r\n", closed),
    ];
    for (bytes, words) in cases {
        let (dir, upstream) = (Scratch::new(), saying(bytes));
        let server = before(&dir, &upstream, "");
        let answer = server.get("/a");
        assert_eq!((answer.status, answer.text()), (502, "Bad Gateway\n".to_owned()), "{bytes:?}");
        let from = "error request: from 127.0.0.1 for \"/a\": upstream";
        server.until_stderr(&format!("{from} http://{}: {words}", upstream.address));
    }
}

#[test]
fn a_huge_head_is_refused() {
    let (dir, upstream) = (
        Scratch::new(),
        Upstream::scripted(|conn| {
            let _ = conn.request();
            let line = format!("x: {}\r\n", "a".repeat(1000));
            conn.send("HTTP/1.1 200 OK\r\n");
            while conn.send(&line) {}
        }),
    );
    assert_eq!(before(&dir, &upstream, "").get("/").status, 502);
}

#[test]
fn each_wait_has_its_timeout_and_its_words() {
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(silent));
    let server = before(&dir, &upstream, "proxy.timeout.first_byte: 300");
    assert_eq!(server.get("/").status, 504);
    server.until_stderr("timed out while waiting for the response");
    until("the upstream is let go", || upstream.open() == 0);
    assert_eq!(upstream.connections(), 1, "what was slow once is not asked again");

    let slow = Upstream::scripted(|conn| {
        if conn.request().is_some() {
            conn.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
            conn.is_closed();
        }
    });
    let server = before(&dir, &slow, "proxy.timeout.io: 2000");
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let raw = String::from_utf8_lossy(client.rest()).into_owned();
    assert!(raw.ends_with("half"), "{raw}");
    server.until_stderr("the content of the response to \"/\" is incomplete");
}

#[test]
fn truncated_content_never_looks_complete() {
    let cases = [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nx",
    ];
    for bytes in cases {
        let (dir, upstream) = (Scratch::new(), saying(bytes));
        let server = before(&dir, &upstream, "");
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let raw = client.rest();
        assert!(Answer::parse(raw, false, false).is_none(), "{bytes:?}: {}", String::from_utf8_lossy(raw));
        server.until_stderr("is incomplete");
        let mut wire = Wire::open(&server.address);
        wire.send(get(1, "/"));
        assert!(wire.reset_of(1).is_some(), "{bytes:?}");
    }
}

#[test]
fn a_refused_connection_is_502_and_the_error_page_of_the_site_is_shown() {
    let (dir, dead) = (Scratch::new(), unused_address());
    dir.write("site/502.html", "we are sorry");
    let hosts = format!(
        "error-doc: {{status: 502, url: /errors/502.html}}\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: \
         http://{dead}}}, /errors: {{file.dir: DIR/site}}}}}}}}\n"
    );
    let log = "access-log: {path: DIR/log, format: '%s %{error}x'}\n";
    let server = Server::config(&dir, &format!("{log}{hosts}"));
    let answer = server.get("/");
    assert_eq!((answer.status, answer.text()), (502, "we are sorry".to_owned()));
    let words = format!("upstream http://{dead}: Connection refused (os error 111) while connecting");
    server.until_stderr(&words);
    until("the access log has it", || dir.read("log").contains(&format!("502 {words}")));
}

#[test]
fn a_connection_that_ended_while_it_waited_is_no_error() {
    let once = |conn: &mut Conn| {
        if conn.request().is_some() {
            conn.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
        }
    };
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(once));
    let server = before(&dir, &upstream, "");
    for _ in 0..20 {
        assert_eq!(server.get("/").status, 200);
    }
}

#[test]
fn what_may_have_arrived_is_sent_twice_only_if_that_does_no_harm() {
    let refusing = |conn: &mut Conn| drop(conn.request());
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(refusing));
    let server = before(&dir, &upstream, "");
    let ask = |method: &str| {
        let line =
            format!("{method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx");
        server.ask(line)[0].status
    };
    assert_eq!(ask("POST"), 502);
    assert_eq!(upstream.requests().len(), 1);
    assert_eq!(server.get("/").status, 502);
    assert_eq!(upstream.requests().len(), 3, "GET was asked twice");
}

#[test]
fn an_upstream_that_dies_under_load_loses_no_request_that_may_be_repeated() {
    let flaky = |conn: &mut Conn| {
        for _ in 0..3 {
            if conn.request().is_none() {
                return;
            }
            conn.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
        }
        // Reads one more request and closes without a response.
        let _ = conn.request();
    };
    let steady = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(flaky));
    let urls = format!("[http://{}, http://{}]", upstream.address, steady.address);
    let server = Server::config(&dir, &config(&urls, ""));
    let mut client = server.connect();
    for number in 0..60 {
        assert_eq!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().status, 200, "{number}");
    }
}

#[test]
fn ambiguous_requests_reach_no_upstream() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = before(&dir, &upstream, "");
    let cases = [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
        ("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
        ("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400),
        ("X: a\rb\r\n\r\n", 400),
        ("Content-Length : 5\r\n\r\nhello", 400),
    ];
    for (case, status) in cases {
        let answers = server.ask(format!("POST / HTTP/1.1\r\nHost: a\r\n{case}"));
        assert_eq!(answers.len(), 1, "{case:?}");
        assert_eq!(answers[0].status, status, "{case:?}");
    }
    assert_eq!(upstream.connections(), 0);
}

#[test]
fn nothing_of_http2_breaks_out_of_a_line_of_http1() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = before(&dir, &upstream, "");
    let heads = [
        request("GET", "/", &[("x", "a\r\ny: b")]),
        request("GET", "/", &[("x", "a\nGET /b HTTP/1.1")]),
        request("GET", "/", &[("x\r\ny", "a")]),
        request("GET", "/", &[("x: y", "a")]),
        request("GET", "/", &[("transfer-encoding", "chunked")]),
        request("GET", "/", &[("connection", "close")]),
        request("GET", "/", &[("content-length", "1")]),
        request("GET", "/a b", &[]),
        request("GET", "/ HTTP/1.1\r\nx: y", &[]),
        request("GET\r\nx", "/", &[]),
        request("GET /b", "/", &[]),
    ];
    for (number, head) in heads.into_iter().enumerate() {
        let mut wire = Wire::open(&server.address);
        wire.send(frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, head));
        assert_eq!(wire.reset_of(1), Some(code::PROTOCOL_ERROR), "case {number}");
        assert_eq!(wire.status(1), None, "case {number}");
    }
    assert_eq!(upstream.connections(), 0);
}

#[test]
fn content_beyond_the_limit_is_413_even_if_it_was_not_announced() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = before(&dir, &upstream, "limit-request-body: 1000");
    let chunks = format!("3e8\r\n{}\r\n1\r\nx\r\n0\r\n\r\n", "a".repeat(1000));
    let ask = format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
    assert_eq!(server.ask(ask)[0].status, 413);
    until("the upstream is let go", || upstream.open() == 0);
    assert_eq!(upstream.requests().len(), 0);
}

#[test]
fn an_answer_before_the_contents_end_is_delivered() {
    let early = |conn: &mut Conn| {
        if conn.head().is_some() {
            conn.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
            conn.is_closed();
        }
    };
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(early));
    let server = before(&dir, &upstream, "");
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nbeginning");
    let answer = client.answer();
    assert_eq!((answer.status, answer.text()), (403, "no".to_owned()));
}

#[test]
fn without_descriptors_there_is_503_and_other_requests_succeed() {
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(silent));
    let text = config(&format!("http://{}", upstream.address), "");
    let server = Launch::config(&dir, &text).after("ulimit -n 48").serve();
    let mut wire = Wire::open(&server.address);
    for number in 0..100 {
        wire.send(get(1 + 2 * number, "/"));
    }
    let head = wire.next_of(kind::HEADERS);
    let answer = wire.answer(head.stream);
    assert_eq!((answer.status, answer.field("retry-after")), (503, Some("1")));
    server.until_stderr("Too many open files (os error 24) while connecting");
    until("the others are being answered", || upstream.open() > 10);
}

#[test]
fn with_all_upstreams_silent_no_request_waits_twice() {
    // A full backlog: the kernel does not answer.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    rustix::net::listen(&listener, 0).expect("listening");
    let address = listener.local_addr().expect("bound").to_string();
    let connect =
        || std::net::TcpStream::connect_timeout(&address.parse().expect("one"), Duration::from_millis(100));
    let _full: Vec<_> = std::iter::from_fn(|| connect().ok()).take(10).collect();
    let dir = Scratch::new();
    let server = Server::config(&dir, &config(&format!("http://{address}"), "proxy.timeout.connect: 200"));
    assert_eq!(server.get("/").status, 504);
    server.until_stderr("timed out; ejected for 1 s");
    let answer = server.get("/");
    assert_eq!((answer.status, answer.field("retry-after")), (503, Some("1")));
    server.until_stderr("all upstreams are ejected or down");
}
