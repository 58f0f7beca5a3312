//! Requests that try to be two, and responses that try to be another: exactly one well-formed request or none
//! reaches an upstream, and exactly one well-formed response or none reaches a client.

use crate::support::h2::{PREFACE, code, flag, frame, get, kind, request};
use crate::support::hpack::literals;
use crate::support::strict::{Recorder, Request};
use crate::support::upstream::{Conn, Upstream};
use crate::support::{Scratch, Server, Wire};

/// One worker before the upstream, with these lines at the top.
#[track_caller]
fn before(dir: &Scratch, address: &str, lines: &str) -> Server {
    let hosts = format!("hosts: {{default: {{paths: {{/: {{proxy.reverse.url: 'http://{address}'}}}}}}}}");
    Server::config(dir, &format!("num-threads: 1\n{lines}\n{hosts}\n"))
}

/// The bytes received by the upstream, without the final request that makes sure that all have arrived.
#[track_caller]
fn arrived(server: &Server, recorder: &Recorder, what: &str) -> Vec<Request> {
    assert_eq!(server.get("/done").status, 200, "after {what:?}");
    let mut requests = recorder.take().unwrap_or_else(|wrong| panic!("{what:?}: {wrong}"));
    let done = requests.iter().position(|request| request.target == "/done");
    requests.remove(done.unwrap_or_else(|| panic!("{what:?}: {requests:?}")));
    requests
}

const SECOND: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

/// A request with these field lines, and this after its head.
fn post(lines: &str, rest: &str) -> String {
    format!("POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n{rest}")
}

/// Heads that two servers may end at different positions, and the status of the response.
fn ambiguous() -> Vec<(String, u16)> {
    let chunked = format!("0\r\n\r\n{SECOND}");
    let lines = [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400),
        ("Transfer-Encoding : chunked\r\n", 400),
        ("Transfer-Encoding\t: chunked\r\n", 400),
        (" Transfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: xchunked\r\n", 501),
        ("Transfer-Encoding: chunked, identity\r\n", 400),
        ("Transfer-Encoding: identity, chunked\r\n", 501),
        ("Transfer-Encoding: chunked, chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400),
        ("Transfer-Encoding: identity\r\n", 501),
        ("Transfer-Encoding: gzip\r\n", 501),
        ("Transfer-Encoding: gzip, chunked\r\n", 501),
        ("Transfer-Encoding: chunked;q=1\r\n", 501),
        ("Transfer-Encoding: \"chunked\"\r\n", 501),
        ("Transfer-Encoding: chunked\x0b\r\n", 400),
        ("Transfer-Encoding: \x0bchunked\r\n", 400),
        ("Transfer-Encoding: chunked\0\r\n", 400),
        ("Transfer-Encoding:\r\n chunked\r\n", 400),
        ("Transfer-Encoding: \r\n", 400),
        ("X: y\r\n Transfer-Encoding: chunked\r\n", 400),
        ("X: y\r\r\nTransfer-Encoding: chunked\r\n", 400),
        ("X: y\rTransfer-Encoding: chunked\r\n", 400),
        ("X\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", 400),
        ("Content-Length: 6\r\nContent-Length: 5\r\n", 400),
        ("Content-Length: 5, 6\r\n", 400),
        ("Content-Length: 5,\r\n", 400),
        ("Content-Length: +5\r\n", 400),
        ("Content-Length: -5\r\n", 400),
        ("Content-Length: 0x5\r\n", 400),
        ("Content-Length: 5 5\r\n", 400),
        ("Content-Length: 5\x0b\r\n", 400),
        ("Content-Length: five\r\n", 400),
        ("Content-Length: \r\n", 400),
        ("Content-Length: 18446744073709551621\r\n", 400),
        ("Content-Length : 5\r\n", 400),
        ("Content Length: 5\r\n", 400),
        (": 5\r\n", 400),
        ("Host: b\r\n", 400),
        ("X\0: y\r\n", 400),
        ("X: a\0b\r\n", 400),
        ("X: a\x01b\r\n", 400),
        ("X(: y\r\n", 400),
    ];
    lines.iter().map(|(lines, status)| (post(lines, &chunked), *status)).collect()
}

