//! The targets of HTTP/2: bytes as frames to both roles, and sequences of frames and calls to a server.

use crate::Decisions;
use crate::h2_windows::{Windows, frame, frames};
use hayami_h2::{Body, Client, Config, ErrorCode, Event, Key, PREFACE, Request, RequestContent, Server};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};

/// Limits that short inputs can reach.
pub(crate) const SMALL: Config = Config {
    max_concurrent_streams: 3,
    initial_window: 20,
    max_stream_window: 80,
    connection_window: 65_535,
    max_connection_window: 65_535,
    max_header_list: 200,
    max_fields: 4,
    max_target: 10,
    table_size: 64,
    max_frame: 16_384,
    enable_connect_protocol: true,
    max_interim: 2,
    ..hayami_h2::DEFAULT
};

/// Whatever bytes come as frames, and however they are split, neither role panics, consumes more than there
/// is or stops making progress, and the split changes nothing.
pub fn h2_frames(bytes: &[u8]) {
    let (mut decisions, wire) = Decisions::and_rest(bytes);
    let config = if decisions.next().is_multiple_of(2) { SMALL } else { Config::default() };
    let step = usize::from(decisions.next()) + 1;
    let with_preface = [&PREFACE[..], wire].concat();
    assert_eq!(serve(&config, &with_preface, step), serve(&config, &with_preface, wire.len() + 24));
    assert_eq!(ask(&config, wire, step), ask(&config, wire, wire.len().max(1)));
}

/// What a server wrote, and how many events there were.
fn serve(config: &Config, wire: &[u8], step: usize) -> (Vec<u8>, usize) {
    let mut server: Server<u8> = Server::new(config);
    let (mut head, mut out) = (RequestHead::default(), Vec::new());
    server.start(config, &mut out);
    let (mut at, mut come, mut events) = (0, 0, 0);
    while come < wire.len() {
        come = (come + step).min(wire.len());
        while let Ok(received) = server.receive(config, 0, &wire[at..come], &mut head, &mut out) {
            assert!(received.consumed <= come - at);
            at += received.consumed;
            match received.event {
                Event::More => break,
                Event::Handled => {}
                Event::Content { start, len, .. } => {
                    assert!(len > 0 && start + len <= received.consumed);
                    events += 1;
                }
                _ => events += 1,
            }
            assert!(received.consumed > 0);
        }
        frames(&out).for_each(drop);
    }
    (out, events)
}

/// The output of a client with two requests, and its number of events.
fn ask(config: &Config, wire: &[u8], step: usize) -> (Vec<u8>, usize) {
    let mut client: Client<u8> = Client::new(config);
    let (mut head, mut out) = (ResponseHead::new(Status::OK), Vec::new());
    client.start(config, &mut out);
    for method in [&b"GET"[..], b"HEAD"] {
        let (scheme, authority, path) = (b"http", b"a", b"/");
        let content = RequestContent::None;
        let request = Request { method, scheme, authority, path, protocol: None, content };
        client.send_request(config, &request, &FieldSection::default(), &mut out).expect("there is room");
    }
    let (mut at, mut come, mut events) = (0, 0, 0);
    while come < wire.len() {
        come = (come + step).min(wire.len());
        while let Ok(received) = client.receive(config, 0, &wire[at..come], &mut head, &mut out) {
            assert!(received.consumed <= come - at);
            at += received.consumed;
            match received.event {
                hayami_h2::ClientEvent::More => break,
                hayami_h2::ClientEvent::Handled => {}
                _ => events += 1,
            }
            assert!(received.consumed > 0);
        }
    }
    frames(&out[PREFACE.len()..]).for_each(drop);
    (out, events)
}

/// A server never panics and never sends beyond a window, whatever frames come between whatever calls; keys
/// that are stale do no harm.
pub fn h2_server(bytes: &[u8]) {
    let mut program = Decisions::of(bytes);
    let config = if program.next().is_multiple_of(2) { SMALL } else { Config::default() };
    let mut peer = Peer::new(&config);
    for _ in 0..bytes.len() {
        if !peer.step(&config, &mut program) {
            break;
        }
        peer.check();
    }
}

/// A server, and what its peer has granted.
struct Peer {
    server: Server<Vec<u8>>,
    head: RequestHead,
    out: Vec<u8>,
    keys: Vec<Key>,
    /// Those last marked as having content.
    ready: Vec<Key>,
    windows: Windows,
    now: u32,
}

impl Peer {
    fn new(config: &Config) -> Self {
        let mut server = Server::new(config);
        let (mut head, mut out) = (RequestHead::default(), Vec::new());
        server.start(config, &mut out);
        let beginning = [&PREFACE[..], b"\0\0\0\x04\0\0\0\0\0"].concat();
        for at in [0, PREFACE.len()] {
            server.receive(config, 0, &beginning[at..], &mut head, &mut out).expect("a beginning");
        }
        out.clear();
        let (keys, ready, windows) = (Vec::new(), Vec::new(), Windows::new());
        Self { server, head, out, keys, ready, windows, now: 0 }
    }

