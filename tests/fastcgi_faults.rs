//! Applications that violate FastCGI, die, or respond too early: the client's status, and the log line.

use crate::support::{Answer, Scratch, Server, until};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// A record of the request 1.
fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    [&[1, kind, 0, 1, high, low, 0, 0][..], content].concat()
}

fn stdout(content: &str) -> Vec<u8> {
    record(6, content.as_bytes())
}

fn end(protocol: u8) -> Vec<u8> {
    record(3, &[0, 0, 0, 0, protocol, 0, 0, 0])
}

/// An application that answers every connection with these bytes, once a request is there, whole or not.
fn application(bytes: Vec<u8>, waits: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let bytes = Arc::new(bytes);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let bytes = Arc::clone(&bytes);
            std::thread::spawn(move || answer(stream, &bytes, waits));
        }
    });
    port
}

fn answer(mut stream: TcpStream, bytes: &[u8], waits: bool) {
    let (mut came, mut piece) = (Vec::new(), [0; 4096]);
    let end = [1, 5, 0, 1, 0, 0, 0, 0];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        came.extend_from_slice(&piece[..count]);
        if !waits || came.ends_with(&end) {
            break;
        }
    }
    // The other end may have closed already.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    while let Ok(1..) = stream.read(&mut piece) {}
}

fn server(dir: &Scratch, port: u16) -> Server {
    let text = format!(
        "num-threads: 1\nfastcgi.timeout.io: 1000\nhosts: {{default: {{paths: {{/: {{fastcgi.connect: {port}}}}}}}}}\n"
    );
    Server::config(dir, &text)
}

#[test]
fn broken_answers_become_statuses_and_words() {
    let other_id = [&stdout("a: b\n\n")[..2], &[0, 7], &stdout("a: b\n\n")[4..]].concat();
    let endless: Vec<u8> = (0..3000).flat_map(|_| stdout("x-a: 0123456789012345678901234567890\n")).collect();
    let split = stdout("X-A: b\rX-B: c\n\n");
    let cases = [
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec(),
            502,
            "the application does not speak FastCGI version 1",
        ),
        (other_id, 502, "a record belongs to a request that was never made"),
        (endless, 502, "the response's head is longer than the limit"),
        (split, 502, "a field value of the response has a control character"),
        (stdout("Status: 20x\n\n"), 502, "the response's Status field is not a status from 200 to 999"),
        (
            stdout("a: b\n\n")[..10].to_vec(),
            502,
            "the upstream closed the connection while waiting for the response",
        ),
        (Vec::new(), 502, "the upstream closed the connection while waiting for the response"),
        (end(0), 502, "the application ended the request before the response's head was complete"),
        ([record(7, b"only words"), end(0)].concat(), 502, "127.0.0.1:PORT: only words"),
        (end(2), 503, "the application is overloaded"),
    ];
    for (bytes, status, words) in cases {
        let dir = Scratch::new();
        let port = application(bytes, true);
        let server = server(&dir, port);
        assert_eq!(server.get("/").status, status, "{words}");
        server.until_stderr(&words.replace("PORT", &port.to_string()));
    }
}

#[test]
fn content_that_is_not_what_was_announced_is_cut_off() {
    for (said, log) in
        [(6, "shorter than its Content-Length says"), (4, "longer than its Content-Length says")]
    {
        let dir = Scratch::new();
        let head = format!("Content-Length: {said}\n\nhello");
        let server = server(&dir, application([stdout(&head), end(0)].concat(), true));
        let mut client = server.connect();
        let raw = client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").rest();
        let text = String::from_utf8_lossy(raw);
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && Answer::parse(raw, false, false).is_none(),
            "{text}"
        );
        server.until_stderr(log);
    }
}

#[test]
fn an_answer_before_the_request_is_complete_reaches_the_client() {
    let dir = Scratch::new();
    let bytes = [stdout("Status: 413\nContent-Type: text/plain\n\ntoo large"), end(0)].concat();
    let server = server(&dir, application(bytes, false));
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n").send(vec![b'x'; 100_000]);
    let answer = client.answer();
    assert_eq!((answer.status, answer.text()), (413, "too large".to_owned()));
}

#[test]
fn a_flood_of_words_is_bounded_in_the_log_and_ended() {
    let dir = Scratch::new();
    let words = record(7, "flood ".repeat(10_000).as_bytes());
    let server = server(&dir, application(words.repeat(400), true));
    assert_eq!(server.get("/").status, 502);
    server.until_stderr("the application sends error messages or padding without end");
    assert!(server.stderr().len() < 64 * 1024, "{} bytes", server.stderr().len());
}

