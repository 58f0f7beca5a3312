//! What HTTP means over HTTP/2: methods, conditions, ranges, content, trailers, hosts, and the way in by
//! `Upgrade: h2c` (RFC 9110, RFC 9113 section 8).

use crate::support::h2::{code, flag, frame, kind, request};
use crate::support::hpack::literals;
use crate::support::upstream::Upstream;
use crate::support::{Scratch, Server, Wire};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front")
        .write("site/ten", "0123456789")
        .write("site/large", vec![b'x'; 300_000]);
    dir
}

#[test]
fn an_answer_has_the_fields_of_http1_without_those_of_the_connection() {
    let dir = site();
    let server = Server::site(&dir, "");
    let answer = Wire::open(&server.address).get(1, "/ten").answer(1);
    assert_eq!((answer.status, answer.text().as_str()), (200, "0123456789"));
    let first = server.get("/ten");
    for name in ["content-type", "content-length", "etag", "last-modified", "accept-ranges", "server"] {
        assert_eq!(answer.field(name), first.field(name), "{name}");
    }
    assert!(answer.field("date").is_some());
    // RFC 9113 section 8.2.2.
    for name in ["connection", "keep-alive", "transfer-encoding", "upgrade"] {
        assert_eq!(answer.field(name), None, "{name}");
    }
    assert!(answer.fields.iter().all(|(name, _)| !name.contains(|byte: char| byte.is_ascii_uppercase())));
}

#[test]
fn heads_conditions_and_ranges_are_answered_as_over_http1() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    let head = wire.ask(1, "HEAD", "/ten", &[], true).answer(1);
    assert_eq!((head.status, head.field("content-length"), head.content.len()), (200, Some("10"), 0));
    let etag = head.field("etag").expect("a tag").to_owned();
    let same = wire.ask(3, "GET", "/ten", &[("if-none-match", &etag)], true).answer(3);
    assert_eq!((same.status, same.content.len()), (304, 0));
    let part = wire.ask(5, "GET", "/ten", &[("range", "bytes=2-4")], true).answer(5);
    assert_eq!(
        (part.status, part.text().as_str(), part.field("content-range")),
        (206, "234", Some("bytes 2-4/10"))
    );
    let parts = wire.ask(7, "GET", "/ten", &[("range", "bytes=0-1,5-6")], true).answer(7);
    assert!(parts.status == 206 && parts.text().contains("bytes 5-6/10"), "{parts:?}");
    let beyond = wire.ask(9, "GET", "/ten", &[("range", "bytes=20-")], true).answer(9);
    assert_eq!((beyond.status, beyond.field("content-range")), (416, Some("bytes */10")));
    let none = wire.get(11, "/none").answer(11);
    assert_eq!((none.status, none.content.is_empty()), (404, false));
    let moved = wire.ask(13, "HEAD", "/none", &[], true).answer(13);
    assert_eq!((moved.status, moved.content.len()), (404, 0));
    let large = wire.get(15, "/large").answer(15);
    assert_eq!(large.content.len(), 300_000, "more than the first window");
}

#[test]
fn a_large_file_is_sent_where_the_file_system_has_no_reads_that_do_not_wait() {
    // tmpfs refuses RWF_NOWAIT.
    let dir = Scratch::below(std::path::Path::new("/dev/shm"));
    let content: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    dir.write("site/large", &content);
    let server = Server::config(&dir, "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n");
    let mut wire = Wire::open(&server.address);
    let answer = wire.get(1, "/large").answer(1);
    assert!(answer.status == 200 && answer.content == content, "{} {}", answer.status, answer.content.len());
}

#[test]
fn every_host_is_found_by_authority_or_host() {
    let dir = site();
    dir.write("one/index.html", "one").write("two/index.html", "two");
    let text = "hosts:\n  one.example:\n    paths: {/: {file.dir: DIR/one}}\n  two.example:\n    paths: {/: {file.dir: DIR/two}}\n";
    let server = Server::config(&dir, text);
    let mut wire = Wire::open(&server.address);
    for (stream, name) in [(1, "one"), (5, "two"), (9, "one")] {
        let host = format!("{name}.example");
        let fields = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", host.as_str())];
        wire.frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream, literals(&fields));
        assert_eq!(wire.answer(stream).text(), name);
        // RFC 9113 section 8.3.1: without :authority, Host names the authority.
        let fields = [(":method", "GET"), (":scheme", "http"), (":path", "/"), ("host", host.as_str())];
        wire.frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream + 2, literals(&fields));
        assert_eq!(wire.answer(stream + 2).text(), name);
    }
}

