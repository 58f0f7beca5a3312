//! The byte stream of a connection: the layer between the socket and the protocol.

use super::cause::Cause;
use super::origin::Tls;
use super::tls::{self, ClientTls};
use hayami_net::buffer::{Input, Pool};
use hayami_net::dial::{self, Peer};
use hayami_net::upstream_io::{SocketHandle, UpstreamIo};
use hayami_tls::{Alpn, Info};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// With less room than this, reads go through the input buffer: many small reads would cost more than a copy.
const DIRECT: usize = 4 * 1024;

/// The byte stream of one connection; dropping it closes the connection.
pub(super) struct IoStream {
    /// The socket and its registration with the event loop.
    pub(super) wire: Rc<SocketHandle>,
    secure: Option<Box<ClientTls>>,
    /// The unsent part of the bytes that precede everything else.
    proxy_header: Option<Box<[u8]>>,
    sends: Sends,
    outbound: UpstreamIo,
}

/// Whether TCP_NODELAY is needed. Nagle's algorithm delays nothing before the first unacknowledged data, so a
/// connection for one request does not need the option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sends {
    /// Nothing has been sent yet.
    First,
    /// Something has been sent.
    Later,
    /// The option is set or not needed: nothing is delayed.
    AtOnce,
}

impl IoStream {
    /// Starts to connect; over TLS, offers the protocols in `alpn`, if any.
    ///
    /// # Errors
    /// The system is out of descriptors or ports, or the connection is refused at once.
    pub(super) fn open(
        outbound: &UpstreamIo,
        peer: &Peer,
        tls: Option<&Tls>,
        alpn: &[Alpn],
    ) -> io::Result<Self> {
        let begin = |tls| ClientTls::begin(tls, alpn, outbound.pool()).map(Box::new);
        let secure = tls.map(begin).transpose()?;
        let wire = outbound.connect(peer)?;
        let sends = match peer {
            Peer::Tcp(_) if secure.is_none() => Sends::First,
            Peer::Tcp(_) => {
                dial::send_at_once(&wire.socket);
                Sends::AtOnce
            }
            Peer::Unix(_) => Sends::AtOnce,
        };
        Ok(Self { wire, secure, proxy_header: None, sends, outbound: outbound.clone() })
    }

    /// Sends these bytes before everything else, and before TLS.
    pub(super) fn announce(&mut self, bytes: &[u8]) {
        self.sends = self.sends.and_another(&self.wire);
        self.proxy_header = Some(bytes.into());
    }

    #[cold]
    fn send_announcement(&mut self) -> Poll<io::Result<()>> {
        while let Some(bytes) = self.proxy_header.take_if(|bytes| !bytes.is_empty()) {
            match self.wire.socket.send(&bytes, self.secure.is_none()) {
                Poll::Ready(Ok(sent)) => self.proxy_header = Some(bytes[sent..].into()),
                other => {
                    self.proxy_header = Some(bytes);
                    return other.map_ok(drop);
                }
            }
        }
        self.proxy_header = None;
        Poll::Ready(Ok(()))
    }

    /// Ready once the connection is established, before the TLS handshake.
    ///
    /// # Errors
    /// The connection failed or timed out.
    pub(super) fn poll_made(&self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        if self.wire.is_late() {
            return Poll::Ready(Err(Cause::Timeout));
        }
        // A send fails before the connection is established (tcp(7)), even of zero bytes; so one reveals the state.
        if let Poll::Ready(made) = self.wire.socket.send(&[], false) {
            return Poll::Ready(made.map(drop).map_err(Cause::Io));
        }
        self.wait(cx).map_err(Cause::Io)?;
        Poll::Pending
    }

    /// Wakes the task on the next event.
    ///
    /// # Errors
    /// The system's limit on watches is reached.
    pub(super) fn wait(&self, cx: &Context<'_>) -> io::Result<()> {
        self.wire.wakes(cx.waker());
        self.outbound.watch(&self.wire)
    }

    /// Ready once bytes may be sent. In cleartext this is always so, which saves a system call: the
    /// connection is established when the first [`send`](Self::send) succeeds.
    ///
    /// # Errors
    /// The connection failed, or the peer's certificate is not accepted.
    #[inline]
    pub(super) fn poll_connected(&mut self) -> Poll<Result<(), Cause>> {
        if self.proxy_header.is_some() {
            ready!(self.send_announcement()).map_err(Cause::Io)?;
        }
        match &mut self.secure {
            None => Poll::Ready(Ok(())),
            Some(secure) => secure.poll_connected(&self.wire.socket, self.outbound.pool()),
        }
    }

    /// The negotiated TLS parameters; `None` in cleartext and before the handshake is complete.
    #[inline]
    pub(super) fn info(&self) -> Option<&Info> {
        self.secure.as_ref()?.info()
    }

