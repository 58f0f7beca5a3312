//! Over HTTP/2, frame by frame.

use crate::service::{LIMIT, News, Server, pattern, server, short, summary};
use hayami_h2::PREFACE;
use hayami_net::Timeouts;
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// The initial window of a stream.
const WINDOW: usize = 65_536;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A request head; its fields are literals that are not indexed.
fn head(stream: u32, path: &str, more: &[(&str, &str)], flags: u8) -> Vec<u8> {
    let first = [(":method", "POST"), (":scheme", "http"), (":authority", "x"), (":path", path)];
    let mut block = Vec::new();
    for (name, value) in first.iter().chain(more) {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).expect("short"));
            block.extend_from_slice(text.as_bytes());
        }
    }
    frame(HEADERS, flags | END_HEADERS, stream, &block)
}

fn rst(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())
}

/// What was received on a stream.
#[derive(Debug, Default)]
struct Stream {
    /// First bytes of the field blocks.
    heads: Vec<u8>,
    content: Vec<u8>,
    ended: bool,
    reset: Option<u32>,
    /// Bytes granted beyond the initial window.
    granted: usize,
}

impl Stream {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.content).into_owned()
    }
}

/// A client that records everything.
struct Client {
    socket: TcpStream,
    streams: HashMap<u32, Stream>,
    goaway: bool,
    input: Vec<u8>,
}

impl Client {
    fn new(server: &Server) -> Self {
        let mut socket = server.connect();
        // The client grants more than any test needs.
        let settings = frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
        let window = frame(WINDOW_UPDATE, 0, 0, &0x7000_0000_u32.to_be_bytes());
        socket.write_all(&[&PREFACE[..], &settings, &window].concat()).expect("sent");
        socket.set_nonblocking(true).expect("set");
        Self { socket, streams: HashMap::new(), goaway: false, input: Vec::new() }
    }

