//! Details of the reverse proxy: the PROXY protocol towards upstreams, 100 (Continue), connections that close
//! together, early data, and upstreams in logs.

use crate::support::tls::{last, s_client};
use crate::support::upstream::{Conn, Upstream, ok, unused_address};
use crate::support::{Launch, Scratch, Server, until};

/// The upstream at `/`, with these lines at the top.
#[track_caller]
fn before(dir: &Scratch, address: &str, lines: &str) -> Server {
    let hosts = format!("hosts: {{default: {{paths: {{/: {{proxy.reverse.url: 'http://{address}'}}}}}}}}");
    Server::config(dir, &format!("num-threads: 1\n{lines}\n{hosts}\n"))
}

fn post(fields: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n{fields}\r\n")
}

#[test]
fn an_upstream_gets_the_clients_address_in_a_proxy_header() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok("x")));
    let server = before(&dir, &upstream.address, "proxy.proxy-protocol: ON");
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().text(), "x");
    }
    let asked = upstream.requests();
    let lines: Vec<&str> = asked.iter().map(|asked| asked.line()).collect();
    assert!(lines.iter().all(|line| *line == lines[0]), "the same client three times: {lines:?}");
    assert!(lines[0].starts_with("PROXY TCP4 127.0.0.1 127.0.0.1 "), "{lines:?}");
    assert!(lines[0].ends_with(&format!(" {}", server.port())), "{lines:?}");
    assert!(asked[0].head.contains("\r\nGET / HTTP/1.1\r\n"), "{}", asked[0].head);
    assert_eq!(upstream.connections(), 3, "a connection says one thing only");
}

#[test]
fn two_of_us_agree_about_the_client() {
    for version in ["v1", "v2"] {
        let (dir, back) = (Scratch::new(), Scratch::new());
        back.write("site/index.html", "front");
        let listen = "listen: {host: 127.0.0.1, port: 0, proxy-protocol: ON}\n";
        let log = "access-log: {path: DIR/log, format: '%h %{remote}p %{local}p'}\n";
        let hosts = "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
        let application = Server::config(&back, &format!("{listen}{log}{hosts}"));
        let server = before(&dir, &application.address, &format!("proxy.proxy-protocol: {version}"));
        assert_eq!(server.get("/").text(), "front", "{version}");
        until("the line is on disk", || back.path("log").exists() && back.read("log").ends_with('\n'));
        let line = back.read("log");
        assert!(line.starts_with("127.0.0.1 ") && line.ends_with(&format!(" {}\n", server.port())), "{line}");
    }
}

#[test]
fn an_announced_connection_cannot_be_kept() {
    let dir = Scratch::new();
    let text = "proxy.timeout.keepalive: 1000\nproxy.proxy-protocol: ON\nhosts: {a: {paths: {}}}\n";
    let finished = Launch::config(&dir, text).finish_test(&[]);
    assert_eq!(finished.code, 78);
    assert!(
        finished.stderr.contains("write `proxy.timeout.keepalive: 0`, or remove the line"),
        "{finished:?}"
    );
}

/// Sends this in response to the head alone; after 100, reads the content and responds.
fn saying(first: &'static str) -> impl Fn(&mut Conn) + Send + Sync {
    move |conn| {
        while let Some(head) = conn.head() {
            conn.send(first);
            if !first.contains(" 100 ") {
                continue;
            }
            let content = conn.bytes(5).unwrap_or_default();
            let expects = head.to_ascii_lowercase().contains("\r\nexpect: 100-continue");
            conn.send(ok(&format!("{expects} {}", String::from_utf8_lossy(&content))));
        }
    }
}

const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";

#[test]
fn content_waits_until_the_upstream_wants_it() {
    for (lines, fields, expected) in [
        ("proxy.expect: ON", "", true),
        ("proxy.expect: ON", "Expect: 100-continue\r\n", true),
        ("proxy.expect: FORWARD", "Expect: 100-continue\r\n", true),
        ("proxy.expect: FORWARD", "", false),
        ("proxy.expect: OFF", "Expect: 100-continue\r\n", false),
    ] {
        let (dir, upstream) = (Scratch::new(), Upstream::scripted(saying(CONTINUE)));
        let server = before(&dir, &upstream.address, lines);
        let mut client = server.connect();
        client.send(post(fields));
        if fields.is_empty() {
            client.send("hello");
        } else {
            assert_eq!(client.answer().status, 100, "{lines}");
            client.send("hello");
        }
        assert_eq!(client.answer().text(), format!("{expected} hello"), "{lines} {fields}");
    }
}

#[test]
fn a_request_that_is_refused_by_its_head_brings_no_content() {
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(saying(FORBIDDEN)));
    let server = before(&dir, &upstream.address, "proxy.expect: FORWARD");
    let mut client = server.connect();
    client.send(post("Expect: 100-continue\r\n"));
    assert_eq!(client.answer().status, 403, "and no 100 before it");
    // The next request uses a separate upstream connection.
    assert_eq!(server.get("/").status, 403);
    assert_eq!(upstream.connections(), 2);
}

