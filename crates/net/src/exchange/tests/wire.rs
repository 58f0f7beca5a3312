//! HTTP/1.1 and HTTP/2 over a pair of sockets: a connection whose turns the test runs, and a client that uses the
//! engines in the client role.

use super::site::{Site, Stage, worker};
use super::{Body, Client, Seen, info};
use crate::connection::{Connection, Turn};
use crate::poll::{Kind, Token};
use crate::socket::Socket;
use crate::transport::Transport;
use crate::worker::Worker;
use hayami_h1 as h1;
use hayami_h2 as h2;
use hayami_http::{FieldSection, ResponseHead, Status};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

/// The client side of a protocol.
pub(super) trait Speaker {
    /// A request can be canceled without closing the connection, and half-closing the connection does not affect it.
    const IS_MULTIPLEXED: bool;

    fn new(out: &mut Vec<u8>) -> Self;
    fn request(&mut self, path: &str, body: Body, fields: FieldSection, out: &mut Vec<u8>);
    fn connect(&mut self, authority: &str, out: &mut Vec<u8>);
    fn send(&mut self, bytes: &[u8], out: &mut Vec<u8>);
    /// Ends the request. Returns true if that requires closing the client's half of the connection.
    fn end(&mut self, trailers: Option<FieldSection>, out: &mut Vec<u8>) -> bool;
    fn cancel(&mut self, out: &mut Vec<u8>);
    /// Handles a piece of the input. Returns the number of bytes consumed.
    fn receive(&mut self, input: &[u8], seen: &mut Seen, out: &mut Vec<u8>) -> usize;
    /// The server has shut down its side.
    fn eof(&mut self, seen: &mut Seen);
}

/// A client and a connection.
pub(super) struct Wired<P> {
    stage: Rc<Stage>,
    worker: Worker<Site>,
    connection: Option<Connection>,
    socket: UnixStream,
    speaker: P,
    out: Vec<u8>,
    input: Vec<u8>,
    seen: Seen,
    reads: bool,
    /// The client's half is closed.
    shut: bool,
    /// The connection was reset, which a pair of Unix sockets does not show.
    was_reset: bool,
}

impl<P: Speaker> Wired<P> {
    /// Moves all data that can move. Returns true if any did.
    fn step(&mut self) -> bool {
        self.speaker.send(b"", &mut self.out);
        let mut moved = self.write();
        let mut woken = Vec::new();
        self.worker.woken.take(&mut woken);
        moved |= !woken.is_empty();
        if let Some(connection) = &mut self.connection {
            woken.iter().for_each(|(_, stream)| connection.woken(*stream));
            connection.socket().may_read(self.shut);
            connection.socket().may_write();
            match connection.turn(&self.worker) {
                Turn::Waits => {}
                Turn::Again => moved = true,
                Turn::Over => {
                    self.was_reset = connection.link.resets;
                    connection.end(&self.worker);
                    (self.connection, moved) = (None, true);
                }
            }
        }
        moved | (self.reads && self.take())
    }

    fn write(&mut self) -> bool {
        match self.socket.write(&self.out) {
            Ok(len) => {
                self.out.drain(..len);
                len > 0
            }
            // The server may have closed.
            Err(_) => false,
        }
    }

