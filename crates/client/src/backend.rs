//! One origin, per worker: connections that serve one call at a time, and sessions shared by many calls.

use super::call::Call;
use super::http2::Sessions;
use super::origin::{Origin, Protocol};
use super::upstream::{Counters, Upstream};
use hayami_net::dial::Peer;
use hayami_net::upstream_io::UpstreamIo;
use std::rc::Rc;

/// One origin and the connections to it.
pub struct Backend {
    pub(super) upstream: Rc<Upstream>,
    pub(super) sessions: Rc<Sessions>,
}

impl Backend {
    /// Creates a backend without open connections.
    pub fn new(outbound: &UpstreamIo, origin: Origin) -> Rc<Self> {
        let sessions = Sessions::new(origin.streams, origin.buffer, &origin.limits);
        Rc::new(Self { upstream: Upstream::new(outbound, origin), sessions: Rc::new(sessions) })
    }

    /// Number of calls in flight; a call counts until its response content has been read or dropped.
    pub fn in_flight(&self) -> usize {
        self.upstream.in_flight()
    }

    /// Number of idle connections.
    pub fn idle(&self) -> usize {
        self.upstream.idle() + self.sessions.idle()
    }

    /// Connection statistics so far.
    pub fn counters(&self) -> Counters {
        self.upstream.counters()
    }

    /// Replaces the addresses of the origin. If they changed, open connections finish their current calls and
    /// take no new ones.
    pub fn set_peers(&self, peers: Vec<Peer>) {
        if self.upstream.set_peers(peers) {
            self.sessions.retire();
        }
    }

    /// Whether to send a call over HTTP/2.
    #[inline]
    pub(super) fn shares(&self, call: &Call) -> bool {
        match self.upstream.protocol {
            Protocol::Http1 | Protocol::FastCgi => false,
            // An upstream that speaks only HTTP/2 ignores the upgrade and answers normally.
            Protocol::Http2 => true,
            Protocol::Negotiated(_) if call.upgrade.is_some() => false,
            Protocol::Negotiated(share) => {
                let share = if call.options.streaming.is_some() { 100 } else { share };
                self.sessions.is_due(share, self.upstream.outbound.clock().millis())
            }
        }
    }
}
