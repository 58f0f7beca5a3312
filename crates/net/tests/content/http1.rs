//! Over HTTP/1.1.

use crate::service::{LIMIT, News, Server, pattern, server, short, summary};
use hayami_net::Timeouts;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

fn post(path: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", content.len());
    [head.as_bytes(), content].concat()
}

/// A request in chunks of `size` bytes.
fn chunked(path: &str, content: &[u8], size: usize) -> Vec<u8> {
    let mut all = chunked_head(path).into_bytes();
    for chunk in content.chunks(size) {
        all.extend(format!("{:x}\r\n", chunk.len()).bytes().chain(chunk.iter().copied()).chain(*b"\r\n"));
    }
    all.extend_from_slice(b"0\r\n\r\n");
    all
}

fn chunked_head(path: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
}

const LAST: &[u8] = b"GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

fn read_all(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("read");
    String::from_utf8_lossy(&all).into_owned()
}

/// Reads until the data read ends with `end`.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(end.as_bytes()) {
        match stream.read(&mut byte).expect("read") {
            0 => panic!("closed after {}", String::from_utf8_lossy(&all)),
            _ => all.push(byte[0]),
        }
    }
    String::from_utf8(all).expect("text")
}

/// Sends `bytes` from another thread while reading until the server closes.
fn exchange(server: &Server, bytes: Vec<u8>) -> String {
    let mut stream = server.connect();
    let mut sending = stream.try_clone().expect("cloned");
    let sender = std::thread::spawn(move || sending.write_all(&bytes));
    let got = read_all(&mut stream);
    let _ = sender.join().expect("joined");
    got
}

#[test]
fn content_reaches_who_takes_it_whatever_its_framing_and_who_takes_it_how() {
    let server = server(Timeouts::default());
    for len in [1, 1000, 16_384, 65_536, 3_000_000] {
        let content = pattern(len);
        let want = summary(&content);
        for path in ["/sum", "/sum-by-7", "/elsewhere"] {
            if path == "/sum-by-7" && len > 100_000 {
                continue;
            }
            let framings =
                [post(path, &content), chunked(path, &content, 1000), chunked(path, &content, 1 << 20)];
            // Twice, followed by another request: no content is taken for a request.
            let input: Vec<u8> =
                framings.iter().chain(&framings).flatten().copied().chain(LAST.to_vec()).collect();
            let got = exchange(&server, input);
            assert_eq!(got.matches(&want).count(), 6, "{len} by {path}: {got}");
            assert!(got.ends_with("no content"), "{len} by {path}: {got}");
        }
    }
    server.stop();
}

#[test]
fn content_that_comes_byte_by_byte_is_taken() {
    let server = server(Timeouts::default());
    let mut stream = server.connect();
    for byte in [post("/sum", b"abc"), chunked("/sum-by-7", b"abcdefghijklmnopq", 5), LAST.to_vec()].concat()
    {
        stream.write_all(&[byte]).expect("sent");
    }
    let got = read_all(&mut stream);
    assert!(got.contains(&summary(b"abc")) && got.contains(&summary(b"abcdefghijklmnopq")), "{got}");
    server.stop();
}

#[test]
fn an_empty_content_is_one_and_no_content_is_none() {
    let server = server(Timeouts::default());
    let got = exchange(&server, [chunked("/sum", b"", 1), post("/sum", b""), LAST.to_vec()].concat());
    assert!(got.contains(&summary(b"")) && got.matches("no content").count() == 2, "{got}");
    server.stop();
}

#[test]
fn trailers_reach_who_takes_the_content() {
    let server = server(Timeouts::default());
    let request = chunked_head("/sum") + "3\r\nabc\r\n0\r\nchecksum: 1\r\n\r\n";
    let got = exchange(&server, [request.as_bytes(), LAST].concat());
    assert!(got.contains(&(summary(b"abc") + "checksum")), "{got}");
    server.stop();
}

#[test]
fn an_echo_comes_back_while_the_content_goes_in() {
    let server = server(Timeouts::default());
    let mut stream = server.connect();
    stream.write_all(chunked_head("/echo").as_bytes()).expect("sent");
    read_until(&mut stream, "\r\n\r\n");
    for word in ["one", "three", "seventeen"] {
        stream.write_all(format!("{:x}\r\n{word}\r\n", word.len()).as_bytes()).expect("sent");
        let got = read_until(&mut stream, &format!("{word}\r\n"));
        assert_eq!(got, format!("{:08x}\r\n{word}\r\n", word.len()));
    }
    stream.write_all(b"0\r\n\r\n").expect("sent");
    read_until(&mut stream, "0\r\n\r\n");
    stream.write_all(LAST).expect("sent");
    assert!(read_all(&mut stream).ends_with("no content"));
    server.stop();
}