#[test]
fn a_host_that_means_the_authority_is_no_other() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    for (stream, host, answered) in [
        (1, "A.Example", true),
        (3, "a.example:80", true),
        (5, "a.example.", true),
        (7, "a.example:443", false),
        (9, "b.example", false),
    ] {
        let head = [(":method", "GET"), (":scheme", "http"), (":path", "/ten"), (":authority", "a.example")];
        let fields = [&head[..], &[("host", host)]].concat();
        wire.frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream, literals(&fields));
        match answered {
            true => assert_eq!(wire.answer(stream).status, 200, "{host}"),
            false => assert_eq!(wire.next_of(kind::RST_STREAM).stream, stream, "{host}"),
        }
    }
}

#[test]
fn content_and_trailers_are_taken_and_the_connection_goes_on() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "POST", "/ten", &[("content-length", "7"), ("trailer", "checksum")], false);
    wire.frame(kind::DATA, 0, 1, "con").frame(kind::DATA, flag::PADDED, 1, b"\x02tent\0\0");
    wire.frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, literals(&[("checksum", "1")]));
    assert_eq!(wire.answer(1).status, 405);
    assert_eq!(wire.ask(3, "POST", "/ten", &[], false).frame(kind::DATA, 1, 3, []).answer(3).status, 405);
    // More content than all windows, for an answer that needs none of it.
    wire.ask(5, "POST", "/ten", &[], false);
    for _ in 0..3 {
        wire.frame(kind::DATA, 0, 5, vec![b'x'; 16384]);
    }
    wire.frame(kind::DATA, flag::END_STREAM, 5, "end");
    assert_eq!(wire.answer(5).status, 405);
    assert_eq!(wire.get(7, "/ten").answer(7).text(), "0123456789");
    // The window of the connection comes back whatever became of the content.
    for stream in (9..209).step_by(2) {
        wire.ask(stream, "POST", "/ten", &[], false);
        for _ in 0..3 {
            wire.frame(kind::DATA, 0, stream, vec![b'x'; 16384]);
        }
        wire.frame(kind::DATA, flag::END_STREAM, stream, []).ping();
    }
    assert_eq!(wire.get(211, "/ten").answer(211).text(), "0123456789");
    assert_eq!(wire.end.goaways, []);
}

#[test]
fn malformed_requests_cost_their_stream_only() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    let head = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/ten")];
    let with = |name: &'static str, value: &'static str| [&head[..], &[(name, value)]].concat();
    // RFC 9113 sections 8.2 and 8.3.
    let cases = [
        with("te", "gzip"),
        with("connection", "close"),
        with("transfer-encoding", "chunked"),
        with("keep-alive", "5"),
        with("upgrade", "h2c"),
        with("Upper", "case"),
        with("space in", "name"),
        with("a", "line\nbreak"),
        with("a", " begins with a space"),
        with(":method", "GET"),
        with(":status", "200"),
        with(":unknown", "x"),
        with("content-length", "5"),
        [&[("a", "b")], &head[..]].concat(),
        head[1..].to_vec(),
        head[..3].to_vec(),
        vec![(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "")],
        vec![(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "ten")],
        vec![(":method", "CONNECT"), (":scheme", "http"), (":authority", "a:1"), (":path", "/")],
    ];
    for (number, fields) in cases.iter().enumerate() {
        let stream = 2 * number as u32 + 1;
        wire.frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream, literals(fields));
        assert_eq!(wire.reset_of(stream), Some(code::PROTOCOL_ERROR), "{fields:?}");
    }
    assert_eq!(wire.end.goaways, []);
    assert_eq!(wire.ask(101, "GET", "/ten", &[("te", "trailers")], true).answer(101).status, 200);
}

#[test]
fn methods_that_a_file_does_not_have_are_405() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    let tunnel = literals(&[(":method", "CONNECT"), (":authority", "a:1")]);
    wire.frame(kind::HEADERS, flag::END_HEADERS, 1, tunnel);
    assert_eq!(wire.answer(1).status, 405);
    for (stream, method) in [(3, "DELETE"), (5, "NOVEL")] {
        let answer = wire.ask(stream, method, "/ten", &[], true).answer(stream);
        assert_eq!((answer.status, answer.field("allow")), (405, Some("GET, HEAD, OPTIONS")), "{method}");
    }
    assert_eq!(wire.get(7, "/ten").answer(7).status, 200);
}

