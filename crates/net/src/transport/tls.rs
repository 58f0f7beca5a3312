//! The server side of TLS: records are collected so that the responses of a turn leave in one write.

use super::Read;
use crate::blocking::{self, Lane, Task};
use crate::buffer::{Input, Pool};
use crate::socket::Socket;
use crate::tls_stream::TlsStream;
use hayami_http::FileSlice;
use hayami_tls::{Acceptor, Fault, Progress, ServerSide, Session};
use std::future::Future;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::task::{Context, Poll, ready};

/// Bytes sealed at once: several full records, and few enough to stay in the cache.
const PIECE: usize = 96 * 1024;
/// Bytes of unsent records above which nothing more is read from the peer. Responses stay below two pieces plus
/// record overhead; the rest is for TLS's own replies, which are small.
const MOST_SEALED: usize = 3 * PIECE;

/// The TLS state of a connection.
pub(crate) struct ServerTls {
    stream: TlsStream<ServerSide>,
    /// The lookup of the client's session in an external store.
    lookup: Option<Task<()>>,
    established: bool,
}

impl ServerTls {
    /// The client starts the handshake.
    pub(super) fn new(acceptor: &Acceptor) -> Self {
        Self { stream: TlsStream::new(Session::new(acceptor)), lookup: None, established: false }
    }

    /// Whether the handshake is complete.
    pub(crate) fn is_established(&self) -> bool {
        self.established
    }

    /// Whether the handshake waits for a session store.
    pub(super) fn is_looking_up(&self) -> bool {
        self.lookup.is_some()
    }

    /// Whether the last bytes read are early data, from before the end of the handshake (RFC 8446 §2.3).
    pub(crate) fn is_early(&self) -> bool {
        self.stream.is_early()
    }

    pub(super) fn read(&mut self, socket: &Socket, pool: &Pool, input: &mut Input) -> Poll<io::Result<Read>> {
        if self.stream.unsent() > MOST_SEALED {
            ready!(self.flush(socket))?;
        }
        loop {
            if ready!(self.stream.read(socket, pool, None))? == 0 {
                return Poll::Ready(Ok(Read::End));
            }
            if let Some(read) = self.receive(socket, pool, input)? {
                return Poll::Ready(Ok(read));
            }
        }
    }

    /// Opens the records received. `None`: more have to be read.
    fn receive(&mut self, socket: &Socket, pool: &Pool, input: &mut Input) -> io::Result<Option<Read>> {
        let before = input.unread().len();
        self.stream.prepare(pool);
        let progress = self.stream.open(input.room(pool));
        let bytes = (input.unread().len() > before).then_some(Read::Bytes);
        if bytes.is_none() && !matches!(progress, Ok(Progress::Established)) {
            // No response follows that would carry the handshake messages. What cannot be sent now is sent by the
            // next flush.
            let _ = self.flush(socket)?;
        }
        Ok(match progress {
            Ok(Progress::Handshaking | Progress::Open) => bytes,
            Ok(Progress::Established) => {
                self.established = true;
                self.stream.info().map(|info| Read::Established(Box::new(info.clone())))
            }
            Ok(Progress::PeerClosed) => Some(bytes.unwrap_or(Read::End)),
            Ok(Progress::NeedsLookup(lookup)) => {
                self.lookup = Some(blocking::run(Lane::Sessions, move || lookup.run()));
                Some(Read::Lookup)
            }
            Err(Fault::PlainHttp) => {
                self.stream.give_up(input.room(pool));
                Some(Read::PlainHttp)
            }
            Err(fault) => return Err(io::Error::new(io::ErrorKind::InvalidData, fault)),
        })
    }

    /// Nothing was sent for a while: the congestion window is small again, so records start small too.
    pub(super) fn was_idle(&mut self) {
        self.stream.was_idle();
    }

