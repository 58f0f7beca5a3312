//! Malicious clients: each attack is cut short, the server sends ENHANCE_YOUR_CALM where it can, keeps
//! serving other clients, and does not grow.

use crate::support::h2::{End, PREFACE, code, flag, frame, get, kind, request};
use crate::support::hpack::{integer, literals};
use crate::support::upstream::Upstream;
use crate::support::{Scratch, Server, Wire, until};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Bytes that an attack may at most make the server keep.
const GROWTH: u64 = 64 << 20;

/// How many frames of a flood leave in one write.
const BATCH: u32 = 100;

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front")
        .write("site/ten", "0123456789")
        .write("site/large", vec![b'x'; 1_000_000]);
    dir
}

/// Accepts requests and sends nothing.
fn hanging() -> Upstream {
    Upstream::scripted(|conn| {
        conn.head();
        conn.is_closed();
    })
}

/// An upstream that reads no content, until the sender is dropped.
fn deaf() -> (Upstream, Sender<()>) {
    let (keep, kept) = channel();
    let kept = Mutex::new(kept);
    let upstream = Upstream::scripted(move |conn| {
        conn.head();
        let _ = kept.lock().expect("one request").recv();
    });
    (upstream, keep)
}

/// The site, with this upstream at `/up`.
#[track_caller]
fn with_upstream(dir: &Scratch, upstream: &Upstream) -> Server {
    let url = format!("http://{}", upstream.address);
    let paths = format!("/: {{file.dir: DIR/site}}, /up: {{proxy.reverse.url: '{url}'}}");
    Server::config(dir, &format!("num-threads: 1\nhosts: {{default: {{paths: {{{paths}}}}}}}\n"))
}

/// Sends `attack` repeatedly, up to `most` times, until the server closes. Another thread reads the server's
/// output. Returns the error code of its GOAWAY; `None` if there was none, or all was accepted.
#[track_caller]
fn flood(server: &Server, begin: &[u8], most: u32, mut attack: impl FnMut(u32) -> Vec<u8>) -> Option<u32> {
    let before = server.peak_memory();
    let mut wire = Wire::open(&server.address);
    wire.send(begin);
    let mut pushing = wire.pushing();
    let writing = std::thread::scope(|scope| {
        let reading = scope.spawn(|| wire.closed().code());
        for round in 0..most / BATCH {
            let bytes: Vec<u8> = (0..BATCH).flat_map(|at| attack(round * BATCH + at)).collect();
            if pushing.write_all(&bytes).is_err() {
                break;
            }
        }
        // If nothing was refused, this frame marks the end, so that reading stops.
        let _ = pushing.shutdown(std::net::Shutdown::Write);
        reading.join().expect("the reading ends")
    });
    assert!(server.peak_memory() - before < GROWTH, "grew by {}", server.peak_memory() - before);
    assert_eq!(server.get("/ten").text(), "0123456789", "the server lives");
    writing
}

#[track_caller]
fn calmed(name: &str, server: &Server, begin: &[u8], most: u32, attack: impl FnMut(u32) -> Vec<u8>) {
    let code = flood(server, begin, most, attack);
    assert_eq!(code, Some(code::ENHANCE_YOUR_CALM), "{name}");
}