/// Malformed request lines and heads, and the status of the response.
fn broken() -> Vec<(String, u16)> {
    let lines = [
        ("GET /a b HTTP/1.1", 400),
        ("GET  /a HTTP/1.1", 400),
        ("GET\t/a HTTP/1.1", 400),
        ("GET /a\tHTTP/1.1", 400),
        ("GET /a HTTP/1.1 ", 400),
        ("GET /a HTTP/1.2.3", 400),
        ("GET /a HTTP/11", 400),
        ("GET /a http/1.1", 400),
        ("GET /a HTTP/3.0", 505),
        ("G(T /a HTTP/1.1", 400),
        ("GET a HTTP/1.1", 400),
        ("GET /a\0 HTTP/1.1", 400),
        ("GET /a\x7f HTTP/1.1", 400),
        ("GET http://a@b/ HTTP/1.1", 400),
        ("GET http:// HTTP/1.1", 400),
        ("GET ftp://a/ HTTP/1.1", 400),
        (" GET /a HTTP/1.1", 400),
    ];
    let head = |line: &str| format!("{line}\r\nHost: a\r\n\r\n{SECOND}");
    let mut heads: Vec<_> = lines.iter().map(|(line, status)| (head(line), *status)).collect();
    let more = [
        format!("GET /a HTTP/1.1\r\n\r\n{SECOND}"),
        format!("GET /a HTTP/1.1\r\nHost: a b\r\n\r\n{SECOND}"),
        format!("GET /a HTTP/1.1\r\nHost: a,b\r\n\r\n{SECOND}").replace("a,b", "a/b"),
        format!("GET /a HTTP/1.1\r\nHost: a@b\r\n\r\n{SECOND}"),
        format!("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{SECOND}"),
    ];
    heads.extend(more.map(|head| (head, 400)));
    heads
}

#[test]
fn what_has_two_ends_or_is_no_request_never_reaches_the_upstream() {
    let (dir, recorder) = (Scratch::new(), Recorder::start());
    let server = before(&dir, &recorder.address, "");
    for (request, status) in ambiguous().into_iter().chain(broken()) {
        let answers = server.ask(&request);
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [status], "{request:?}");
        assert_eq!(arrived(&server, &recorder, &request), [], "{request:?}");
    }
}

#[test]
fn broken_chunks_never_end_a_request() {
    let (dir, recorder) = (Scratch::new(), Recorder::start());
    let server = before(&dir, &recorder.address, "");
    let contents = [
        "0x5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "fffffffffffffffff5\r\nhello\r\n0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "5;a\0b\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\n\n",
        "5\r\nhello\r\n0\r\nX : y\r\n\r\n",
        "5\r\nhello\r\n0\r\n X: y\r\n\r\n",
        "5\r\nhello\r\n0\r\nX: a\0\r\n\r\n",
    ];
    for content in contents {
        let answers = server.ask(post("Transfer-Encoding: chunked\r\n", &format!("{content}{SECOND}")));
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [400], "{content:?}");
        assert_eq!(arrived(&server, &recorder, content), [], "{content:?}");
    }
}

