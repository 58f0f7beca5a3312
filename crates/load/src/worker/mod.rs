//! One thread of the generator: its connections, its share of the requests, its counts.
//!
//! Nothing here is shared with other workers but the [`Job`], which is immutable, and the [`Control`], which
//! is read and updated some times a second. A turn of the loop polls the kernel once, lets the connections
//! handle the events, and then does what is due by the clock.

pub(crate) mod count;
pub(crate) mod job;
pub(crate) mod origin;

use crate::Tally;
use crate::clock::{cpu, now};
use crate::connection::{Connection, Cx, Failure, Stage};
use crate::control::Control;
use crate::distance::{Due, Entry, Random, wheel};
use crate::pace::Pace;
use count::{Count, LastFailure};
use hayami_h1::LastHead;
use hayami_http::{ResponseHead, Status};
use hayami_net::poll::{Events, Poll};
use job::Job;
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

/// Events taken from the kernel at once.
const EVENTS: usize = 128;
/// How often deadlines are checked and observers are updated, in nanoseconds.
const TICK: u64 = 50_000_000;
/// How many timed actions run before the kernel is polled again. With thousands of connections more than that
/// may be due at once; responses that arrive in the meantime would be noticed late, and all connections would
/// end up in lockstep.
const BATCH: usize = 64;
/// How long a connection waits after the first of several failures; twice as long after each other one.
const BACK_OFF: u64 = 10_000_000;
/// This many failed handshakes of a worker without a success are conclusive.
const HANDSHAKES: u64 = 5;
/// As often it becomes longer: 320 ms at most.
const LONGEST_BACK_OFF: u32 = 5;

/// A worker's part of the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Which worker, and of how many.
    pub(crate) index: usize,
    pub(crate) of: usize,
    /// Its connections.
    pub(crate) connections: usize,
    /// Requests to be measured, if the plan counts them.
    pub(crate) requests: Option<u64>,
    /// Requests a second, if they are made by a schedule.
    pub(crate) rate: Option<f64>,
}

/// The times of a run, on the steady clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) start: u64,
    pub(crate) ramp_up: u64,
    /// When measuring begins.
    pub(crate) measure: u64,
    /// When it ends, if that is planned.
    pub(crate) end: Option<u64>,
}

/// The result of a worker.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) tally: Box<Tally>,
    /// When measuring ended.
    pub(crate) ended: u64,
    /// CPU time of the thread while it was measured.
    pub(crate) cpu: Duration,
    /// When the last response came; 0: none ever.
    pub(crate) last_response: u64,
    pub(crate) last_failure: Option<LastFailure>,
    /// Requests in flight at the end.
    pub(crate) unanswered: u64,
}

/// The worker of a thread.
pub(crate) struct Worker<'a> {
    cx: Cx<'a>,
    control: &'a Control,
    share: Share,
    times: Times,
    connections: Vec<Connection>,
    free: Vec<u32>,
    /// Connections that wait for a request to become due.
    idle: VecDeque<u32>,
    /// Connections that are not open, since no request is there for them; the failures before.
    dormant: Vec<u32>,
    /// Connections being opened.
    opening: u64,
    /// Connections that want another turn.
    again: Vec<u32>,
    entries: Vec<Entry>,
    next_tick: u64,
    /// CPU time when measuring began.
    cpu: Duration,
}

impl<'a> Worker<'a> {
    /// # Errors
    /// The process has no descriptor left.
    pub(crate) fn new(job: &'a Job, control: &'a Control, share: Share, times: Times) -> io::Result<Self> {
        let open_from = times.start + times.ramp_up;
        // Schedules of several workers take turns instead of beating together.
        let shift = share.rate.map_or(0, |rate| (1e9 / rate * share.index as f64 / share.of as f64) as u64);
        let cx = Cx {
            job,
            poll: Poll::new()?,
            wheel: wheel(times.start),
            spares: Vec::new(),
            pace: Pace::new(share.rate, open_from + shift),
            count: Count::new(share.rate.is_some()),
            random: Random::new(share.index as u64 + 1),
            now: times.start,
            origins: job.sources.share(&share),
            input: Vec::new(),
            out: Vec::new(),
            sealed: Vec::new(),
            head: ResponseHead::new(Status::OK),
            last_head: LastHead::default(),
        };
        Ok(Self {
            cx,
            control,
            share,
            times,
            connections: Vec::new(),
            free: Vec::new(),
            idle: VecDeque::new(),
            dormant: Vec::new(),
            opening: 0,
            again: Vec::new(),
            entries: Vec::new(),
            next_tick: times.start + TICK,
            cpu: Duration::ZERO,
        })
    }

