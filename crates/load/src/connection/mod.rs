//! One connection of the generator: opened, used, closed, and opened again in the same memory.
//!
//! ```text
//!            near: what the client sees                      far: what the server sees
//! engine ◀── received ◀──────── (half a round trip) ◀──────── socket
//!   │ fill ─▶ send ───────────▶ (half a round trip) ────────▶
//! ```
//!
//! Without an emulated distance both are one: octets read are given to the engine in the same turn, and what
//! it has to say leaves in one write. With one, everything between them stands in the worker's wheel.
//! What a connection shares with the others of its worker is in [`Cx`].

mod engine;
mod far;
mod http1;
mod http2;
mod tls;
mod wire;

pub(crate) use crate::worker::count::Wrong;

use crate::distance::{Random, Wheel};
use crate::pace::Pace;
use crate::worker::count::Count;
use crate::worker::job::Job;
use engine::Engine;
use hayami_h1::LastHead;
use hayami_http::ResponseHead;
use hayami_net::dial::{self, Poller, Ready};
use std::task::Poll;
use wire::Wire;

/// Reads of one turn; then the other connections get theirs.
const READS: usize = 8;
/// How long the server has to close a connection that is done with, in nanoseconds.
const CLOSING: u64 = 2_000_000_000;

/// What a worker's connections share.
pub(crate) struct Cx<'a> {
    pub(crate) job: &'a Job,
    pub(crate) poller: Poller,
    pub(crate) wheel: Wheel,
    pub(crate) pace: Pace,
    pub(crate) count: Count,
    pub(crate) random: Random,
    /// The time of the turn, nanoseconds.
    pub(crate) now: u64,
    /// Connections opened so far, for the choice of sources.
    pub(crate) opened: usize,
    /// Octets received, to be read by an engine.
    pub(crate) input: Vec<u8>,
    /// Octets an engine wrote, to be sent.
    pub(crate) out: Vec<u8>,
    /// The same, sealed.
    pub(crate) sealed: Vec<u8>,
    pub(crate) head: ResponseHead,
    /// In HTTP/1: servers asked the same say the same.
    pub(crate) last_head: LastHead,
}

/// A request on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InFlight {
    /// When it was due, when it was sent, and when the response began (0: not yet).
    pub(crate) due: u64,
    pub(crate) sent: u64,
    pub(crate) first: u64,
    /// Octets of content so far.
    pub(crate) content: u64,
    pub(crate) status: u16,
    pub(crate) wrong: Wrong,
    /// It is the one that is shown.
    pub(crate) is_sample: bool,
    /// Octets of the request's content that wait for room (HTTP/2).
    pub(crate) body_left: u32,
    /// Which request it is.
    pub(crate) template: u32,
}

/// Why a connection is of no use any more. The names are those of `Errors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Connect,
    Tls,
    Reset,
    Timeout,
    Protocol,
    Short,
    Lost,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A slot that waits to be used.
    Free,
    /// Never arrives; the client waits in vain.
    Astray,
    /// Under way.
    Dialing,
    /// Connected; TLS is being agreed on.
    Shaking,
    /// In use.
    Open,
    /// Done with; the server is to close it.
    Closing,
    /// Gone for the client; its end is on its way to the server.
    Leaving,
    /// Over for the client; the worker takes notice, and opens another one.
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
    /// When its first step was made.
    began: u64,
    /// When it is given up, unless something happens; 0: never.
    deadline: u64,
    /// Requests it may still carry.
    left: u64,
    /// The server has said that it sends no more.
    ended: bool,
    /// Stands in the worker's queue of connections that could carry a request.
    pub(crate) is_idle: bool,
    /// It is counted among those that can be used.
    is_usable: bool,
    /// The worker counts it among those that are being opened.
    pub(crate) is_opening: bool,
    /// Failures one after the other before this attempt.
    failures: u32,
    /// The server has sent something of use.
    has_answered: bool,
}

impl Connection {
    pub(crate) fn new(slot: u32) -> Self {
        Self {
            slot,
            generation: 0,
            stage: Stage::Free,
            wire: Wire::default(),
            engine: Engine::default(),
            began: 0,
            deadline: 0,
            left: 0,
            ended: false,
            is_idle: false,
            is_usable: false,
            is_opening: false,
            failures: 0,
            has_answered: false,
        }
    }