    fn send(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.socket.write(rest) {
                Ok(sent) => rest = &rest[sent..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.take(),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Handles received frames.
    fn take(&mut self) {
        let mut bytes = [0; 65_536];
        match self.socket.read(&mut bytes) {
            Ok(0) => self.goaway = true,
            Ok(read) => self.input.extend_from_slice(&bytes[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
        while let Some(len) = self.input.first_chunk().map(|[a, b, c]| u32::from_be_bytes([0, *a, *b, *c])) {
            let end = 9 + len as usize;
            if self.input.len() < end {
                return;
            }
            let frame: Vec<u8> = self.input.drain(..end).collect();
            self.understand(
                frame[3],
                frame[4],
                u32::from_be_bytes([frame[5], frame[6], frame[7], frame[8]]),
                &frame[9..],
            );
        }
    }

    fn understand(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) {
        let stream = self.streams.entry(id).or_default();
        let number = || u32::from_be_bytes(payload[..4].try_into().expect("four bytes"));
        match kind {
            DATA => stream.content.extend_from_slice(payload),
            HEADERS => stream.heads.push(payload[0]),
            RST_STREAM => stream.reset = Some(number()),
            WINDOW_UPDATE => stream.granted += number() as usize,
            GOAWAY => self.goaway = true,
            SETTINGS if flags == 0 => self.send(&frame(SETTINGS, 1, 0, &[])),
            _ => {}
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            self.streams.entry(id).or_default().ended = true;
        }
    }

    fn stream(&mut self, id: u32) -> &Stream {
        self.streams.entry(id).or_default()
    }

    /// Handles received frames until `done` holds for a stream.
    fn until(&mut self, id: u32, done: impl Fn(&Stream) -> bool) -> &Stream {
        let begun = std::time::Instant::now();
        while !done(self.stream(id)) {
            assert!(!self.goaway, "the server has closed: {:?}", self.streams);
            assert!(begun.elapsed() < Duration::from_secs(20), "in vain: {:?}", self.stream(id));
            self.take();
        }
        self.stream(id)
    }

    /// The content of a response.
    fn answer(&mut self, id: u32) -> String {
        self.until(id, |stream| stream.ended).text()
    }

    /// Sends content as windows allow, in frames of `size` bytes, the last of which ends the stream.
    fn send_content(&mut self, id: u32, content: &[u8], size: usize) {
        let mut sent = 0;
        let frames = content.chunks(size).count().max(1);
        for (at, piece) in content.chunks(size).chain(content.is_empty().then_some(&[][..])).enumerate() {
            self.until(id, |stream| sent + piece.len() <= WINDOW + stream.granted);
            sent += piece.len();
            let end = if at + 1 == frames { END_STREAM } else { 0 };
            self.send(&frame(DATA, end, id, piece));
        }
    }

    /// Checks that the server still answers on this connection.
    fn check(&mut self, id: u32) {
        self.send(&head(id, "/sum", &[], 0));
        self.send_content(id, b"check", 2);
        assert_eq!(self.answer(id), summary(b"check"));
    }
}

#[test]
fn content_reaches_who_takes_it_whatever_its_frames_and_who_takes_it_how() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    let mut id = 1;
    for (len, size) in [(0, 1), (1, 1), (5000, 1), (65_536, 16_384), (3_000_000, 16_384), (300_000, 777)] {
        let content = pattern(len);
        for path in ["/sum", "/elsewhere", "/sum-by-7"] {
            for declared in [false, true] {
                if path == "/sum-by-7" && len > 100_000 {
                    continue;
                }
                let length = len.to_string();
                let more = [("content-length", &*length)];
                client.send(&head(id, path, if declared { &more } else { &[] }, 0));
                client.send_content(id, &content, size);
                assert_eq!(client.answer(id), summary(&content), "{len} by {size} to {path}");
                id += 2;
            }
        }
    }
    client.send(&head(id, "/sum", &[], END_STREAM));
    assert_eq!(client.answer(id), "no content");
    server.stop_after(client);
}

#[test]
fn trailers_reach_who_takes_the_content() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    client.send(&head(1, "/sum", &[], 0));
    client.send(&frame(DATA, 0, 1, b"abc"));
    client.send(&frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\0\x08checksum\x011"));
    assert_eq!(client.answer(1), summary(b"abc") + "checksum");
    server.stop_after(client);
}

#[test]
fn an_echo_comes_back_while_the_content_goes_in() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    client.send(&head(1, "/echo", &[], 0));
    let mut all = Vec::new();
    for word in ["one", "three", "seventeen"] {
        client.send(&frame(DATA, 0, 1, word.as_bytes()));
        all.extend_from_slice(word.as_bytes());
        client.until(1, |stream| stream.content == all);
    }
    client.send(&frame(DATA, END_STREAM, 1, b""));
    client.until(1, |stream| stream.ended);
    let content = pattern(LIMIT as usize);
    client.send(&head(3, "/echo", &[], 0));
    client.send_content(3, &content, 16_384);
    assert!(client.until(3, |stream| stream.ended).content == content);
    server.stop_after(client);
}

#[test]
fn who_takes_nothing_has_its_client_wait_and_no_other() {
    let server = server(short());
    let mut client = Client::new(&server);
    let content = pattern(WINDOW);
    // Together more than the connection's window.
    let waiting: Vec<u32> = (1..60).step_by(2).collect();
    for id in &waiting {
        client.send(&head(*id, "/gate", &[], 0));
        content.chunks(16_384).for_each(|piece| client.send(&frame(DATA, 0, *id, piece)));
    }
    for id in (101..111).step_by(2) {
        client.check(id);
    }
    for id in &waiting {
        assert_eq!(client.stream(*id).granted, 0, "nobody has taken anything");
    }
    server.open_gate();
    for id in &waiting {
        client.until(*id, |stream| stream.granted >= WINDOW / 2);
        client.send(&frame(DATA, END_STREAM, *id, b""));
        assert_eq!(client.answer(*id), summary(&content));
        assert!(client.stream(*id).granted <= 2 * WINDOW, "the window doubles at most");
    }
    assert!(client.stream(0).granted > 29 * WINDOW - (1 << 20));
    server.stop_after(client);
}

#[test]
fn more_than_the_window_is_the_end_of_the_stream() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    client.send(&head(1, "/hold", &[], 0));
    pattern(WINDOW).chunks(16_384).for_each(|piece| client.send(&frame(DATA, 0, 1, piece)));
    server.wait_for(&News::Asked);
    client.send(&frame(DATA, 0, 1, b"x"));
    assert_eq!(client.until(1, |stream| stream.reset.is_some()).reset, Some(3));
    server.wait_for(&News::Dropped);
    client.check(3);
    server.stop_after(client);
}

#[test]
fn padding_is_granted_at_once_and_makes_no_window_grow() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    client.send(&head(1, "/gate", &[], 0));
    let padded = [&[255][..], b"x", &[0; 255]].concat();
    let frames = 2000;
    for sent in 1..=frames {
        client.send(&frame(DATA, PADDED, 1, &padded));
        client.until(1, |stream| (sent + 1) * padded.len() <= WINDOW + stream.granted);
    }
    let stream = client.stream(1);
    assert!(stream.granted <= frames * 256, "{} bytes for {frames} of padding", stream.granted);
    client.send(&frame(DATA, END_STREAM, 1, b""));
    server.open_gate();
    assert_eq!(client.answer(1), summary(&vec![b'x'; frames]));
    server.stop_after(client);
}

#[test]
fn canceling_drops_who_takes_the_content_and_gives_the_connections_window_back() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    let content = pattern(WINDOW);
    for id in (1..200).step_by(2) {
        let path = if id % 4 == 1 { "/hold" } else { "/read-canceled" };
        client.send(&head(id, path, &[], 0));
        content.chunks(16_384).for_each(|piece| client.send(&frame(DATA, 0, id, piece)));
        server.wait_for(&News::Asked);
        client.send(&rst(id));
        server.wait_for(&News::Dropped);
    }
    client.check(201);
    // All bytes sent are granted again, except for up to half a window: smaller grants are withheld.
    let (sent, first) = (100 * WINDOW, 1 << 20);
    let granted = client.stream(0).granted + 65_535;
    assert!(granted + first > sent, "{granted} of {sent}");
    server.stop_after(client);
}

#[test]
fn a_connection_that_ends_drops_who_takes_content() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    client.send(&head(1, "/hold", &[], 0));
    client.send(&frame(DATA, 0, 1, b"abc"));
    server.wait_for(&News::Asked);
    drop(client);
    server.wait_for(&News::Dropped);
    server.stop();
}