#[test]
fn an_upstream_that_does_not_know_the_word_gets_content_all_the_same() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = before(&dir, &upstream.address, "proxy.expect: ON");
    let answers = server.ask(post("") + "hello");
    assert_eq!((answers[0].status, answers[0].text()), (200, "hello".into()));
    assert_eq!(upstream.last().all("expect"), ["100-continue"]);
}

#[test]
fn connections_end_together_if_they_shall() {
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
    for (lines, closes) in [("proxy.forward.close-connection: ON", true), ("", false)] {
        let (dir, upstream) = (Scratch::new(), Upstream::answering(closing));
        let server = before(&dir, &upstream.address, lines);
        let mut client = server.connect();
        let answer = client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer();
        assert_eq!(answer.field("connection"), closes.then_some("close"), "{lines}");
        match closes {
            true => assert!(client.is_closed()),
            false => assert_eq!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().status, 200),
        }
    }
}

#[test]
fn an_upstream_is_told_what_came_before_the_handshake_was_complete() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok("x")));
    crate::support::certificates::Authority::new(&dir).issue_leaf();
    let listen = crate::support::tls::listen("early-data: ON");
    let server = before(&dir, &upstream.address, &listen);
    let (kept, early) = (dir.text("session"), dir.text("early"));
    let said = s_client(&server.address, &["-tls1_3", "-sess_out", &kept], &last("/first"));
    assert!(said.has("200 OK"), "{said:?}");
    assert_eq!(upstream.last().all("early-data"), Vec::<&str>::new());
    dir.write("early", last("/early"));
    let said = s_client(&server.address, &["-tls1_3", "-sess_in", &kept, "-early_data", &early], "");
    assert!(said.has("Early data was accepted") && said.has("200 OK"), "{said:?}");
    let asked = upstream.last();
    assert_eq!(
        (asked.line(), asked.all("early-data")),
        ("GET /early HTTP/1.1", vec!["1"]),
        "RFC 8470 section 5.1"
    );
}

/// The line of the log for one request.
#[track_caller]
fn logged(dir: &Scratch, address: &str, format: &str, request: &str) -> String {
    let server = before(dir, address, &format!("access-log: {{path: DIR/log, format: '{format}'}}"));
    server.ask(request);
    until("the line is on disk", || dir.path("log").exists() && dir.read("log").ends_with('\n'));
    let log = dir.read("log");
    std::fs::remove_file(dir.path("log")).expect("removed");
    log.trim_end().to_owned()
}

#[test]
fn the_log_knows_how_long_the_upstream_took_for_what() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let times = ["idle", "connect", "request", "process", "response", "total"];
    let times: Vec<String> = times.iter().map(|name| format!("%{{proxy.{name}-time}}x")).collect();
    let bytes = "%{proxy.request-bytes-body}x %{proxy.response-bytes-body}x %{proxy.response-bytes-header}x";
    let format = format!("%{{proxy.upstream}}x {bytes} {}", times.join(" "));
    let line = logged(&dir, &upstream.address, &format, &(post("") + "hello"));
    let words: Vec<&str> = line.split(' ').collect();
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".len().to_string();
    assert_eq!(words[..4], [format!("http://{}", upstream.address).as_str(), "5", "5", &head], "{line}");
    let seconds: Vec<f64> = words[4..].iter().map(|word| word.parse().expect("seconds")).collect();
    let [_, _, request, process, response, total] = seconds[..] else { panic!("{line}") };
    assert!((request + process + response - total).abs() < 0.000_01, "{line}");
    assert!(total < 10.0, "{line}");
    let all = "%{proxy.request-bytes}x %{proxy.request-bytes-header}x %{proxy.request-bytes-body}x";
    let line = logged(&dir, &upstream.address, all, &(post("") + "hello"));
    let sizes: Vec<usize> = line.split(' ').map(|word| word.parse().expect("bytes")).collect();
    assert_eq!((sizes[0], sizes[2]), (sizes[1] + 5, 5), "{line}");
    let gone = unused_address();
    let line = logged(&dir, &gone, "%s %{proxy.upstream}x %{proxy.total-time}x", "GET / HTTP/1.0\r\n\r\n");
    assert_eq!(line, format!("502 http://{gone} -"));
}

#[test]
fn a_chunked_answer_that_is_there_as_a_whole_has_a_length() {
    let whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\nagain!\r\n0\r\n\r\n";
    let (dir, upstream) = (Scratch::new(), Upstream::answering(whole));
    let server = before(&dir, &upstream.address, "");
    for request in ["GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"] {
        let answer = server.ask(request).remove(0);
        assert_eq!(
            (answer.text(), answer.field("content-length")),
            ("helloagain!".into(), Some("11")),
            "{request}"
        );
    }
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn the_log_counts_content_and_not_its_framing() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\nagain!\r\n0\r\nX-Sum: 1\r\n\r\n";
    let slow = Upstream::scripted(move |conn| {
        while conn.request().is_some() {
            let (first, rest) = chunked.split_at(chunked.len() - 30);
            conn.send(first);
            conn.send(rest);
        }
    });
    let dir = Scratch::new();
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let line = logged(&dir, &slow.address, "%b %{proxy.response-bytes-body}x", request);
    assert_eq!(line, "11 11");
}
