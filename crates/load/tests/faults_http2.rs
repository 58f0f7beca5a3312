//! HTTP/2 servers that stall, abort, send wrong data or speak another protocol: counted, never a hang or a
//! panic.

mod support;

use hayami_load::plan::{KeepAlive, Plan, Protocol, Until};
use hayami_load::{Errors, Outcome};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use support::{outcome, plan, serve, wait_for_end};

/// What comes after the last byte.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Close,
    Stall,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn settings() -> Vec<u8> {
    frame(4, 0, 0, &[])
}

/// HEADERS of stream 1: `:status 200` (RFC 7541 §A, index 8), a content-length (index 28) if there is one.
fn head(length: Option<&str>, flags: u8) -> Vec<u8> {
    let mut block = vec![0x88];
    if let Some(length) = length {
        block.extend([0x0f, 28 - 15, length.len() as u8]);
        block.extend_from_slice(length.as_bytes());
    }
    frame(1, flags, 1, &block)
}

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Reads until a request has come: the preface (RFC 9113 §3.4), and frames up to HEADERS.
fn has_asked(stream: &mut TcpStream) -> bool {
    let (mut input, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let mut at = 24;
        while let Some(frame) = input.get(at..at + 9) {
            if frame[3] == 1 {
                return true;
            }
            at += 9 + u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize;
        }
        match stream.read(&mut piece) {
            Ok(bytes @ 1..) => input.extend_from_slice(&piece[..bytes]),
            _ => return false,
        }
    }
}

/// A server that sends this in answer to the first request of a connection.
fn says(bytes: Vec<u8>, then: Then) -> SocketAddr {
    serve(move |mut stream, _| {
        if has_asked(&mut stream) {
            let _ = stream.write_all(&bytes);
            if then == Then::Stall {
                wait_for_end(stream);
            } else {
                // Closing with unread input would cause a reset that overtakes the response.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                wait_for_end(stream);
            }
        }
    })
}

fn http2(address: SocketAddr, requests: u64) -> Plan {
    // After a stream error the connection would continue, but these servers stop.
    Plan { protocol: Protocol::Http2, keep_alive: KeepAlive::Off, ..plan(address, requests) }
}

type Case = (&'static str, Vec<Vec<u8>>, Then, fn(&Errors) -> u64);

#[test]
fn every_kind_of_fault_is_counted_as_what_it_is() {
    let (whole, begun) = (END_STREAM | END_HEADERS, END_HEADERS);
    let content = |text: &[u8], flags| frame(0, flags, 1, text);
    let cases: Vec<Case> = vec![
        ("no answer in time", vec![], Then::Stall, |errors| errors.timeout),
        ("half an answer in time", vec![head(Some("9"), begun), content(b"half", 0)], Then::Stall, |e| {
            e.timeout
        }),
        ("closed without an answer", vec![], Then::Close, |errors| errors.reset),
        ("closed within the content", vec![head(Some("9"), begun), content(b"half", 0)], Then::Close, |e| {
            e.short
        }),
        ("less than it said", vec![head(Some("9"), begun), content(b"half", END_STREAM)], Then::Stall, |e| {
            e.protocol
        }),
        ("more than it said", vec![head(Some("2"), begun), content(b"half", END_STREAM)], Then::Stall, |e| {
            e.protocol
        }),
        ("a stream reset", vec![frame(3, 0, 1, &2u32.to_be_bytes())], Then::Stall, |errors| errors.reset),
        ("content of no stream", vec![frame(0, 0, 0, b"x")], Then::Stall, |errors| errors.protocol),
        ("content before a head", vec![content(b"x", END_STREAM)], Then::Stall, |errors| errors.protocol),
        ("fields that are none", vec![frame(1, whole, 1, &[0x80])], Then::Stall, |errors| errors.protocol),
        ("a head without a status", vec![frame(1, whole, 1, &[])], Then::Stall, |errors| errors.protocol),
        ("a frame too large", vec![frame(0, 0, 1, &[0; 20_000])], Then::Stall, |errors| errors.protocol),
    ];
    for (name, frames, then, kind) in cases {
        let Outcome { tally, .. } =
            outcome(&http2(says([vec![settings()], frames].concat().concat(), then), 8));
        assert_eq!((tally.responses, kind(&tally.errors)), (0, 8), "{name}: {:?}", tally.errors);
        assert_eq!(tally.errors.total(), 8, "{name}: {:?}", tally.errors);
    }
}

#[test]
fn a_server_that_sends_everybody_away_ends_all_the_same() {
    // NO_ERROR, and nothing was processed: the requests may be sent again (RFC 9113 §6.8), forever.
    let away = [settings(), frame(7, 0, 0, &[0; 8])].concat();
    let plan =
        Plan { until: Until::Elapsed(Duration::from_millis(300)), ..http2(says(away, Then::Close), 0) };
    let outcome = outcome(&plan);
    assert_eq!((outcome.tally.responses, outcome.elapsed), (0, Duration::from_millis(300)));
}
