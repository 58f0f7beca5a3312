//! Opaque bytes in both directions between a client and an upstream (RFC 9110 §7.8, §9.3.6).
//!
//! ```text
//! client ── bytes (a Source) ──▸ Line ──▸ upstream       each direction ends on its own
//! client ◂── Joined (a Source) ── Line ◂── upstream
//! ```
//!
//! The client's connection polls [`Joined`] for bytes, which drives both directions: a peer that reads slowly
//! is written to slowly, and at most one buffer per direction is held in memory.

use super::call::Switch;
use super::cause::Cause;
use super::connection::Connection;
use super::engine::Engine;
use super::io_stream::IoStream;
use super::origin::Protocol;
use super::upstream::InFlight;
use hayami_http::{Content, Source, SourceError};
use hayami_net::dial::Peer;
use hayami_net::upstream_io::UpstreamIo;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Client bytes taken at once.
const ROOM: usize = 64 * 1024;

/// A connection to an upstream turned into a tunnel; dropping it resets the connection.
pub struct Tunnel(Box<Line>);

/// The upstream end of a tunnel.
struct Line {
    /// Its engine is no longer used; its input holds bytes that followed the response head.
    connection: Box<Connection>,
    inward: Inward,
    /// Bytes from the client being sent, and how many have been sent.
    out: Vec<u8>,
    sent: usize,
    idle: Duration,
    outbound: UpstreamIo,
    /// Both directions have ended.
    complete: bool,
    _in_flight: Option<InFlight>,
}

/// The direction from the client.
enum Inward {
    /// Its source is not known yet.
    Unknown,
    /// Bytes come from this source.
    Open(Box<dyn Source>),
    /// The source has ended; the sending direction is closed once everything is sent.
    Ending,
    /// The sending direction is closed.
    Ended,
}

/// Both directions of a tunnel, as content for the client. `None` once there is no more.
struct Joined(Option<Box<Line>>);

impl Tunnel {
    /// Creates a tunnel from a connection on which a call was answered with 101.
    pub(super) fn new(upstream: InFlight, connection: Box<Connection>, switch: &Switch) -> Self {
        let outbound = upstream.outbound.clone();
        Self::of(connection, switch.idle, outbound, Some(upstream))
    }

    fn of(
        connection: Box<Connection>,
        idle: Duration,
        outbound: UpstreamIo,
        in_flight: Option<InFlight>,
    ) -> Self {
        Self(Box::new(Line {
            connection,
            inward: Inward::Unknown,
            out: Vec::new(),
            sent: 0,
            idle,
            outbound,
            complete: false,
            _in_flight: in_flight,
        }))
    }

    /// Joins the tunnel with the client's `bytes` and returns the content for the client.
    pub fn join(mut self, bytes: Box<dyn Source>) -> Content {
        self.0.connection.channel.wire.progressed();
        self.0.inward = Inward::Open(bytes);
        Content::Stream(Box::new(Joined(Some(self.0))))
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tunnel")
    }
}

/// A cleartext connection being established for a tunnel.
pub struct Dialing {
    channel: Option<IoStream>,
    idle: Duration,
    outbound: UpstreamIo,
}

/// Starts a connection to `peer` that becomes a tunnel once established, within `timeout`. The tunnel's idle
/// timeout is `idle`.
///
/// # Errors
/// The system is out of descriptors or ports, or the connection is refused at once.
pub fn dial(outbound: &UpstreamIo, peer: &Peer, timeout: Duration, idle: Duration) -> io::Result<Dialing> {
    let channel = IoStream::open(outbound, peer, None, &[])?;
    channel.wire.set_deadline(outbound.clock().millis().after(timeout));
    Ok(Dialing { channel: Some(channel), idle, outbound: outbound.clone() })
}

impl Future for Dialing {
    type Output = io::Result<Tunnel>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let dialing = &mut *self;
        let Some(channel) = &dialing.channel else { return Poll::Pending };
        let made = ready!(channel.poll_made(cx)).map_err(|cause| match cause {
            Cause::Io(error) => error,
            _ => io::ErrorKind::TimedOut.into(),
        });
        let Some(channel) = dialing.channel.take() else { return Poll::Pending };
        Poll::Ready(made.map(|()| {
            let connection = Connection::new(channel, Engine::new(Protocol::Http1), 0);
            Tunnel::of(connection, dialing.idle, dialing.outbound.clone(), None)
        }))
    }
}

