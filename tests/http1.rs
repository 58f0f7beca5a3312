//! HTTP/1 as RFC 9110 and 9112 have it: connections, targets, methods, content.
//!
//! Requests refused for security are in `strict`, those too large or too slow in `limits`.

use crate::support::{Scratch, Server, missing, run};
use std::net::TcpListener;

/// A folder with a few short files.
fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "<p>front</p>");
    for number in 0..16 {
        dir.write(&format!("site/{number}"), format!("file {number}"));
    }
    dir
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

#[test]
fn a_connection_carries_many_requests() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    for number in 0..16 {
        let answer = client.send(get(&format!("/{number}"))).answer();
        assert_eq!((answer.status, answer.text()), (200, format!("file {number}")));
        assert_eq!(answer.field("connection"), None, "1.1 stays open without a word");
    }
}

#[test]
fn connection_close_closes_after_the_answer() {
    let dir = site();
    let server = Server::site(&dir, "");
    for value in ["close", "Close", "foo, close"] {
        let answers =
            server.ask(format!("GET /0 HTTP/1.1\r\nHost: a\r\nConnection: {value}\r\n\r\n{}", get("/1")));
        assert_eq!(answers.len(), 1, "{value}: nothing after the last request is answered");
        assert_eq!(answers[0].field("connection"), Some("close"), "{value}");
    }
}

