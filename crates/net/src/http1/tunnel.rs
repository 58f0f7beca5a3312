//! The connection as a tunnel: bytes flow both ways without framing until both sides have ended.
//!
//! Either side may end first: its end is passed on, and the other direction continues.

use super::Http1;
use crate::clock::Millis;
use crate::exchange::Exchange;
use crate::link::Link;
use crate::session::Session;
use crate::timeouts::{LEAVE, Timeouts};
use crate::worker::Worker;

/// State of the direction to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HalfClose {
    /// Open.
    No,
    /// Shut down once the last byte is sent.
    Due,
    /// Shut down.
    Done,
}

/// When a tunnel is closed while the worker shuts down.
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

    /// The grace period has expired: closes both ends.
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
