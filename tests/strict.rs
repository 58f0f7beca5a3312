//! Strict for safety: requests that two servers could read in two ways are refused with the RFC's status, the
//! connection is closed, and nothing that follows is answered.

use crate::support::upstream::Upstream;
use crate::support::{Scratch, Server};

/// A request that an attacker wants to have answered; it follows every refused one.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/smuggled", "smuggled");
    dir
}

/// Every request is refused with its status, alone, and nothing more is answered.
fn refused(cases: &[(String, u16)]) {
    let dir = site();
    let server = Server::site(&dir, "");
    for (request, status) in cases {
        let answers = server.ask(format!("{request}{SMUGGLED}"));
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [*status], "{request:?}");
        assert_eq!(answers[0].field("connection"), Some("close"), "{request:?}");
    }
    // After a good request, and byte by byte, the result is the same.
    for (request, status) in cases {
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.answer().status, 200);
        request.bytes().for_each(|byte| _ = client.send([byte]));
        client.send(SMUGGLED);
        let statuses: Vec<_> = client.answers().iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [*status], "{request:?} by byte");
    }
}

/// Requests with these field lines besides Host.
fn with_fields(cases: &[(&str, u16)]) -> Vec<(String, u16)> {
    let request = |lines| format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n");
    cases.iter().map(|(lines, status)| (request(lines), *status)).collect()
}