    fn take(&mut self) -> bool {
        let mut bytes = [0; 65_536];
        match self.socket.read(&mut bytes) {
            Ok(0) if self.seen.closed => return false,
            Ok(0) => {
                self.seen.closed = true;
                match self.was_reset {
                    true => self.seen.reset = true,
                    false => self.speaker.eof(&mut self.seen),
                }
            }
            Ok(len) => self.input.extend_from_slice(&bytes[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(_) => {
                let closed = std::mem::replace(&mut self.seen.closed, true);
                self.seen.reset |= !self.seen.ended;
                return !closed;
            }
        }
        loop {
            let taken = self.speaker.receive(&self.input, &mut self.seen, &mut self.out);
            if taken == 0 {
                return true;
            }
            self.input.drain(..taken);
        }
    }
}

impl<P: Speaker> Client for Wired<P> {
    fn new() -> Self {
        let stage = Rc::new(Stage::default());
        let worker = worker(&stage);
        let (ours, socket) = UnixStream::pair().expect("a pair of sockets");
        for socket in [&ours, &socket] {
            socket.set_nonblocking(true).expect("set");
        }
        let transport = Transport::new(Socket::new(ours.into()), None);
        let connection =
            Some(Connection::new(&worker, transport, info(), Token::new(Kind::Connection, 0, 0)));
        let mut out = Vec::new();
        let speaker = P::new(&mut out);
        let (input, seen) = (Vec::new(), Seen::default());
        Self {
            stage,
            worker,
            connection,
            socket,
            speaker,
            out,
            input,
            seen,
            reads: true,
            shut: false,
            was_reset: false,
        }
    }

    fn stage(&self) -> &Stage {
        &self.stage
    }

    fn worker(&self) -> &Worker<Site> {
        &self.worker
    }

    fn seen(&self) -> &Seen {
        &self.seen
    }

    fn request(&mut self, path: &str, body: Body, fields: &str) {
        self.seen = Seen::default();
        let mut section = FieldSection::default();
        section.append(b"host", b"x");
        for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
            section.append(name.as_bytes(), value.as_bytes());
        }
        self.speaker.request(path, body, section, &mut self.out);
    }

    fn connect(&mut self, authority: &str) {
        self.speaker.connect(authority, &mut self.out);
    }

    fn send(&mut self, bytes: &[u8]) {
        self.speaker.send(bytes, &mut self.out);
    }

    fn end(&mut self, trailers: Option<FieldSection>) {
        if self.speaker.end(trailers, &mut self.out) {
            self.turn();
            self.half_close();
        }
    }

    fn half_close(&mut self) {
        self.turn();
        // Otherwise the end of the request has closed its half of the stream.
        if !P::IS_MULTIPLEXED {
            self.socket.shutdown(Shutdown::Write).expect("shut down");
            self.shut = true;
        }
    }

    fn leave(&mut self) {
        self.turn();
        if P::IS_MULTIPLEXED {
            return self.speaker.cancel(&mut self.out);
        }
        self.socket.shutdown(Shutdown::Both).expect("shut down");
        self.shut = true;
    }

    fn read(&mut self, reads: bool) {
        self.reads = reads;
    }

    fn turn(&mut self) {
        let mut idle = 0;
        while idle < 2 {
            idle = if self.step() { 0 } else { idle + 1 };
        }
    }

    fn pass(&mut self, time: Duration) {
        self.worker.clock.advance(time);
        if let Some(connection) = &mut self.connection
            && connection.deadline() <= self.worker.clock.millis()
            && connection.expire(&self.worker) == Turn::Over
        {
            connection.end(&self.worker);
            self.connection = None;
        }
        self.turn();
    }
}

/// An HTTP/1.1 client.
pub(super) struct Http1(h1::Client, ResponseHead, bool);

impl Speaker for Http1 {
    const IS_MULTIPLEXED: bool = false;

    fn new(_: &mut Vec<u8>) -> Self {
        Self(h1::Client::new(), ResponseHead::new(Status::OK), false)
    }

    fn request(&mut self, path: &str, body: Body, fields: FieldSection, out: &mut Vec<u8>) {
        let content = match body {
            Body::None => h1::RequestContent::None,
            Body::Length(length) => h1::RequestContent::Length(length),
            Body::Unknown => h1::RequestContent::Chunked,
        };
        self.0.send_head(b"POST", path.as_bytes(), &fields, content, out).expect("its turn");
    }

    fn connect(&mut self, authority: &str, out: &mut Vec<u8>) {
        let mut fields = FieldSection::default();
        fields.append(b"host", authority.as_bytes());
        let none = h1::RequestContent::None;
        self.0.send_head(b"CONNECT", authority.as_bytes(), &fields, none, out).expect("its turn");
        self.2 = true;
    }

    fn send(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.0.send_content(bytes, out);
    }

    fn end(&mut self, trailers: Option<FieldSection>, out: &mut Vec<u8>) -> bool {
        self.0.send_end(trailers.as_ref(), out).expect("all was sent");
        self.2
    }

    fn cancel(&mut self, _: &mut Vec<u8>) {}

    fn receive(&mut self, input: &[u8], seen: &mut Seen, _: &mut Vec<u8>) -> usize {
        let limits = h1::Limits::default();
        let received = self.0.receive(&limits, input, &mut self.1).expect("a good response");
        match received.event {
            h1::ClientEvent::More => {}
            h1::ClientEvent::Interim => seen.interim.push(self.1.status().code()),
            h1::ClientEvent::Response(content) => {
                seen.status = Some(self.1.status().code());
                seen.ended = content == h1::ResponseContent::None;
            }
            h1::ClientEvent::Content(range) => seen.content.extend_from_slice(&input[range]),
            h1::ClientEvent::End => {
                seen.ended = true;
                seen.note_trailers(self.0.take_trailers());
            }
        }
        received.consumed
    }

