//! A minimal protocol that writes to memory. Each connection has one stream, with a window of its own and nothing
//! shared.

use super::site::{Site, Stage, worker};
use super::{Body, Client, Seen, info};
use crate::clock::Instant;
use crate::exchange::{
    Arrived, Deadlines, Exchange, Follows, Piece, Progress, Protocol, Reset, Room, Slot, Streams, begin,
};
use crate::poll::{Kind, Token};
use crate::service::{ConnectionInfo, Ended, Observer, Refusal, Request};
use crate::worker::Worker;
use hayami_h1::{Limits, Server};
use hayami_http::{Content, FieldSection, Known, Method, RequestHead, ResponseHead};
use std::borrow::Cow;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

/// Initial window granted by the client.
const WINDOW: usize = 65_536;

/// The stream, as its exchange sees it.
struct Stream<'a> {
    wire: &'a mut SocketHandle,
    worker: &'a Worker<Site>,
}

/// State shared by client and session.
struct SocketHandle {
    info: Rc<ConnectionInfo>,
    connects: bool,
    /// What the client has received, and how much more it accepts.
    seen: Seen,
    window: usize,
}

impl Protocol for Stream<'_> {
    const READS_AHEAD: bool = true;

    fn request<'a>(&'a mut self, head: &'a mut RequestHead, length: Option<u64>) -> Request<'a> {
        let now = Instant::now();
        let (content, upgrade, interim) = (None, None, None);
        Request {
            head,
            content_length: length,
            connection: &self.wire.info,
            index: 0,
            stream: None,
            early: false,
            content,
            upgrade,
            interim,
            begun: now,
            received: now,
        }
    }

    fn may_tunnel(&self, head: &RequestHead, _: bool) -> bool {
        head.method() == Method::Connect
    }

    fn expects_continue(&self, head: &RequestHead) -> bool {
        head.get(Known::Expect).is_some()
    }

    fn waker(&mut self) -> Cow<'_, Waker> {
        Cow::Owned(self.worker.woken.waker(Token::new(Kind::Connection, 0, 0), 0))
    }

    fn interim(&mut self, head: &ResponseHead) {
        self.wire.seen.interim.push(head.status().code());
    }

    fn head(&mut self, head: &ResponseHead, length: Option<u64>, _: (&FieldSection, u64)) -> Follows {
        self.wire.seen.status = Some(head.status().code());
        self.wire.seen.ended = length == Some(0);
        match length {
            _ if self.wire.connects => Follows::Tunnel,
            Some(0) => Follows::Nothing,
            _ => Follows::Content,
        }
    }

    fn whole(&mut self, content: Content) -> Option<Content> {
        match content {
            Content::Shared(shared) if shared.len() <= self.wire.window => {
                self.wire.seen.content.extend_from_slice(shared.as_slice());
                self.wire.seen.ended = true;
                None
            }
            content => Some(content),
        }
    }

    fn room(&self) -> Room {
        Room::unframed(self.wire.window)
    }

    fn data(&mut self, take: impl FnOnce(&mut Vec<u8>) -> Piece) -> Result<usize, &'static str> {
        let before = self.wire.seen.content.len();
        match take(&mut self.wire.seen.content) {
            Piece::Shared { bytes, last } => {
                self.wire.seen.content.extend_from_slice(bytes.as_slice());
                self.wire.seen.ended = last;
            }
            Piece::Copied { last } => self.wire.seen.ended = last,
            Piece::Pending | Piece::Broken(_) => {}
        }
        let written = self.wire.seen.content.len() - before;
        self.wire.window -= written;
        Ok(written)
    }

    fn trailers(&mut self, trailers: &FieldSection) -> Result<(), &'static str> {
        let names = trailers.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned());
        self.wire.seen.trailers.extend(names);
        self.wire.seen.ended = true;
        Ok(())
    }

    fn reset(&mut self, _: Reset, _: &'static str) {
        self.wire.seen.reset = true;
    }

    fn stop_receiving(&mut self, _: Reset) {
        self.wire.seen.stopped = true;
    }

    fn report(&mut self, (observer, began): (Box<dyn Observer>, Instant), content: u64) {
        observer.ended(&Ended { content_bytes: content, began, ended: began, aborted: None });
    }
}

/// A client and its session.
pub(super) struct Memory {
    stage: Rc<Stage>,
    worker: Worker<Site>,
    wire: SocketHandle,
    exchange: Slot,
    reads: bool,
    deadlines: Deadlines,
}

