//! One connection of the generator: opened, used, closed, and opened again in the same memory.
//!
//! ```text
//!            near: what the client sees                      far: what the server sees
//! engine ◀── received ◀──────── (half a round trip) ◀──────── socket
//!   │ fill ─▶ send ───────────▶ (half a round trip) ────────▶
//! ```
//!
//! Without an emulated distance both are one: bytes read go to the engine in the same turn, and its output
//! leaves in one write. With one, everything in between is in the worker's timer wheel. State shared with the
//! worker's other connections is in [`Cx`].

mod ending;
mod engine;
mod failure;
mod far;
mod http1;
mod http2;
mod in_flight;
mod opening;
mod tls;
mod why;
mod wire;

pub(crate) use failure::Failure;
pub(crate) use in_flight::{InFlight, Wrong};

use crate::TlsSpoken;
use crate::dial::Spare;
use crate::distance::{Random, Wheel};
use crate::pace::Pace;
use crate::worker::count::Count;
use crate::worker::job::Job;
use crate::worker::origin::{Origin, Origins};
use engine::Engine;
use hayami_h1::LastHead;
use hayami_http::ResponseHead;
use hayami_net::poll::{Poll as Watcher, Readiness, Token};
use std::task::Poll;
use why::Why;
use wire::Wire;

/// Reads of one turn; then the other connections get theirs.
const READS: usize = 8;

/// Bytes read at once.
const READ: usize = 128 * 1024;

/// The display name of the TLS parameters, made once in a run.
type TlsName<'a> = &'a dyn Fn() -> Option<TlsSpoken>;

/// The state shared by a worker's connections.
pub(crate) struct Cx<'a> {
    pub(crate) job: &'a Job,
    pub(crate) poll: Watcher,
    pub(crate) wheel: Wheel,
    /// Sockets of closed connections, for reuse by new ones.
    pub(crate) spares: Vec<Spare>,
    pub(crate) pace: Pace,
    pub(crate) count: Count,
    pub(crate) random: Random,
    /// The time of the turn, nanoseconds.
    pub(crate) now: u64,
    /// Local addresses for connections.
    pub(crate) origins: Origins,
    /// Bytes received, for an engine to parse.
    pub(crate) input: Vec<u8>,
    /// Bytes written by an engine, to be sent.
    pub(crate) out: Vec<u8>,
    /// The same, encrypted.
    pub(crate) sealed: Vec<u8>,
    pub(crate) head: ResponseHead,
    /// In HTTP/1: the same request mostly gets the same response head.
    pub(crate) last_head: LastHead,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A slot that waits to be used.
    Free,
    /// Never arrives; the client waits until its timeout.
    Astray,
    /// Dialling is in progress.
    Dialing,
    /// Connected; TLS is being agreed on.
    Shaking,
    /// In use.
    Open,
    /// No longer used; the server is expected to close it.
    Closing,
    /// Gone for the client; its end is on its way to the server.
    Leaving,
    /// Closed by the client; the worker notices and opens another one.
    Over(Option<Failure>),
    /// Over for the server too: the slot can be freed.
    Gone,
}

/// A connection, and the memory for the next ones.
pub(crate) struct Connection {
    slot: u32,
    generation: u32,
    pub(crate) stage: Stage,
    wire: Wire,
    engine: Engine,
    /// The token of its socket in the kernel's events.
    token: Option<Token>,
    /// Its local address.
    origin: Origin,
    /// When its first step was made.
    began: u64,
    /// When it times out, unless something happens; 0: never.
    deadline: u64,
    /// Requests it may still carry.
    left: u64,
    /// The server has closed its sending direction.
    ended: bool,
    /// Whether it is in the worker's queue of connections that could carry a request.
    pub(crate) is_idle: bool,
    /// It is counted among those that can be used.
    is_usable: bool,
    /// Whether the worker counts it among those being opened.
    pub(crate) is_opening: bool,
    /// Failures one after the other before this attempt.
    failures: u32,
    /// The server has sent something of use.
    has_answered: bool,
    /// The cause of its failure.
    why: Why,
}

impl Connection {
    pub(crate) fn new(slot: u32) -> Self {
        Self {
            slot,
            generation: 0,
            stage: Stage::Free,
            wire: Wire::default(),
            engine: Engine::default(),
            token: None,
            origin: Origin::default(),
            began: 0,
            deadline: 0,
            left: 0,
            ended: false,
            is_idle: false,
            is_usable: false,
            is_opening: false,
            failures: 0,
            has_answered: false,
            why: Why::default(),
        }
    }

    /// Whether an event in transit still belongs to this connection.
    pub(crate) fn is(&self, generation: u32) -> bool {
        self.generation == generation && self.stage != Stage::Free
    }

    /// Makes the slot ready for another connection.
    pub(crate) fn free(&mut self, cx: &mut Cx<'_>) {
        cx.origins.give_back(std::mem::take(&mut self.origin));
        // Nothing else than the server's end, seen in order: close(2) and then socket(2) would do the same again.
        let again = self.ended && self.stage == Stage::Over(None) && cx.job.can_dial_again();
        self.wire.reset(again && !self.wire.is_far());
        if !self.wire.has_spare() {
            self.token = None;
        }
        self.engine.reset();
        self.stage = Stage::Free;
    }

    /// Closes the socket of the slot, since no other connection was opened in it.
    pub(crate) fn close_spare(&mut self) {
        if self.wire.take_spare().is_some() {
            self.token = None;
        }
    }