    /// A frame or a call. `false` when the connection is over.
    fn step(&mut self, config: &Config, program: &mut Decisions<'_>) -> bool {
        let (what, stream) = (program.next(), u32::from(program.next() % 16));
        let key = self.keys.get(usize::from(program.next()) % self.keys.len().max(1)).copied();
        match (what % 24, key) {
            (0..14, _) => return self.frame(config, what % 24, stream, program),
            (_, None) => {}
            (14, Some(key)) => self.respond(key, program.next()),
            (15, Some(key)) => {
                let len = self.server.room(key).min(usize::from(program.next()));
                self.server.send_data(key, &[b'x'; 255][..len], stream % 4 == 0, &mut self.out);
            }
            (16, Some(key)) => self.set_ready(key, stream % 2 == 0),
            (17, Some(_)) => self.send_next(),
            (18, Some(key)) => {
                self.server.consumed(config, key, usize::from(program.next()), &mut self.out);
            }
            (19, Some(key)) => drop(self.server.reset(key, ErrorCode::CANCEL, &mut self.out)),
            (20, Some(key)) => self.server.send_trailers(key, &FieldSection::default(), &mut self.out),
            (21, Some(key)) => {
                let fields = FieldSection::default();
                self.server.send_interim(key, Status::EARLY_HINTS, &fields, &mut self.out);
            }
            (22, Some(_)) if stream == 0 => self.server.go_away(&mut self.out),
            (22, Some(_)) => self.server.release(),
            (_, Some(key)) => {
                self.now += 250;
                assert!(self.server.get(key).is_none_or(|data| data.len() < 1 << 20));
            }
        }
        true
    }

    fn respond(&mut self, key: Key, choice: u8) {
        let status = [Status::OK, Status::NO_CONTENT, Status::NOT_FOUND][usize::from(choice % 3)];
        let length = [None, Some(0), Some(300)][usize::from(choice / 3 % 3)];
        let common = FieldSection::default();
        let body = self.server.send_head(key, &ResponseHead::new(status), length, &common, 1, &mut self.out);
        if body == Body::Content && choice > 100 {
            self.set_ready(key, true);
        }
    }

    /// The stream whose turn it is has content and may send it; if there is none, no stream has.
    fn send_next(&mut self) {
        let stalled = |key: &Key| self.server.room(*key) == 0;
        assert!(!self.server.has_stalled() || self.ready.iter().any(stalled));
        if let Some((key, room)) = self.server.next() {
            assert!(room > 0 && room == self.server.room(key));
            assert!(self.ready.contains(&key) && !self.server.is_stalled(key));
            let len = room.min(100);
            self.server.begin_data(key, len, false, &mut self.out);
            self.out.extend_from_slice(&[b'y'; 100][..len]);
        } else {
            assert!(self.ready.iter().all(|key| self.server.room(*key) == 0));
        }
    }

    /// Sets it in the engine, and records it.
    fn set_ready(&mut self, key: Key, ready: bool) {
        self.server.set_ready(key, ready);
        self.ready.retain(|own| *own != key);
        if ready {
            self.ready.push(key);
        }
    }

    fn frame(&mut self, config: &Config, what: u8, stream: u32, program: &mut Decisions<'_>) -> bool {
        let flags = program.next();
        let mut payload: Vec<u8> = match what {
            0..3 => b"\x82\x86\x84\x41\x01a"[..6 - usize::from(flags == 77)].to_vec(), // GET http / of a
            3 => b"\x83\x86\x84\x41\x01a".to_vec(),                                    // POST
            4..6 => vec![b'z'; usize::from(flags)],
            6 => vec![0, 0, 0, program.next()],
            7 => vec![program.next() % 128, 0, 1, program.next()],
            8 => vec![0, 4, 0, 0, program.next() % 4, program.next()],
            _ => (0..flags % 12).map(|_| program.next()).collect(),
        };
        let kind = match what {
            0..4 => 1,
            4..6 => 0,
            6 | 7 => 8,
            8 => 4,
            9 => 3,
            10 => 16,
            11 => 2,
            12 => 9,
            _ => flags % 20,
        };
        let flags = match (kind, flags % 8) {
            (1, 0) => 0,
            (1, 1..4) => 4,
            (1, _) => 5,
            (0, bit) => bit & 1,
            (4, _) if what == 8 => 0,
            (_, _) => flags,
        };
        let stream = if matches!(kind, 4 | 16) || (kind == 8 && flags % 2 == 0) { 0 } else { stream };
        payload.truncate(16_384);
        let wire = frame(kind, flags, stream, &payload);
        self.windows.grant(kind, flags, stream, &payload);
        let Ok(received) = self.server.receive(config, self.now, &wire, &mut self.head, &mut self.out) else {
            self.server.drain_data().for_each(drop);
            return false;
        };
        assert_eq!(received.consumed, wire.len());
        match received.event {
            Event::Request { key, .. } | Event::TooLarge { key, .. } => self.keys.push(key),
            Event::Content { key, len, .. } => {
                let data = self.server.get(key).expect("kept until the next call");
                data.extend(std::iter::repeat_n(0, len));
            }
            _ => {}
        }
        true
    }

    /// What was written keeps to the windows.
    fn check(&mut self) {
        self.windows.check(&self.out);
        self.out.clear();
    }
}