#[test]
fn http_1_0_closes_unless_asked_to_stay() {
    let dir = site();
    let server = Server::site(&dir, "");
    let answers = server.ask("GET /0 HTTP/1.0\r\n\r\n");
    assert_eq!((answers.len(), answers[0].text()), (1, "file 0".to_owned()));
    let mut client = server.connect();
    for number in [1, 2] {
        client.send(format!("GET /{number} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
        let answer = client.answer();
        assert_eq!(answer.text(), format!("file {number}"));
        assert_eq!(answer.field("connection").map(str::to_ascii_lowercase).as_deref(), Some("keep-alive"));
    }
    assert_eq!(client.send("GET /3 HTTP/1.0\r\n\r\n").answers().len(), 1);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    for _ in 0..3 {
        client.send((0..16).map(|number| get(&format!("/{number}"))).collect::<String>());
        for number in 0..16 {
            assert_eq!(client.answer().text(), format!("file {number}"));
        }
    }
}

#[test]
fn pipelined_answers_leave_in_one_write() {
    if missing("ss") {
        return;
    }
    let dir = site();
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    let requests: String = (0..16).map(|number| get(&format!("/{number}"))).collect();
    for round in 1..=3 {
        client.send(&requests);
        (0..16).for_each(|number| assert_eq!(client.answer().text(), format!("file {number}")));
        // Segments with data that this end received: on this machine each write is one, below 64 KiB.
        let said = run("ss", &["-tinH", "sport", "=", &format!(":{}", client.local_port())]);
        assert!(said.contains(&format!(" data_segs_in:{round} ")), "round {round}: {said}");
    }
}

#[test]
fn pipelined_answers_of_every_kind_stay_in_order() {
    let dir = site();
    dir.write("site/large", vec![b'x'; 3_000_000]);
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    let post = "POST /0 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /";
    client.send([get("/large"), get("/none"), get("/large"), post.to_owned(), get("/1")].concat());
    let found: Vec<_> =
        (0..5).map(|_| client.answer()).map(|answer| (answer.status, answer.content.len())).collect();
    assert_eq!((found[0], found[2], found[4]), ((200, 3_000_000), (200, 3_000_000), (200, 6)));
    assert_eq!((found[1].0, found[3].0), (404, 405));
}

#[test]
fn the_four_target_forms_are_understood() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    let cases = [
        ("GET /0?a=b HTTP/1.1", 200, "file 0"),
        ("GET http://a/1 HTTP/1.1", 200, "file 1"),
        ("GET http://a:80/2?x HTTP/1.1", 200, "file 2"),
        ("GET HTTP://A HTTP/1.1", 200, "<p>front</p>"),
        ("OPTIONS * HTTP/1.1", 200, ""),
    ];
    for (line, status, text) in cases {
        let answer = client.send(format!("{line}\r\nHost: a\r\n\r\n")).answer();
        assert_eq!((answer.status, answer.text().as_str()), (status, text), "{line}");
    }
    let answers = server.ask("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n");
    assert_eq!((answers.len(), answers[0].status), (1, 405), "this is no proxy");
}

#[test]
fn head_brings_the_head_of_get() {
    let dir = site();
    dir.write("site/large", vec![b'x'; 1_000_000]);
    let server = Server::site(&dir, "");
    for target in ["/", "/0", "/large", "/none"] {
        let got = server.get(target);
        let mut client = server.connect();
        client.send(format!("HEAD {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        let head = client.answer_to_head();
        assert_eq!(head.status, got.status, "{target}");
        let without_date = |fields: &[(String, String)]| {
            fields.iter().filter(|(name, _)| name != "date").cloned().collect::<Vec<_>>()
        };
        assert_eq!(without_date(&head.fields), without_date(&got.fields), "{target}");
        assert!(client.is_closed(), "{target}: no content follows");
    }
}

#[test]
fn options_and_refused_methods_name_what_is_allowed() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    let cases = [
        ("OPTIONS * HTTP/1.1", 200),
        ("POST /0 HTTP/1.1", 405),
        ("PUT /0 HTTP/1.1", 405),
        ("DELETE /0 HTTP/1.1", 405),
        ("TRACE /0 HTTP/1.1", 405),
        ("PATCH / HTTP/1.1", 405),
    ];
    for (line, status) in cases {
        let answer = client.send(format!("{line}\r\nHost: a\r\nContent-Length: 0\r\n\r\n")).answer();
        assert_eq!(answer.status, status, "{line}");
        let allow = answer.field("allow").unwrap_or_else(|| panic!("{line}: {answer:?}"));
        assert!(allow.contains("GET") && allow.contains("HEAD"), "{line}: {allow}");
    }
}

#[test]
fn every_answer_has_date_server_and_length() {
    let dir = site();
    let server = Server::site(&dir, "");
    for target in ["/", "/0", "/none", "/%zz"] {
        let answer = server.get(target);
        let date = answer.field("date").unwrap_or_else(|| panic!("{target}: {answer:?}"));
        assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
        assert!(answer.field("server").is_some_and(|name| name.starts_with("hayami/")), "{answer:?}");
        assert_eq!(answer.field("content-length"), Some(answer.content.len().to_string().as_str()));
    }
}

#[test]
fn a_client_that_expects_100_gets_an_answer_before_it_sends() {
    let dir = site();
    let server = Server::site(&dir, "");
    // The method is refused in any case: the final response is sent at once, without 100.
    let mut client = server.connect();
    client.send("POST /0 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.answer().status, 405);
    let answers = server.ask("GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n");
    assert_eq!(answers[0].status, 417);
    let mut client = server.connect();
    client.send("GET /1 HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab");
    assert_eq!(client.answer().status, 200, "HTTP/1.0 has no 100 (RFC 9110 §10.1.1)");
}

#[test]
fn unwanted_content_is_drained_and_the_connection_reused() {
    let dir = site();
    let server = Server::site(&dir, "");
    let chunked = "POST /0 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut client = server.connect();
    let contents = [
        "0\r\n\r\n".to_owned(),
        "5\r\nhello\r\n0\r\n\r\n".to_owned(),
        "5;ext=\"a b\"\r\nGET /\r\n00A\r\n0123456789\r\n0\r\nDigest: x\r\nMore: y\r\n\r\n".to_owned(),
        format!("fFfF\r\n{}\r\n0\r\n\r\n", "x".repeat(0xffff)),
    ];
    for content in contents {
        client.send(format!("{chunked}{content}{}", get("/1")));
        assert_eq!(client.answer().status, 405);
        assert_eq!(client.answer().text(), "file 1");
    }
    client.send(format!("GET /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc{}", get("/3")));
    assert_eq!(client.answer().text(), "file 2");
    assert_eq!(client.answer().text(), "file 3", "GET may have content too");
}

#[test]
fn the_answer_reaches_a_client_that_still_sends_a_lot() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    client.send("POST /0 HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
    assert_eq!(client.answer().status, 405);
    // Either the server takes it all or it closes; it must not hang, and not answer content as a request.
    let piece = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(10_000);
    for _ in 0..20 {
        client.send(&piece);
    }
    client.finish();
    assert!(client.is_closed(), "no second answer");
}

#[test]
fn requests_may_be_split_anywhere() {
    let dir = site();
    let server = Server::site(&dir, "");
    let request = "POST /0 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3;a=b\r\nabc\r\n0\r\nT: x\r\n\r\nGET /1?q HTTP/1.1\r\nHost: a\r\nX:  y \r\n\r\n";
    let mut client = server.connect();
    let mut check = |pieces: &[&[u8]], what: &str| {
        pieces.iter().for_each(|piece| _ = client.send(piece));
        let found = (client.answer().status, client.answer().text());
        assert_eq!(found, (405, "file 1".to_owned()), "{what}");
    };
    for at in 0..=request.len() {
        let (first, second) = request.as_bytes().split_at(at);
        check(&[first, second], &format!("split at {at}"));
    }
    let bytes: Vec<&[u8]> = request.as_bytes().chunks(1).collect();
    check(&bytes, "byte by byte");
}

#[test]
fn a_half_closed_client_gets_a_file_from_the_disk_where_other_requests_go_to_an_upstream() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("bound");
    let upstream = format!("proxy.reverse.url: http://{}", silent.local_addr().expect("an address"));
    let paths = [
        "try-files: $uri =404".to_owned(),
        "file.custom-handler: {extension: .php, fastcgi.connect: {port: 9}}".to_owned(),
    ];
    for (number, lines) in paths.iter().enumerate() {
        let dir = site();
        let name = format!("cold{number}");
        dir.write_cold(&format!("site/{name}"), vec![b'x'; 60_000]);
        let server = Server::site(&dir, lines);
        let answers = server.connect().send(get(&format!("/{name}"))).finish().answers();
        assert_eq!(
            answers.iter().map(|answer| answer.content.len()).collect::<Vec<_>>(),
            [60_000],
            "{lines}"
        );
    }
    // A request that causes work upstream is cancelled with its client.
    let dir = site();
    let server = Server::config(&dir, &format!("hosts: {{default: {{paths: {{/: {{{upstream}}}}}}}}}"));
    assert!(server.connect().send(get("/")).finish().answers().is_empty());
}

#[test]
fn a_half_closed_connection_is_still_answered() {
    let dir = site();
    dir.write("site/large", vec![b'x'; 3_000_000]);
    let server = Server::site(&dir, "");
    let answers = server.connect().send(get("/0") + &get("/large")).finish().answers();
    assert_eq!(answers.iter().map(|answer| answer.content.len()).collect::<Vec<_>>(), [6, 3_000_000]);
    assert!(server.connect().send("GET / HTT").finish().answers().is_empty(), "this is no request");
}
