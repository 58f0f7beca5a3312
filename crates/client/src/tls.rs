//! The client side of TLS, below the upstream protocol (RFC 8446, RFC 5246).
//!
//! Outgoing bytes are encrypted at once and leave as the socket accepts them. Incoming records are decrypted
//! in place and appended to the reader's buffer.

use super::cause::Cause;
use super::origin::Tls;
use hayami_net::buffer::Pool;
use hayami_net::socket::Socket;
use hayami_net::tls_stream::{RECORD, TlsStream};
use hayami_tls::{Alpn, ClientSession, ClientSide, Info, Progress};
use std::io;
use std::task::{Poll, ready};

/// Bytes encrypted at once: several full records, few enough to stay in the cache.
const PIECE: usize = 64 * 1024;
/// Maximum of unsent bytes before the next piece. The end of the handshake stays below it, so that it leaves
/// with the first request.
const WAITING: usize = 16 * 1024;
/// Unsent bytes above which reading stops: a piece, the bytes before it, and TLS's own responses.
const MOST_SEALED: usize = 2 * PIECE;
/// Two records: with less room, half of what is read could be left over.
pub(super) const WORTH_READING: usize = 2 * RECORD;

/// The TLS state of one connection.
pub(super) struct ClientTls {
    stream: TlsStream<ClientSide>,
    stage: Stage,
    /// Content that arrived with the end of the handshake.
    early: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Handshake,
    Open,
    /// The peer has sent close_notify.
    Ended,
}

impl ClientTls {
    /// Creates the ClientHello, offering `alpn`.
    pub(super) fn begin(tls: &Tls, alpn: &[Alpn], pool: &Pool) -> io::Result<Self> {
        let session = ClientSession::offering(&tls.connector, &tls.name, alpn);
        let session = session.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let stream = TlsStream::starting(session, pool, ClientSession::start);
        Ok(Self { stream, stage: Stage::Handshake, early: Vec::new() })
    }

    /// The negotiated parameters.
    pub(super) fn info(&self) -> Option<&Info> {
        self.stream.info()
    }

    /// Continues the handshake. Its last bytes leave with the first ones sent.
    pub(super) fn poll_connected(&mut self, socket: &Socket, pool: &Pool) -> Poll<Result<(), Cause>> {
        while self.stage == Stage::Handshake {
            ready!(self.flush(socket)).map_err(Cause::Io)?;
            // The ClientHello has left: read the peer's response.
            if ready!(self.stream.read(socket, pool, Some(RECORD))).map_err(Cause::Io)? == 0 {
                return Poll::Ready(Err(Cause::Closed));
            }
            self.stream.prepare(pool);
            match self.stream.open(&mut self.early) {
                Ok(Progress::Established) => self.stage = Stage::Open,
                Ok(_) => {}
                Err(fault) => {
                    // Send the alert if there is room for it.
                    let _ = self.flush(socket);
                    return Poll::Ready(Err(Cause::Tls(fault)));
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Whether there is decrypted content or an end of stream that the socket does not show.
    #[inline]
    pub(super) fn holds_content(&self) -> bool {
        !self.early.is_empty() || self.stage == Stage::Ended
    }

    /// Whether nothing is buffered beyond the socket.
    pub(super) fn is_at_rest(&self) -> bool {
        self.stream.is_empty() && self.early.is_empty() && self.stage == Stage::Open
    }

    /// Appends at most `most` bytes to `out`, and no more than can be decrypted at once; `most` must be at
    /// least [`WORTH_READING`]. `Ok(0)`: the peer has sent close_notify.
    ///
    /// # Errors
    /// The connection is lost, the peer violated TLS, or it ended without close_notify, so that content may
    /// have been truncated (RFC 8446 §6.1).
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
            // Send responses to TLS's own messages; only the reader knows of them.
            match self.flush(socket) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                // A server that does not read such responses must not be read from without bound.
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

    /// Reads pending TLS messages, mostly tickets; keeps any content.
    pub(super) fn settle(&mut self, socket: &Socket, pool: &Pool) {
        let mut content = Vec::new();
        match self.read(socket, pool, &mut content, WORTH_READING) {
            Poll::Pending => self.release(pool),
            Poll::Ready(Ok(_)) => self.early = content,
            Poll::Ready(Err(_)) => self.stage = Stage::Ended,
        }
    }

    /// Accepts bytes, at most 64 KB.
    ///
    /// # Errors
    /// The connection is lost.
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

    /// Ready once all accepted bytes have left.
    ///
    /// # Errors
    /// The connection is lost.
    #[inline]
    pub(super) fn flush(&mut self, socket: &Socket) -> Poll<io::Result<()>> {
        self.stream.flush(socket)
    }

    /// Sends close_notify, so that the peer can rule out truncation (RFC 8446 §6.1).
    pub(super) fn close(&mut self, socket: &Socket) {
        if self.stage != Stage::Handshake && !socket.has_ended() {
            self.stream.close(socket);
        }
    }

    /// Releases empty buffers.
    pub(super) fn release(&mut self, pool: &Pool) {
        self.stream.release(pool);
    }

    /// Releases all buffers, whatever they contain, when the connection ends.
    pub(super) fn end(&mut self, pool: &Pool) {
        self.stream.end(pool);
    }
}

#[cold]
fn cut_off() -> io::Error {
    let why = "the upstream closed the connection without a TLS close_notify: the response may be truncated";
    io::Error::new(io::ErrorKind::UnexpectedEof, why)
}
