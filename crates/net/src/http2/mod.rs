//! HTTP/2 on a connection: what the engine's events lead to.
//!
//! ```text
//! answer ─ frames of the input ─ receive.rs: requests, and their content
//!        ├ what was woken ────── send.rs: answers that come later, content that was waited for
//!        └ pump ──────────────── send.rs: content, by priority, as windows and the output have room
//! ```
//!
//! How an exchange's words get into frames is in stream.rs.

mod receive;
mod send;
mod stream;

use crate::clock::Millis;
use crate::connection::{Need, Stage};
use crate::exchange::{Deadlines, Exchange, Reset, Slot, Streams};
use crate::link::Link;
use crate::service::{ConnectionInfo, Refusal, Service};
use crate::session::Session;
use crate::timeouts::{LEAVE, Timeouts};
use crate::turn_budget::cost;
use crate::upgrade;
use crate::worker::Worker;
use hayami_h2::{ErrorCode, Key, PREFACE, Server};
use std::rc::Rc;
use std::time::Duration;

/// How long requests may be on the way when the first goodbye is sent: a round trip of most clients.
const GOODBYE: Duration = Duration::from_millis(500);

/// Streams whose memory a connection keeps while it rests.
const FEW: usize = 8;

/// A connection that speaks HTTP/2.
pub(crate) struct Http2 {
    engine: Server<Slot>,
    /// What the peer was told of us: a reload changes it for new connections only.
    config: Rc<hayami_h2::Config>,
    /// The exchange that has its turn, which is not in the engine's table meanwhile.
    at_work: Slot,
    /// Streams that wait for a waker: for their answer, or for content.
    waiting: Vec<Key>,
    /// Those of them that were woken.
    woken: Vec<u32>,
    leaving: Leaving,
    deadlines: Deadlines,
    /// After an upgrade, until the client has said something in HTTP/2: what is sent before has to fit into
    /// the buffers in which clients still look for the end of the 101 (curl's are 32 KiB).
    expects_preface: bool,
    /// Streams that are tunnels.
    tunnels: Vec<Key>,
    /// The most streams that were open at a time since memory was given back.
    busiest: usize,
}

/// How far our goodbye is (RFC 9113 §6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    No,
    /// The peer was told to open no more streams, at that millisecond of the worker's clock.
    Announced {
        at: Millis,
    },
    /// The peer was told which stream is the last; the goodbye began at that millisecond.
    Final {
        since: Millis,
    },
}

/// What the first bytes of a connection say about its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preface {
    /// It is HTTP/2.
    Whole,
    /// It may be.
    Partial,
    /// It is not.
    Absent,
}

/// Whether a client that was promised nothing begins with HTTP/2 (RFC 9113 §3.3).
#[inline]
pub(crate) fn preface<S>(worker: &Worker<S>, info: &ConnectionInfo, input: &[u8]) -> Preface {
    if input.first() != Some(&PREFACE[0]) || !worker.http2.prior_knowledge || info.tls.is_some() {
        return Preface::Absent;
    }
    let seen = input.len().min(PREFACE.len());
    match input[..seen] == PREFACE[..seen] {
        false => Preface::Absent,
        true if seen == PREFACE.len() => Preface::Whole,
        true => Preface::Partial,
    }
}

impl Http2 {
    /// Begins: our settings go first.
    pub(crate) fn new<S>(link: &mut Link, worker: &Worker<S>) -> Self {
        let config = Rc::clone(&worker.http2_engine);
        let mut engine = Server::new(&config);
        link.output.write(&worker.pool, |out| engine.start(&config, out));
        Self {
            engine,
            config,
            at_work: None,
            waiting: Vec::new(),
            woken: Vec::new(),
            leaving: Leaving::No,
            deadlines: Deadlines::default(),
            expects_preface: false,
            tunnels: Vec::new(),
            busiest: 0,
        }
    }

    /// Begins with a request that came over HTTP/1.1 and stands in the worker's head (RFC 7540 §3.2).
    pub(crate) fn upgraded<S: Service>(link: &mut Link, worker: &Worker<S>) -> Self {
        link.output.write(&worker.pool, |out| out.extend_from_slice(upgrade::SWITCHING));
        let mut http2 = Self::new(link, worker);
        http2.expects_preface = true;
        http2.first(link, worker);
        http2
    }

    /// Says that no more requests are taken; those that are on the way still are.
    fn leave<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        if self.leaving == Leaving::No {
            self.leaving = Leaving::Announced { at: worker.clock.millis() };
            self.say_goodbye(link, worker);
        }
    }

    fn say_goodbye<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        let engine = &mut self.engine;
        link.output.write(&worker.pool, |out| engine.go_away(out));
        if self.engine.is_over() {
            link.close(true);
        }
    }

    fn latest_goodbye(&self, timeouts: &Timeouts) -> Millis {
        match self.leaving {
            Leaving::Announced { at } => at.after(GOODBYE),
            Leaving::Final { since } if !timeouts.graceful.is_zero() => since.after(timeouts.graceful),
            Leaving::Final { since } if !self.tunnels.is_empty() => since.after(LEAVE),
            Leaving::No | Leaving::Final { .. } => Millis::NEVER,
        }
    }

    /// Ends the connection with responses unfinished.
    fn give_up<S>(&mut self, link: &mut Link, worker: &Worker<S>, code: ErrorCode, why: &'static str) {
        let engine = &mut self.engine;
        link.output.write(&worker.pool, |out| engine.abort(code, out));
        self.abort(link, worker, why);
        link.close(true);
    }

    /// The worker waits no longer for tunnels; it does for answers, which come to an end by themselves.
    #[cold]
    fn leave_tunnels<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        for key in std::mem::take(&mut self.tunnels) {
            self.reset(link, worker, key, Reset::Content, "the server is shutting down");
        }
        if self.engine.is_over() {
            link.close(true);
        }
    }
}

