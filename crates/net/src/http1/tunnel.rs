//! The connection as a tunnel: bytes go both ways without framing, until each side has ended.
//!
//! Each side may end first: its end is passed on, and the other goes on.

use super::Http1;
use crate::clock::Millis;
use crate::exchange::Exchange;
use crate::link::Link;
use crate::session::Session;
use crate::timeouts::{LEAVE, Timeouts};
use crate::worker::Worker;

/// How far the end of the direction to the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HalfClose {
    /// It goes on.
    No,
    /// The client is to be told when the last byte has left.
    Due,
    /// The client has been told.
    Done,
}

/// Until when a tunnel may go on while the worker ends.
pub(super) fn deadline(tunnel: &Exchange, timeouts: &Timeouts) -> Millis {
    let graceful = if timeouts.graceful.is_zero() { LEAVE } else { timeouts.graceful };
    tunnel.drains_since.map_or(Millis::NEVER, |since| since.after(graceful))
}

impl Http1 {
    /// Whether the connection is a tunnel.
    #[inline]
    pub(super) fn is_tunnel(&self) -> bool {
        self.exchange.as_deref().is_some_and(Exchange::is_tunnel)
    }

    /// The worker waits no longer: both ends are closed.
    #[cold]
    pub(super) fn leave_tunnel<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        let now = worker.clock.millis();
        if now < self.deadline(now, &worker.timeouts) {
            return;
        }
        let why = "the server is shutting down";
        link.reports.aborted(why, link.output.sent(), &worker.clock);
        self.abort(link, worker, why);
        self.engine.refuse();
        link.close(true);
    }
}
