//! A connection's bytes, in and out: what is between the socket and the protocol that uses it.

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

/// With less room than this, reading goes by a buffer of ours: many small reads would cost more than a copy.
const DIRECT: usize = 4 * 1024;

/// The bytes of one connection. Dropped, it is closed.
pub(super) struct IoStream {
    /// The socket, and what the loop knows of it.
    pub(super) wire: Rc<SocketHandle>,
    secure: Option<Box<ClientTls>>,
    /// What goes out before everything else, as far as it has not.
    proxy_header: Option<Box<[u8]>>,
    sends: Sends,
    outbound: UpstreamIo,
}

/// What is known of when bytes leave. Nagle's algorithm holds nothing back before something is sent and not
/// acknowledged, so a connection for one request need not be told of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sends {
    /// Nothing was sent yet.
    First,
    /// Something was.
    Later,
    /// Everything leaves at once.
    AtOnce,
}

impl IoStream {
    /// Begins to connect; over TLS one of `alpn` is asked for, or none if there are none.
    ///
    /// # Errors
    /// The system has no descriptor or no port left, or knows already that nobody is there.
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

    /// These bytes go out before everything else, in clear.
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

    /// Ready once the connection is made, before anything of TLS.
    ///
    /// # Errors
    /// It cannot be made, or not in time.
    pub(super) fn poll_made(&self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        if self.wire.is_late() {
            return Poll::Ready(Err(Cause::Timeout));
        }
        // Nothing can be sent before (tcp(7)), not even nothing: the kernel says whether it could be.
        if let Poll::Ready(made) = self.wire.socket.send(&[], false) {
            return Poll::Ready(made.map(drop).map_err(Cause::Io));
        }
        self.wait(cx).map_err(Cause::Io)?;
        Poll::Pending
    }

    /// Has the task woken by what happens next.
    ///
    /// # Errors
    /// The system's limit of watches is reached.
    pub(super) fn wait(&self, cx: &Context<'_>) -> io::Result<()> {
        self.wire.wakes(cx.waker());
        self.outbound.watch(&self.wire)
    }

    /// Ready once bytes may be sent. In clear the first [`send`](Self::send) finds out, which saves a system call:
    /// a connection is made when that takes something.
    ///
    /// # Errors
    /// The connection cannot be made, or the peer is not to be believed.
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

    /// What TLS has agreed on; `None` in clear, and before.
    #[inline]
    pub(super) fn info(&self) -> Option<&Info> {
        self.secure.as_ref()?.info()
    }

    /// Whether reading may find something.
    #[inline]
    pub(super) fn is_readable(&self) -> bool {
        self.wire.socket.is_readable() || self.secure.as_ref().is_some_and(|secure| secure.holds_content())
    }

    /// Reads behind what is in `input`. `Ok(0)`: the peer has ended. `Pending`: the loop tells when there is more.
    ///
    /// # Errors
    /// The peer is gone, or broke the rules of TLS.
    #[inline]
    pub(super) fn read(&mut self, input: &mut Input) -> Poll<io::Result<usize>> {
        let (socket, pool) = (&self.wire.socket, self.outbound.pool());
        match &mut self.secure {
            None => socket.read(input.room(pool)),
            Some(secure) => secure.read(socket, pool, input.room(pool), tls::WORTH_READING),
        }
    }

    /// Whether `room` bytes are worth being read by [`read_at_most`](Self::read_at_most).
    #[inline]
    pub(super) fn is_worth_reading(&self, room: usize) -> bool {
        room >= if self.secure.is_none() { DIRECT } else { tls::WORTH_READING }
    }

    /// As [`read`](Self::read), appended to `out`, and no more than `most` bytes, which are
    /// [worth it](Self::is_worth_reading).
    ///
    /// # Errors
    /// The peer is gone, or broke the rules of TLS.
    #[inline]
    pub(super) fn read_at_most(&mut self, out: &mut Vec<u8>, most: usize) -> Poll<io::Result<usize>> {
        match &mut self.secure {
            None => self.wire.socket.read_at_most(out, most),
            Some(secure) => secure.read(&self.wire.socket, self.outbound.pool(), out, most),
        }
    }

    /// Sends; gives how many bytes were taken. They have left once [`flush`](Self::flush) is ready. `Pending`: there
    /// is no room, and the loop tells when there is.
    ///
    /// # Errors
    /// The connection cannot be made, or the peer is gone.
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

    /// Ready when what was taken has left.
    ///
    /// # Errors
    /// The peer is gone.
    #[inline]
    pub(super) fn flush(&mut self) -> Poll<io::Result<()>> {
        match &mut self.secure {
            None => Poll::Ready(Ok(())),
            Some(secure) => secure.flush(&self.wire.socket),
        }
    }

    /// Tells the peer that nothing more will come.
    pub(super) fn shut_down_sending(&mut self) {
        if let Some(secure) = &mut self.secure {
            secure.close(&self.wire.socket);
        }
        self.wire.socket.shut_down_sending();
    }

    /// Whether nothing has come that nobody asked for, and the peer has not ended, as far as the loop knows.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        let socket = &self.wire.socket;
        let at_rest = !socket.has_ended() && !socket.is_readable();
        at_rest && self.secure.as_ref().is_none_or(|secure| secure.is_at_rest())
    }

    /// The same, as far as the kernel knows.
    pub(super) fn is_quiet(&mut self) -> bool {
        if self.secure.is_none() {
            return self.wire.socket.is_quiet();
        }
        self.wire.socket.may_read(false);
        self.settle();
        self.is_at_rest()
    }

    /// Finds out what there is behind the end of a message, if anything may be. The loop may speak of bytes that were read
    /// since, and a read that has filled its buffer may have been the last. A server that speaks TLS sends tickets whenever
    /// it likes (RFC 8446 §4.6.1), and they say nothing that concerns whoever speaks above.
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

    /// Gives memory back that holds nothing.
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
    /// Before something is sent.
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
