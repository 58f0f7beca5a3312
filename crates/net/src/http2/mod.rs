//! HTTP/2 on a connection: acts on the engine's events.
//!
//! ```text
//! answer ─ input frames ──────── receive.rs: requests, and their content
//!        ├ woken streams ─────── send.rs: asynchronous responses, content that was waited for
//!        └ pump ──────────────── send.rs: content by priority, as windows and the output have room
//! ```
//!
//! stream.rs turns what an exchange sends into frames.

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

/// Time between the two GOAWAY frames, for requests that are in transit: a round trip of most clients.
const GOODBYE: Duration = Duration::from_millis(500);

/// An idle connection keeps the memory of this many streams.
const FEW: usize = 8;

/// A connection that speaks HTTP/2.
pub(crate) struct Http2 {
    engine: Server<Slot>,
    /// The settings announced to the peer: a reload changes them for new connections only.
    config: Rc<hayami_h2::Config>,
    /// The exchange that is running, which is taken out of the engine's table meanwhile.
    at_work: Slot,
    /// Streams that wait to be woken: for their response, or for content.
    waiting: Vec<Key>,
    /// Stream IDs that were woken.
    woken: Vec<u32>,
    leaving: Leaving,
    /// When the worker began to drain, as far as the connection knows: the grace periods begin then.
    drains_since: Option<Millis>,
    deadlines: Deadlines,
    /// After an upgrade, until the client has sent something in HTTP/2: output sent before has to fit into the
    /// buffers in which clients still look for the end of the 101 response (32 KiB in curl).
    expects_preface: bool,
    /// Streams that are tunnels.
    tunnels: Vec<Key>,
    /// Peak number of open streams since memory was released.
    busiest: usize,
}

/// State of the graceful shutdown (RFC 9113 §6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    No,
    /// The first GOAWAY, which announces the shutdown, was sent at this time of the worker's clock.
    Announced {
        at: Millis,
    },
    /// The GOAWAY with the last stream ID was sent.
    Final,
}

/// Result of matching the first bytes of a connection with the HTTP/2 preface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preface {
    /// It is HTTP/2.
    Whole,
    /// It may be HTTP/2.
    Partial,
    /// It is not HTTP/2.
    Absent,
}

/// Whether a client starts HTTP/2 with prior knowledge (RFC 9113 §3.3).
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
    /// Starts the connection: the server's SETTINGS frame is sent first.
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
            drains_since: None,
            deadlines: Deadlines::default(),
            expects_preface: false,
            tunnels: Vec::new(),
            busiest: 0,
        }
    }

    /// Starts with a request that arrived over HTTP/1.1 and is in the worker's head (RFC 7540 §3.2).
    pub(crate) fn upgraded<S: Service>(link: &mut Link, worker: &Worker<S>) -> Self {
        link.output.write(&worker.pool, |out| out.extend_from_slice(upgrade::SWITCHING));
        let mut http2 = Self::new(link, worker);
        http2.expects_preface = true;
        http2.first(link, worker);
        http2
    }

    /// Announces that no more requests are accepted; those in transit still are.
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

    /// When the next step of the shutdown is due. After a reload, streams have as long as they like.
    fn latest_goodbye(&self, timeouts: &Timeouts) -> Millis {
        match (self.leaving, self.drains_since) {
            (Leaving::Announced { at }, _) => at.after(GOODBYE),
            (Leaving::Final, Some(since)) if !timeouts.graceful.is_zero() => since.after(timeouts.graceful),
            (Leaving::Final, Some(since)) if !self.tunnels.is_empty() => since.after(LEAVE),
            (Leaving::No | Leaving::Final, _) => Millis::NEVER,
        }
    }

    /// Closes the connection with responses incomplete.
    fn give_up<S>(&mut self, link: &mut Link, worker: &Worker<S>, code: ErrorCode, why: &'static str) {
        let engine = &mut self.engine;
        link.output.write(&worker.pool, |out| engine.abort(code, out));
        self.abort(link, worker, why);
        link.close(true);
    }

    /// The grace period for tunnels has expired: resets them. Responses may continue, since they end by themselves.
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
            if worker.draining.get() {
                self.drains_since.get_or_insert(worker.clock.millis());
            }
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

    /// Checks the streams if that is due: reports read timeouts to handlers, and resets responses that the client
    /// does not read.
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
                self.leaving = Leaving::Final;
                self.say_goodbye(link, worker);
            }
            Leaving::Final if worker.clock.millis() >= self.latest_goodbye(&worker.timeouts) => {
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

    /// Whether the last answered stream has ended, and the client knows that it is the last.
    fn may_end(&self) -> bool {
        self.engine.is_over()
    }

    fn abort<S>(&mut self, _: &Link, worker: &Worker<S>, why: &'static str) {
        let exchanges = self.engine.drain_data().chain([self.at_work.take()]);
        exchanges.flatten().for_each(|exchange| give_up(exchange, worker, why));
        self.waiting.clear();
    }
}

/// Aborts an exchange with its response incomplete.
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