#[test]
fn odd_requests_arrive_as_one_and_as_they_were_meant() {
    let (dir, recorder) = (Scratch::new(), Recorder::start());
    let server = before(&dir, &recorder.address, "");
    let hello = "5\r\nhello\r\n0\r\n\r\n";
    let cases = [
        (post("Transfer-Encoding: cHuNkEd\r\n", hello), "/a", "hello"),
        (post("Transfer-Encoding:\t chunked \t\r\n", hello), "/a", "hello"),
        (post("Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n", hello), "/a", "hello"),
        (post("Connection: content-length\r\nContent-Length: 5\r\n", "hello"), "/a", "hello"),
        (post("Connection: host, x-y\r\nX-Y: 1\r\nContent-Length: 5\r\n", "hello"), "/a", "hello"),
        (post("Content-Length: 005\r\n", "hello"), "/a", "hello"),
        (post("X-Content-Length: 99\r\nContent-Length: 5\r\n", "hello"), "/a", "hello"),
        (post("Transfer_Encoding: chunked\r\nContent-Length: 5\r\n", "hello"), "/a", "hello"),
        (post("Expect: 100-continue\r\nContent-Length: 5\r\n", "hello"), "/a", "hello"),
        (post("Keep-Alive: timeout=5\r\nProxy-Connection: x\r\nTrailer: content-length\r\n", ""), "/a", ""),
        (post("Transfer-Encoding: chunked\r\n", "5;a=\"b;c\"\r\nhello\r\n0\r\nX: y\r\n\r\n"), "/a", "hello"),
        (
            "GET /%0d%0aX:%20y/%20HTTP/1.1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".into(),
            "/%0d%0aX:%20y/%20HTTP/1.1",
            "",
        ),
        // RFC 9112 section 2.2: a line may end with LF alone; forwarded, it ends with CRLF.
        (post("X: y\nTransfer-Encoding: chunked\r\n", hello), "/a", "hello"),
        ("GET /a HTTP/1.1\nHost: a\nConnection: close\n\n".into(), "/a", ""),
        ("\r\nGET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".into(), "/a", ""),
        ("GET http://b/a HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n".into(), "/a", ""),
        (
            "GET /a?b=/../c#d HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".replace("#d", ""),
            "/a?b=/../c",
            "",
        ),
    ];
    let cases = cases.map(|(request, target, content): (String, &str, &str)| (request, target, content));
    for (request, target, content) in cases {
        let answers = server.ask(&request);
        let statuses: Vec<_> =
            answers.iter().map(|answer| answer.status).filter(|status| *status != 100).collect();
        assert_eq!(statuses, [200], "{request:?}");
        let arrived = arrived(&server, &recorder, &request);
        assert_eq!(arrived.len(), 1, "{request:?}: {arrived:?}");
        assert_eq!(
            (arrived[0].target.as_str(), arrived[0].content.as_slice()),
            (target, content.as_bytes()),
            "{request:?}"
        );
        let hop = ["connection", "keep-alive", "proxy-connection", "upgrade", "x-y", "expect"];
        assert!(hop.iter().all(|name| arrived[0].all(name).is_empty()), "{:?}", arrived[0]);
        assert_eq!(arrived[0].all("host"), [recorder.address.as_str()]);
    }
}

#[test]
fn the_host_that_routes_is_the_one_that_is_passed_on() {
    let (dir, recorder) = (Scratch::new(), Recorder::start());
    let server = before(&dir, &recorder.address, "proxy.preserve-host: ON");
    let absolute = "GET http://b/a HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n";
    assert_eq!(server.ask(absolute)[0].status, 200);
    let requests = recorder.take().expect("well-formed");
    assert_eq!(requests[0].all("host"), ["b"], "RFC 9112 section 3.2.2");
}

#[test]
fn trailers_are_no_framing_and_no_host() {
    let (dir, recorder) = (Scratch::new(), Recorder::start());
    let server = before(&dir, &recorder.address, "");
    let trailers =
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\nHost: b\r\nConnection: x\r\nX-Sum: 1\r\n";
    let answers =
        server.ask(post("Transfer-Encoding: chunked\r\n", &format!("5\r\nhello\r\n0\r\n{trailers}\r\n")));
    let arrived = arrived(&server, &recorder, "trailers");
    assert_eq!((answers[0].status, arrived.len()), (200, 1), "{arrived:?}");
    let names: Vec<_> = arrived[0].trailers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    assert_eq!(names, ["x-sum"], "RFC 9110 section 6.5.1");
}