#[test]
fn floods_of_frames_that_cost_nothing_to_send_are_calmed() {
    let dir = site();
    let upstream = hanging();
    let server = with_upstream(&dir, &upstream);
    // Request and reset, CVE-2023-44487: the response does not fit into the window, so that the stream stays
    // open.
    calmed("rapid reset", &server, &[], 200_000, |round| {
        let stream = 2 * round + 1;
        [get(stream, "/large"), frame(kind::RST_STREAM, 0, stream, 8_u32.to_be_bytes())].concat()
    });
    // Make the server reset, CVE-2025-8671: a window update of 0 is an error of the stream.
    calmed("MadeYouReset", &server, &[], 200_000, |round| {
        let stream = 2 * round + 1;
        [get(stream, "/large"), frame(kind::WINDOW_UPDATE, 0, stream, 0_u32.to_be_bytes())].concat()
    });
    calmed("PING", &server, &[], 1_000_000, |_| frame(kind::PING, 0, 0, [0; 8]));
    calmed("SETTINGS", &server, &[], 1_000_000, |_| frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0, 0xff, 0xff]));
    let opened = frame(kind::HEADERS, flag::END_HEADERS, 1, request("POST", "/up", &[]));
    calmed("empty CONTINUATION", &server, &frame(kind::HEADERS, 0, 1, []), 1_000_000, |_| {
        frame(kind::CONTINUATION, 0, 1, [])
    });
    calmed("full CONTINUATION", &server, &frame(kind::HEADERS, 0, 1, []), 10_000, |_| {
        frame(kind::CONTINUATION, 0, 1, literals(&[("a", &"x".repeat(16_000))]))
    });
    calmed("empty DATA", &server, &opened, 1_000_000, |_| frame(kind::DATA, 0, 1, []));
    calmed("PRIORITY", &server, &[], 1_000_000, |_| frame(kind::PRIORITY, 0, 1, [0, 0, 0, 3, 0]));
    calmed("PRIORITY_UPDATE", &server, &[], 1_000_000, |round| {
        frame(kind::PRIORITY_UPDATE, 0, 0, [&(2 * (round % 1000) + 1).to_be_bytes()[..], b"u=1"].concat())
    });
    calmed("unknown frames", &server, &[], 1_000_000, |_| frame(0xfa, 0, 0, []));
    // A malformed request is reset, but its content keeps coming, far beyond its window.
    let malformed = frame(kind::HEADERS, flag::END_HEADERS, 1, request("POST", "/ten", &[("X", "y")]));
    calmed("content on a closed stream", &server, &malformed, 100_000, |_| {
        frame(kind::DATA, 0, 1, [0; 1000])
    });
    calmed("WINDOW_UPDATE of one", &server, &get(1, "/large"), 1_000_000, |round| {
        frame(kind::WINDOW_UPDATE, 0, u32::from(round % 2 == 0), 1_u32.to_be_bytes())
    });
}

#[test]
fn a_bomb_of_references_into_the_table_is_refused() {
    let dir = site();
    let server = Server::site(&dir, "");
    // One entry of 4,000 bytes, referred to 15,000 times: 60 MB of field lines in 16 KB (RFC 7541 section 7.3).
    let mut first =
        literals(&[(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/ten")]);
    first.extend_from_slice(&[0x40, 1, b'a']);
    integer(&mut first, 0, 7, 4000);
    first.extend_from_slice(&[b'x'; 4000]);
    let mut wire = Wire::open(&server.address);
    wire.frame(kind::HEADERS, 5, 1, first);
    assert_eq!(wire.answer(1).status, 200);
    let before = server.peak_memory();
    let mut bomb = request("GET", "/ten", &[]);
    bomb.extend_from_slice(&[0xbe; 15_000]);
    wire.frame(kind::HEADERS, 5, 3, bomb);
    while wire.end == Default::default() && wire.status(3).is_none() && wire.next().is_some() {}
    assert_eq!(wire.status(3), Some(431), "{:?}", wire.end);
    assert!(server.peak_memory() - before < GROWTH);
    assert_eq!(server.get("/ten").status, 200);
}

#[test]
fn windows_that_overflow_end_stream_or_connection() {
    let dir = site();
    let server = Server::site(&dir, "");
    let most = 0x7fff_ffff_u32.to_be_bytes();
    let mut wire = Wire::bare(&server.address);
    // The stream has a window of nothing, and stays open.
    wire.send(PREFACE).frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]).get(1, "/large");
    wire.next_of(kind::HEADERS);
    // In one write: between two, the server could send a byte, and the remaining window would not overflow.
    let updates = [1_u32.to_be_bytes(), most].map(|increment| frame(kind::WINDOW_UPDATE, 0, 1, increment));
    wire.send(updates.concat());
    assert_eq!(wire.reset_of(1), Some(code::FLOW_CONTROL_ERROR));
    assert_eq!(wire.end.goaways, [], "the connection lives");
    wire.frame(kind::WINDOW_UPDATE, 0, 0, most);
    assert_eq!(wire.closed().code(), Some(code::FLOW_CONTROL_ERROR));
    // A larger first window, for streams that have nearly all there is (RFC 9113 section 6.9.2).
    let mut wire = Wire::bare(&server.address);
    wire.send(PREFACE).frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]).get(1, "/large");
    wire.next_of(kind::HEADERS);
    wire.frame(kind::WINDOW_UPDATE, 0, 1, most).frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0x7f, 0xff, 0xff]);
    assert_eq!(wire.closed().code(), Some(code::FLOW_CONTROL_ERROR));
}