#[test]
fn several_places_are_asked_in_turn_and_one_that_is_gone_is_passed_over() {
    let dir = Scratch::new();
    let names = ["one", "two"];
    let ports = names.map(|name| application([stdout(&format!("a: b\n\n{name}")), end(0)].concat(), true));
    let gone =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let text = format!(
        "num-threads: 1\nhosts: {{default: {{paths: {{/: {{fastcgi.connect: [{}, {gone}, {{host: 127.0.0.1, port: \
         {}}}]}}}}}}}}\n",
        ports[0], ports[1]
    );
    let server = Server::config(&dir, &text);
    let answers: Vec<_> = (0..6).map(|_| server.get("/").text()).collect();
    assert!(answers.iter().all(|answer| names.contains(&answer.as_str())), "{answers:?}");
    assert!(names.iter().all(|name| answers.iter().any(|answer| answer == name)), "{answers:?}");
}

#[test]
fn another_place_takes_over_and_the_log_names_both_and_their_times() {
    let dir = Scratch::new();
    let there = application([stdout("Content-Length: 5\n\nhello"), end(0)].concat(), true);
    let gone =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let times = ["idle", "connect", "request", "process", "response", "total"];
    let times: Vec<String> = times.iter().map(|name| format!("%{{proxy.{name}-time}}x")).collect();
    let format = format!(
        "%{{proxy.upstream}}x|%s %{{proxy.request-bytes-body}}x %{{proxy.response-bytes-body}}x|{}",
        times.join(" ")
    );
    let text = format!(
        "num-threads: 1\naccess-log: {{path: DIR/log, format: '{format}'}}\nhosts: {{default: {{paths: {{/: \
         {{fastcgi.connect: [{gone}, {there}]}}}}}}}}\n"
    );
    let server = Server::config(&dir, &text);
    for _ in 0..2 {
        let mut client = server.connect();
        client.send("PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc");
        assert_eq!(client.answer().text(), "hello");
    }
    server.until_stderr(&format!(
        "upstream: 127.0.0.1:{gone}: Connection refused (os error 111); ejected for 1 s"
    ));
    until("two lines are on disk", || dir.path("log").exists() && dir.read("log").lines().count() == 2);
    let log = dir.read("log");
    let lines: Vec<Vec<&str>> = log.lines().map(|line| line.split('|').collect()).collect();
    assert_eq!(lines[0][0], format!("127.0.0.1:{gone}, 127.0.0.1:{there}"), "{log}");
    assert_eq!(lines[1][0], format!("127.0.0.1:{there}"), "{log}");
    for line in lines {
        assert_eq!(line[1], "200 3 5", "{log}");
        let seconds: Vec<f64> = line[2].split(' ').map(|word| word.parse().expect("seconds")).collect();
        let [_, _, request, process, response, total] = seconds[..] else { panic!("{log}") };
        assert!((request + process + response - total).abs() < 0.000_01, "{log}");
    }
}

#[test]
fn requests_wait_for_their_turn_at_an_application_that_is_as_busy_as_it_may_be() {
    let dir = Scratch::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let text = format!(
        "num-threads: 1\nupstreams: {{php: {{backends: {{url: 'http://{}', max-connections: 1}}}}}}\nhosts: {{default: \
         {{paths: {{/: {{fastcgi.connect: {{upstream: php}}}}}}}}}}\n",
        listener.local_addr().expect("bound")
    );
    let server = Server::config(&dir, &text);
    let mut clients = [server.connect(), server.connect()];
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    }
    let (first, _) = listener.accept().expect("a request");
    listener.set_nonblocking(true).expect("a socket");
    // Both have been accepted and processed in this order.
    let mut third = server.connect();
    third.send("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n").answer();
    assert!(listener.accept().is_err(), "one connection is all");
    listener.set_nonblocking(false).expect("a socket");
    let bytes = [stdout("Content-Length: 5\n\nhello"), end(0)].concat();
    answer(first, &bytes, true);
    let (second, _) = listener.accept().expect("another request");
    answer(second, &bytes, true);
    for client in &mut clients {
        assert_eq!(client.answer().text(), "hello");
    }
}

#[test]
fn a_client_that_gives_up_aborts_the_application() {
    let dir = Scratch::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = server(&dir, listener.local_addr().expect("bound").port());
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    let (mut stream, _) = listener.accept().expect("a request");
    stream.set_nonblocking(true).expect("a socket");
    drop(client);
    let mut piece = [0; 4096];
    until("its connection is closed", || matches!(stream.read(&mut piece), Ok(0)));
}