/// Heads that HTTP/2 can carry and HTTP/1.1 cannot.
fn hostile_fields() -> Vec<Vec<(&'static str, &'static str)>> {
    let head = |own: &[(&'static str, &'static str)]| -> Vec<(&'static str, &'static str)> {
        let usual = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/a")];
        let missing = usual.into_iter().filter(|(name, _)| !own.iter().any(|(other, _)| other == name));
        let (pseudo, regular): (Vec<_>, Vec<_>) =
            own.iter().copied().partition(|(name, _)| name.starts_with(':'));
        missing.chain(pseudo).chain(regular).collect()
    };
    let smuggled = "/a HTTP/1.1\r\nHost: a\r\n\r\nGET /smuggled";
    let own: &[&[(&str, &str)]] = &[
        &[(":path", smuggled)],
        &[(":path", "/a b")],
        &[(":path", "/a\0")],
        &[(":path", "/a\r")],
        &[(":path", "/a\n")],
        &[(":path", "/a\t")],
        &[(":path", "")],
        &[(":path", "a")],
        &[(":path", "*")],
        &[(":path", "/a"), (":path", "/b")],
        &[(":method", "GET /smuggled HTTP/1.1\r\n\r\n")],
        &[(":method", "G ET")],
        &[(":method", "")],
        &[(":method", "GET\0")],
        &[(":method", "GET:")],
        &[(":authority", "a\r\nX: y")],
        &[(":authority", "a b")],
        &[(":authority", "a\0")],
        &[(":authority", "x@a")],
        &[(":authority", "a/b")],
        &[(":scheme", "http://a/ HTTP/1.1\r\n\r\n")],
        &[(":x", "y")],
        &[("x", "a\r\nTransfer-Encoding: chunked")],
        &[("x", "a\nb")],
        &[("x", "a\rb")],
        &[("x", "a\0b")],
        &[("x", " a")],
        &[("x", "a ")],
        &[("x y", "a")],
        &[("x:", "a")],
        &[("x\r\ny", "a")],
        &[("x: y\r\nz", "a")],
        &[("", "a")],
        &[("X", "a")],
        &[("transfer-encoding", "chunked")],
        &[("connection", "x")],
        &[("keep-alive", "x")],
        &[("proxy-connection", "x")],
        &[("upgrade", "x")],
        &[("te", "gzip")],
        &[("host", "b")],
        &[("host", "a"), ("host", "b")],
        &[("content-length", "5"), ("content-length", "6")],
        &[("content-length", "+5")],
        &[("content-length", "5")],
        &[("content-length", "x")],
    ];
    own.iter().map(|own| head(own)).collect()
}

#[test]
fn what_http2_can_carry_and_http1_cannot_never_reaches_the_upstream() {
    let (dir, recorder) = (Scratch::new(), Recorder::start());
    let server = before(&dir, &recorder.address, "");
    for fields in hostile_fields() {
        let mut wire = Wire::open(&server.address);
        wire.frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, 1, literals(&fields));
        refused(&mut wire, 1, &format!("{fields:?}"));
        assert_eq!(arrived(&server, &recorder, &format!("{fields:?}")), [], "{fields:?}");
    }
}

/// Waits until the stream is reset as malformed (RFC 9113 section 8.1.1).
#[track_caller]
fn refused(wire: &mut Wire, stream: u32, what: &str) {
    assert_eq!(wire.reset_of(stream), Some(code::PROTOCOL_ERROR), "{what}");
    assert_eq!(wire.status(stream), None, "{what} is answered");
}

#[test]
fn content_that_is_not_as_long_as_it_was_said_never_ends_a_request() {
    let (dir, recorder) = (Scratch::new(), Recorder::start());
    let server = before(&dir, &recorder.address, "");
    for (length, data) in
        [("10", "hello"), ("4", "hello"), ("0", "hello"), ("3", "GET /smuggled HTTP/1.1\r\n\r\n")]
    {
        let mut wire = Wire::open(&server.address);
        let head = request("POST", "/a", &[("content-length", length)]);
        // Both at once: a request without content could be answered in between.
        let head = frame(kind::HEADERS, flag::END_HEADERS, 1, head);
        wire.send([head, frame(kind::DATA, flag::END_STREAM, 1, data)].concat());
        refused(&mut wire, 1, length);
        let arrived = arrived(&server, &recorder, length);
        let whole = |request: &Request| length == "0" && request.content.is_empty();
        assert!(arrived.iter().all(whole), "{length}: {arrived:?}");
    }
    let trailers: [&[(&str, &str)]; 3] = [&[(":path", "/b")], &[("x", "a\r\nb")], &[("X", "y")]];
    for trailers in trailers {
        let mut wire = Wire::open(&server.address);
        wire.frame(kind::HEADERS, flag::END_HEADERS, 1, request("POST", "/a", &[]));
        wire.frame(kind::DATA, 0, 1, "hello");
        wire.frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, 1, literals(trailers));
        refused(&mut wire, 1, &format!("{trailers:?}"));
        assert_eq!(arrived(&server, &recorder, "trailers"), [], "{trailers:?}");
    }
}

