//! A connection's octets, in and out: what is between the socket and whoever speaks a protocol over it.

use super::call::Cause;
use super::outbound::{Outbound, Wire};
use crate::buffer::{Input, Pool};
use crate::dial::Peer;
use std::io;
use std::rc::Rc;
use std::task::Poll;

/// With less room than this, reading goes by a buffer of ours: many small reads would cost more than a copy.
const DIRECT: usize = 4 * 1024;

/// The octets of one connection. Dropped, it is closed.
pub(super) struct Channel {
    /// The socket, and what the loop knows of it.
    pub(super) wire: Rc<Wire>,
    outbound: Outbound,
}

impl Channel {
    /// Begins to connect.
    pub(super) fn open(outbound: &Outbound, peer: &Peer) -> io::Result<Self> {
        Ok(Self { wire: outbound.connect(peer)?, outbound: outbound.clone() })
    }

    /// Ready once octets may be sent. In clear the first [`send`](Self::send) finds out, which saves a system call:
    /// a connection is made when that takes something.
    ///
    /// # Errors
    /// The connection cannot be made.
    #[inline]
    pub(super) fn poll_connected(&mut self) -> Poll<Result<(), Cause>> {
        Poll::Ready(Ok(()))
    }

    /// Whether reading may find something.
    #[inline]
    pub(super) fn is_readable(&self) -> bool {
        self.wire.socket.is_readable()
    }

    /// Reads behind what is in `input`. `Ok(0)`: the peer has ended. `Pending`: the loop tells when there is more.
    ///
    /// # Errors
    /// The peer is gone.
    #[inline]
    pub(super) fn read(&mut self, input: &mut Input) -> Poll<io::Result<usize>> {
        self.wire.socket.read(input.room(self.outbound.pool()))
    }

    /// Whether `room` octets are worth being read by [`read_at_most`](Self::read_at_most).
    #[inline]
    pub(super) fn is_worth_reading(&self, room: usize) -> bool {
        room >= DIRECT
    }

    /// As [`read`](Self::read), appended to `out`, and no more than `most` octets.
    ///
    /// # Errors
    /// The peer is gone.
    #[inline]
    pub(super) fn read_at_most(&mut self, out: &mut Vec<u8>, most: usize) -> Poll<io::Result<usize>> {
        self.wire.socket.read_at_most(out, most)
    }

    /// Sends; gives how many octets were taken. They have left once [`flush`](Self::flush) is ready. `Pending`: there
    /// is no room, and the loop tells when there is.
    ///
    /// # Errors
    /// The connection cannot be made, or the peer is gone.
    #[inline]
    pub(super) fn send(&mut self, octets: &[u8]) -> Poll<io::Result<usize>> {
        self.wire.socket.send(octets, false)
    }

    /// Ready when what was taken has left.
    ///
    /// # Errors
    /// The peer is gone.
    #[inline]
    pub(super) fn flush(&mut self) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Tells the peer that nothing more will come.
    #[expect(dead_code, reason = "for tunnels, which have two directions")]
    pub(super) fn shut_down_sending(&mut self) {
        self.wire.socket.shut_down_sending();
    }

    /// Whether nothing has come that nobody asked for, and the peer has not ended, as far as the loop knows.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        let socket = &self.wire.socket;
        !socket.has_ended() && !socket.is_readable()
    }

    /// The same, as far as the kernel knows.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.wire.socket.is_quiet()
    }

    /// The worker's buffers.
    #[inline]
    pub(super) fn pool(&self) -> &Pool {
        self.outbound.pool()
    }

    /// Gives memory back that holds nothing.
    #[inline]
    pub(super) fn release(&mut self) {}
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.outbound.forget(&self.wire);
    }
}