    /// What the kernel calls it by.
    fn token(&self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// Whether something that was under way is still for this connection.
    pub(crate) fn is(&self, generation: u32) -> bool {
        self.generation == generation && self.stage != Stage::Free
    }

    /// Makes the slot ready for another connection.
    pub(crate) fn free(&mut self) {
        self.wire.reset();
        self.engine.reset();
        self.stage = Stage::Free;
    }

    /// Begins.
    pub(crate) fn open(&mut self, cx: &mut Cx<'_>, failures: u32) {
        self.generation = self.generation.wrapping_add(1);
        self.stage = Stage::Dialing;
        (self.began, self.deadline) = (cx.now, cx.now + cx.job.timeout);
        (self.left, self.failures) = (cx.job.per_connection, failures);
        (self.ended, self.is_idle, self.has_answered) = (false, false, false);
        cx.opened += 1;
        match &cx.job.delay {
            Some(delay) if delay.loses(&mut cx.random) => self.stage = Stage::Astray,
            Some(_) => self.open_far(cx),
            None if self.dial(cx) => {
                cx.now = crate::worker::now();
                self.begin_speaking(cx);
            }
            None => self.fail(Failure::Connect),
        }
    }

    /// Makes the socket. Whether that worked.
    fn dial(&mut self, cx: &mut Cx<'_>) -> bool {
        let sources = &cx.job.sources;
        let source = (!sources.is_empty()).then(|| sources[cx.opened % sources.len()]);
        match dial::connect(&cx.job.peer, source) {
            Ok(socket) => {
                if cx.job.writes_twice() {
                    dial::send_at_once(&socket);
                }
                self.wire.set_socket(socket);
                true
            }
            Err(_) => false,
        }
    }

    /// Writes what a client says first, whether the connection is known to be made or not: over loopback it
    /// is, and then a new connection needs no wake-up before its first request.
    fn begin_speaking(&mut self, cx: &mut Cx<'_>) {
        cx.out.clear();
        self.engine.reset();
        let plain = cx.job.connector.is_none();
        if plain {
            self.engine.choose(cx, None);
            self.engine.start(cx);
            if self.engine.is_http1() {
                self.engine.fill(cx, &mut self.left);
            }
        } else if !self.wire.start_tls(cx) {
            return self.fail(Failure::Tls);
        }
        match self.wire.send_first(cx) {
            Poll::Ready(Ok(true)) => self.connected(cx),
            Poll::Ready(Err(_)) => self.fail(Failure::Connect),
            _ => {
                // Not connected yet, or nothing to say: nothing was sent, so it is said again later.
                self.left = cx.job.per_connection;
                self.engine.take_back(cx);
                self.watch(cx, true);
            }
        }
    }

    /// The client knows that the connection is made, and its first words are on their way.
    fn connected(&mut self, cx: &mut Cx<'_>) {
        if cx.job.connector.is_some() {
            self.stage = Stage::Shaking;
        } else {
            if !self.engine.is_used() {
                self.engine.choose(cx, None);
            }
            self.established(cx);
            cx.out.clear();
            self.fill_and_send(cx);
        }
        self.watch(cx, false);
    }

    /// Requests may be sent.
    fn established(&mut self, cx: &mut Cx<'_>) {
        self.stage = Stage::Open;
        cx.count.tally.connect.record(cx.now.saturating_sub(self.began));
        cx.count.tally.connections += 1;
        cx.count.usable += 1;
        self.is_usable = true;
    }

    /// The kernel says something about the socket.
    /// Whether it wants another turn soon.
    pub(crate) fn ready(&mut self, cx: &mut Cx<'_>, ready: Ready) -> bool {
        if ready.token != self.token() {
            return false; // about a connection that was here before
        }
        self.ended |= ready.ended;
        self.wire.may(ready);
        if self.wire.is_far() {
            return self.ready_far(cx, ready);
        }
        if self.stage == Stage::Dialing {
            self.ready_dialing(cx, ready);
        }
        self.turn(cx)
    }

    fn ready_dialing(&mut self, cx: &mut Cx<'_>, ready: Ready) {
        if !ready.writable {
            return;
        }
        if self.wire.outcome().is_err() {
            return self.fail(Failure::Connect);
        }
        cx.now = crate::worker::now();
        self.begin_speaking(cx);
        if self.stage == Stage::Dialing {
            // There was nothing to say: the open model has no request for it yet.
            self.connected(cx);
        }
    }

    /// Writes what is left, reads what is there, and answers it. Whether there may be more to read.
    pub(crate) fn turn(&mut self, cx: &mut Cx<'_>) -> bool {
        if self.wire.is_far() {
            return self.turn_far(cx);
        }
        for _ in 0..READS {
            if self.wire.flush().is_err() {
                self.fail(Failure::Reset);
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
                    cx.now = crate::worker::now();
                    self.eof(cx);
                }
                Poll::Ready(Ok(_)) => {
                    cx.now = crate::worker::now();
                    self.received(cx);
                }
                Poll::Ready(Err(_)) => self.broken(),
            }
        }
        true
    }