#[test]
fn an_upgrade_to_http2_is_not_passed_on() {
    let (dir, recorder) = (Scratch::new(), Recorder::start());
    let server = before(&dir, &recorder.address, "");
    let lines = "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings\r\n";
    let mut client = server.connect();
    client.send(format!("GET /a HTTP/1.1\r\nHost: a\r\n{lines}\r\n"));
    assert!(client.until("\r\n\r\n").head().status == 101, "the upgrade is this connection's");
    client.send(PREFACE).receive_at_least(500);
    let arrived = arrived(&server, &recorder, "h2c");
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    for name in ["upgrade", "http2-settings", "connection"] {
        assert!(arrived[0].all(name).is_empty(), "{arrived:?}");
    }
}

/// Answers of which clients and caches may read something else than the server.
fn hostile_answers() -> Vec<String> {
    let heads = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nX: a\rContent-Length: 6\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nX y: a\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\n: a\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nX\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n",
        "HTTP/1.1 20 OK\r\nContent-Length: 5\r\n",
        "HTTP/2 200 OK\r\nContent-Length: 5\r\n",
        "ICY 200 OK\r\nContent-Length: 5\r\n",
    ];
    heads.iter().map(|head| format!("{head}\r\nhello")).collect()
}

#[test]
fn answers_that_can_be_read_in_two_ways_become_502() {
    let dir = Scratch::new();
    for answer in hostile_answers() {
        let upstream = Upstream::answering(answer.clone());
        let server = before(&dir, &upstream.address, "");
        let answers = server.ask("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let seen: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(seen, [502], "{answer:?}");
        let mut wire = Wire::open(&server.address);
        wire.send(get(1, "/a"));
        assert_eq!(wire.answer(1).status, 502, "{answer:?} over HTTP/2");
    }
}

/// Sends this to `/first`, and a good response to all others.
fn first(said: &'static str) -> impl Fn(&mut Conn) + Send + Sync {
    move |conn| {
        while let Some(asked) = conn.request() {
            let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";
            conn.send(if asked.line().contains("/first") { said } else { good });
        }
    }
}

#[test]
fn what_follows_an_answer_is_never_the_next_ones() {
    let dir = Scratch::new();
    let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let cases: [(&str, &str, u16); 7] = [
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200),
        ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200),
        ("GET", "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n", 204),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", 304),
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", 200),
        ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200),
        (
            "GET",
            "HTTP/1.1 103 Early Hints\r\nContent-Length: 4\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            200,
        ),
    ];
    for (method, said, status) in cases {
        let said: &'static str = Box::leak(format!("{said}{evil}").into_boxed_str());
        let upstream = Upstream::scripted(first(said));
        let server = before(&dir, &upstream.address, "");
        let mut client = server.connect();
        client.send(format!("{method} /first HTTP/1.1\r\nHost: a\r\n\r\n"));
        let answer = if method == "HEAD" { client.answer_to_head() } else { client.answer() };
        assert_eq!(answer.status, status, "{said:?}");
        for _ in 0..3 {
            let next = client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n").answer();
            assert_eq!((next.status, next.text()), (200, "good".into()), "behind {said:?}");
        }
    }
}

#[test]
fn an_answer_that_breaks_off_never_looks_whole() {
    let dir = Scratch::new();
    let cases = [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX y: z\r\n\r\n",
    ];
    for said in cases {
        let upstream = Upstream::scripted(move |conn| {
            if conn.request().is_some() {
                conn.send(said);
            }
        });
        let server = before(&dir, &upstream.address, "");
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let raw = String::from_utf8_lossy(client.rest()).into_owned();
        let (head, content) = raw.split_once("\r\n\r\n").unwrap_or((&raw, ""));
        let whole = match head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            true => content.ends_with("0\r\n\r\n"),
            false => head.contains("200 OK") && content.len() >= 10,
        };
        assert!(!whole, "{said:?} became {raw:?}");
        assert_eq!(raw.matches("HTTP/1.1 ").count(), 1, "{said:?} became {raw:?}");
    }
}