#[test]
fn content_beyond_the_window_is_an_error() {
    let dir = site();
    let (upstream, _keep) = deaf();
    let server = with_upstream(&dir, &upstream);
    let mut wire = Wire::open(&server.address);
    // The upstream takes nothing, so that no credit comes back; this is far more than every window.
    let mut bytes = frame(kind::HEADERS, flag::END_HEADERS, 1, request("POST", "/up", &[]));
    bytes.extend(frame(kind::DATA, 0, 1, vec![b'x'; 16_384]).repeat(4096));
    wire.send(bytes);
    assert_eq!(wire.reset_of(1), Some(code::FLOW_CONTROL_ERROR), "{:?}", wire.end);
    assert_eq!(server.get("/ten").status, 200);
}

#[test]
fn twenty_thousand_half_open_streams_are_turned_away() {
    let (dir, upstream) = (site(), hanging());
    let server = with_upstream(&dir, &upstream);
    let before = server.peak_memory();
    for _ in 0..20 {
        let mut wire = Wire::open(&server.address);
        let bytes: Vec<u8> = (0..1000)
            .flat_map(|number| {
                frame(kind::HEADERS, flag::END_HEADERS, 2 * number + 1, request("POST", "/up", &[]))
            })
            .collect();
        wire.send(bytes);
        // A hundred are open (SETTINGS_MAX_CONCURRENT_STREAMS); the others are refused.
        let refused: Vec<_> = (100..1000).map(|number| (2 * number + 1, code::REFUSED_STREAM)).collect();
        until("the last one is refused", || wire.ping().end.resets.len() >= refused.len());
        assert_eq!(wire.end, End { goaways: Vec::new(), resets: refused });
    }
    assert!(server.peak_memory() - before < GROWTH, "grew by {}", server.peak_memory() - before);
    assert_eq!(server.get("/ten").text(), "0123456789");
}

/// Clients that request much and read nothing.
#[test]
fn windows_that_stay_at_nothing_hold_no_memory_and_are_cut() {
    let dir = site();
    let timeouts = "http2-idle-timeout: 1\nhttp1-response-io-timeout: 1\nnum-threads: 1\n";
    let server = Server::config(&dir, &format!("{timeouts}{}", crate::support::tls::HOSTS));
    assert_eq!(server.get("/large").status, 200);
    let (before, sockets) = (server.peak_memory(), server.sockets());
    let begin = Instant::now();
    let mut stalled = Vec::new();
    for _ in 0..50 {
        let mut wire = Wire::bare(&server.address);
        wire.send(PREFACE).frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]);
        for stream in (1..200).step_by(2) {
            wire.get(stream, "/large");
        }
        stalled.push(wire);
    }
    assert!(server.peak_memory() - before < GROWTH, "grew by {}", server.peak_memory() - before);
    until("all are cut", || server.sockets() <= sockets);
    assert!(begin.elapsed() < Duration::from_secs(15));
    assert_eq!(server.get("/ten").status, 200);
}

#[test]
fn a_client_that_reads_nothing_is_cut_and_holds_little() {
    let dir = site();
    let timeouts = "http2-idle-timeout: 1\nhttp1-response-io-timeout: 1\nnum-threads: 1\n";
    let server = Server::config(&dir, &format!("{timeouts}{}", crate::support::tls::HOSTS));
    assert_eq!(server.get("/large").status, 200);
    let (before, sockets) = (server.peak_memory(), server.sockets());
    let mut deaf = TcpStream::connect(&server.address).expect("connected");
    let mut bytes = [PREFACE, &frame(kind::SETTINGS, 0, 0, [0, 4, 0x7f, 0xff, 0xff, 0xff])].concat();
    bytes.extend(frame(kind::WINDOW_UPDATE, 0, 0, 0x7ff0_0000_u32.to_be_bytes()));
    bytes.extend((0..90).flat_map(|number| get(2 * number + 1, "/large")));
    deaf.write_all(&bytes).expect("sent");
    until("it is cut", || server.sockets() <= sockets);
    assert!(server.peak_memory() - before < GROWTH, "grew by {}", server.peak_memory() - before);
    // Bytes in flight still arrive, then the end.
    deaf.set_read_timeout(Some(crate::support::PATIENCE)).expect("a timeout");
    let mut sink = vec![0; 1 << 20];
    loop {
        match deaf.read(&mut sink) {
            Ok(0) => break,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
