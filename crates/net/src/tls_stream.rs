//! TLS over a socket, in either role: the buffers of a session, and their transfer to and from the socket.
//!
//! Records are sealed into one buffer, so that the output of a turn leaves in one write, and opened in place. Both
//! buffers belong to the pool and are returned when empty. The two users decide when to read, seal and flush:
//! [`transport`](crate::transport) for client connections, the crate `hayami-client` for upstream connections.

use crate::buffer::Pool;
use crate::socket::Socket;
use hayami_tls::{Fault, Info, Progress, SessionCommon, Side};
use std::io::{self, IoSlice};
use std::task::{Poll, ready};

/// A record of maximum size (RFC 8446 §5.2).
pub const RECORD: usize = 16 * 1024 + 256 + 5;

/// A session with its received and unsent records.
pub struct TlsStream<S: Side> {
    session: SessionCommon<S>,
    /// Received bytes that are not yet a complete record.
    received: Vec<u8>,
    /// Sealed records, and how many of their bytes were sent.
    sealed: Vec<u8>,
    sent: usize,
}

impl<S: Side> TlsStream<S> {
    /// Creates a stream with empty buffers.
    pub fn new(session: SessionCommon<S>) -> Self {
        Self { session, received: Vec::new(), sealed: Vec::new(), sent: 0 }
    }

    /// Creates a stream whose side speaks first: `start` appends its first records.
    pub fn starting(
        mut session: SessionCommon<S>,
        pool: &Pool,
        start: impl FnOnce(&mut SessionCommon<S>, &mut Vec<u8>),
    ) -> Self {
        let mut sealed = pool.take();
        start(&mut session, &mut sealed);
        Self { sealed, ..Self::new(session) }
    }

    /// The parameters negotiated by the handshake.
    pub fn info(&self) -> Option<&Info> {
        self.session.info()
    }

    /// Whether the bytes opened last are early data, from before the end of the handshake (RFC 8446 §2.3).
    pub fn is_early(&self) -> bool {
        self.session.is_early()
    }

    /// Nothing was sent for a while: the congestion window is small again, so records start small too.
    pub fn was_idle(&mut self) {
        self.session.was_idle();
    }

    /// Bytes of records not sent yet.
    #[inline]
    pub fn unsent(&self) -> usize {
        self.sealed.len() - self.sent
    }

    /// Bytes of records not opened yet.
    #[inline]
    pub fn unopened(&self) -> usize {
        self.received.len()
    }

    /// Whether the buffers are empty in both directions.
    pub fn is_empty(&self) -> bool {
        self.received.is_empty() && self.sealed.is_empty()
    }

    /// Reads at most `most` bytes of records; `None`: as many as there is room for. `Ok(0)` is end of file.
    ///
    /// # Errors
    /// The peer is gone.
    pub fn read(&mut self, socket: &Socket, pool: &Pool, most: Option<usize>) -> Poll<io::Result<usize>> {
        if self.received.capacity() == 0 {
            if !socket.is_readable() {
                return Poll::Pending;
            }
            self.received = pool.take();
        }
        let most = most.unwrap_or(self.received.capacity().max(RECORD));
        // A pooled buffer grows only for peers that send a lot.
        let spare = self.received.capacity() - self.received.len();
        let room = if spare >= RECORD / 4 { spare.min(most) } else { most };
        socket.read_at_most(&mut self.received, room)
    }

    /// Takes a buffer for output, which the next call will almost certainly need.
    #[inline]
    pub fn prepare(&mut self, pool: &Pool) {
        if self.sealed.capacity() == 0 {
            self.sealed = pool.take();
        }
    }

    /// Opens the received records and appends to `plain`. TLS's own replies are queued for sending.
    ///
    /// # Errors
    /// The session has failed; an alert may be queued for sending.
    pub fn open(&mut self, plain: &mut Vec<u8>) -> Result<Progress, Fault> {
        self.session.receive(&mut self.received, plain, &mut self.sealed)
    }

    /// Moves the unopened bytes to `to`: the peer does not speak TLS.
    pub fn give_up(&mut self, to: &mut Vec<u8>) {
        to.append(&mut self.received);
    }

    /// Seals bytes; [`flush`](Self::flush) sends them.
    pub fn seal(&mut self, pool: &Pool, plain: &[u8]) {
        self.prepare(pool);
        self.session.seal(plain, &mut self.sealed);
    }

    /// Like [`seal`](Self::seal), with the first `most` bytes of `pieces`. Returns how many.
    pub fn seal_gathered(&mut self, pool: &Pool, pieces: &[IoSlice<'_>], most: usize) -> usize {
        self.prepare(pool);
        self.session.seal_gathered(pieces, most, &mut self.sealed)
    }

    /// Ready when all records are sent.
    ///
    /// # Errors
    /// The peer is gone.
    #[inline]
    pub fn flush(&mut self, socket: &Socket) -> Poll<io::Result<()>> {
        while self.sent < self.sealed.len() {
            self.sent += ready!(socket.send(&self.sealed[self.sent..], false))?;
        }
        self.sealed.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    /// Sends close_notify, so that the peer knows that nothing was cut off (RFC 8446 §6.1).
    pub fn close(&mut self, socket: &Socket) {
        self.session.close(&mut self.sealed);
        // A peer that does not read misses only this.
        let _ = self.flush(socket);
    }

    /// Returns unused memory.
    pub fn release(&mut self, pool: &Pool) {
        for buffer in [&mut self.received, &mut self.sealed] {
            if buffer.is_empty() && buffer.capacity() > 0 {
                pool.give(std::mem::take(buffer));
            }
        }
    }

    /// Returns all memory even if it holds data: the connection has ended.
    pub fn end(&mut self, pool: &Pool) {
        pool.give(std::mem::take(&mut self.received));
        pool.give(std::mem::take(&mut self.sealed));
        self.sent = 0;
    }
}

#[cfg(test)]
impl<S: Side> TlsStream<S> {
    /// Queues bytes for sending, for tests of peers that do not read.
    pub fn stuff(&mut self, bytes: Vec<u8>) {
        self.sealed = bytes;
    }
}