#[test]
fn a_large_echo_of_known_length_comes_back_whole() {
    let server = server(Timeouts::default());
    let content = pattern(LIMIT as usize);
    let mut stream = server.connect();
    let mut sending = stream.try_clone().expect("cloned");
    let request = [post("/echo", &content), LAST.to_vec()].concat();
    let sender = std::thread::spawn(move || sending.write_all(&request).expect("sent"));
    let head = read_until(&mut stream, "\r\n\r\n");
    assert!(head.contains(&format!("content-length: {LIMIT}")), "{head}");
    let mut got = vec![0; content.len()];
    stream.read_exact(&mut got).expect("read");
    assert!(got == content);
    assert!(read_all(&mut stream).ends_with("no content"));
    sender.join().expect("joined");
    server.stop();
}

#[test]
fn who_takes_nothing_has_the_client_wait() {
    let server = server(short());
    let mut stream = server.connect();
    let content = pattern(LIMIT as usize);
    let mut sending = stream.try_clone().expect("cloned");
    let request = post("/gate", &content);
    let sender = std::thread::spawn(move || sending.write_all(&request).expect("sent"));
    server.wait_for(&News::Asked);
    // Longer than the read timeout, which does not apply while the handler wants no content.
    stream.set_read_timeout(Some(Duration::from_millis(900))).expect("set");
    let error = stream.read(&mut [0]).expect_err("no answer yet");
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    server.open_gate();
    read_until(&mut stream, &summary(&content));
    sender.join().expect("joined");
    server.stop();
}

