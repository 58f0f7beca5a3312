//! Streams whose client is late: with content that a handler waits for, or with credit for content that waits for it.
//!
//! Deadlines of streams are not kept sorted, since nearly none ever passes: while a stream waits for the client, all
//! of them are looked at a few times within the shortest timeout.

use super::Http2;
use super::content::stream;
use super::stream::{Stream, Work};
use crate::clock::Millis;
use crate::link::{Link, Stage};
use crate::pace::{Pace, Patience};
use crate::service::Refusal;
use crate::worker::{Timeouts, Worker};
use hayami_h2::{ErrorCode, Key};
use std::time::Duration;

/// How often streams are looked at within the shortest timeout, and so by which share of it a client that is late may be
/// found late.
const LOOKS: u32 = 8;
/// No more often than deadlines pass.
const LEAST_PAUSE: Duration = crate::poll::SWEEP;

/// What a connection knows of its streams' deadlines.
pub(super) struct Deadlines {
    /// When the streams are looked at next.
    next_look: Millis,
    /// Some handler waits for content.
    pub(super) starving: bool,
    /// Bytes of request content that have come on all streams.
    pub(super) received: u64,
    /// Bytes of response content that have gone out on all streams.
    pub(super) sent: u64,
    /// How slowly content comes while all streams wait for it.
    idle: Option<Pace>,
    /// How slowly it comes while any handler waits for it.
    uploads: Option<Pace>,
    /// How slowly the peer takes content while its window of the connection is what that waits for.
    downloads: Option<Pace>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            next_look: Millis::NEVER,
            starving: false,
            received: 0,
            sent: 0,
            idle: None,
            uploads: None,
            downloads: None,
        }
    }
}

/// Which streams wait for the client.
#[derive(Default)]
struct Waiting {
    /// Those whose client grants no credit, and is late with it.
    late: Vec<Key>,
    /// How many have a handler that waits for content.
    starving: usize,
    /// Those whose handler has waited too long for content.
    overdue: Vec<Key>,
}

impl Http2 {
    /// When the streams have to be looked at, while any waits for the client.
    pub(super) fn next_look(&mut self, now: Millis, timeouts: &Timeouts) -> Millis {
        let deadlines = &mut self.deadlines;
        let waits = deadlines.starving || self.engine.has_stalled() || self.waiting.is_empty();
        if !waits || self.engine.streams() == 0 {
            deadlines.next_look = Millis::NEVER;
        } else if deadlines.next_look == Millis::NEVER {
            let shortest = timeouts.receive.min(timeouts.send).min(timeouts.idle);
            deadlines.next_look = now.after((shortest / LOOKS).max(LEAST_PAUSE));
        }
        deadlines.next_look
    }

    /// Looks at the streams, if that is due: handlers learn that content does not come, responses that are not taken
    /// are given up. Whether there were any.
    #[cold]
    pub(crate) fn streams_are_late<S>(&mut self, link: &mut Link, worker: &Worker<S>) -> bool {
        let now = worker.clock.millis();
        if link.stage != Stage::Open || self.deadlines.next_look > now {
            return false;
        }
        self.deadlines.next_look = Millis::NEVER;
        let waiting = self.look(now, &worker.timeouts);
        self.deadlines.starving = waiting.starving > 0;
        for key in &waiting.late {
            self.give_up_stream(link, worker, *key);
        }
        let refused =
            self.is_late_with_uploads(now, waiting.starving, &worker.timeouts) && !waiting.overdue.is_empty();
        if refused {
            waiting.overdue.iter().for_each(|key| self.refuse_content(*key));
        }
        if self.is_late_with_all(now, waiting.starving, &worker.timeouts) {
            self.give_up(link, worker, ErrorCode::NO_ERROR, "the request did not arrive in time");
        } else if self.is_late_with_downloads(now, &worker.timeouts) {
            self.give_up(link, worker, ErrorCode::NO_ERROR, "the client did not read in time");
        }
        refused || !waiting.late.is_empty() || link.stage != Stage::Open
    }

