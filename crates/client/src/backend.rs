//! One origin as one worker sees it: connections that serve one call at a time, and sessions that calls share.

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
    /// An origin to which nothing is open yet.
    pub fn new(outbound: &UpstreamIo, origin: Origin) -> Rc<Self> {
        let sessions = Sessions::new(origin.streams, origin.buffer, &origin.limits);
        Rc::new(Self { upstream: Upstream::new(outbound, origin), sessions: Rc::new(sessions) })
    }

    /// Calls that are not over: their response's content counts until it was taken or given up.
    pub fn in_flight(&self) -> usize {
        self.upstream.in_flight()
    }

    /// Connections that wait for a request.
    pub fn idle(&self) -> usize {
        self.upstream.idle() + self.sessions.idle()
    }

    /// What became of connections so far.
    pub fn counters(&self) -> Counters {
        self.upstream.counters()
    }

    /// The addresses of the origin's name, as they are now. If they are others than before, connections that
    /// are open serve the call that they are serving and no other.
    pub fn set_peers(&self, peers: Vec<Peer>) {
        if self.upstream.set_peers(peers) {
            self.sessions.retire();
        }
    }

    /// Whether a call is to be sent over HTTP/2.
    #[inline]
    pub(super) fn shares(&self, call: &Call) -> bool {
        match self.upstream.protocol {
            Protocol::Http1 | Protocol::FastCgi => false,
            // Who speaks nothing else answers without going on in another protocol.
            Protocol::Http2 => true,
            Protocol::Negotiated(_) if call.upgrade.is_some() => false,
            Protocol::Negotiated(share) => {
                let share = if call.options.streaming.is_some() { 100 } else { share };
                self.sessions.is_due(share, self.upstream.outbound.clock().millis())
            }
        }
    }
}