    fn eof(&mut self, seen: &mut Seen) {
        match self.0.receive_eof() {
            Ok(h1::ClientEvent::End) => seen.ended = true,
            Ok(_) => seen.stopped = true,
            Err(_) => seen.reset = true,
        }
    }
}

/// An HTTP/2 client with one request at a time.
pub(super) struct Http2 {
    engine: h2::Client<()>,
    config: h2::Config,
    head: ResponseHead,
    key: Option<h2::Key>,
    /// Content that waits for a window, and whether the request ends after it.
    content: Vec<u8>,
    ends: bool,
}

impl Http2 {
    fn ask(&mut self, request: &h2::Request<'_>, fields: &FieldSection, out: &mut Vec<u8>) {
        self.key = Some(self.engine.send_request(&self.config, request, fields, out).expect("its turn"));
        self.ends = false;
    }
}

impl Speaker for Http2 {
    const IS_MULTIPLEXED: bool = true;

    fn new(out: &mut Vec<u8>) -> Self {
        let config = h2::Config::default();
        let mut engine = h2::Client::new(&config);
        engine.start(&config, out);
        let (head, key, content) = (ResponseHead::new(Status::OK), None, Vec::new());
        Self { engine, config, head, key, content, ends: false }
    }

    fn request(&mut self, path: &str, body: Body, fields: FieldSection, out: &mut Vec<u8>) {
        let content = match body {
            Body::None => h2::RequestContent::None,
            Body::Length(length) => h2::RequestContent::Length(length),
            Body::Unknown => h2::RequestContent::Unknown,
        };
        let path = path.as_bytes();
        let (method, scheme, authority): (&[u8], &[u8], &[u8]) = (b"POST", b"http", b"x");
        self.ask(&h2::Request { method, scheme, authority, path, protocol: None, content }, &fields, out);
    }

    fn connect(&mut self, authority: &str, out: &mut Vec<u8>) {
        let (method, authority): (&[u8], _) = (b"CONNECT", authority.as_bytes());
        let content = h2::RequestContent::Unknown;
        let request = h2::Request { method, scheme: b"", authority, path: b"", protocol: None, content };
        self.ask(&request, &FieldSection::default(), out);
    }

    fn send(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.content.extend_from_slice(bytes);
        let Some(key) = self.key else { return };
        let len = self.content.len().min(self.engine.room(key));
        let ends = self.ends && len == self.content.len();
        if len > 0 || ends {
            self.engine.send_data(key, &self.content[..len], ends, out);
            self.content.drain(..len);
            self.ends &= !ends;
        }
    }

    fn end(&mut self, trailers: Option<FieldSection>, out: &mut Vec<u8>) -> bool {
        match (self.key, trailers) {
            (Some(key), Some(trailers)) => self.engine.send_trailers(key, &trailers, out),
            _ => self.ends = true,
        }
        self.send(b"", out);
        false
    }

    fn cancel(&mut self, out: &mut Vec<u8>) {
        if let Some(key) = self.key {
            self.engine.reset(key, h2::ErrorCode::CANCEL, out);
        }
    }

    fn receive(&mut self, input: &[u8], seen: &mut Seen, out: &mut Vec<u8>) -> usize {
        let received = self.engine.receive(&self.config, 0, input, &mut self.head, out).expect("good frames");
        match received.event {
            h2::ClientEvent::Interim { .. } => seen.interim.push(self.head.status().code()),
            h2::ClientEvent::Response { content, .. } => {
                seen.status = Some(self.head.status().code());
                seen.ended = content == h2::ResponseContent::None;
            }
            h2::ClientEvent::Content { key, start, len, end } => {
                seen.content.extend_from_slice(&input[start..start + len]);
                seen.ended = end;
                self.engine.consumed(&self.config, key, len, out);
            }
            h2::ClientEvent::End { trailers, .. } => {
                seen.ended = true;
                seen.note_trailers(trailers.map(|trailers| *trailers));
            }
            h2::ClientEvent::Reset { .. } if seen.ended => seen.stopped = true,
            h2::ClientEvent::Reset { .. } => seen.reset = true,
            h2::ClientEvent::More
            | h2::ClientEvent::Handled
            | h2::ClientEvent::Settings
            | h2::ClientEvent::GoAway { .. } => {}
        }
        received.consumed
    }

    fn eof(&mut self, seen: &mut Seen) {
        seen.reset |= !seen.ended;
    }
}