impl Session for Http2 {
    fn answer<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
        if link.is_leaving(worker) {
            self.leave(link, worker);
        }
        while link.stage == Stage::Open
            && !link.output.is_overfull()
            && worker.budget.spend(cost::FRAME)
            && self.receive(link, worker)
        {}
        self.take_woken(link, worker);
        match link.stage {
            Stage::Open if self.expects_preface => Need::Frames { idle: self.is_idle() },
            Stage::Open => self.pump(link, worker),
            _ => Need::Close,
        }
    }

    fn woken(&mut self, stream: u32) {
        if stream != 0 {
            self.woken.push(stream);
        }
    }

    fn release(&mut self) {
        if self.busiest > FEW && self.is_idle() {
            self.engine.release();
            self.waiting = Vec::new();
            self.woken = Vec::new();
            self.busiest = 0;
        }
    }

    /// Whether no stream is open.
    fn is_idle(&self) -> bool {
        self.engine.streams() == 0
    }

    #[inline]
    fn idle_timeout(&self, timeouts: &Timeouts) -> Duration {
        timeouts.idle
    }

    fn deadline(&mut self, now: Millis, timeouts: &Timeouts) -> Millis {
        let engine = &mut self.engine;
        self.tunnels.retain(|key| engine.get(*key).is_some());
        let waits = self.deadlines.starving || engine.has_stalled() || self.waiting.is_empty();
        let look = self.deadlines.next_look(waits && engine.streams() > 0, now, timeouts);
        self.latest_goodbye(timeouts).min(look)
    }

    /// Looks at the streams, if that is due: handlers learn that content does not come, responses that are not taken
    /// are given up.
    #[cold]
    fn expire_exchanges<S>(&mut self, link: &mut Link, worker: &Worker<S>) -> bool {
        if link.stage != Stage::Open {
            return false;
        }
        let (now, timeouts) = (worker.clock.millis(), &worker.timeouts);
        let Some(look) = self.deadlines.look(&mut self.engine, now, timeouts) else { return false };
        for key in &look.late {
            self.reset(link, worker, *key, Reset::Late, "the client did not read in time");
        }
        for key in &look.starved {
            let exchange = self.engine.exchange(*key);
            if exchange.is_some_and(|exchange| exchange.refuse_content(Refusal::Timeout)) {
                self.woken.push(key.stream_id());
            }
        }
        if let Some(why) = look.connection {
            self.give_up(link, worker, ErrorCode::NO_ERROR, why);
        }
        !look.starved.is_empty() || !look.late.is_empty() || look.connection.is_some()
    }

    #[cold]
    fn expire<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        match self.leaving {
            Leaving::Announced { at } if worker.clock.millis() >= at.after(GOODBYE) => {
                self.leaving = Leaving::Final { since: at };
                self.say_goodbye(link, worker);
            }
            Leaving::Final { .. } if worker.clock.millis() >= self.latest_goodbye(&worker.timeouts) => {
                if worker.timeouts.graceful.is_zero() {
                    return self.leave_tunnels(link, worker);
                }
                self.give_up(link, worker, ErrorCode::NO_ERROR, "the server is shutting down");
            }
            _ if self.is_idle() && link.idle_since.after(worker.timeouts.idle) <= worker.clock.millis() => {
                self.give_up(link, worker, ErrorCode::NO_ERROR, "the request did not arrive in time");
            }
            _ => {}
        }
    }

    fn says_goodbye(&self) -> bool {
        true
    }

    /// Whether the last stream that is answered has ended, and the client knows that it is the last.
    fn may_end(&self) -> bool {
        self.engine.is_over()
    }

    fn abort<S>(&mut self, _: &Link, worker: &Worker<S>, why: &'static str) {
        let exchanges = self.engine.drain_data().chain([self.at_work.take()]);
        exchanges.flatten().for_each(|exchange| give_up(exchange, worker, why));
        self.waiting.clear();
    }
}

/// An exchange ends with its response incomplete.
fn give_up<S>(mut exchange: Box<Exchange>, worker: &Worker<S>, why: &'static str) {
    exchange.abort(&worker.clock, 0, why);
    worker.exchanges.give(exchange);
}

impl Streams for Server<Slot> {
    type Key = Key;

    fn keys(&self) -> Vec<Key> {
        self.keys().collect()
    }

    fn exchange(&mut self, key: Key) -> Option<&mut Exchange> {
        self.get(key)?.as_deref_mut()
    }

    fn is_stalled(&self, key: Key) -> bool {
        self.is_stalled(key)
    }

    fn are_all_stalled(&self) -> bool {
        self.is_all_stalled()
    }

    fn half_closed(&self) -> usize {
        self.half_closed_local()
    }
}
