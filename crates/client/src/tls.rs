//! The client's side of TLS, below a protocol that is spoken to an upstream (RFC 8446, RFC 5246).
//!
//! What is sent is sealed at once and leaves as the socket takes it. What comes is opened where it was received and
//! appended to whatever memory the reader has for it.

use super::cause::Cause;
use super::origin::Tls;
use hayami_net::buffer::Pool;
use hayami_net::socket::Socket;
use hayami_net::tls_stream::{RECORD, TlsStream};
use hayami_tls::{Alpn, ClientSession, ClientSide, Info, Progress};
use std::io;
use std::task::{Poll, ready};

/// Bytes that are put into records at once: several full ones, and few enough to stay in the cache.
const PIECE: usize = 64 * 1024;
/// What waits to be sent beside the next piece at most. The handshake's end does, so that it leaves with the first
/// request.
const WAITING: usize = 16 * 1024;
/// What may wait to be sent before no more is read: a piece, what waited before it, and answers of TLS itself.
const MOST_SEALED: usize = 2 * PIECE;
/// Two records: with less room than this, half of what is read could be left over.
pub(super) const WORTH_READING: usize = 2 * RECORD;

/// One connection's TLS.
pub(super) struct ClientTls {
    stream: TlsStream<ClientSide>,
    stage: Stage,
    /// What came with the end of the handshake.
    early: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Handshake,
    Open,
    /// The peer has said that nothing more comes (close_notify).
    Ended,
}

impl ClientTls {
    /// Makes the ClientHello, which asks for one of `alpn`.
    pub(super) fn begin(tls: &Tls, alpn: &[Alpn], pool: &Pool) -> io::Result<Self> {
        let session = ClientSession::offering(&tls.connector, &tls.name, alpn);
        let session = session.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let stream = TlsStream::starting(session, pool, ClientSession::start);
        Ok(Self { stream, stage: Stage::Handshake, early: Vec::new() })
    }

    /// What the handshake has agreed on.
    pub(super) fn info(&self) -> Option<&Info> {
        self.stream.info()
    }

    /// Goes on with the handshake. Its last bytes leave with the first ones that are sent.
    pub(super) fn poll_connected(&mut self, socket: &Socket, pool: &Pool) -> Poll<Result<(), Cause>> {
        while self.stage == Stage::Handshake {
            ready!(self.flush(socket)).map_err(Cause::Io)?;
            // The ClientHello has left: the peer may be heard.
            if ready!(self.stream.read(socket, pool, Some(RECORD))).map_err(Cause::Io)? == 0 {
                return Poll::Ready(Err(Cause::Closed));
            }
            self.stream.prepare(pool);
            match self.stream.open(&mut self.early) {
                Ok(Progress::Established) => self.stage = Stage::Open,
                Ok(_) => {}
                Err(fault) => {
                    // It is told why, if there is room for that.
                    let _ = self.flush(socket);
                    return Poll::Ready(Err(Cause::Tls(fault)));
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Whether there is something to read that the socket does not know of.
    #[inline]
    pub(super) fn holds_content(&self) -> bool {
        !self.early.is_empty() || self.stage == Stage::Ended
    }

    /// Whether nothing is on its way that the socket does not know of.
    pub(super) fn is_at_rest(&self) -> bool {
        self.stream.is_empty() && self.early.is_empty() && self.stage == Stage::Open
    }

    /// Reads at most `most` bytes behind what is in `out`, and no more than can be opened at once: `most` is
    /// [`WORTH_READING`] at least. `Ok(0)`: the peer has said that nothing more comes.
    ///
    /// # Errors
    /// The peer is gone, broke the rules, or ended without saying so: then content may have been cut off
    /// (RFC 8446 §6.1).
    pub(super) fn read(
        &mut self,
        socket: &Socket,
        pool: &Pool,
        out: &mut Vec<u8>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let before = out.len();
        out.append(&mut self.early);
        while out.len() == before && self.stage == Stage::Open {
            // An answer to a message of TLS itself: nobody but the reader knows of it.
            match self.flush(socket) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                // Nor is a server that does not read such answers read from without end.
                Poll::Pending if self.stream.unsent() > MOST_SEALED => return Poll::Pending,
                _ => {}
            }
            let room = most.saturating_sub(self.stream.unopened());
            if ready!(self.stream.read(socket, pool, Some(room)))? == 0 {
                return Poll::Ready(Err(cut_off()));
            }
            let progress = self.stream.open(out);
            if self.stream.unsent() > 0
                && let Poll::Ready(Err(error)) = self.flush(socket)
            {
                return Poll::Ready(Err(error));
            }
            match progress {
                Ok(Progress::PeerClosed) => self.stage = Stage::Ended,
                Ok(_) => {}
                Err(fault) => return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, fault))),
            }
        }
        Poll::Ready(Ok(out.len() - before))
    }

    /// Reads what there is of messages of TLS itself, tickets mostly. What else there is, is kept.
    pub(super) fn settle(&mut self, socket: &Socket, pool: &Pool) {
        let mut content = Vec::new();
        match self.read(socket, pool, &mut content, WORTH_READING) {
            Poll::Pending => self.release(pool),
            Poll::Ready(Ok(_)) => self.early = content,
            Poll::Ready(Err(_)) => self.stage = Stage::Ended,
        }
    }

    /// Takes bytes, at most 64 KB.
    ///
    /// # Errors
    /// The peer is gone.
    pub(super) fn send(&mut self, socket: &Socket, pool: &Pool, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.stream.unsent() > WAITING {
            ready!(self.flush(socket))?;
        }
        let piece = &bytes[..bytes.len().min(PIECE)];
        self.stream.seal(pool, piece);
        match self.flush(socket) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(piece.len())),
        }
    }

    /// Ready when everything that was taken has left.
    ///
    /// # Errors
    /// The peer is gone.
    #[inline]
    pub(super) fn flush(&mut self, socket: &Socket) -> Poll<io::Result<()>> {
        self.stream.flush(socket)
    }

    /// Tells the peer that this was all, and nothing was cut off (RFC 8446 §6.1).
    pub(super) fn close(&mut self, socket: &Socket) {
        if self.stage != Stage::Handshake && !socket.has_ended() {
            self.stream.close(socket);
        }
    }

    /// Gives memory back that holds nothing.
    pub(super) fn release(&mut self, pool: &Pool) {
        self.stream.release(pool);
    }

    /// Gives all memory back, whatever is in it: the connection has ended.
    pub(super) fn end(&mut self, pool: &Pool) {
        self.stream.end(pool);
    }
}

#[cold]
fn cut_off() -> io::Error {
    let why = "the upstream closed the connection without a TLS close_notify: the response may be truncated";
    io::Error::new(io::ErrorKind::UnexpectedEof, why)
}