#[test]
fn the_client_is_told_to_go_on_when_the_content_is_wanted() {
    let server = server(Timeouts::default());
    let mut stream = server.connect();
    let head = |path| {
        format!("POST {path} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n")
    };
    stream.write_all(head("/gate").as_bytes()).expect("sent");
    server.wait_for(&News::Asked);
    stream.set_read_timeout(Some(Duration::from_millis(200))).expect("set");
    stream.read(&mut [0]).expect_err("nobody has asked for it");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    server.open_gate();
    assert_eq!(read_until(&mut stream, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"abc").expect("sent");
    assert!(read_until(&mut stream, &summary(b"abc")).starts_with("HTTP/1.1 200"));
    // A response without 100 does not ask for the content, and whether the client sends it anyway is unknown.
    stream.write_all(head("/early").as_bytes()).expect("sent");
    let got = read_all(&mut stream);
    assert!(got.starts_with("HTTP/1.1 200") && got.contains("connection: close"), "{got}");
    server.stop();
}

#[test]
fn what_is_said_before_the_answer_goes_out_at_once_and_in_order() {
    let server = server(Timeouts::default());
    let got = exchange(&server, b"GET /interim HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_vec());
    let order: Vec<&str> = got.lines().filter(|line| line.starts_with("HTTP/1.1")).collect();
    assert_eq!(order, ["HTTP/1.1 103 Early Hints", "HTTP/1.1 102 ", "HTTP/1.1 200 OK"], "{got}");
    assert!(exchange(&server, b"GET /interim HTTP/1.0\r\n\r\n".to_vec()).starts_with("HTTP/1.1 200"));
    server.stop();
}

#[test]
fn the_connection_is_kept_if_little_of_what_nobody_took_is_left() {
    let server = server(Timeouts::default());
    let content = pattern(100_000);
    let input = [post("/early", &content), chunked("/early", &content, 999), LAST.to_vec()].concat();
    let got = exchange(&server, input);
    assert_eq!(got.matches("early").count(), 2, "{got}");
    assert!(got.ends_with("no content"), "{got}");
    server.stop();
}

#[test]
fn who_sends_without_end_what_nobody_wants_is_answered_and_cut_off() {
    let server = server(short());
    for head in [
        chunked_head("/early"),
        "POST /early HTTP/1.1\r\nhost: x\r\ncontent-length: 4000000\r\n\r\n".to_owned(),
    ] {
        let mut stream = server.connect();
        stream.write_all(head.as_bytes()).expect("sent");
        let mut sending = stream.try_clone().expect("cloned");
        let sender = std::thread::spawn(move || {
            let piece = chunked("", &pattern(50_000), 50_000);
            let start = chunked_head("").len();
            let chunk = &piece[start..piece.len() - 5];
            (0..10_000).any(|_| sending.write_all(chunk).is_err())
        });
        assert!(read_until(&mut stream, "early").starts_with("HTTP/1.1 200"));
        assert!(sender.join().expect("joined"), "somebody read 500 MB");
    }
    server.stop();
}

#[test]
fn who_stops_halfway_leaves_the_rest_to_be_thrown_away() {
    let server = server(Timeouts::default());
    let mut stream = server.connect();
    let content = pattern(200_000);
    let input = [post("/half", &content), LAST.to_vec()].concat();
    let mut sending = stream.try_clone().expect("cloned");
    let sender = std::thread::spawn(move || sending.write_all(&input).expect("sent"));
    server.wait_for(&News::Asked);
    server.open_gate();
    let got = read_all(&mut stream);
    assert!(got.contains("half") && got.ends_with("no content"), "{got}");
    sender.join().expect("joined");
    server.stop();
}

/// Sends each input and checks that it is refused with this status and reason, and the connection closed.
fn refused(server: Server, cases: &[(Vec<u8>, &str, &str)]) {
    for (input, status, why) in cases {
        let got = exchange(&server, input.clone());
        assert!(got.starts_with(status) && got.contains(why), "{status} {why}: {got}");
        assert!(got.contains("connection: close"), "{got}");
    }
    server.stop();
}

#[test]
fn content_that_breaks_a_rule_is_refused_by_who_takes_it() {
    let head = chunked_head("/sum");
    let cases = [
        (chunked("/sum", &pattern(LIMIT as usize + 1), 1 << 16), "HTTP/1.1 413", "content is longer"),
        (format!("{head}3\r\nabcXX").into_bytes(), "HTTP/1.1 400", "not followed by CRLF"),
        (format!("{head}zz\r\n").into_bytes(), "HTTP/1.1 400", "not hexadecimal"),
    ];
    refused(server(Timeouts::default()), &cases);
}

#[test]
fn content_that_does_not_come_is_refused_by_who_waits_for_it() {
    let cases = [
        ((chunked_head("/sum") + "3\r\nab").into_bytes(), "HTTP/1.1 408", "in time"),
        (post("/sum", b"abc").split_last().expect("not empty").1.to_vec(), "HTTP/1.1 408", "in time"),
    ];
    refused(server(short()), &cases);
}

#[test]
fn a_client_may_pause_if_it_is_told_that_it_may() {
    let server = server(short());
    let mut stream = server.connect();
    stream.write_all(b"POST /patient HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\na").expect("sent");
    stream.set_read_timeout(Some(Duration::from_millis(900))).expect("set");
    stream.read(&mut [0]).expect_err("no answer yet");
    stream.write_all(b"bc").expect("sent");
    read_until(&mut stream, &summary(b"abc"));
    server.stop();
}

#[test]
fn content_that_breaks_off_ends_who_takes_it_and_an_echo_does_not_look_complete() {
    let server = server(Timeouts::default());
    let mut stream = server.connect();
    stream
        .write_all(b"POST /read-canceled HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc")
        .expect("sent");
    server.wait_for(&News::Asked);
    drop(stream);
    server.wait_for(&News::Dropped);

    let mut stream = server.connect();
    stream.write_all(&post("/hold-canceled", b"abc")).expect("sent");
    server.wait_for(&News::Asked);
    // Closing resets the connection.
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("set");
    drop(stream);
    server.wait_for(&News::Dropped);

    let mut stream = server.connect();
    stream.write_all(chunked_head("/echo").as_bytes()).expect("sent");
    stream.write_all(b"3\r\nabc\r\n").expect("sent");
    read_until(&mut stream, "abc\r\n");
    stream.write_all(b"nonsense\r\n").expect("sent");
    assert_eq!(read_all(&mut stream), "");
    server.wait_for(&News::Ended(Some("the content ended early")));
    server.stop();
}

#[test]
fn an_answer_that_costs_others_work_is_given_up_with_its_client() {
    let server = server(Timeouts::default());
    let get = |path| format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").into_bytes();
    for input in [post("/hold-canceled", b"abc"), get("/gate-canceled")] {
        for half in [false, true] {
            let mut stream = server.connect();
            stream.write_all(&input).expect("sent");
            server.wait_for(&News::Asked);
            if half {
                stream.shutdown(Shutdown::Write).expect("shut down");
                assert_eq!(read_all(&mut stream), "");
            }
            drop(stream);
            server.wait_for(&News::Dropped);
        }
    }
    server.stop();
}

#[test]
fn a_half_closed_client_gets_an_answer_that_costs_nobody_work() {
    let server = server(Timeouts::default());
    let mut stream = server.connect();
    stream.write_all(b"GET /gate-alone HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
    stream.shutdown(Shutdown::Write).expect("shut down");
    server.wait_for(&News::Asked);
    server.open_gate();
    assert!(read_until(&mut stream, "opened").starts_with("HTTP/1.1 200"));
    server.stop();
}

#[test]
fn a_response_that_is_given_up_with_its_client_is_reported() {
    let server = server(Timeouts::default());
    let mut stream = server.connect();
    stream.write_all(chunked_head("/echo-canceled").as_bytes()).expect("sent");
    read_until(&mut stream, "\r\n\r\n");
    stream.shutdown(Shutdown::Write).expect("shut down");
    server.wait_for(&News::Ended(Some("the client closed the connection")));
    server.stop();
}
