//! Frames: reset streams, flow control, priorities, unknown frames, the end of a connection
//! (RFC 9113 sections 5 and 6, RFC 9218).

use crate::support::h2::{PREFACE, code, flag, kind};
use crate::support::{Scratch, Server, Wire};
use rustix::process::Signal;

const LARGE: usize = 1_000_000;

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front")
        .write("site/ten", "0123456789")
        .write("site/large", vec![b'x'; LARGE]);
    dir
}

#[test]
fn the_server_says_its_settings_first() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    let first = wire.next().expect("a frame");
    assert_eq!((first.kind, first.flags, first.stream), (kind::SETTINGS, 0, 0));
    assert_eq!(first.payload.len() % 6, 0);
    let acknowledged = wire.next_of(kind::SETTINGS);
    assert_eq!((acknowledged.flags, acknowledged.payload.len()), (flag::ACK, 0));
}

#[test]
fn a_stream_that_is_reset_sends_no_more_and_the_others_go_on() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    wire.get(1, "/large").get(3, "/large");
    // Both wait for credit after their first window.
    wire.next_of(kind::DATA);
    wire.frame(kind::RST_STREAM, 0, 1, 8_u32.to_be_bytes()).ping();
    assert_eq!(wire.answer(3).content.len(), LARGE);
    assert_eq!(wire.get(5, "/ten").answer(5).text(), "0123456789");
    assert_eq!(wire.end.goaways, []);
}

#[test]
fn nothing_is_sent_beyond_the_windows() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::bare(&server.address);
    // INITIAL_WINDOW_SIZE 5 (RFC 9113 section 6.9.2).
    wire.send(PREFACE).frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0, 0, 5]).get(1, "/ten");
    let data = wire.next_of(kind::DATA);
    assert_eq!((data.payload.as_slice(), data.flags), (&b"01234"[..], 0));
    // This client has restored the window of the stream; now it becomes negative.
    assert_eq!(wire.answer(1).text(), "0123456789");
    wire.frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]).get(3, "/ten");
    wire.next_of(kind::HEADERS);
    wire.ping();
    assert!(wire.end.resets.is_empty());
    wire.frame(kind::WINDOW_UPDATE, 0, 3, 3_u32.to_be_bytes());
    assert_eq!(wire.next_of(kind::DATA).payload, b"012");
    assert_eq!(wire.answer(3).text(), "0123456789");
}

#[test]
fn the_most_urgent_comes_first_and_incremental_ones_share() {
    let dir = site();
    let server = Server::site(&dir, "");
    let order = |asked: &[(u32, &str)], update: Option<(u32, &str)>| {
        let mut wire = Wire::bare(&server.address);
        // Windows of 8 MB for streams, of 64 KB for the connection: it is full before the others send
        // requests, and they wait together.
        wire.send(PREFACE).frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0x7f, 0xff, 0xff]);
        wire.get(1, "/large").held(65_535);
        for (stream, priority) in asked {
            wire.ask(*stream, "GET", "/large", &[("priority", priority)], true);
        }
        if let Some((stream, priority)) = update {
            let payload = [&stream.to_be_bytes(), priority.as_bytes()].concat();
            wire.frame(kind::PRIORITY_UPDATE, 0, 0, payload);
        }
        wire.ping().release();
        let mut ends = Vec::new();
        while ends.len() < asked.len() + 1 {
            let frame = wire.next_of(kind::DATA);
            if frame.flags & flag::END_STREAM != 0 {
                ends.push(frame.stream);
            }
        }
        ends.retain(|stream| *stream != 1);
        ends
    };
    assert_eq!(order(&[(3, "u=6"), (5, "u=1"), (7, "u=4")], None), [5, 7, 3]);
    assert_eq!(order(&[(3, "u=2"), (5, "u=2"), (7, "u=2")], None), [3, 5, 7], "one after another");
    assert_eq!(order(&[(3, "u=6"), (5, "u=5"), (7, "u=4")], Some((3, "u=0"))), [3, 7, 5], "PRIORITY_UPDATE");
}

#[test]
fn incremental_streams_of_one_urgency_take_turns() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    wire.ask(1, "GET", "/large", &[("priority", "u=3, i")], true);
    wire.ask(3, "GET", "/large", &[("priority", "u=3, i")], true);
    let mut received = [0_usize; 2];
    loop {
        let frame = wire.next_of(kind::DATA);
        received[(frame.stream / 2) as usize] += frame.payload.len();
        if frame.flags & flag::END_STREAM != 0 {
            break;
        }
    }
    assert!(received.iter().all(|bytes| *bytes > LARGE / 2), "{received:?}");
}