    /// Works until the plan is done or the user stops it.
    pub(crate) fn run(mut self) -> io::Result<Done> {
        // Sleeps end when they should, and not up to 50 µs later.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        self.ramp_up();
        let mut events = Events::with_capacity(EVENTS);
        loop {
            self.cx.now = now();
            self.begin_measuring();
            if self.is_over() {
                return Ok(self.end());
            }
            if self.cx.now >= self.next_tick {
                self.tick();
            }
            self.do_what_is_due();
            self.dispatch();
            let timeout = self.timeout();
            match self.cx.poll.wait(&mut events, Some(timeout)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                waited => waited?,
            }
            for index in 0..events.len() {
                let Some((token, readiness)) = events.get(index) else { break };
                let slot = token.slot();
                let Some(connection) = self.connections.get_mut(slot) else { continue };
                if connection.ready(&mut self.cx, token, readiness) {
                    self.again.push(slot as u32);
                }
                self.settle(slot);
            }
        }
    }

    /// Connections are opened evenly over time; the workers take turns.
    fn ramp_up(&mut self) {
        let all = (self.share.connections * self.share.of) as u64;
        for index in 0..self.share.connections {
            let place = (index * self.share.of + self.share.index) as u64;
            let after = u128::from(self.times.ramp_up) * u128::from(place) / u128::from(all.max(1));
            let (due, what) = (self.times.start + after as u64, Due::Open(0));
            self.cx.wheel.add(due, Entry { slot: u32::MAX, generation: 0, what });
        }
    }

    fn begin_measuring(&mut self) {
        if self.cx.count.is_measuring() || self.cx.now < self.times.measure {
            return;
        }
        self.cx.count.begin(self.times.measure.max(self.times.start));
        if let Some(requests) = self.share.requests {
            self.cx.pace.limit(requests);
        }
        self.cpu = cpu();
    }

    fn is_over(&mut self) -> bool {
        self.control.is_stopped()
            || self.times.end.is_some_and(|end| self.cx.now >= end)
            || self.cx.count.is_measuring()
                && (self.cx.pace.is_over() || self.is_hopeless() || self.is_untrusted())
    }

    /// Whether a count of requests will hardly ever be reached: for the time of the plan requests fail, and no
    /// response came.
    fn is_hopeless(&self) -> bool {
        let count = &self.cx.count;
        self.share.requests.is_some()
            && count.last_failure.as_ref().is_some_and(|failure| failure.at > count.last_response)
            && self.cx.now > self.times.measure.max(count.last_response) + self.cx.job.timeout.max(20 * TICK)
    }

    /// Whether nothing but TLS handshakes failed and no response ever came: a certificate that is not trusted now
    /// is not trusted in ten seconds.
    fn is_untrusted(&self) -> bool {
        let (count, errors) = (&self.cx.count, &self.cx.count.tally.errors);
        count.last_response == 0 && errors.tls >= HANDSHAKES && errors.tls == errors.total()
    }

    fn end(mut self) -> Done {
        if !self.cx.count.is_measuring() {
            // Stopped before anything counted.
            self.cx.count.begin(self.cx.now);
            self.cpu = cpu();
        }
        let ended = self.times.end.map_or(self.cx.now, |end| self.cx.now.min(end));
        let cpu = cpu().saturating_sub(self.cpu);
        let (last_response, last_failure) = (self.cx.count.last_response, self.cx.count.last_failure.take());
        let tally = Box::new(self.cx.count.end(self.control, ended));
        Done { tally, ended, cpu, last_response, last_failure, unanswered: self.cx.pace.under_way() }
    }

    /// Checks deadlines and updates observers.
    fn tick(&mut self) {
        self.next_tick = self.cx.now + TICK;
        for slot in 0..self.connections.len() {
            self.connections[slot].expire(&mut self.cx);
            self.settle(slot);
        }
        self.cx.count.report(self.control, self.cx.now);
    }