    /// Handles a socket event for the token. Returns whether the connection wants another turn soon.
    pub(crate) fn ready(&mut self, cx: &mut Cx<'_>, token: Token, readiness: Readiness) -> bool {
        if self.token != Some(token) {
            return false; // about a connection that was here before
        }
        self.ended |= readiness.ended();
        self.wire.may(readiness);
        if self.wire.is_far() {
            return self.ready_far(cx, readiness);
        }
        if self.stage == Stage::Dialing {
            self.ready_dialing(cx, readiness);
        }
        self.turn(cx)
    }

    fn ready_dialing(&mut self, cx: &mut Cx<'_>, readiness: Readiness) {
        if !readiness.writable() {
            return;
        }
        if let Err(error) = self.wire.outcome() {
            return self.fail(Failure::Connect, why::system(&error));
        }
        cx.now = crate::clock::now();
        self.begin_speaking(cx);
        if self.stage == Stage::Dialing {
            // Nothing was sent: the open model has no request for it yet.
            self.connected(cx);
        }
    }

    /// Writes what is left, reads and handles what is available. Returns whether there may be more to read.
    pub(crate) fn turn(&mut self, cx: &mut Cx<'_>) -> bool {
        if self.wire.is_far() {
            return self.turn_far(cx);
        }
        for _ in 0..READS {
            if let Err(error) = self.wire.flush() {
                self.fail(Failure::Reset, why::system(&error));
            }
            if !self.is_reading() {
                return false;
            }
            match self.wire.read(cx) {
                Poll::Pending => {
                    self.watch(cx, false);
                    return false;
                }
                Poll::Ready(Ok(0)) => {
                    cx.now = crate::clock::now();
                    self.eof(cx);
                }
                Poll::Ready(Ok(_)) => {
                    cx.now = crate::clock::now();
                    self.received(cx);
                }
                Poll::Ready(Err(error)) => self.broken(why::system(&error)),
            }
        }
        true
    }

    fn is_reading(&self) -> bool {
        matches!(self.stage, Stage::Shaking | Stage::Open | Stage::Closing)
    }

    /// Handles received bytes: they are in `cx.input`, or in the wire if they are encrypted.
    fn received(&mut self, cx: &mut Cx<'_>) {
        if self.stage == Stage::Closing && !self.wire.is_sealed() {
            return; // no request is unanswered
        }
        cx.out.clear();
        match self.wire.open(cx) {
            Err(fault) => self.fail(Failure::Tls, why::tls(&fault)),
            Ok(opened) => {
                if opened.established && !self.agreed(cx) {
                    return;
                }
                if self.stage == Stage::Open {
                    self.answer(cx);
                }
                if opened.closed && self.is_reading() {
                    self.eof(cx);
                }
            }
        }
    }

    /// Handles the completed TLS handshake. Returns whether the server agreed to the plan's protocol.
    fn agreed(&mut self, cx: &mut Cx<'_>) -> bool {
        let alpn = self.wire.info().map(|info| (info.alpn, info.resumed));
        let (alpn, resumed) = alpn.unwrap_or_default();
        if !self.engine.choose(cx, Some(alpn)) {
            self.fail(Failure::Tls, why::NO_HTTP2);
            return false;
        }
        self.established(cx);
        cx.count.tally.resumed += u64::from(resumed);
        self.engine.start(cx);
        true
    }

    /// Passes received bytes to the engine and writes its output.
    fn answer(&mut self, cx: &mut Cx<'_>) {
        let input = std::mem::take(&mut cx.input);
        cx.count.tally.bytes_in += (input.len() - self.wire.kept()) as u64;
        let wire = &self.wire;
        let received = self.engine.receive(cx, &input, &|| wire.tls_spoken());
        let broken = match received {
            Ok(consumed) => {
                self.wire.keep(&input[consumed..]);
                None
            }
            Err(broken) if self.has_answered => Some(broken.why),
            Err(broken) => why::other_protocol(&input, self.engine.is_http1()).or(Some(broken.why)),
        };
        cx.input = input;
        if let Some(why) = broken {
            self.wire.send(cx); // HTTP/2 sends GOAWAY
            return self.fail(Failure::Protocol, why);
        }
        self.has_answered = true;
        self.fill_and_send(cx);
        if self.stage == Stage::Open && self.engine.is_done(self.left) {
            self.finish(cx);
        }
    }

    /// Generates as many requests as are due, and sends everything in one write.
    fn fill_and_send(&mut self, cx: &mut Cx<'_>) {
        self.engine.fill(cx, &mut self.left);
        self.deadline = match self.engine.oldest() {
            Some(sent) => sent + cx.job.timeout,
            None => 0,
        };
        if !cx.out.is_empty() && !self.wire.send(cx) {
            self.fail(Failure::Reset, why::RESET);
        }
    }

    /// A request may have become due for a connection that had none.
    pub(crate) fn wake(&mut self, cx: &mut Cx<'_>) {
        self.is_idle = false;
        if self.stage == Stage::Open {
            cx.out.clear();
            self.fill_and_send(cx);
            self.watch(cx, false);
        }
    }

    /// Whether it could carry another request.
    pub(crate) fn has_room(&self, cx: &Cx<'_>) -> bool {
        self.stage == Stage::Open && self.left > 0 && self.engine.has_room(cx)
    }

    /// Registers the socket with the kernel's poll; `writable` also requests an event when it can be written again.
    fn watch(&mut self, cx: &mut Cx<'_>, writable: bool) {
        let Some(token) = self.token.filter(|_| !matches!(self.stage, Stage::Over(_))) else { return };
        if let Err(error) = self.wire.watch(&cx.poll, token, writable) {
            // Mostly the limit of fs.epoll.max_user_watches.
            self.fail(Failure::Connect, format!("the connection cannot be watched: {}", why::system(&error)));
        }
    }
}
