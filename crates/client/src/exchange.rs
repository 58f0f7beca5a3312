//! One request and its response on a connection: bytes out, bytes in, up to the response's head.

use super::backend::{Backend, InFlight};
use super::call::{Call, Cause, InterimSink, Phase};
use super::connection::Connection;
use super::sending::Sending;
use super::tunnel::{Switch, Tunnel};
use hayami_h1::{ClientEvent, ResponseContent};
use hayami_http::{ResponseHead, Status};
use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A request on its way, or a response.
pub(super) struct Exchange {
    pub(super) connection: Box<Connection>,
    pub(super) sending: Sending,
    pub(super) phase: Phase,
    pub(super) head: ResponseHead,
    /// The connection has served others.
    pub(super) reused: bool,
    /// Bytes of the response have come.
    pub(super) heard: bool,
    /// Why the request was not sent to its end.
    broken: Option<Cause>,
    /// Bytes of the response's heads so far.
    pub(super) head_bytes: usize,
}

/// How long content waits for the upstream's word that it wants it: as long as curl does. Who does not know the word
/// gets content then (RFC 9110 §10.1.1).
const CONTINUE: Duration = Duration::from_secs(1);

impl Exchange {
    /// Begins: the request is made ready, and its content is the exchange's from here on.
    pub(super) fn begin(
        backend: &Backend,
        mut connection: Box<Connection>,
        reused: bool,
        call: &mut Call,
    ) -> Self {
        let sending = Sending::begin(backend, &mut connection.engine, reused, call);
        let phase = if reused { Phase::Send } else { Phase::Connect };
        let head = ResponseHead::new(Status::OK);
        Self { connection, sending, phase, head, reused, heard: false, broken: None, head_bytes: 0 }
    }

    /// Goes on with a connection that is being made, from the request's first byte.
    pub(super) fn move_to(&mut self, mut connection: Box<Connection>) {
        std::mem::swap(&mut connection.engine, &mut self.connection.engine);
        self.connection = connection;
        (self.phase, self.reused, self.broken) = (Phase::Connect, false, None);
    }