    /// Whether a read may return something.
    #[inline]
    pub(super) fn is_readable(&self) -> bool {
        self.wire.socket.is_readable() || self.secure.as_ref().is_some_and(|secure| secure.holds_content())
    }

    /// Appends received bytes to `input`. `Ok(0)`: end of stream. `Pending`: the event loop signals when there is more.
    ///
    /// # Errors
    /// The connection is lost, or the peer violated TLS.
    #[inline]
    pub(super) fn read(&mut self, input: &mut Input) -> Poll<io::Result<usize>> {
        let (socket, pool) = (&self.wire.socket, self.outbound.pool());
        match &mut self.secure {
            None => socket.read(input.room(pool)),
            Some(secure) => secure.read(socket, pool, input.room(pool), tls::WORTH_READING),
        }
    }

    /// Whether `room` is enough for [`read_at_most`](Self::read_at_most) to pay off.
    #[inline]
    pub(super) fn is_worth_reading(&self, room: usize) -> bool {
        room >= if self.secure.is_none() { DIRECT } else { tls::WORTH_READING }
    }

    /// Like [`read`](Self::read), but appends to `out`, and no more than `most` bytes, which must be [worth
    /// reading](Self::is_worth_reading).
    ///
    /// # Errors
    /// The connection is lost, or the peer violated TLS.
    #[inline]
    pub(super) fn read_at_most(&mut self, out: &mut Vec<u8>, most: usize) -> Poll<io::Result<usize>> {
        match &mut self.secure {
            None => self.wire.socket.read_at_most(out, most),
            Some(secure) => secure.read(&self.wire.socket, self.outbound.pool(), out, most),
        }
    }

    /// Accepts bytes to send and returns how many; they have left once [`flush`](Self::flush) is ready.
    /// `Pending`: there is no room, and the event loop signals when there is.
    ///
    /// # Errors
    /// The connection cannot be established, or is lost.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.secure {
            None => {
                self.sends = self.sends.and_another(&self.wire);
                self.wire.socket.send(bytes, false)
            }
            Some(secure) => secure.send(&self.wire.socket, self.outbound.pool(), bytes),
        }
    }

    /// Ready once all accepted bytes have left.
    ///
    /// # Errors
    /// The connection is lost.
    #[inline]
    pub(super) fn flush(&mut self) -> Poll<io::Result<()>> {
        match &mut self.secure {
            None => Poll::Ready(Ok(())),
            Some(secure) => secure.flush(&self.wire.socket),
        }
    }

    /// Closes the sending direction.
    pub(super) fn shut_down_sending(&mut self) {
        if let Some(secure) = &mut self.secure {
            secure.close(&self.wire.socket);
        }
        self.wire.socket.shut_down_sending();
    }

    /// Whether there are no unsolicited bytes and the peer has not closed, according to the event loop.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        let socket = &self.wire.socket;
        let at_rest = !socket.has_ended() && !socket.is_readable();
        at_rest && self.secure.as_ref().is_none_or(|secure| secure.is_at_rest())
    }

    /// Like [`is_at_rest`](Self::is_at_rest), but according to the kernel.
    pub(super) fn is_quiet(&mut self) -> bool {
        if self.secure.is_none() {
            return self.wire.socket.is_quiet();
        }
        self.wire.socket.may_read(false);
        self.settle();
        self.is_at_rest()
    }

    /// Drains what may follow the end of a message. The event loop may report bytes that have been read
    /// since, and a read that filled its buffer may have been the last. A TLS server sends tickets at any
    /// time (RFC 8446 §4.6.1), and they do not concern the protocol above.
    #[inline]
    pub(super) fn settle(&mut self) {
        match &mut self.secure {
            Some(secure) => secure.settle(&self.wire.socket, self.outbound.pool()),
            None if self.wire.socket.is_readable() => {
                self.wire.socket.is_quiet();
            }
            None => {}
        }
    }

    /// The worker's buffers.
    #[inline]
    pub(super) fn pool(&self) -> &Pool {
        self.outbound.pool()
    }

    /// Releases empty buffers.
    #[inline]
    pub(super) fn release(&mut self) {
        if let Some(secure) = &mut self.secure {
            secure.release(self.outbound.pool());
        }
    }
}

impl Drop for IoStream {
    fn drop(&mut self) {
        if let Some(secure) = &mut self.secure {
            secure.close(&self.wire.socket);
            secure.end(self.outbound.pool());
        }
        self.outbound.forget(&self.wire);
    }
}

impl Sends {
    /// The state after one more send.
    #[inline]
    fn and_another(self, wire: &SocketHandle) -> Self {
        match self {
            Self::First => Self::Later,
            Self::Later => {
                dial::send_at_once(&wire.socket);
                Self::AtOnce
            }
            Self::AtOnce => Self::AtOnce,
        }
    }
}