#[test]
fn unknown_frames_are_ignored() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    // Unknown types, settings and flags; PRIORITY of RFC 7540 (RFC 9113 sections 4.1, 5.3.2, 5.5, 6.5.2).
    wire.frame(0xfa, 0xff, 0, b"anything").frame(0xfb, 0, 1, []);
    wire.frame(kind::SETTINGS, 0, 0, [0xff, 0xff, 1, 2, 3, 4]);
    wire.frame(kind::PRIORITY, 0, 3, [0x80, 0, 0, 0, 200]).frame(kind::PRIORITY, 0, 1, [0, 0, 0, 3, 0]);
    wire.get(1, "/ten");
    assert_eq!(wire.answer(1).text(), "0123456789");
    wire.frame(kind::PRIORITY, 0, 1, [0, 0, 0, 3, 0]);
    let nonsense = [&1_u32.to_be_bytes()[..], b"}{not a dictionary"].concat();
    wire.frame(kind::PRIORITY_UPDATE, 0, 0, nonsense);
    wire.ask(5, "GET", "/ten", &[("priority", "u=99, nonsense=(1")], true);
    assert_eq!(wire.answer(5).text(), "0123456789");
    assert_eq!(wire.end.goaways, []);
}

#[test]
fn a_signal_ends_a_connection_in_two_steps_and_loses_nothing() {
    let dir = site();
    let mut server = Server::site(&dir, "");
    let (mut idle, mut wire) = (Wire::open(&server.address), Wire::open(&server.address));
    idle.ping();
    wire.get(1, "/large");
    wire.next_of(kind::DATA);
    server.signal(Signal::TERM);
    // RFC 9113 section 6.8: after the first GOAWAY, requests in flight are still accepted.
    let first = wire.next_of(kind::GOAWAY);
    assert_eq!((first.number(0), first.number(4)), (0x7fff_ffff, code::NO_ERROR));
    wire.get(3, "/ten");
    assert_eq!(wire.answer(1).content.len(), LARGE);
    let late = wire.answer(3);
    assert_eq!(late.text(), "0123456789", "a request that crossed the GOAWAY is answered");
    let end = wire.closed();
    assert_eq!(end.goaways.last(), Some(&(3, code::NO_ERROR)), "the second names the last stream");
    assert_eq!(idle.closed().goaways.last(), Some(&(0, code::NO_ERROR)));
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_client_that_says_goaway_gets_what_it_asked_for_and_the_connection_ends() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::open(&server.address);
    wire.get(1, "/large");
    wire.next_of(kind::DATA);
    wire.frame(kind::GOAWAY, 0, 0, [0; 8]);
    assert_eq!(wire.answer(1).content.len(), LARGE);
    wire.closed();
}

#[test]
fn errors_of_the_connection_say_which() {
    let dir = site();
    let server = Server::site(&dir, "");
    let cases: [(u8, u8, u32, &[u8], u32); 6] = [
        (kind::DATA, 0, 0, b"x", code::PROTOCOL_ERROR),
        (kind::WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff], code::FLOW_CONTROL_ERROR),
        (kind::HEADERS, 5, 1, &[0xff, 0xff, 0xff, 0xff, 0x0f], code::COMPRESSION_ERROR),
        (kind::HEADERS, 5, 2, &[0x82], code::PROTOCOL_ERROR),
        (kind::CONTINUATION, 4, 1, &[0x82], code::PROTOCOL_ERROR),
        (kind::SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 2], code::PROTOCOL_ERROR),
    ];
    for (kind, flags, stream, payload, code) in cases {
        let mut wire = Wire::open(&server.address);
        wire.frame(kind, flags, stream, payload);
        assert_eq!(wire.closed().code(), Some(code), "{kind} {payload:?}");
    }
    // More than a frame may hold: FRAME_SIZE_ERROR.
    let mut wire = Wire::open(&server.address);
    wire.send([0, 0x40, 1, kind::DATA, 0, 0, 0, 0, 1]);
    assert_eq!(wire.closed().code(), Some(6));
    assert_eq!(server.get("/ten").status, 200);
}

#[test]
fn a_preface_that_is_none_is_refused() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut wire = Wire::bare(&server.address);
    wire.send(b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n");
    let said = String::from_utf8_lossy(wire.rest()).into_owned();
    assert!(said.starts_with("HTTP/1.1 505 "), "it is a request of HTTP/1.1, or none: {said}");
    let mut wire = Wire::bare(&server.address);
    wire.send(PREFACE).frame(kind::PING, 0, 0, [0; 8]);
    assert_eq!(wire.closed().code(), Some(code::PROTOCOL_ERROR), "SETTINGS come first");
}

#[test]
fn frames_over_tls_are_the_same() {
    let dir = site();
    let server = crate::support::tls::site(&dir, "", "");
    let mut wire = crate::support::tls::wire(&server.address, &[]);
    assert_eq!(wire.get(1, "/ten").answer(1).text(), "0123456789");
    assert_eq!(wire.get(3, "/large").answer(3).content.len(), LARGE);
    wire.frame(kind::DATA, 0, 0, b"x");
    assert_eq!(wire.closed().code(), Some(code::PROTOCOL_ERROR));
}
