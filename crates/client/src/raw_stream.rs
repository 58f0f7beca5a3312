//! A byte stream to any peer, in cleartext or over TLS, for protocols not implemented here.

use super::cause::Cause;
use super::io_stream::IoStream;
use super::origin::Tls;
use hayami_net::buffer::Input;
use hayami_net::dial::Peer;
use hayami_net::upstream_io::UpstreamIo;
use hayami_tls::Info;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A stream to a peer, used by one task at a time. Dropping it closes it; [`RawPool`](super::RawPool) keeps
/// it open for the next user.
pub struct RawStream {
    pub(super) channel: IoStream,
    /// Bytes received but not yet read.
    pub(super) input: Input,
    outbound: UpstreamIo,
    timeout: Duration,
    pub(super) reused: u32,
}

impl RawStream {
    /// Connects to `peer` and, with `tls`, completes the handshake without ALPN, all within `timeout`, which
    /// also applies to reads and writes until [`set_timeout`](Self::set_timeout).
    ///
    /// # Errors
    /// The system is out of descriptors or ports, the peer refuses the connection or does not answer, or its
    /// certificate is not trusted.
    pub async fn connect(
        outbound: &UpstreamIo,
        peer: &Peer,
        tls: Option<&Tls>,
        timeout: Duration,
    ) -> Result<Self, Cause> {
        let channel = IoStream::open(outbound, peer, tls, &[]).map_err(Cause::Io)?;
        channel.wire.set_deadline(outbound.clock().millis().after(timeout));
        let (input, outbound) = (Input::default(), outbound.clone());
        let mut stream = Self { channel, input, outbound, timeout, reused: 0 };
        poll_fn(|cx| stream.channel.poll_made(cx)).await?;
        poll_fn(|cx| stream.poll_secured(cx)).await?;
        stream.channel.wire.progressed();
        Ok(stream)
    }

    fn poll_secured(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        if self.channel.wire.is_late() {
            return Poll::Ready(Err(Cause::Timeout));
        }
        if let Poll::Ready(connected) = self.channel.poll_connected() {
            connected?;
            // The end of the handshake leaves with the first bytes sent; flush it, since the peer may have to
            // speak first.
            if let Poll::Ready(flushed) = self.channel.flush() {
                return Poll::Ready(flushed.map_err(Cause::Io));
            }
        }
        self.channel.wait(cx).map_err(Cause::Io)?;
        Poll::Pending
    }

    /// Sets the timeout of each following read or write.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
        self.channel.wire.progressed();
    }

    /// How often the stream has been taken from a pool.
    pub fn reused(&self) -> u32 {
        self.reused
    }

    /// The negotiated TLS parameters; `None` in cleartext.
    pub fn tls(&self) -> Option<&Info> {
        self.channel.info()
    }

    /// Appends at most `room` bytes to `out` and returns how many; 0 at the end of the stream.
    ///
    /// # Errors
    /// The connection is lost; over TLS, it ended without close_notify; or [`io::ErrorKind::TimedOut`], after
    /// which the stream is still usable.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        if self.input.is_empty() && self.channel.is_readable() {
            match self.channel.read(&mut self.input) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(0)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(_)) => self.channel.wire.progressed(),
                Poll::Pending => {}
            }
        }
        if self.input.is_empty() {
            self.input.release(self.outbound.pool());
            return self.wait(cx);
        }
        let taken = self.input.unread().len().min(room);
        out.extend_from_slice(&self.input.unread()[..taken]);
        self.input.consume(taken);
        Poll::Ready(Ok(taken))
    }

    /// Async version of [`poll_read`](Self::poll_read).
    ///
    /// # Errors
    /// See [`poll_read`](Self::poll_read).
    pub async fn read(&mut self, room: usize, out: &mut Vec<u8>) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, room, out)).await
    }

    /// Accepts as many bytes as there is room for; they have left once [`poll_flush`](Self::poll_flush) is ready.
    ///
    /// # Errors
    /// The connection is lost; or [`io::ErrorKind::TimedOut`], after which the stream is still usable.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = self.channel.send(bytes);
        self.unless_pending(cx, sent)
    }

    /// Ready once all accepted bytes have left.
    ///
    /// # Errors
    /// See [`poll_write`](Self::poll_write).
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.channel.flush().map_ok(|()| 0);
        self.unless_pending(cx, flushed).map_ok(drop)
    }

    /// Sends all of these bytes.
    ///
    /// # Errors
    /// See [`poll_write`](Self::poll_write); it is then unknown how many bytes have left.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        poll_fn(|cx| {
            while !bytes.is_empty() {
                let sent = ready!(self.poll_write(cx, bytes))?;
                bytes = &bytes[sent..];
            }
            self.poll_flush(cx)
        })
        .await
    }

    /// Closes the sending direction; the peer may still send.
    pub fn shut_down_sending(&mut self) {
        self.channel.shut_down_sending();
    }

    fn unless_pending(
        &mut self,
        cx: &mut Context<'_>,
        sent: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if sent.is_pending() {
            return self.wait(cx);
        }
        self.channel.wire.progressed();
        sent
    }

    /// Waits for the peer until the timeout.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let wire = &self.channel.wire;
        if wire.is_late() {
            wire.progressed();
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        wire.set_deadline_once(self.outbound.clock().millis().after(self.timeout));
        self.channel.wait(cx)?;
        Poll::Pending
    }
}

impl Drop for RawStream {
    fn drop(&mut self) {
        self.input.end(self.outbound.pool());
    }
}
