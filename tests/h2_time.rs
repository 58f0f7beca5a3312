//! Timeouts of an HTTP/2 connection: its start, requests, idle time, end.

use crate::support::h2::{PREFACE, code, flag, frame, kind, request};
use crate::support::{Client, Scratch, Server, Wire, tls, until};
use rustix::process::Signal;
use std::time::{Duration, Instant};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front")
        .write("site/ten", "0123456789")
        .write("site/large", vec![b'x'; 30_000_000]);
    dir
}

fn hasty(dir: &Scratch) -> Server {
    let timeouts =
        "http2-idle-timeout: 1\nhttp1-request-timeout: 1\nhttp1-request-io-timeout: 1\nnum-threads: 1\n";
    Server::config(dir, &format!("{timeouts}{}", tls::HOSTS))
}

#[test]
fn an_idle_connection_gets_goaway_and_is_closed() {
    let dir = site();
    let server = hasty(&dir);
    let begin = Instant::now();
    let mut wire = Wire::open(&server.address);
    assert_eq!(wire.get(1, "/ten").answer(1).status, 200);
    assert_eq!(wire.closed().code(), Some(0), "GOAWAY with NO_ERROR");
    assert!(begin.elapsed() >= Duration::from_millis(700), "it had its time");
}

#[test]
fn heads_and_prefaces_that_do_not_end_are_cut() {
    let dir = site();
    let server = hasty(&dir);
    let head = frame(kind::HEADERS, flag::END_STREAM, 1, request("GET", "/ten", &[]));
    let begun = [PREFACE, &frame(kind::SETTINGS, 0, 0, [])].concat();
    for bytes in [&PREFACE[..10], &PREFACE[..23]] {
        let answers = server.ask(bytes);
        assert_eq!(answers.first().map(|answer| answer.status), Some(408), "{bytes:?}");
    }
    for bytes in [PREFACE, &[&begun, &head[..5]].concat(), &[&begun, &head[..]].concat()] {
        // Not by `Wire`, which would acknowledge the server's SETTINGS.
        let mut client = server.connect();
        let said = client.send(bytes).rest();
        let goaway = frame(kind::GOAWAY, 0, 0, [[0; 4], code::NO_ERROR.to_be_bytes()].concat());
        assert!(said.ends_with(&goaway), "{bytes:?}: {said:?}");
    }
}

#[test]
fn pings_alone_keep_no_connection_for_ever() {
    let dir = site();
    let server = hasty(&dir);
    let begin = Instant::now();
    let mut wire = Wire::open(&server.address);
    while begin.elapsed() < Duration::from_secs(4) && wire.end.goaways.is_empty() {
        wire.frame(kind::PING, 0, 0, [0; 8]);
        if wire.next().is_none() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(begin.elapsed() < Duration::from_secs(4), "it was idle all the time");
}

#[test]
fn a_handshake_that_does_not_end_is_cut() {
    let dir = site();
    let server = tls::site(&dir, "", "handshake-timeout: 1\nnum-threads: 1\n");
    let begin = Instant::now();
    let mut silent = Client::connect(&server.address);
    assert!(silent.is_closed(), "not a word was said");
    let mut begun = Client::connect(&server.address);
    begun.send([0x16, 3, 1, 2, 0, 1, 0]);
    let _ = begun.rest();
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_slow_reader_gets_everything() {
    let dir = site();
    let server = hasty(&dir);
    let mut wire = Wire::open(&server.address);
    wire.get(1, "/large");
    let begin = Instant::now();
    // Longer than the idle timeout, a piece at a time.
    while begin.elapsed() < Duration::from_millis(2500) {
        assert!(wire.next().is_some(), "cut: {:?}", wire.end);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(wire.answer(1).content.len(), 30_000_000);
}

#[test]
fn the_graceful_end_has_its_own_timeout() {
    let dir = site();
    let text = format!("http2-graceful-shutdown-timeout: 1\n{}", tls::HOSTS);
    let mut server = Server::config(&dir, &text);
    let mut wire = Wire::bare(&server.address);
    wire.send(PREFACE).frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]).ping();
    wire.get(1, "/large");
    wire.next_of(kind::HEADERS);
    let begin = Instant::now();
    server.signal(Signal::TERM);
    until("the program ends", || server.try_wait().is_some());
    assert!(begin.elapsed() < Duration::from_secs(10));
}