#[test]
fn limits_of_heads_and_content_have_their_statuses() {
    let dir = site();
    let limits = "limit-request-line: 100\nlimit-request-head: 2000\nlimit-request-fields: 8\nlimit-request-body: 10\n";
    let upstream = Upstream::echo();
    let up = format!("/up: {{proxy.reverse.url: 'http://{}'}}", upstream.address);
    let hosts = format!("hosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}, {up}}}}}}}\n");
    let server = Server::config(&dir, &format!("{limits}{hosts}"));
    let mut wire = Wire::open(&server.address);
    let long = "x".repeat(3000);
    assert_eq!(wire.ask(1, "GET", "/ten", &[("a", &long)], true).answer(1).status, 431);
    assert_eq!(wire.ask(3, "GET", "/ten", &[("a", "b"); 9], true).answer(3).status, 431);
    assert_eq!(wire.get(5, &format!("/{}", &long[..200])).answer(5).status, 414);
    assert_eq!(wire.ask(7, "POST", "/ten", &[("content-length", "11")], false).answer(7).status, 413);
    wire.ask(9, "POST", "/ten", &[], false).frame(kind::DATA, flag::END_STREAM, 9, "01234567890");
    assert_eq!(wire.answer(9).status, 405, "a file refuses the method first");
    wire.ask(11, "POST", "/up", &[], false).frame(kind::DATA, flag::END_STREAM, 11, "01234567890");
    assert_eq!(wire.answer(11).status, 413);
    assert_eq!(wire.get(13, "/ten").answer(13).status, 200, "the connection goes on");
    assert_eq!(upstream.requests().len(), 0);
}

/// The settings that a client sends along with its request to upgrade: INITIAL_WINDOW_SIZE 65535.
const UPGRADE: &str = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAQAAP__\r\n";

#[test]
fn a_request_in_http1_upgrades_the_connection() {
    let dir = site();
    let server = Server::site(&dir, "");
    let cases = [
        (format!("GET /ten HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n"), 200, 10),
        (format!("HEAD /ten HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n"), 200, 0),
        (format!("GET /large HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n"), 200, 300_000),
    ];
    for (text, status, len) in cases {
        let mut wire = Wire::bare(&server.address);
        wire.send(&text);
        let head = wire.line_head();
        assert!(
            head.starts_with("HTTP/1.1 101 ") && head.to_ascii_lowercase().contains("upgrade: h2c\r\n"),
            "{head}"
        );
        wire.send(crate::support::h2::PREFACE).frame(kind::SETTINGS, 0, 0, []);
        let answer = wire.answer(1);
        assert_eq!((answer.status, answer.content.len()), (status, len), "{text}");
        assert_eq!(wire.get(3, "/ten").answer(3).text(), "0123456789");
    }
}

#[test]
fn a_request_with_content_does_not_upgrade_nor_one_with_settings_that_are_wrong() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    client.send(format!("POST /ten HTTP/1.1\r\nHost: a\r\n{UPGRADE}Content-Length: 7\r\n\r\ncontent"));
    assert_eq!(client.answer().status, 405);
    // RFC 7540 section 3.2.1: without settings, or with two, or settings that are none, there is no upgrade.
    for lines in [
        "Connection: Upgrade\r\nUpgrade: h2c\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAQAAP__\r\nHTTP2-Settings: AAQAAP__\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: !\r\n",
        "Connection: HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAQAAP__\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: other\r\nHTTP2-Settings: AAQAAP__\r\n",
    ] {
        let answer = server.get_with("/ten", lines);
        assert_eq!((answer.status, answer.field("upgrade")), (200, None), "{lines}");
    }
}

#[test]
fn an_upgrade_that_is_switched_off_is_not_made_and_prior_knowledge_stays() {
    let dir = site();
    let server =
        Server::config(&dir, &format!("http1-upgrade-to-http2: OFF\n{}", crate::support::tls::HOSTS));
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(format!("GET /ten HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n"));
        let answer = client.answer();
        assert_eq!((answer.status, answer.text().as_str()), (200, "0123456789"));
        assert_eq!((answer.field("upgrade"), answer.field("connection")), (None, None));
    }
    assert_eq!(Wire::open(&server.address).get(1, "/ten").answer(1).status, 200);
}

#[test]
fn requests_fed_byte_by_byte_are_understood() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::bare(&server.address);
    let block = request("GET", "/ten", &[("a", "b")]);
    let (first, rest) = block.split_at(block.len() / 2);
    let bytes = [
        crate::support::h2::PREFACE.to_vec(),
        frame(kind::SETTINGS, 0, 0, []),
        frame(kind::HEADERS, flag::END_STREAM, 1, first),
        frame(kind::CONTINUATION, flag::END_HEADERS, 1, rest),
    ]
    .concat();
    for byte in bytes {
        wire.send([byte]);
    }
    assert_eq!(wire.answer(1).text(), "0123456789");
}
