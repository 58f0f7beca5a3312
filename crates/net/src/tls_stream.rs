//! TLS over a socket, in either role: what a session needs of memory, and its way to the socket and back.
//!
//! Records are sealed into one buffer, so that what is sent in a turn leaves in one write, and opened where they were received.
//! Both buffers are the pool's and go back to it when they are empty. When to read, to seal and to flush is up to the two users:
//! [`transport`](crate::transport) for clients' connections, [`upstream`](crate::upstream) for those to upstreams.

use crate::buffer::Pool;
use crate::socket::Socket;
use hayami_tls::{Fault, Info, Progress, SessionCommon, Side};
use std::io::{self, IoSlice};
use std::task::{Poll, ready};

/// One record of the greatest size (RFC 8446 §5.2).
pub const RECORD: usize = 16 * 1024 + 256 + 5;

/// A session and its records on the way in and out.
pub struct TlsStream<S: Side> {
    session: SessionCommon<S>,
    /// Bytes of the peer that are no whole record yet.
    received: Vec<u8>,
    /// Records to be sent, and how many of their bytes were.
    sealed: Vec<u8>,
    sent: usize,
}

impl<S: Side> TlsStream<S> {
    /// A stream with nothing on its way.
    pub fn new(session: SessionCommon<S>) -> Self {
        Self { session, received: Vec::new(), sealed: Vec::new(), sent: 0 }
    }

    /// As a session that speaks first: `start` appends what it says.
    pub fn starting(
        mut session: SessionCommon<S>,
        pool: &Pool,
        start: impl FnOnce(&mut SessionCommon<S>, &mut Vec<u8>),
    ) -> Self {
        let mut sealed = pool.take();
        start(&mut session, &mut sealed);
        Self { sealed, ..Self::new(session) }
    }

    /// What the handshake has agreed on.
    pub fn info(&self) -> Option<&Info> {
        self.session.info()
    }

    /// Whether the bytes opened last came before the handshake was complete (RFC 8446 §2.3).
    pub fn is_early(&self) -> bool {
        self.session.is_early()
    }

    /// Nothing was sent for a while: the congestion window is small again, and so are the first records.
    pub fn was_idle(&mut self) {
        self.session.was_idle();
    }

    /// Bytes of records that wait to be sent.
    #[inline]
    pub fn unsent(&self) -> usize {
        self.sealed.len() - self.sent
    }

    /// Bytes of records that are there in part.
    #[inline]
    pub fn unopened(&self) -> usize {
        self.received.len()
    }

    /// Whether it holds nothing in either direction.
    pub fn is_empty(&self) -> bool {
        self.received.is_empty() && self.sealed.is_empty()
    }

    /// Reads at most `most` bytes of records; `None`: as many as there is room for. `Ok(0)` is the end of the stream.
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
        // A buffer of the pool grows only for peers that have much to say.
        let spare = self.received.capacity() - self.received.len();
        let room = if spare >= RECORD / 4 { spare.min(most) } else { most };
        socket.read_at_most(&mut self.received, room)
    }

    /// Takes memory for what is sent, which the next call will hardly do without.
    #[inline]
    pub fn prepare(&mut self, pool: &Pool) {
        if self.sealed.capacity() == 0 {
            self.sealed = pool.take();
        }
    }

    /// Opens the records that are there, behind what is in `plain`. What TLS itself has to say waits to be sent then.
    ///
    /// # Errors
    /// The session is over; an alert may wait to be sent.
    pub fn open(&mut self, plain: &mut Vec<u8>) -> Result<Progress, Fault> {
        self.session.receive(&mut self.received, plain, &mut self.sealed)
    }

    /// Moves the bytes that were read and not opened: the peer does not speak TLS.
    pub fn give_up(&mut self, to: &mut Vec<u8>) {
        to.append(&mut self.received);
    }

    /// Seals bytes; they leave by [`flush`](Self::flush).
    pub fn seal(&mut self, pool: &Pool, plain: &[u8]) {
        self.prepare(pool);
        self.session.seal(plain, &mut self.sealed);
    }

    /// As [`seal`](Self::seal), with the first `most` bytes of `pieces`. Returns how many.
    pub fn seal_gathered(&mut self, pool: &Pool, pieces: &[IoSlice<'_>], most: usize) -> usize {
        self.prepare(pool);
        self.session.seal_gathered(pieces, most, &mut self.sealed)
    }

    /// Ready when everything that was sealed has left.
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

    /// Tells the peer that this was all, and nothing was cut off (RFC 8446 §6.1).
    pub fn close(&mut self, socket: &Socket) {
        self.session.close(&mut self.sealed);
        // A peer that does not read loses nothing but this.
        let _ = self.flush(socket);
    }

    /// Gives memory back that holds nothing.
    pub fn release(&mut self, pool: &Pool) {
        for buffer in [&mut self.received, &mut self.sealed] {
            if buffer.is_empty() && buffer.capacity() > 0 {
                pool.give(std::mem::take(buffer));
            }
        }
    }

    /// Gives all memory back, whatever is in it: the connection has ended.
    pub fn end(&mut self, pool: &Pool) {
        pool.give(std::mem::take(&mut self.received));
        pool.give(std::mem::take(&mut self.sealed));
        self.sent = 0;
    }
}

#[cfg(test)]
impl<S: Side> TlsStream<S> {
    /// Has bytes wait to be sent, for tests of peers that do not read.
    pub fn stuff(&mut self, bytes: Vec<u8>) {
        self.sealed = bytes;
    }
}
