//! Messages too large or too slow: limits of heads and content, timeouts of both directions.

use crate::support::upstream::Upstream;
use crate::support::{Client, Scratch, Server, until};
use std::time::{Duration, Instant};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/0", "file 0").write("site/1", "file 1");
    dir
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

#[test]
fn limits_are_directives_and_have_their_statuses() {
    let (dir, upstream) = (site(), Upstream::echo());
    let limits = "limit-request-line: 100\nlimit-request-head: 400\nlimit-request-fields: 5\n\
                  limit-request-body: 10\nlimit-chunk-line: 20\nlimit-chunk-extensions: 30\nlimit-request-trailer: 40\n";
    let server = Server::config(&dir, &format!("{limits}{}", hosts(&upstream)));
    let head = |lines: &str| format!("POST /0 HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
    let chunked = |content: &str| head("Transfer-Encoding: chunked\r\n") + content;
    let cases = [
        (format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(100)), 414),
        (head(&format!("X: {}\r\n", "x".repeat(400))), 431),
        (head(&"X: y\r\n".repeat(5)), 431),
        (head("Content-Length: 11\r\n"), 413),
        (head("Content-Length: 99999999999999999999\r\n"), 400),
    ];
    for (request, status) in cases {
        let answers = server.ask(&request);
        assert_eq!(answers.len(), 1, "{request:?}");
        assert_eq!(answers[0].status, status, "{request:?}");
        assert_eq!(answers[0].field("connection"), Some("close"), "{request:?}");
        if status == 413 {
            assert_eq!(
                answers[0].text(),
                "Content Too Large: the content is longer than the limit of 10 bytes\n"
            );
        }
    }
    for limit in ["limit-request-line: 100", "limit-request-head: 400", "limit-request-fields: 5"] {
        server.until_stderr(&format!("(`{limit}`)"));
    }
    let contents = [
        ("B\r\n01234567890\r\n0\r\n\r\n".to_owned(), 413),
        (format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(20)), 400),
        (format!("{}0\r\n\r\n", "1;abcdefgh\r\na\r\n".repeat(5)), 400),
        (format!("0\r\nX: {}\r\n\r\n", "x".repeat(50)), 431),
    ];
    for (content, status) in contents {
        // For a file, the method is refused before the content is checked.
        for (target, status) in [("/up", status), ("/0", 405)] {
            let answers = server.ask(chunked(&content).replace("/0", target) + &get("/1"));
            let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
            assert_eq!(statuses, [status], "{target} {content:?}");
        }
    }
    // Twice: known from its length, and after it has arrived.
    until("the log names the limit", || server.stderr().matches("(`limit-request-body: 10`)").count() == 2);
    assert_eq!(upstream.requests().len(), 0);
}

/// The folder `site` at `/`, and at `/up` the upstream.
fn hosts(upstream: &Upstream) -> String {
    let url = format!("http://{}/", upstream.address);
    format!(
        "hosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}, /up: {{proxy.reverse.url: '{url}'}}}}}}}}\n"
    )
}

#[test]
fn what_is_within_the_default_limits_is_served() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    let line = format!("GET /0?{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(8000));
    assert_eq!(client.send(line).answer().status, 200);
    let lines: String = (0..99).map(|number| format!("X-{number}: {}\r\n", "v".repeat(600))).collect();
    let head = format!("GET /0 HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
    assert_eq!(client.send(head).answer().status, 200);
}

/// A site with short timeouts.
fn hasty(dir: &Scratch) -> Server {
    Server::config(dir, &format!("{HASTY}hosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}}}}}}}\n"))
}

const HASTY: &str = "http1-request-timeout: 1.5\nhttp1-request-io-timeout: 1.5\nhttp1-response-io-timeout: 1.5\n\
                     num-threads: 1\n";

#[test]
fn a_slow_head_is_answered_with_408() {
    let dir = site();
    let server = hasty(&dir);
    let begin = Instant::now();
    let answers = server.ask("GET / HTTP/1.1\r\nHost:");
    assert_eq!((answers.len(), answers[0].status), (1, 408));
    assert!(begin.elapsed() >= Duration::from_millis(1300), "it had its time");
    // Bytes that trickle in win no time.
    let begin = Instant::now();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX: ");
    while begin.elapsed() < Duration::from_secs(3) {
        client.send("x");
        std::thread::sleep(Duration::from_millis(30));
    }
    assert_eq!(client.answers().first().map(|answer| answer.status), Some(408));
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let dir = site();
    let server = hasty(&dir);
    assert!(server.connect().is_closed(), "nothing was asked");
    let mut client = server.connect();
    assert_eq!(client.send(get("/1")).answer().status, 200);
    assert!(client.is_closed(), "nothing more was asked");
}

#[test]
fn content_that_does_not_come_ends_the_connection() {
    let (dir, upstream) = (site(), Upstream::echo());
    let server = Server::config(&dir, &format!("{HASTY}{}", hosts(&upstream)));
    for head in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let begin = Instant::now();
        let request = format!("POST /0 HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n1");
        for (target, status) in [("/0", 405), ("/up", 408)] {
            let answers = server.ask(request.replace("/0", target));
            let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
            assert_eq!(statuses, [status], "{head}: {target}");
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{head}");
    }
    assert_eq!(upstream.requests().len(), 0);
}

#[test]
fn a_reader_that_takes_nothing_is_cut() {
    let dir = site();
    dir.write("site/large", vec![b'x'; 32_000_000]);
    let server = hasty(&dir);
    let before = server.sockets();
    let mut client: Client = server.connect();
    client.send(get("/large"));
    client.receive_at_least(1);
    until("the connection is closed", || server.sockets() == before);
    assert!(client.rest().len() < 32_000_000, "cut off, not padded");
}