    fn do_what_is_due(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        self.cx.wheel.take(self.cx.now, BATCH, &mut entries);
        for entry in entries.drain(..) {
            if let Due::Open(failures) = entry.what {
                self.cx.now = now();
                self.open(failures);
                continue;
            }
            let slot = entry.slot as usize;
            if let Some(connection) = self.connections.get_mut(slot)
                && connection.is(entry.generation)
            {
                self.cx.now = now();
                connection.due(&mut self.cx, entry.what);
                self.settle(slot);
            }
        }
        self.entries = entries;
        for slot in std::mem::take(&mut self.again) {
            if self.connections[slot as usize].turn(&mut self.cx) {
                self.again.push(slot);
            }
            self.settle(slot as usize);
        }
    }

    /// Hands requests that are due to connections that wait for them.
    fn dispatch(&mut self) {
        if self.cx.pace.is_open() {
            self.cx.now = now();
            while self.cx.pace.overdue(self.cx.now, 1) > 0 {
                let Some(slot) = self.idle.pop_front() else { break };
                self.connections[slot as usize].wake(&mut self.cx);
                self.settle(slot as usize);
            }
        }
        while !self.dormant.is_empty() && self.wants_connection() {
            let failures = self.dormant.pop().unwrap_or_default();
            self.open_now(failures);
        }
    }

    fn timeout(&self) -> Duration {
        if !self.again.is_empty() {
            return Duration::ZERO;
        }
        let mut next = self.next_tick;
        let waits = !self.idle.is_empty() || !self.dormant.is_empty();
        let due = self.cx.pace.next_due().filter(|_| waits);
        let soon = [self.cx.wheel.next_due(), due, self.times.end];
        soon.into_iter().flatten().for_each(|time| next = next.min(time));
        if !self.cx.count.is_measuring() {
            next = next.min(self.times.measure);
        }
        Duration::from_nanos(next.saturating_sub(self.cx.now))
    }

    /// Whether a request is waiting for which a connection could be opened.
    fn wants_connection(&self) -> bool {
        self.cx.pace.overdue(self.cx.now, self.opening + 1) > self.opening
    }

    /// Opens a connection, now or when there is a request for it.
    fn open(&mut self, failures: u32) {
        let on_demand = self.cx.pace.is_open() && self.cx.job.per_connection == 1;
        let at_once = if on_demand || !self.cx.pace.is_open() { self.wants_connection() } else { true };
        if at_once { self.open_now(failures) } else { self.dormant.push(failures) }
    }

    fn open_now(&mut self, failures: u32) {
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = self.connections.len() as u32;
            self.connections.push(Connection::new(slot));
            slot
        });
        let connection = &mut self.connections[slot as usize];
        connection.is_opening = true;
        self.opening += 1;
        connection.open(&mut self.cx, failures);
        self.settle(slot as usize);
    }

    /// Takes notice of what became of a connection.
    fn settle(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        let stage = connection.stage;
        if connection.is_opening && !matches!(stage, Stage::Dialing | Stage::Shaking | Stage::Astray) {
            connection.is_opening = false;
            self.opening -= 1;
        }
        match stage {
            Stage::Over(failure) => self.close(slot, failure),
            Stage::Gone => {
                connection.free(&mut self.cx);
                self.free.push(slot as u32);
            }
            Stage::Open if self.cx.pace.is_open() && !connection.is_idle && connection.has_room(&self.cx) => {
                connection.is_idle = true;
                self.idle.push_back(slot as u32);
            }
            _ => {}
        }
    }

    fn close(&mut self, slot: usize, failure: Option<Failure>) {
        let connection = &mut self.connections[slot];
        if let Some(failure) = failure {
            connection.count_failure(&mut self.cx, failure);
        }
        let failures = if failure == Some(Failure::Lost) { 0 } else { connection.failures() };
        if connection.is_idle {
            self.idle.retain(|idle| *idle != slot as u32);
            connection.is_idle = false;
        }
        if !connection.leave(&mut self.cx) {
            connection.free(&mut self.cx);
            self.free.push(slot as u32);
        }
        // Also at once by way of the wheel: a connection that fails at once must not open the next one in here.
        let after = match failures {
            0 => 0,
            more => BACK_OFF << (more - 1).min(LONGEST_BACK_OFF),
        };
        if after == 0 {
            self.open(0);
        } else {
            let due = self.cx.now + after;
            let what = Due::Open(failures);
            self.cx.wheel.add(due, Entry { slot: u32::MAX, generation: 0, what });
        }
        self.connections[slot].close_spare();
    }
}
