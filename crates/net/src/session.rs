//! What a connection asks of its session.

use crate::clock::Millis;
use crate::connection::Need;
use crate::link::Link;
use crate::service::Service;
use crate::timeouts::Timeouts;
use crate::worker::Worker;
use std::time::Duration;

/// What a connection asks of its session. It moves bytes; what they mean is the session's affair.
pub(crate) trait Session {
    /// Answers what has been received, as far as there is room.
    fn answer<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need;

    /// Something that one of its streams waits for is there.
    fn woken(&mut self, stream: u32) {
        let _ = stream;
    }

    /// Nothing happens for a while: gives memory back that holds nothing.
    fn release(&mut self) {}

    /// Whether no request is at hand, as far as requests have been taken from the input.
    fn is_idle(&self) -> bool;

    /// How long it may be idle.
    fn idle_timeout(&self, timeouts: &Timeouts) -> Duration;

    /// When [`expire`](Self::expire) has to be called whatever is waited for.
    fn deadline(&mut self, now: Millis, timeouts: &Timeouts) -> Millis;

    /// Deadlines of exchanges may have passed. Whether any had: those are dealt with.
    fn expire_exchanges<S>(&mut self, link: &mut Link, worker: &Worker<S>) -> bool;

    /// What was waited for did not come in time.
    fn expire<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>);

    /// The client's half of the connection has ended, and everything before that is read. Whether the other half goes on.
    fn half_closed(&mut self) -> bool {
        false
    }

    /// The client was told that nothing more will come.
    fn half_close_sent(&mut self) {}

    /// Whether what is being answered is given up when the client closes its half of the connection.
    fn cancels_on_close(&self, link: &Link) -> bool {
        let _ = link;
        false
    }

    /// Whether it says goodbye, and has the connection end by itself, when the worker ends.
    fn says_goodbye(&self) -> bool {
        false
    }

    /// Whether it has something to do when the worker ends, besides its exchanges.
    fn takes_leave(&self) -> bool {
        self.says_goodbye()
    }

    /// Whether the client knows which of its requests will not be answered.
    fn may_end(&self) -> bool {
        true
    }

    /// The connection is over, and what is being answered stays incomplete.
    fn abort<S>(&mut self, link: &Link, worker: &Worker<S>, why: &'static str);
}