impl Memory {
    fn begin(&mut self, head: &str, body: Body) {
        let mut parsed = RequestHead::default();
        let received = Server::new().receive(&Limits::default(), head.as_bytes(), &mut parsed);
        received.expect("a head");
        (self.wire.seen, self.wire.connects) = (Seen::default(), parsed.method() == Method::Connect);
        let announced = match body {
            Body::None => (Some(0), self.wire.connects),
            Body::Length(length) => (Some(length), true),
            Body::Unknown => (None, true),
        };
        let mut stream = Stream { wire: &mut self.wire, worker: &self.worker };
        self.exchange = begin(&mut stream, &self.worker, &mut parsed, announced);
    }

    /// Continues the exchange. Returns true once it has ended.
    fn go_on(&mut self) -> bool {
        while let Some(exchange) = self.exchange.as_deref_mut() {
            let mut stream = Stream { wire: &mut self.wire, worker: &self.worker };
            match exchange.go_on(&mut stream, &self.worker) {
                Progress::More if self.wire.window > 0 => {}
                Progress::More | Progress::Pending | Progress::HalfClosed => return false,
                Progress::Complete | Progress::Broken => self.forget(),
            }
        }
        true
    }

    fn forget(&mut self) {
        self.exchange.take().into_iter().for_each(|exchange| self.worker.exchanges.give(exchange));
    }
}

impl Client for Memory {
    fn new() -> Self {
        let stage = Rc::new(Stage::default());
        let worker = worker(&stage);
        let wire =
            SocketHandle { info: Rc::new(info()), connects: false, seen: Seen::default(), window: WINDOW };
        Self { stage, worker, wire, exchange: None, reads: true, deadlines: Deadlines::default() }
    }

    fn stage(&self) -> &Stage {
        &self.stage
    }

    fn worker(&self) -> &Worker<Site> {
        &self.worker
    }

    fn seen(&self) -> &Seen {
        &self.wire.seen
    }

    fn request(&mut self, path: &str, body: Body, fields: &str) {
        self.begin(&format!("POST {path} HTTP/1.1\r\nhost: x\r\n{fields}\r\n"), body);
    }

    fn connect(&mut self, authority: &str) {
        self.begin(&format!("CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n\r\n"), Body::None);
    }

    fn send(&mut self, bytes: &[u8]) {
        // Without an exchange, the request was already answered.
        let exchange = self.exchange.get_or_insert_with(|| self.worker.exchanges.take());
        let mut stream = Stream { wire: &mut self.wire, worker: &self.worker };
        if exchange.content(&mut stream, &self.worker, bytes) == Arrived::TooMuch {
            self.forget();
        }
    }

    fn end(&mut self, trailers: Option<FieldSection>) {
        if let Some(exchange) = self.exchange.as_deref_mut() {
            exchange.content_complete(trailers.map(Box::new));
        }
    }

    fn half_close(&mut self) {}

    fn leave(&mut self) {
        if let Some(mut exchange) = self.exchange.take() {
            exchange.abort(&self.worker.clock, 0, "the client has left");
        }
    }

    fn read(&mut self, reads: bool) {
        self.reads = reads;
    }

    fn turn(&mut self) {
        loop {
            let over = self.go_on();
            let refills = self.reads && self.wire.window == 0;
            if refills {
                self.wire.window = WINDOW;
            }
            let mut woken = Vec::new();
            self.worker.woken.take(&mut woken);
            if over || !refills && woken.is_empty() {
                return;
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        self.worker.clock.advance(time);
        let (now, timeouts) = (self.worker.clock.millis(), self.worker.timeouts);
        let mut deadlines = std::mem::take(&mut self.deadlines);
        if let Some(look) = deadlines.look(self, now, &timeouts) {
            if !look.late.is_empty() || look.connection.is_some() {
                self.leave();
                self.wire.seen.reset = true;
            } else if let (false, Some(exchange)) = (look.starved.is_empty(), self.exchange.as_deref_mut()) {
                exchange.refuse_content(Refusal::Timeout);
            }
        }
        deadlines.next_look(true, now, &timeouts);
        self.deadlines = deadlines;
        self.turn();
    }
}

impl Streams for Memory {
    type Key = ();

    fn keys(&self) -> Vec<()> {
        self.exchange.iter().map(drop).collect()
    }

    fn exchange(&mut self, (): ()) -> Option<&mut Exchange> {
        self.exchange.as_deref_mut()
    }

    fn is_stalled(&self, (): ()) -> bool {
        self.wire.window == 0
    }

    fn are_all_stalled(&self) -> bool {
        false
    }

    fn half_closed(&self) -> usize {
        0
    }
}