    /// Sends what can be sent, and reads until the response's head is there.
    pub(super) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        backend: &Backend,
        interim: &mut Option<InterimSink>,
    ) -> Poll<Result<ResponseContent, Cause>> {
        if self.connection.channel.wire.is_late() && !self.goes_on() {
            return Poll::Ready(Err(Cause::Timeout));
        }
        if matches!(self.phase, Phase::Connect | Phase::Send) {
            self.send(cx, backend)?;
        }
        let held = self.sending.is_held();
        if self.phase != Phase::Connect
            && let Poll::Ready(result) = self.read_head(backend, interim)
        {
            self.connection.channel.wire.progressed();
            if self.sending.is_held() {
                // It has answered without it.
                self.sending.stop();
            }
            return Poll::Ready(result.map_err(|cause| self.broken.take().unwrap_or(cause)));
        }
        if held {
            return self.wait_held(cx, backend, interim);
        }
        self.connection.channel.wire.wakes(cx.waker());
        backend.outbound.watch(&self.connection.channel.wire).map_err(Cause::Io)?;
        Poll::Pending
    }

    /// Waits for the word that content is wanted; if it has come, goes on at once.
    #[cold]
    fn wait_held(
        &mut self,
        cx: &mut Context<'_>,
        backend: &Backend,
        interim: &mut Option<InterimSink>,
    ) -> Poll<Result<ResponseContent, Cause>> {
        if !self.sending.is_held() {
            return self.poll_head(cx, backend, interim);
        }
        let wire = &self.connection.channel.wire;
        if self.phase == Phase::Send && self.sending.is_hungry() {
            let patience = CONTINUE.min(backend.timeouts.first_byte);
            wire.set_deadline_once(backend.outbound.clock().millis().after(patience));
        }
        wire.wakes(cx.waker());
        backend.outbound.watch(wire).map_err(Cause::Io)?;
        Poll::Pending
    }

    /// Too much time has passed: whether that only means that content goes without having been asked for.
    #[cold]
    fn goes_on(&mut self) -> bool {
        let held = self.phase == Phase::Send && self.sending.is_held() && self.sending.is_hungry();
        if held {
            self.sending.let_go();
            self.connection.channel.wire.progressed();
        }
        held
    }

    /// Sends as far as there is something and the socket takes it.
    fn send(&mut self, cx: &mut Context<'_>, backend: &Backend) -> Result<(), Cause> {
        match self.poll_send(cx, backend) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.await_response(backend),
            Poll::Ready(Err(cause @ Cause::Content(_))) => return Err(cause),
            Poll::Ready(Err(cause)) if self.phase == Phase::Connect => return Err(cause),
            // It may have answered before it closed (RFC 9112 §9.5).
            Poll::Ready(Err(cause)) => {
                self.connection.channel.wire.socket.may_read(true);
                self.sending.stop();
                self.broken = Some(cause);
                self.await_response(backend);
            }
        }
        Ok(())
    }

    fn await_response(&mut self, backend: &Backend) {
        self.phase = Phase::FirstByte;
        self.sending.release(backend.outbound.pool());
        let now = backend.outbound.clock().millis();
        self.connection.channel.wire.set_deadline(now.after(backend.timeouts.first_byte));
    }

    /// Sends the request; ready when it has left.
    pub(super) fn poll_send(&mut self, cx: &mut Context<'_>, backend: &Backend) -> Poll<Result<(), Cause>> {
        loop {
            ready!(self.flush(backend))?;
            if self.sending.is_complete() {
                return Poll::Ready(Ok(()));
            }
            let engine = &mut self.connection.engine;
            if self.sending.pull(cx, backend.outbound.pool(), engine)?.is_pending() {
                // Only the client is waited for, and its connection knows how long.
                self.connection.channel.wire.progressed();
                return Poll::Pending;
            }
        }
    }

    fn flush(&mut self, backend: &Backend) -> Poll<Result<(), Cause>> {
        let channel = &mut self.connection.channel;
        if self.phase == Phase::Connect {
            ready!(channel.poll_connected())?;
        }
        let sent = loop {
            if self.sending.unsent().is_empty() {
                break channel.flush();
            }
            match channel.send(self.sending.unsent()) {
                Poll::Ready(Ok(bytes)) => {
                    self.sending.sent(bytes);
                    channel.wire.progressed();
                    if self.phase == Phase::Connect {
                        self.phase = Phase::Send;
                        let resumed = channel.info().is_some_and(|info| info.resumed);
                        backend.count_opened(resumed);
                    }
                }
                other => break other.map_ok(|_| ()),
            }
        };
        if sent.is_pending() {
            // The deadline for connecting is set already.
            let now = backend.outbound.clock().millis();
            channel.wire.set_deadline_once(now.after(backend.timeouts.io));
        }
        sent.map_err(Cause::Io)
    }

    /// What is left when the upstream has gone on in another protocol.
    #[cold]
    pub(super) fn into_tunnel(mut self, backend: InFlight, switch: &Switch) -> Tunnel {
        self.sending.end_memory(backend.outbound.pool());
        Tunnel::new(backend, self.connection, switch)
    }

    /// Reads until the response's head is there.
    fn read_head(
        &mut self,
        backend: &Backend,
        interim: &mut Option<InterimSink>,
    ) -> Poll<Result<ResponseContent, Cause>> {
        let Connection { engine, input, channel, .. } = &mut *self.connection;
        loop {
            while !input.is_empty() {
                let received = engine.receive(&backend.limits, input.unread(), &mut self.head);
                let received = received?;
                input.consume(received.consumed);
                self.head_bytes += received.consumed;
                match received.event {
                    ClientEvent::Response(content) => return Poll::Ready(Ok(content)),
                    ClientEvent::Interim => {
                        if self.head.status() == Status::CONTINUE && self.sending.is_held() {
                            self.sending.let_go();
                        }
                        if let Some(tell) = interim {
                            tell(&self.head);
                        }
                    }
                    _ => break,
                }
            }
            if !input.is_empty() && self.phase == Phase::FirstByte {
                self.phase = Phase::Head;
            }
            if !channel.is_readable() {
                return Poll::Pending;
            }
            match ready!(channel.read(input)) {
                Ok(0) => return Poll::Ready(Err(Cause::Closed)),
                // Over TLS without goodbye, which makes no difference as long as nothing is complete.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Poll::Ready(Err(Cause::Closed));
                }
                Ok(_) if self.heard => {}
                Ok(_) => {
                    self.heard = true;
                    *self.head.own_all() = backend.outbound.pool().take_fields();
                }
                Err(error) => return Poll::Ready(Err(Cause::Io(error))),
            }
        }
    }
}
