//! What carries a connection's bytes: the bare socket, or TLS over it.

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

/// A connection's way to its peer.
pub struct Transport {
    socket: Socket,
    tls: Option<Box<ServerTls>>,
    /// A header of the PROXY protocol comes first.
    proxy_header: ProxyHeader,
}

/// Whether a connection begins with a header of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyHeader {
    /// It does not, or has come.
    None,
    /// It may.
    Optional,
    /// It must.
    Required,
}

/// What reading led to.
#[derive(Debug)]
pub enum Read {
    /// Bytes for the protocol.
    Bytes,
    /// The peer sends no more.
    End,
    /// The TLS handshake is complete.
    Established(Box<Info>),
    /// The peer speaks HTTP in clear where TLS was expected; the bytes are in the input.
    PlainHttp,
    /// The handshake waits for a store of sessions: `poll_lookup` goes on.
    Lookup,
}

impl Transport {
    /// In clear, or over TLS with what the acceptor agrees to.
    pub fn new(socket: Socket, acceptor: Option<&Arc<Acceptor>>) -> Self {
        Self {
            socket,
            tls: acceptor.map(|acceptor| Box::new(ServerTls::new(acceptor))),
            proxy_header: ProxyHeader::None,
        }
    }

    /// The socket below.
    #[inline]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// A header of the PROXY protocol comes first.
    pub(crate) fn expect_proxy_header(&mut self, proxy_header: ProxyHeader) {
        self.proxy_header = proxy_header;
    }

    /// Whether that has not come yet.
    #[inline]
    pub(crate) fn expects_announcement(&self) -> bool {
        self.proxy_header != ProxyHeader::None
    }

    /// Whether a header is missing without which nothing is read.
    pub(crate) fn lacks_announcement(&self) -> bool {
        self.proxy_header == ProxyHeader::Required
    }

    /// Reads the header of the PROXY protocol, and not one byte more: what follows may be TLS. `None`: the peer
    /// has closed without a word.
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
                // What was seen is still to be read.
                self.socket.may_read(false);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }))
    }

    /// Whether bytes of the peer cannot be read yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.expects_announcement() || self.tls.as_ref().is_some_and(|tls| !tls.is_established())
    }

    /// Whether the bytes read last came before the TLS handshake was complete (RFC 8446 §2.3).
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

    /// From now on in clear.
    pub(crate) fn give_up_tls(&mut self) {
        self.tls = None;
    }

    /// Reads into `input`. `Pending`: the loop tells when there is more.
    ///
    /// # Errors
    /// The peer is gone, or broke the rules of TLS.
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

    /// Whether something else than reading has to come first: [`poll_announcement`](Self::poll_announcement), or
    /// [`poll_lookup`](Self::poll_lookup).
    #[inline]
    pub(crate) fn is_held_up(&self) -> bool {
        self.expects_announcement() || self.tls.as_ref().is_some_and(|tls| tls.is_looking_up())
    }

    /// Goes on with a handshake that waited for a store of sessions. `Ready(None)`: by reading.
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

    /// Sends one piece; how much of it was taken. `more`: something follows at once.
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

    /// Sends several pieces; how many bytes of them were taken.
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

    /// Sends at most `most` bytes of a file. `Ok(0)`: the file is shorter than it was.
    ///
    /// # Errors
    /// The peer is gone, or the file cannot be read.
    pub fn sendfile(&mut self, pool: &Pool, slice: &FileSlice, most: u64) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            Some(tls) => tls.sendfile(&self.socket, pool, slice, most),
            None => self.socket.sendfile(slice, most),
        }
    }

    /// What was taken leaves. `Pending`: the socket has no room for all of it.
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

    /// More of a file follows: only full segments are to be sent until [`flush`](Self::flush).
    #[inline]
    pub fn hold_back(&mut self) {
        if self.tls.is_none() {
            self.socket.cork(true);
        }
    }

    /// Tells the peer that nothing more will come.
    pub fn shut_down_sending(&mut self) {
        self.say_goodbye();
        self.socket.shut_down_sending();
    }

    /// Over TLS, tells the peer that this was all, and nothing was cut off (RFC 8446 §6.1). In clear, closing
    /// says so.
    #[inline]
    pub fn say_goodbye(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.close(&self.socket);
        }
    }

    /// Gives memory back that holds nothing.
    #[inline]
    pub fn release(&mut self, pool: &Pool) {
        if let Some(tls) = &mut self.tls {
            tls.release(pool);
        }
    }

    /// Gives all memory back, whatever is in it: the connection has ended.
    pub(crate) fn end(&mut self, pool: &Pool) {
        if let Some(tls) = &mut self.tls {
            tls.end(pool);
        }
    }
}
