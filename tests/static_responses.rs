//! `return`: responses that the configuration contains.

use crate::support::h2::get;
use crate::support::{Launch, Scratch, Server, Wire};

const PATHS: &str = "
listen: 127.0.0.1:0
num-threads: 1
access-log: {path: DIR/log, format: '%m %U %s %b'}
header.add: 'x-seen: yes'
hosts:
  default:
    paths:
      /: {file.dir: DIR/site, return: {status: 404, body: 'no such page'}}
      /gone: {return: 410}
      /empty: {return: 204}
      '= /health': {return: {body: \"ok\\n\"}}
      /json: {return: {status: 201, body: '{}', content-type: application/json}}
      /old/: {return: {status: 301, url: 'https://example.org/new/'}}
      /page: {return: {status: 503, body: mine}, error-doc: {status: 503, url: /busy.html}}
      /bare: {return: 503, error-doc: {status: 503, url: /busy.html}}
      '~ ^/v[0-9]+/': {return: 426}
";

fn site(dir: &Scratch) -> Server {
    dir.write("site/a.txt", "file").write("site/busy.html", "<p>busy");
    Launch::config(dir, PATHS).serve()
}

#[test]
fn status_text_and_location_are_those_of_the_configuration() {
    let dir = Scratch::new();
    let server = site(&dir);
    let text = Some("text/plain; charset=utf-8");
    for (target, status, kind, content) in [
        ("/a.txt", 200, Some("text/plain"), "file"),
        ("/b.txt", 404, text, "no such page"),
        ("/gone/x?y", 410, text, "Gone\n"),
        ("/empty", 204, None, ""),
        ("/health", 200, text, "ok\n"),
        ("/health/x", 404, text, "no such page"),
        ("/json", 201, Some("application/json"), "{}"),
        ("/page", 503, Some("text/html"), "<p>busy"),
        ("/bare", 503, Some("text/html"), "<p>busy"),
        ("/v1/x", 426, text, "Upgrade Required\n"),
    ] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.field("content-type")), (status, kind), "{target}");
        assert_eq!((answer.text().as_str(), answer.field("x-seen")), (content, Some("yes")), "{target}");
    }
    let moved = server.get("/old/a?b");
    assert_eq!((moved.status, moved.field("location")), (301, Some("https://example.org/new/")));
    assert!(moved.text().contains("href=\"https://example.org/new/\""), "{}", moved.text());
    let browser = server.get_with("/gone", "Accept: text/html\r\n");
    assert!(browser.text().contains("<h1>410 Gone</h1>"), "{}", browser.text());
}

#[test]
fn every_method_gets_the_same_response_and_content_is_discarded() {
    let dir = Scratch::new();
    let mut server = site(&dir);
    let requests = "POST /health HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
                    HEAD /health HTTP/1.1\r\nHost: a\r\n\r\n\
                    DELETE /gone HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let mut client = server.connect();
    client.send(requests);
    let post = client.answer();
    assert_eq!((post.status, post.text().as_str()), (200, "ok\n"));
    let head = client.answer_to_head();
    assert_eq!((head.status, head.field("content-length")), (200, Some("3")));
    assert_eq!(client.answer().status, 410);
    assert_eq!(server.stop(), Some(0));
    assert_eq!(dir.read("log"), "POST /health 200 3\nHEAD /health 200 0\nDELETE /gone 410 5\n");
}

#[test]
fn over_http2_too() {
    let dir = Scratch::new();
    let server = site(&dir);
    let mut wire = Wire::open(&server.address);
    wire.send(get(1, "/json"));
    let answer = wire.answer(1);
    assert_eq!((answer.status, answer.text().as_str()), (201, "{}"));
}

#[test]
fn what_nginx_would_take_is_an_error_that_says_what_to_write() {
    let dir = Scratch::new();
    for (argument, help) in [
        ("200 ok", "write `return: {status: 200, body: \"ok\"}`"),
        ("301 https://example.org/", "write `return: {status: 301, url: https://example.org/}`"),
        ("444", "use 403 or 404"),
        (
            "{status: 301, url: 'https://$host$request_uri'}",
            "`redirect: https://example.org/` appends the path",
        ),
    ] {
        let text =
            format!("listen: 127.0.0.1:0\nhosts: {{default: {{paths: {{/: {{return: {argument}}}}}}}}}\n");
        let ended = Launch::config(&dir, &text).finish_test(&[]);
        assert_eq!(ended.code, 78, "{}", ended.stderr);
        assert!(ended.stderr.contains(help), "{}", ended.stderr);
    }
}