impl Line {
    /// Sends the client's bytes. Ready once the sending direction is closed.
    fn poll_inward(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SourceError>> {
        loop {
            ready!(self.poll_send())?;
            match &mut self.inward {
                Inward::Unknown | Inward::Ended => return Poll::Ready(Ok(())),
                Inward::Ending => {
                    self.connection.channel.shut_down_sending();
                    self.inward = Inward::Ended;
                }
                Inward::Open(source) => {
                    if self.out.capacity() == 0 {
                        self.out = self.outbound.pool().take();
                    }
                    let filled = source.fill(cx, ROOM, &mut self.out);
                    match filled {
                        Poll::Ready(Ok(false)) => {}
                        Poll::Ready(Ok(true)) => self.inward = Inward::Ending,
                        Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                        Poll::Pending if self.out.is_empty() => {
                            self.outbound.pool().give(std::mem::take(&mut self.out));
                            return Poll::Pending;
                        }
                        Poll::Pending => {}
                    }
                }
            }
        }
    }

    /// Ready once everything taken from the client has been sent.
    fn poll_send(&mut self) -> Poll<Result<(), SourceError>> {
        while self.sent < self.out.len() {
            let bytes =
                ready!(self.connection.channel.send(&self.out[self.sent..])).map_err(|error| lost(&error))?;
            self.sent += bytes;
            self.connection.channel.wire.progressed();
        }
        self.out.clear();
        self.sent = 0;
        self.connection.channel.flush().map_err(|error| lost(&error))
    }

    /// Reads the upstream's bytes: `Ready(true)` at the end.
    fn poll_outward(&mut self, room: usize, out: &mut Vec<u8>) -> Poll<io::Result<bool>> {
        loop {
            if !self.connection.input.is_empty() {
                let bytes = self.connection.input.unread();
                let taken = bytes.len().min(room);
                out.extend_from_slice(&bytes[..taken]);
                self.connection.input.consume(taken);
                return Poll::Ready(Ok(false));
            }
            if !self.connection.channel.is_readable() {
                return Poll::Pending;
            }
            let direct = self.connection.channel.is_worth_reading(room);
            let read = match direct {
                true => self.connection.channel.read_at_most(out, room),
                false => self.connection.channel.read(&mut self.connection.input),
            };
            let bytes = match ready!(read) {
                // TLS without close_notify: many servers end like this.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
                bytes => bytes?,
            };
            self.connection.channel.wire.progressed();
            match bytes {
                0 => return Poll::Ready(Ok(true)),
                _ if direct => return Poll::Ready(Ok(false)),
                _ => {}
            }
        }
    }

    /// Waits until something can move, up to the idle timeout.
    fn wait(&mut self, cx: &mut Context<'_>) -> Result<(), SourceError> {
        let wire = &self.connection.channel.wire;
        if wire.is_late() {
            return Err(SourceError("the tunnel was idle for too long".to_owned()));
        }
        wire.wakes(cx.waker());
        wire.set_deadline_once(self.outbound.clock().millis().after(self.idle));
        self.connection.input.release(self.outbound.pool());
        self.outbound.watch(wire).map_err(|error| lost(&error))
    }

    /// Delivers the rest of the client's bytes after the upstream has ended its direction.
    async fn hear_out(mut self: Box<Self>) {
        let done = std::future::poll_fn(|cx| self.poll_rest(cx)).await;
        self.complete = done.is_ok();
    }

    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SourceError>> {
        if let Poll::Ready(done) = self.poll_inward(cx) {
            return Poll::Ready(done);
        }
        // The upstream may have closed the connection entirely.
        let mut nothing = Vec::new();
        while let Poll::Ready(read) = self.poll_outward(ROOM, &mut nothing) {
            match read {
                Ok(true) => break,
                Ok(false) => nothing.clear(),
                Err(error) => return Poll::Ready(Err(lost(&error))),
            }
        }
        self.wait(cx)?;
        Poll::Pending
    }
}

impl Source for Joined {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let Some(line) = &mut self.0 else { return Poll::Ready(Ok(true)) };
        let inward = line.poll_inward(cx)?;
        if room > 0
            && let Poll::Ready(read) = line.poll_outward(room, out)
        {
            let ended = read.map_err(|error| lost(&error))?;
            if let Some(mut line) = self.0.take_if(|_| ended) {
                match inward {
                    Poll::Ready(()) => line.complete = true,
                    Poll::Pending => drop(tokio::task::spawn_local(line.hear_out())),
                }
            }
            return Poll::Ready(Ok(ended));
        }
        line.wait(cx)?;
        Poll::Pending
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.complete {
            // The upstream must not mistake truncated data for complete data (RFC 9113 §8.5).
            self.connection.channel.wire.socket.reset_on_close();
        }
        self.outbound.pool().give(std::mem::take(&mut self.out));
    }
}

#[cold]
fn lost(error: &io::Error) -> SourceError {
    SourceError(format!("from the upstream: {error}"))
}
