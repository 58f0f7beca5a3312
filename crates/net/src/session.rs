//! The interface of a session to its connection.

use crate::clock::Millis;
use crate::connection::Need;
use crate::link::Link;
use crate::service::Service;
use crate::timeouts::Timeouts;
use crate::worker::Worker;
use std::time::Duration;

/// A session of a connection. The connection moves bytes; the session interprets them.
pub(crate) trait Session {
    /// Answers what has been received while there is room for output.
    fn answer<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need;

    /// Wakes one of its streams.
    fn woken(&mut self, stream: u32) {
        let _ = stream;
    }

    /// Returns unused memory when nothing happens for a while.
    fn release(&mut self) {}

    /// Whether no request is being processed, among those taken from the input.
    fn is_idle(&self) -> bool;

    /// How long it may be idle.
    fn idle_timeout(&self, timeouts: &Timeouts) -> Duration;

    /// When [`expire`](Self::expire) has to be called, whatever the connection waits for.
    fn deadline(&mut self, now: Millis, timeouts: &Timeouts) -> Millis;

    /// Handles deadlines of exchanges that have expired. Returns true if there were any.
    fn expire_exchanges<S>(&mut self, link: &mut Link, worker: &Worker<S>) -> bool;

    /// Handles a timeout of the connection.
    fn expire<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>);

    /// The client has shut down its side, and everything before that was read. Returns true if the other direction
    /// continues.
    fn half_closed(&mut self) -> bool {
        false
    }

    /// The sending side was shut down.
    fn half_close_sent(&mut self) {}

    /// Whether pending responses are aborted when the client closes its half of the connection.
    fn cancels_on_close(&self, link: &Link) -> bool {
        let _ = link;
        false
    }

    /// Whether it announces the shutdown, and lets the connection end by itself, when the worker shuts down.
    fn says_goodbye(&self) -> bool {
        false
    }

    /// Whether it has something to do when the worker shuts down, besides its exchanges.
    fn takes_leave(&self) -> bool {
        self.says_goodbye()
    }

    /// Whether the client knows which of its requests will not be answered.
    fn may_end(&self) -> bool {
        true
    }

    /// The connection has ended, and pending responses stay incomplete.
    fn abort<S>(&mut self, link: &Link, worker: &Worker<S>, why: &'static str);
}
