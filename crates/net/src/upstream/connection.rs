//! One connection to an upstream: used by one exchange at a time, and idle in its backend's pool in between.

use super::outbound::{Outbound, Wire};
use crate::buffer::Input;
use crate::dial::Peer;
use hayami_h1::Client;
use std::io;
use std::rc::Rc;

/// A connection. Dropped, it is closed.
pub(super) struct Connection {
    pub(super) wire: Rc<Wire>,
    pub(super) client: Client,
    /// Octets that were received and not yet understood. It owns no memory while there are none.
    pub(super) input: Input,
    /// Which list of the origin's addresses it was made from.
    pub(super) peers: u32,
    outbound: Outbound,
}

impl Connection {
    /// Begins to connect.
    pub(super) fn open(outbound: &Outbound, peer: &Peer, peers: u32) -> io::Result<Box<Self>> {
        let (wire, outbound) = (outbound.connect(peer)?, outbound.clone());
        Ok(Box::new(Self { wire, client: Client::new(), input: Input::default(), peers, outbound }))
    }

    /// Whether another request may be sent on it. Octets that nobody asked for would be taken for its
    /// response (RFC 9112 §11.2).
    pub(super) fn is_fit(&self) -> bool {
        let socket = &self.wire.socket;
        self.client.is_idle() && self.input.is_empty() && !socket.has_ended() && !socket.is_readable()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.outbound.forget(&self.wire);
        self.input.end(self.outbound.pool());
    }
}