#[test]
fn who_is_answered_early_may_send_a_little_more_and_is_told_to_stop_then() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    client.send(&head(1, "/early", &[], 0));
    assert_eq!(client.answer(1), "early");
    client.send_content(1, &pattern(200_000), 1000);
    client.send(&head(3, "/early", &[], 0));
    let mut sent = 0;
    while client.stream(3).reset.is_none() {
        assert!(sent < 1 << 20, "nobody stops us");
        let fits = |stream: &Stream| sent + 1000 <= WINDOW + stream.granted;
        if fits(client.until(3, |stream| stream.reset.is_some() || fits(stream))) {
            client.send(&frame(DATA, 0, 3, &[b'x'; 1000]));
            sent += 1000;
        }
    }
    assert_eq!((client.answer(3), client.stream(3).reset), ("early".to_owned(), Some(0)));
    client.check(5);
    server.stop_after(client);
}

#[test]
fn who_stops_halfway_leaves_the_rest_to_be_thrown_away() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    let content = pattern(200_000);
    client.send(&head(1, "/half", &[("content-length", "200000")], 0));
    // Content sent before the response, and partly after it.
    client.send_content(1, &content, 1000);
    client.send(&head(3, "/half", &[("content-length", "200000")], 0));
    content[..60_000].chunks(1000).for_each(|piece| client.send(&frame(DATA, 0, 3, piece)));
    server.open_gate();
    assert_eq!([client.answer(1), client.answer(3)], ["half", "half"]);
    let mut sent = 60_000;
    for piece in content[sent..].chunks(1000) {
        client.until(3, |stream| sent + piece.len() <= WINDOW + stream.granted);
        sent += piece.len();
        client.send(&frame(DATA, if sent == content.len() { END_STREAM } else { 0 }, 3, piece));
    }
    client.check(5);
    assert_eq!([client.stream(1).reset, client.stream(3).reset], [None, None]);
    server.stop_after(client);
}

#[test]
fn too_much_is_refused_by_who_takes_it() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    client.send(&head(1, "/sum", &[], 0));
    let mut sent = 0;
    while !client.until(1, |stream| stream.ended || sent + 16_384 <= WINDOW + stream.granted).ended {
        client.send(&frame(DATA, 0, 1, &[b'x'; 16_384]));
        sent += 16_384;
    }
    assert!(client.answer(1).starts_with("413: "), "{:?}", client.stream(1));
    client.check(3);
    server.stop_after(client);
}

#[test]
fn content_that_does_not_come_is_refused_by_who_waits_for_it() {
    let server = server(short());
    let mut client = Client::new(&server);
    client.send(&head(3, "/sum", &[("content-length", "9")], 0));
    client.send(&head(5, "/patient", &[("content-length", "9")], 0));
    client.send(&frame(DATA, 0, 3, b"abc"));
    assert!(client.answer(3).starts_with("408: "), "{:?}", client.stream(3));
    client.send(&frame(DATA, END_STREAM, 5, b"patiently"));
    assert_eq!(client.answer(5), summary(b"patiently"));
    server.stop_after(client);
}

#[test]
fn the_client_is_told_to_go_on_when_the_content_is_wanted() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    let expects = [("expect", "100-continue"), ("content-length", "3")];
    client.send(&head(1, "/gate", &expects, 0));
    server.wait_for(&News::Asked);
    client.check(3);
    assert_eq!(client.stream(1).heads, [], "nobody has asked for it");
    server.open_gate();
    client.until(1, |stream| !stream.heads.is_empty());
    client.send(&frame(DATA, END_STREAM, 1, b"abc"));
    assert_eq!(client.answer(1), summary(b"abc"));
    assert_eq!(client.stream(1).heads.len(), 2);
    client.send(&head(5, "/early", &expects, 0));
    assert_eq!(client.answer(5), "early");
    assert_eq!(client.stream(5).heads.len(), 1);
    server.stop_after(client);
}

#[test]
fn what_is_said_before_the_answer_goes_out_at_once() {
    let server = server(Timeouts::default());
    let mut client = Client::new(&server);
    client.send(&head(1, "/interim", &[], END_STREAM));
    assert_eq!(client.answer(1), "hinted");
    assert_eq!(client.stream(1).heads.len(), 3);
    server.stop_after(client);
}
