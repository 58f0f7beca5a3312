//! The connection as a tunnel: bytes go both ways without framing, until each side has ended.
//!
//! Each side may end first: its end is passed on, and the other goes on.

use super::Http1;
use crate::clock::Millis;
use crate::exchange::Exchange;
use crate::link::{Link, Stage};
use crate::worker::{Timeouts, Worker};
use hayami_h1::Event;
use std::time::Duration;

/// How long tunnels may go on while the worker ends, if nothing is said of it: other than answers, they come to no end
/// by themselves.
pub(crate) const LEAVE: Duration = Duration::from_secs(30);

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
pub(super) fn latest(tunnel: &Exchange, timeouts: &Timeouts) -> Millis {
    let graceful = if timeouts.graceful.is_zero() { LEAVE } else { timeouts.graceful };
    tunnel.drains_since.map_or(Millis::NEVER, |since| since.after(graceful))
}

impl Http1 {
    /// Whether the connection is a tunnel.
    #[inline]
    pub(crate) fn is_tunnel(&self) -> bool {
        self.exchange.as_deref().is_some_and(Exchange::is_tunnel)
    }

    /// The client's half of the connection has ended. Whether that leaves the other.
    #[cold]
    pub(crate) fn half_closed(&mut self) -> bool {
        let Some(exchange) = self.exchange.as_deref_mut().filter(|exchange| exchange.is_tunnel()) else {
            return false;
        };
        if self.engine.receive_eof() == Event::End {
            exchange.content_complete(None);
        }
        true
    }

    /// The client was told that nothing more will come.
    pub(crate) fn told_end(&mut self) {
        self.half_close = HalfClose::Done;
    }

    /// The worker waits no longer: both ends are closed.
    #[cold]
    pub(crate) fn leave_tunnel<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        if worker.clock.millis() < self.latest(worker.clock.millis(), &worker.timeouts) {
            return;
        }
        let why = "the server is shutting down";
        link.reports.aborted(why, link.output.sent(), &worker.clock);
        self.abort(link, worker, why);
        self.engine.refuse();
        link.stage = Stage::Closing { linger: true };
    }
}
