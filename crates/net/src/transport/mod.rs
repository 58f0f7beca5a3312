//! The transport of a connection: the bare socket, or TLS over it.

mod tls;

use crate::buffer::{Input, Pool};
use crate::proxy_protocol::{self, Ends, Fault, LONGEST, Parsed};
use crate::socket::Socket;
use hayami_http::FileSlice;
use hayami_tls::{Acceptor, Info};
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll};
pub(crate) use tls::ServerTls;

/// The transport of a connection.
pub struct Transport {
    socket: Socket,
    tls: Option<Box<ServerTls>>,
    /// Whether a PROXY protocol header is still expected.
    proxy_header: ProxyHeader,
}

/// Whether a connection begins with a PROXY protocol header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyHeader {
    /// It does not, or the header was read.
    None,
    /// It may.
    Optional,
    /// It must.
    Required,
}

/// Result of reading.
#[derive(Debug)]
pub enum Read {
    /// Bytes for the protocol.
    Bytes,
    /// The peer has shut down its side.
    End,
    /// The TLS handshake is complete.
    Established(Box<Info>),
    /// The peer sent plain HTTP to a TLS port; the bytes are in the input.
    PlainHttp,
    /// The handshake waits for a session store: `poll_lookup` continues it.
    Lookup,
}

impl Transport {
    /// Creates a plain transport, or one with TLS as configured by the acceptor.
    pub fn new(socket: Socket, acceptor: Option<&Arc<Acceptor>>) -> Self {
        Self {
            socket,
            tls: acceptor.map(|acceptor| Box::new(ServerTls::new(acceptor))),
            proxy_header: ProxyHeader::None,
        }
    }

    /// The underlying socket.
    #[inline]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Sets whether a PROXY protocol header comes first.
    pub(crate) fn expect_proxy_header(&mut self, proxy_header: ProxyHeader) {
        self.proxy_header = proxy_header;
    }

    /// Whether that header was not read yet.
    #[inline]
    pub(crate) fn expects_announcement(&self) -> bool {
        self.proxy_header != ProxyHeader::None
    }

    /// Whether a required header is missing.
    pub(crate) fn lacks_announcement(&self) -> bool {
        self.proxy_header == ProxyHeader::Required
    }

    /// Reads the PROXY protocol header, and not one byte more: what follows may be TLS. `None`: the peer closed
    /// without sending anything.
    #[cold]
    pub(crate) fn poll_announcement(&mut self) -> Poll<Option<Result<Option<Ends>, Fault>>> {
        let mut seen = [0; LONGEST];
        let bytes = match std::task::ready!(self.socket.peek(&mut seen)) {
            Ok(bytes @ 1..) => bytes,
            Ok(0) | Err(_) => return Poll::Ready(None),
        };
        Poll::Ready(Some(match proxy_protocol::parse(&seen[..bytes]) {
            Ok(Parsed::Whole { bytes, ends }) => {
                self.proxy_header = ProxyHeader::None;
                self.socket.take_seen(&mut seen[..bytes]).map(|()| ends).map_err(|_| Fault::Cut)
            }
            Ok(Parsed::Partial) if self.socket.has_ended() => Err(Fault::Cut),
            Ok(Parsed::Partial) => return Poll::Pending,
            Err(Fault::Absent) if self.proxy_header == ProxyHeader::Optional => {
                self.proxy_header = ProxyHeader::None;
                // The bytes peeked at are still to be read.
                self.socket.may_read(false);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }))
    }

    /// Whether no bytes for the protocol can be read yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.expects_announcement() || self.tls.as_ref().is_some_and(|tls| !tls.is_established())
    }