    fn look(&mut self, now: Millis, timeouts: &Timeouts) -> Waiting {
        let mut waiting = Waiting::default();
        for key in self.engine.keys().collect::<Vec<_>>() {
            let stalled = self.engine.is_stalled(key);
            let Some(stream) = stream(self.engine.get(key)) else { continue };
            if stream.note_credit(now, stalled, timeouts) {
                waiting.late.push(key);
            }
            let Some(feed) = stream.content.as_ref().filter(|feed| feed.has_reader()) else { continue };
            waiting.starving += usize::from(feed.note_starvation(now, timeouts.receiving()));
            if feed.due() <= now {
                waiting.overdue.push(key);
            }
        }
        waiting
    }

    /// Tells a handler that the client is late with content.
    fn refuse_content(&mut self, key: Key) {
        let feed = stream(self.engine.get(key)).and_then(|stream| stream.content.as_ref());
        if feed.is_some_and(|feed| feed.refuse(Refusal::Timeout)) {
            self.woken.push(key.stream_id());
        }
    }

    /// Whether content comes too slowly for `starving` handlers that wait for it. A client that sends to all of them in
    /// turn, as fast as its network lets it, may take long with each.
    fn is_late_with_uploads(&mut self, now: Millis, starving: usize, timeouts: &Timeouts) -> bool {
        let Deadlines { uploads, received, .. } = &mut self.deadlines;
        let one = timeouts.receiving();
        if one.min_rate == 0 {
            return true;
        }
        let min_rate = one.min_rate.saturating_mul(u32::try_from(starving).unwrap_or(u32::MAX));
        let all = Patience { min_rate: min_rate.max(one.min_rate), ..one };
        Pace::noted(uploads, now, *received, starving > 0, all).is_late(now)
    }

    /// Whether the peer takes content too slowly while its window of the connection is what that waits for. Streams are
    /// served one after the other, so none is to blame alone.
    fn is_late_with_downloads(&mut self, now: Millis, timeouts: &Timeouts) -> bool {
        let stalled = self.engine.is_all_stalled();
        let Deadlines { downloads, sent, .. } = &mut self.deadlines;
        Pace::noted(downloads, now, *sent, stalled, timeouts.sending()).is_late(now)
    }

    /// Whether all streams wait for content, of answered requests or for `starving` handlers, and it comes too slowly
    /// for a connection that does nothing else.
    fn is_late_with_all(&mut self, now: Millis, starving: usize, timeouts: &Timeouts) -> bool {
        let all = self.engine.streams() > 0 && starving + self.unfinished() == self.engine.streams();
        let Deadlines { idle, received, .. } = &mut self.deadlines;
        Pace::noted(idle, now, *received, all, timeouts.idling()).is_late(now)
    }

    /// Number of streams whose response is complete and whose request is not, tunnels aside.
    fn unfinished(&mut self) -> usize {
        let engine = &mut self.engine;
        let half_closed = engine.half_closed_local();
        let hears = |key: &&Key| {
            let stream = stream(engine.get(**key));
            stream.is_some_and(|stream| matches!(stream.work, Work::Hear))
        };
        half_closed - self.tunnels.iter().filter(hears).count()
    }

    fn give_up_stream<S>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key) {
        let engine = &mut self.engine;
        let data = link.output.write(&worker.pool, |out| engine.reset(key, ErrorCode::CANCEL, out));
        self.end_early(worker, key, data.flatten(), "the client did not read in time");
    }
}

impl Stream {
    /// Takes account of the credit that the client grants for the response, which waits for nothing else if it is
    /// `stalled`. Whether the client is late with it.
    fn note_credit(&mut self, now: Millis, stalled: bool, timeouts: &Timeouts) -> bool {
        // Either side of a tunnel may be silent for as long as it likes.
        let stalled = stalled && !self.tunnel;
        if !stalled && self.pace.is_none() {
            return false;
        }
        Pace::noted(&mut self.pace, now, self.sent, stalled, timeouts.sending()).is_late(now)
    }
}
