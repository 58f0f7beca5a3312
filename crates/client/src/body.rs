//! A response's content, pulled from the connection by its consumer, so that an upstream is read no faster
//! than its client reads.

use super::cause::Cause;
use super::connection::Connection;
use super::exchange::Exchange;
use super::upstream::InFlight;
use hayami_h1::{ClientEvent, ClientReceived, ResponseContent};
use hayami_http::{FieldSection, Source, SourceError};
use std::task::{Context, Poll, ready};

/// Content being received.
pub(super) struct Body {
    upstream: InFlight,
    /// `None` once it is complete or has failed.
    exchange: Option<Exchange>,
    /// The content length, if known.
    length: Option<u64>,
    /// Whether all bytes on the connection are content, without framing.
    plain: bool,
    /// Bytes at the front of the input that are decoded content.
    decoded: usize,
    trailers: Option<FieldSection>,
}

impl Body {
    pub(super) fn new(upstream: InFlight, exchange: Exchange, content: ResponseContent) -> Self {
        let length = match content {
            ResponseContent::Length(bytes) => Some(bytes),
            _ => None,
        };
        let plain = content != ResponseContent::Chunked && !exchange.connection.engine.is_framed();
        Self { upstream, exchange: Some(exchange), length, plain, decoded: 0, trailers: None }
    }

    /// Takes received content, and reads more if there is none. `Ready(true)` marks the end.
    fn take(&mut self, room: usize, out: &mut Vec<u8>) -> Poll<Result<bool, SourceError>> {
        let start = out.len();
        loop {
            let Some(exchange) = &mut self.exchange else { return Poll::Ready(Ok(true)) };
            let Connection { engine, input, .. } = &mut *exchange.connection;
            if self.decoded > 0 {
                let taken = self.decoded.min(room - (out.len() - start));
                out.extend_from_slice(&input.unread()[..taken]);
                input.consume(taken);
                self.decoded -= taken;
                if self.decoded > 0 {
                    return Poll::Ready(Ok(false));
                }
            }
            let received = engine.receive(&self.upstream.limits, input.unread(), &mut exchange.head);
            let ClientReceived { consumed, event } = received.map_err(|fault| error(&fault))?;
            match event {
                ClientEvent::Content(range) => {
                    input.consume(range.start);
                    self.decoded = range.len();
                }
                ClientEvent::End => {
                    input.consume(consumed);
                    self.finish();
                    return Poll::Ready(Ok(true));
                }
                _ if out.len() > start => {
                    input.consume(consumed);
                    return Poll::Ready(Ok(false));
                }
                _ => {
                    input.consume(consumed);
                    if ready!(self.read(room, out))? {
                        return Poll::Ready(Ok(true));
                    }
                }
            }
        }
    }

    /// Reads, bypassing the input buffer if the bytes need no decoding. `Ready(true)`: the end of the
    /// connection ended the content.
    fn read(&mut self, room: usize, out: &mut Vec<u8>) -> Poll<Result<bool, SourceError>> {
        let Some(exchange) = &mut self.exchange else { return Poll::Ready(Ok(true)) };
        let Connection { engine, input, channel, .. } = &mut *exchange.connection;
        if !channel.is_readable() {
            return Poll::Pending;
        }
        let start = out.len();
        let direct = self.plain && input.is_empty() && channel.is_worth_reading(room);
        let read = match direct {
            true => channel.read_at_most(out, room),
            false => channel.read(input),
        };
        let bytes = ready!(read).map_err(|fault| error(&fault))?;
        channel.wire.progressed();
        if bytes == 0 {
            let ended = engine.receive_eof().map_err(|fault| error(&fault))?;
            self.finish();
            return Poll::Ready(Ok(ended == ClientEvent::End));
        }
        if direct {
            let received = engine.receive(&self.upstream.limits, &out[start..], &mut exchange.head);
            let taken = received.map_err(|fault| error(&fault))?.consumed;
            if taken < bytes {
                // Surplus bytes: left in the input, they keep the connection out of the idle pool.
                input.room(self.upstream.outbound.pool()).extend_from_slice(&out[start + taken..]);
                out.truncate(start + taken);
            }
        }
        Poll::Ready(Ok(false))
    }

    /// Finishes a complete response.
    fn finish(&mut self) {
        if let Some(mut exchange) = self.exchange.take() {
            self.trailers = exchange.connection.engine.take_trailers();
            exchange.end(&self.upstream);
        }
    }

    /// Waits for more bytes.
    fn wait(&mut self, cx: &mut Context<'_>) -> Result<(), SourceError> {
        let Some(exchange) = &mut self.exchange else { return Ok(()) };
        let Connection { input, channel, .. } = &mut *exchange.connection;
        let (outbound, timeouts) = (&self.upstream.outbound, &self.upstream.timeouts);
        input.release(outbound.pool());
        channel.release();
        let wire = &channel.wire;
        wire.wakes(cx.waker());
        if !exchange.sending.is_hungry() {
            wire.set_deadline_once(outbound.clock().millis().after(timeouts.io));
        }
        outbound.watch(wire).map_err(|fault| error(&fault))
    }

    /// Continues to send the request's content while the response arrives.
    fn send_on(&mut self, cx: &mut Context<'_>) -> Result<(), SourceError> {
        match &mut self.exchange {
            Some(exchange) if !exchange.sending.is_complete() => {
                match exchange.poll_send(cx, &self.upstream) {
                    Poll::Ready(Err(Cause::Content(error))) => Err(error),
                    // An upstream that has responded need not read the rest (RFC 9112 §9.5).
                    Poll::Ready(Err(_)) => {
                        exchange.sending.stop();
                        Ok(())
                    }
                    Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Source for Body {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        self.send_on(cx)?;
        let taken = self.take(room, out);
        if taken.is_ready() {
            return taken;
        }
        let late = self.exchange.as_ref().is_some_and(|exchange| exchange.connection.channel.wire.is_late());
        if late {
            return Poll::Ready(Err(SourceError("the upstream sent nothing for too long".to_owned())));
        }
        self.wait(cx)?;
        Poll::Pending
    }

    fn length(&self) -> Option<u64> {
        self.length
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.trailers.take()
    }
}

/// Content known to be incomplete.
pub(super) struct Broken(SourceError);

impl Broken {
    pub(super) fn by(cause: &Cause) -> Self {
        Self(error(cause))
    }
}

impl Source for Broken {
    fn fill(&mut self, _: &mut Context<'_>, _: usize, _: &mut Vec<u8>) -> Poll<Result<bool, SourceError>> {
        Poll::Ready(Err(SourceError(self.0.0.clone())))
    }
}

#[cold]
fn error(why: &dyn std::fmt::Display) -> SourceError {
    SourceError(format!("from the upstream: {why}"))
}
