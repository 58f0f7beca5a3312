//! Timeouts of slow clients: those that do not send content a handler waits for, grant no credit for response
//! content, or do not send content that is discarded.
//!
//! A connection with one exchange at a time uses the deadline of that exchange. With many, the deadlines of streams
//! are not kept sorted, since almost none ever expires: while a stream waits for the client, all of them are checked
//! a few times within the shortest timeout.

use super::Exchange;
use crate::clock::Millis;
use crate::pace::{Pace, Patience};
use crate::timeouts::Timeouts;
use std::time::Duration;

/// Checks per shortest timeout; a timeout may be noticed late by one part in this number.
const LOOKS: u32 = 8;
/// Minimum interval between checks: the resolution of deadlines.
const LEAST_PAUSE: Duration = crate::poll::SWEEP;

/// The streams of a multiplexed connection.
pub(crate) trait Streams {
    type Key: Copy;

    /// The open streams.
    fn keys(&self) -> Vec<Self::Key>;

    /// The exchange of a stream, if it has one.
    fn exchange(&mut self, key: Self::Key) -> Option<&mut Exchange>;

    /// Whether content of a stream is blocked only by the stream's window.
    fn is_stalled(&self, key: Self::Key) -> bool;

    /// Whether content is blocked only by the connection's window.
    fn are_all_stalled(&self) -> bool;

    /// Number of streams on which the response is complete and the client still sends.
    fn half_closed(&self) -> usize;
}

/// The deadlines of a connection's streams.
pub(crate) struct Deadlines {
    /// When the streams are checked next.
    next_look: Millis,
    /// Some handler waits for content.
    pub(crate) starving: bool,
    /// Bytes of request content received on all streams.
    pub(crate) received: u64,
    /// Bytes of response content sent on all streams.
    pub(crate) sent: u64,
    /// Rate of received content while all streams wait for it.
    idle: Option<Pace>,
    /// Rate of received content while any handler waits for it.
    uploads: Option<Pace>,
    /// Rate at which the peer takes content while that is blocked by the connection's window.
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

/// Result of checking the streams.
pub(crate) struct Look<K> {
    /// Streams whose client has not granted credit in time.
    pub(crate) late: Vec<K>,
    /// Streams whose handler has waited too long for content.
    pub(crate) starved: Vec<K>,
    /// Why the connection has to be closed, if it has.
    pub(crate) connection: Option<&'static str>,
}

impl Deadlines {
    /// When the streams have to be checked; `waits`: some stream waits for the client.
    pub(crate) fn next_look(&mut self, waits: bool, now: Millis, timeouts: &Timeouts) -> Millis {
        if !waits {
            self.next_look = Millis::NEVER;
        } else if self.next_look == Millis::NEVER {
            let shortest = timeouts.receive.min(timeouts.send).min(timeouts.idle);
            self.next_look = now.after((shortest / LOOKS).max(LEAST_PAUSE));
        }
        self.next_look
    }

    /// Checks the streams, if that is due.
    pub(crate) fn look<S: Streams>(
        &mut self,
        streams: &mut S,
        now: Millis,
        timeouts: &Timeouts,
    ) -> Option<Look<S::Key>> {
        if self.next_look > now {
            return None;
        }
        self.next_look = Millis::NEVER;
        let keys = streams.keys();
        let (mut late, mut starved, mut starving) = (Vec::new(), Vec::new(), 0);
        for key in &keys {
            let stalled = streams.is_stalled(*key);
            let Some(exchange) = streams.exchange(*key) else { continue };
            if exchange.note_credit(now, stalled, timeouts) {
                late.push(*key);
            }
            starving += usize::from(exchange.note_starvation(now, timeouts));
            if exchange.content_due() <= now {
                starved.push(*key);
            }
        }
        self.starving = starving > 0;
        if !self.are_uploads_late(now, starving, timeouts) {
            starved.clear();
        }
        let receives =
            |key: &&S::Key| streams.exchange(**key).is_some_and(|exchange| exchange.is_half_closed());
        let tunnels = keys.iter().filter(receives).count();
        let all_wait = !keys.is_empty() && starving + streams.half_closed() - tunnels == keys.len();
        let connection = if self.are_all_late(now, all_wait, timeouts) {
            Some("the request did not arrive in time")
        } else if self.are_downloads_late(now, streams.are_all_stalled(), timeouts) {
            Some("the client did not read in time")
        } else {
            None
        };
        Some(Look { late, starved, connection })
    }

    /// Whether content arrives too slowly for the `starving` handlers that wait for it. A client that sends to all of
    /// them in turn, as fast as its network allows, may take long with each.
    fn are_uploads_late(&mut self, now: Millis, starving: usize, timeouts: &Timeouts) -> bool {
        let one = timeouts.receiving();
        if one.min_rate == 0 {
            return true;
        }
        let min_rate = one.min_rate.saturating_mul(u32::try_from(starving).unwrap_or(u32::MAX));
        let all = Patience { min_rate: min_rate.max(one.min_rate), ..one };
        Pace::noted(&mut self.uploads, now, self.received, starving > 0, all).is_late(now)
    }

    /// Whether the peer reads too slowly while the connection's window is exhausted. Streams are served one after the
    /// other, so this cannot be blamed on one of them.
    fn are_downloads_late(&mut self, now: Millis, stalled: bool, timeouts: &Timeouts) -> bool {
        Pace::noted(&mut self.downloads, now, self.sent, stalled, timeouts.sending()).is_late(now)
    }

    /// Whether all streams wait for content, to be discarded or for handlers, and it arrives too slowly for a
    /// connection that does nothing else.
    fn are_all_late(&mut self, now: Millis, all_wait: bool, timeouts: &Timeouts) -> bool {
        Pace::noted(&mut self.idle, now, self.received, all_wait, timeouts.idling()).is_late(now)
    }
}

impl Exchange {
    /// Updates the pace at which the client grants credit for the response; `stalled`: the response waits for nothing
    /// else. Returns true if the timeout has expired.
    fn note_credit(&mut self, now: Millis, stalled: bool, timeouts: &Timeouts) -> bool {
        // Either side of a tunnel may be silent for as long as it likes.
        let stalled = stalled && !self.tunnel;
        if !stalled && self.pace.is_none() {
            return false;
        }
        Pace::noted(&mut self.pace, now, self.sent, stalled, timeouts.sending()).is_late(now)
    }

    /// Updates the pace of content that is discarded while the connection waits for it. Returns when its timeout
    /// expires.
    pub(crate) fn note_discarding(&mut self, now: Millis, timeouts: &Timeouts) -> Millis {
        Pace::noted(&mut self.pace, now, self.received, true, timeouts.receiving()).due()
    }
}