#[test]
fn the_length_of_content_is_said_once_and_clearly() {
    refused(&with_fields(&[
        ("Content-Length: 0\r\nTransfer-Encoding: chunked", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 3", 400),
        ("Content-Length: 0\r\nContent-Length: 0", 400),
        ("Content-Length: 1\r\nContent-Length: 2", 400),
        ("Content-Length: 0, 0", 400),
        ("Content-Length: +0", 400),
        ("Content-Length: -1", 400),
        ("Content-Length: 0x0", 400),
        ("Content-Length: 0 0", 400),
        ("Content-Length: 1.0", 400),
        ("Content-Length: ", 400),
        ("Content-Length: \"0\"", 400),
        ("Content-Length: 18446744073709551616", 400),
    ]));
}

#[test]
fn transfer_codings_are_chunked_and_nothing_else() {
    refused(&with_fields(&[
        ("Transfer-Encoding: gzip", 501),
        ("Transfer-Encoding: gzip, chunked", 501),
        ("Transfer-Encoding: chunked, gzip", 400),
        ("Transfer-Encoding: chunked, chunked", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
        ("Transfer-Encoding: xchunked", 501),
        ("Transfer-Encoding: \"chunked\"", 501),
        ("Transfer-Encoding: identity", 501),
    ]));
    refused(&[("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".into(), 400)]);
}

#[test]
fn field_lines_are_not_repaired() {
    refused(&with_fields(&[
        ("Content-Length : 0", 400),
        ("X\t: y", 400),
        ("X: a\r\n folded", 400),
        ("X: a\r\n\tfolded", 400),
        ("X: a\rb", 400),
        ("X: a\r\r", 400),
        ("X: a\0b", 400),
        ("X\0: a", 400),
        ("X: a\u{7f}", 400),
        ("X: a\u{1}", 400),
        (": a", 400),
        ("no colon", 400),
        ("X(y): a", 400),
        ("X y: a", 400),
        ("\u{e9}: a", 400),
    ]));
    refused(&[("GET / HTTP/1.1\r\n Host: a\r\n\r\n".into(), 400)]);
}

#[test]
fn there_is_one_host_and_it_is_one() {
    let request = |lines: &str| format!("GET / HTTP/1.1\r\n{lines}\r\n");
    let mut cases = vec![
        (request(""), 400),
        (request("Host: a\r\nHost: a\r\n"), 400),
        (request("Host: a\r\nhost: b\r\n"), 400),
        ("GET http://a/ HTTP/1.1\r\n\r\n".to_owned(), 400),
    ];
    for host in ["a b", "a/b", "u@a", "http://a", "a:b", "a:99999", "[::1", "a\\b", "a?b", "a#b"] {
        cases.push((request(&format!("Host: {host}\r\n")), 400));
    }
    refused(&cases);
}

#[test]
fn request_lines_are_not_repaired() {
    let lines = [
        (" GET / HTTP/1.1", 400),
        ("GET  / HTTP/1.1", 400),
        ("GET\t/ HTTP/1.1", 400),
        ("GET / HTTP/1.1 ", 400),
        ("GET /a b HTTP/1.1", 400),
        ("G@T / HTTP/1.1", 400),
        ("GET /\0 HTTP/1.1", 400),
        ("GET /\u{7f} HTTP/1.1", 400),
        ("GET /# HTTP/1.1", 400),
        ("GET a HTTP/1.1", 400),
        ("GET * HTTP/1.1", 400),
        ("GET ftp://a/ HTTP/1.1", 400),
        ("GET http://u@a/ HTTP/1.1", 400),
        ("GET /\rX HTTP/1.1", 400),
        ("GET / http/1.1", 400),
        ("GET / HTTP/1.10", 400),
        ("GET /", 400),
        ("GET / HTTP/2.0", 505),
        ("GET / HTTP/0.9", 505),
        ("PRI * HTTP/2.0", 505),
    ];
    let cases: Vec<_> =
        lines.iter().map(|(line, status)| (format!("{line}\r\nHost: a\r\n\r\n"), *status)).collect();
    refused(&cases);
}

#[test]
fn no_bytes_of_other_protocols_are_taken_for_requests() {
    let dir = site();
    let server = Server::site(&dir, "");
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03abcdefghijklmnop\r\n\r\n".to_vec();
    let cases =
        [(hello, 400), (vec![0; 100_000], 414), (vec![b'\n'; 100_000], 400), (vec![b'A'; 100_000], 414)];
    for (bytes, status) in cases {
        let answers = server.ask(&bytes);
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [status], "{:?}", &bytes[..8]);
    }
}

#[test]
fn broken_chunks_end_the_connection() {
    let (dir, upstream) = (site(), Upstream::echo());
    let up = format!("/up: {{proxy.reverse.url: 'http://{}'}}", upstream.address);
    let paths = format!("/: {{file.dir: DIR/site}}, {up}");
    let server = Server::config(&dir, &format!("hosts: {{default: {{paths: {{{paths}}}}}}}\n"));
    let chunks = [
        "x\r\n",
        "-1\r\n",
        "+1\r\na\r\n",
        "0x1\r\na\r\n",
        " 1\r\na\r\n",
        "1 \r\na\r\n0\r\n\r\n",
        "\r\n",
        "1\na\r\n0\r\n\r\n",
        "1\r\nab\r\n0\r\n\r\n",
        "1\r\na0\r\n\r\n",
        "1;\0\r\na\r\n0\r\n\r\n",
        "1;a=\"\r\na\r\n0\r\n\r\n",
        "1;a=b c\r\na\r\n0\r\n\r\n",
        "10000000000000000\r\n",
        "fffffffffffffffff\r\n",
        "1\r\na\r\n0\r\nX : y\r\n\r\n",
        "1\r\na\r\n0\r\n folded\r\n\r\n",
        "1\r\na\r\n0\r\nX: a\rb\r\n\r\n",
    ];
    for content in chunks {
        // A file refuses the method whatever the content; a handler that reads content sees that it is
        // malformed.
        for (target, status) in [("/", 405), ("/up", 400)] {
            let head = format!("POST {target} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
            let answers = server.ask(format!("{head}{content}{SMUGGLED}"));
            let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
            assert_eq!(statuses, [status], "{target} {content:?}");
        }
    }
    assert_eq!(upstream.requests().len(), 0, "{:?}", upstream.requests());
}

#[test]
fn what_is_lenient_is_lenient_on_purpose() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    let requests = [
        // RFC 9112 §2.2: empty lines before a request, and LF alone.
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        // RFC 9110 §4.2.3 and §5.5: an empty Host, whitespace around values, obs-text.
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: \t a \t \r\nX: \u{e9}\r\n\r\n",
        "GET / HTTP/1.1\r\nhOST: a\r\n\r\n",
        // RFC 9110 §2.5: a higher minor version is treated as 1.1.
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
        // Bytes that should have been percent-encoded but mean nothing else.
        "GET /?{|}^`\"\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n",
    ];
    for request in requests {
        assert_eq!(client.send(request).answer().status, 200, "{request:?}");
    }
}