    /// Waits for the session store, then continues the handshake. `Ready(None)`: continue by reading.
    pub(crate) fn poll_lookup(
        &mut self,
        cx: &mut Context<'_>,
        socket: &Socket,
        pool: &Pool,
        input: &mut Input,
    ) -> Poll<io::Result<Option<Read>>> {
        let Some(lookup) = &mut self.lookup else { return Poll::Ready(Ok(None)) };
        // If the lookup failed or was refused, the handshake is a full one.
        let _ = ready!(std::pin::Pin::new(lookup).poll(cx));
        self.lookup = None;
        Poll::Ready(self.receive(socket, pool, input))
    }

    pub(super) fn send(&mut self, socket: &Socket, pool: &Pool, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.make_room(socket))?;
        // A small remainder is sealed along: otherwise it would cost another write and segment.
        let most = if bytes.len() <= PIECE + PIECE / 8 { bytes.len() } else { PIECE };
        let piece = &bytes[..most];
        self.stream.seal(pool, piece);
        Poll::Ready(Ok(piece.len()))
    }

    pub(super) fn send_vectored(
        &mut self,
        socket: &Socket,
        pool: &Pool,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.make_room(socket))?;
        Poll::Ready(Ok(self.stream.seal_gathered(pool, pieces, PIECE)))
    }

    pub(super) fn sendfile(
        &mut self,
        socket: &Socket,
        pool: &Pool,
        slice: &FileSlice,
        most: u64,
    ) -> Poll<io::Result<usize>> {
        ready!(self.make_room(socket))?;
        let mut plain = pool.take();
        plain.resize(slice.len.min(most).min(PIECE as u64) as usize, 0);
        let bytes = slice.file.read_at(&mut plain, slice.offset);
        if let Ok(bytes) = bytes {
            self.stream.seal(pool, &plain[..bytes]);
        }
        pool.give(plain);
        Poll::Ready(bytes)
    }

    /// Flushes before more records are sealed, if many are unsent.
    fn make_room(&mut self, socket: &Socket) -> Poll<io::Result<()>> {
        if self.stream.unsent() < PIECE { Poll::Ready(Ok(())) } else { self.flush(socket) }
    }

    #[inline]
    pub(super) fn flush(&mut self, socket: &Socket) -> Poll<io::Result<()>> {
        self.stream.flush(socket)
    }

    /// Sends close_notify (RFC 8446 §6.1).
    pub(super) fn close(&mut self, socket: &Socket) {
        self.stream.close(socket);
    }

    pub(super) fn release(&mut self, pool: &Pool) {
        self.stream.release(pool);
    }

    pub(super) fn end(&mut self, pool: &Pool) {
        self.stream.end(pool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Input;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_peer_that_does_not_read_is_not_read_from_without_end() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        ours.set_nonblocking(true).expect("set");
        let socket = Socket::new(ours.into());
        let (pool, mut input) = (Pool::default(), Input::default());
        let mut tls = ServerTls::new(&acceptor());
        // As if replies had filled it up; the peer reads none.
        tls.stream.stuff(vec![0; 1 << 20]);
        assert!(tls.flush(&socket).is_pending());
        assert!(tls.stream.unsent() > MOST_SEALED);
        theirs.write_all(b"\x16\x03\x01\x00\x05").expect("sent");
        assert!(tls.read(&socket, &pool, &mut input).is_pending());
        assert_eq!(tls.stream.unopened(), 0, "nothing is read");
        theirs.set_nonblocking(true).expect("set");
        while tls.flush(&socket).is_pending() {
            while theirs.read(&mut [0; 65_536]).is_ok() {}
            socket.may_write();
        }
        assert!(tls.read(&socket, &pool, &mut input).is_pending(), "a record that is there in part");
        assert_eq!(tls.stream.unopened(), 5, "it is read again");
    }

    fn acceptor() -> std::sync::Arc<Acceptor> {
        let key = rcgen::KeyPair::generate().expect("a key");
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate").der().to_vec();
        let identity =
            hayami_tls::Identity::from_der(vec![certificate], key.serialize_der(), "test", 1_800_000_000);
        let settings = hayami_tls::Settings::new(vec![identity.expect("an identity")]);
        Acceptor::new(vec![(vec![], settings)], &hayami_tls::Resumption::off()).expect("an acceptor")
    }
}