    /// Whether the last bytes read are early data, from before the end of the TLS handshake (RFC 8446 §2.3).
    #[inline]
    pub(crate) fn is_early(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_early())
    }

    /// Nothing was sent for a second or more.
    #[inline]
    pub(crate) fn was_idle(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.was_idle();
        }
    }

    /// Continues without TLS.
    pub(crate) fn give_up_tls(&mut self) {
        self.tls = None;
    }

    /// Reads into `input`. `Pending`: wait for a readiness event.
    ///
    /// # Errors
    /// The peer is gone, or violated the TLS protocol.
    #[inline]
    pub fn read(&mut self, pool: &Pool, input: &mut Input) -> Poll<io::Result<Read>> {
        match &mut self.tls {
            Some(tls) => tls.read(&self.socket, pool, input),
            None => self.socket.read(input.room(pool)).map_ok(|bytes| match bytes {
                0 => Read::End,
                _ => Read::Bytes,
            }),
        }
    }

    /// Whether something other than reading has to come first: [`poll_announcement`](Self::poll_announcement), or
    /// [`poll_lookup`](Self::poll_lookup).
    #[inline]
    pub(crate) fn is_held_up(&self) -> bool {
        self.expects_announcement() || self.tls.as_ref().is_some_and(|tls| tls.is_looking_up())
    }

    /// Continues a handshake that waits for a session store. `Ready(None)`: continue by reading.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub(crate) fn poll_lookup(
        &mut self,
        cx: &mut Context<'_>,
        pool: &Pool,
        input: &mut Input,
    ) -> Poll<io::Result<Option<Read>>> {
        match &mut self.tls {
            Some(tls) => tls.poll_lookup(cx, &self.socket, pool, input),
            None => Poll::Ready(Ok(None)),
        }
    }

    /// Sends one piece; returns how many bytes were accepted. `more`: more data follows at once.
    ///
    /// # Errors
    /// The peer is gone.
    #[inline]
    pub fn send(&mut self, pool: &Pool, bytes: &[u8], more: bool) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            Some(tls) => tls.send(&self.socket, pool, bytes),
            None => self.socket.send(bytes, more),
        }
    }

    /// Sends several pieces; returns how many bytes were accepted.
    ///
    /// # Errors
    /// The peer is gone.
    #[inline]
    pub fn send_vectored(
        &mut self,
        pool: &Pool,
        pieces: &[IoSlice<'_>],
        more: bool,
    ) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            Some(tls) => tls.send_vectored(&self.socket, pool, pieces),
            None => self.socket.send_vectored(pieces, more),
        }
    }

    /// Sends at most `most` bytes of a file. `Ok(0)`: the file became shorter.
    ///
    /// # Errors
    /// The peer is gone, or the file cannot be read.
    pub fn sendfile(&mut self, pool: &Pool, slice: &FileSlice, most: u64) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            Some(tls) => tls.sendfile(&self.socket, pool, slice, most),
            None => self.socket.sendfile(slice, most),
        }
    }

    /// Sends all accepted bytes. `Pending`: the socket has no room for all of them.
    ///
    /// # Errors
    /// The peer is gone.
    #[inline]
    pub fn flush(&mut self) -> Poll<io::Result<()>> {
        match &mut self.tls {
            Some(tls) => tls.flush(&self.socket),
            None => {
                self.socket.cork(false);
                Poll::Ready(Ok(()))
            }
        }
    }

    /// More of a file follows: sends only full segments until [`flush`](Self::flush).
    #[inline]
    pub fn hold_back(&mut self) {
        if self.tls.is_none() {
            self.socket.cork(true);
        }
    }

    /// Shuts down the sending side.
    pub fn shut_down_sending(&mut self) {
        self.say_goodbye();
        self.socket.shut_down_sending();
    }

    /// With TLS, sends close_notify, so that the peer knows that nothing was cut off (RFC 8446 §6.1). Without TLS,
    /// closing is enough.
    #[inline]
    pub fn say_goodbye(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.close(&self.socket);
        }
    }

    /// Returns unused memory.
    #[inline]
    pub fn release(&mut self, pool: &Pool) {
        if let Some(tls) = &mut self.tls {
            tls.release(pool);
        }
    }

    /// Returns all memory even if it holds data: the connection has ended.
    pub(crate) fn end(&mut self, pool: &Pool) {
        if let Some(tls) = &mut self.tls {
            tls.end(pool);
        }
    }
}