    fn is_reading(&self) -> bool {
        matches!(self.stage, Stage::Shaking | Stage::Open | Stage::Closing)
    }

    /// Octets have come: `cx.input` holds them, or the wire does if they are sealed.
    fn received(&mut self, cx: &mut Cx<'_>) {
        if self.stage == Stage::Closing && !self.wire.is_sealed() {
            return; // nobody asked for more
        }
        cx.out.clear();
        match self.wire.open(cx) {
            Err(_) => self.fail(Failure::Tls),
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

    /// The TLS handshake is complete. Whether the server agreed to what the plan asks for.
    fn agreed(&mut self, cx: &mut Cx<'_>) -> bool {
        let alpn = self.wire.info().map(|info| (info.alpn, info.resumed));
        let (alpn, resumed) = alpn.unwrap_or_default();
        if !self.engine.choose(cx, Some(alpn)) {
            self.fail(Failure::Tls);
            return false;
        }
        self.established(cx);
        cx.count.tally.resumed += u64::from(resumed);
        self.engine.start(cx);
        true
    }

    /// Gives the engine what has come, and writes what follows from it.
    fn answer(&mut self, cx: &mut Cx<'_>) {
        let input = std::mem::take(&mut cx.input);
        cx.count.tally.octets_in += (input.len() - self.wire.kept()) as u64;
        let wire = &self.wire;
        let received = self.engine.receive(cx, &input, &|| wire.tls_name());
        let answered = match &received {
            Ok(consumed) => {
                self.wire.keep(&input[*consumed..]);
                true
            }
            Err(_) => false,
        };
        cx.input = input;
        if !answered {
            self.wire.send(cx); // HTTP/2 says why
            return self.fail(Failure::Protocol);
        }
        self.has_answered = true;
        self.fill_and_send(cx);
        if self.stage == Stage::Open && self.engine.is_done(self.left) {
            self.finish(cx);
        }
    }

    /// Makes as many requests as there are to be made, and sends everything in one write.
    fn fill_and_send(&mut self, cx: &mut Cx<'_>) {
        self.engine.fill(cx, &mut self.left);
        self.deadline = match self.engine.oldest() {
            Some(sent) => sent + cx.job.timeout,
            None => 0,
        };
        if !cx.out.is_empty() && !self.wire.send(cx) {
            self.fail(Failure::Reset);
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

    /// Everything was asked and answered. In HTTP/1 the server closes: whoever closes first keeps the port for a
    /// minute (TIME-WAIT), and it is the server that was told `close` (RFC 9112 §9.6). In HTTP/2 it is us: servers
    /// keep connections open for more, and those that want no more have said so (RFC 9113 §6.8).
    fn finish(&mut self, cx: &mut Cx<'_>) {
        cx.pace.put_back(self.engine.unanswered());
        self.engine.forget();
        self.no_longer_usable(cx);
        if !self.engine.is_http1() {
            cx.out.clear();
            self.engine.say_goodbye(cx);
            self.wire.send(cx);
            self.stage = Stage::Over(None);
        } else if self.ended && !self.wire.is_far() {
            self.stage = Stage::Over(None);
        } else {
            self.stage = Stage::Closing;
            self.deadline = cx.now + CLOSING;
        }
    }

    fn no_longer_usable(&mut self, cx: &mut Cx<'_>) {
        if std::mem::take(&mut self.is_usable) {
            cx.count.usable -= 1;
        }
    }

    /// The server sends no more.
    fn eof(&mut self, cx: &mut Cx<'_>) {
        match self.stage {
            Stage::Closing => self.stage = Stage::Over(None),
            Stage::Shaking => self.fail(Failure::Tls),
            Stage::Open => match self.engine.eof(cx) {
                None => {
                    self.no_longer_usable(cx);
                    self.stage = Stage::Over(None);
                }
                Some(failure) => self.fail(failure),
            },
            _ => self.fail(Failure::Connect),
        }
    }

    /// The connection was reset.
    fn broken(&mut self) {
        match self.stage {
            Stage::Closing => self.stage = Stage::Over(None),
            Stage::Shaking => self.fail(Failure::Tls),
            Stage::Open if self.engine.unanswered() == 0 => self.stage = Stage::Over(Some(Failure::Reset)),
            Stage::Open => {
                let begun = self.engine.has_begun();
                self.fail(if begun { Failure::Short } else { Failure::Reset });
            }
            _ => self.fail(Failure::Connect),
        }
    }

    /// Failures one after the other, this connection's end among them if it never was of use.
    pub(crate) fn failures(&self) -> u32 {
        if self.has_answered { 0 } else { self.failures + 1 }
    }

    fn fail(&mut self, failure: Failure) {
        if !matches!(self.stage, Stage::Over(_) | Stage::Free | Stage::Gone | Stage::Leaving) {
            self.stage = match self.stage {
                Stage::Closing => Stage::Over(None),
                _ => Stage::Over(Some(failure)),
            };
        }
    }

    /// Counts what a failure cost. To be called once, before the slot is freed.
    pub(crate) fn count_failure(&mut self, cx: &mut Cx<'_>, failure: Failure) {
        let lost = self.engine.unanswered();
        let was_usable = self.is_usable;
        self.no_longer_usable(cx);
        cx.pace.done(lost);
        if !was_usable && lost == 0 && failure != Failure::Lost {
            cx.pace.spoil();
        }
        let errors = &mut cx.count.tally.errors;
        // A server may close a connection that rests.
        let first = u64::from(lost > 0 || failure != Failure::Reset);
        let kind = match failure {
            Failure::Connect => &mut errors.connect,
            Failure::Tls => &mut errors.tls,
            Failure::Reset => &mut errors.reset,
            Failure::Timeout => &mut errors.timeout,
            Failure::Protocol => &mut errors.protocol,
            Failure::Short => &mut errors.short,
            Failure::Lost => &mut errors.lost,
        };
        *kind += first;
        let others = lost.saturating_sub(1);
        *(if failure == Failure::Timeout { &mut errors.timeout } else { &mut errors.reset }) += others;
    }

    /// Gives the connection up if its time has passed.
    pub(crate) fn expire(&mut self, cx: &mut Cx<'_>) {
        if self.deadline == 0 || cx.now < self.deadline {
            return;
        }
        match self.stage {
            Stage::Free | Stage::Over(_) | Stage::Leaving | Stage::Gone => {}
            Stage::Closing => self.stage = Stage::Over(None),
            Stage::Astray => self.stage = Stage::Over(Some(Failure::Lost)),
            Stage::Dialing | Stage::Shaking => self.fail(Failure::Timeout),
            Stage::Open => {
                // It was set for a request that has been answered since.
                match self.engine.oldest().map(|sent| sent + cx.job.timeout) {
                    Some(deadline) if deadline <= cx.now => self.fail(Failure::Timeout),
                    deadline => self.deadline = deadline.unwrap_or(0),
                }
            }
        }
    }

    /// Has the kernel tell what happens to the socket; that it can be written, if it cannot now.
    fn watch(&mut self, cx: &mut Cx<'_>, writable: bool) {
        let token = self.token();
        if matches!(self.stage, Stage::Over(_)) || self.wire.watch(&cx.poller, token, writable).is_ok() {
            return;
        }
        self.fail(Failure::Connect); // the system's limit of watches is reached
    }
}
