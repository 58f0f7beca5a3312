//! One request and its response on a connection, up to the response head.

use super::call::{Call, InterimSink, Switch};
use super::cause::{Cause, Phase};
use super::connection::Connection;
use super::retry::Reach;
use super::sending::Sending;
use super::tunnel::Tunnel;
use super::upstream::{InFlight, Upstream};
use hayami_h1::{ClientEvent, ResponseContent};
use hayami_http::{ResponseHead, Status};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A request or response in progress.
pub(super) struct Exchange {
    pub(super) connection: Box<Connection>,
    pub(super) sending: Sending,
    pub(super) phase: Phase,
    pub(super) head: ResponseHead,
    /// Whether the connection has served earlier requests.
    pub(super) reused: bool,
    /// Whether any bytes of the response have arrived.
    pub(super) heard: bool,
    /// Why the request was not sent completely.
    broken: Option<Cause>,
    /// Bytes of response heads received so far.
    pub(super) head_bytes: usize,
}

/// How long content waits for 100 (Continue), as in curl. An upstream that does not support the expectation
/// gets the content then (RFC 9110 §10.1.1).
const CONTINUE: Duration = Duration::from_secs(1);

impl Exchange {
    /// Starts an exchange: prepares the request and takes ownership of its content.
    pub(super) fn begin(
        upstream: &Upstream,
        mut connection: Box<Connection>,
        reused: bool,
        call: &mut Call,
    ) -> Self {
        let sending = Sending::begin(upstream, &mut connection.engine, reused, call);
        let phase = if reused { Phase::Send } else { Phase::Connect };
        let head = ResponseHead::new(Status::OK);
        Self { connection, sending, phase, head, reused, heard: false, broken: None, head_bytes: 0 }
    }

    /// Restarts the request from its first byte on a new connection.
    pub(super) fn move_to(&mut self, mut connection: Box<Connection>) {
        std::mem::swap(&mut connection.engine, &mut self.connection.engine);
        self.connection = connection;
        (self.phase, self.reused, self.broken) = (Phase::Connect, false, None);
    }

    /// Sends what it can, and reads until the response head is complete.
    pub(super) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        upstream: &Upstream,
        interim: &mut Option<InterimSink>,
    ) -> Poll<Result<ResponseContent, Cause>> {
        if self.connection.channel.wire.is_late() && !self.goes_on() {
            return Poll::Ready(Err(Cause::Timeout));
        }
        if matches!(self.phase, Phase::Connect | Phase::Send) {
            self.send(cx, upstream)?;
        }
        let held = self.sending.is_held();
        if self.phase != Phase::Connect
            && let Poll::Ready(result) = self.read_head(upstream, interim)
        {
            self.connection.channel.wire.progressed();
            if self.sending.is_held() {
                // The upstream responded without waiting for the content.
                self.sending.stop();
            }
            return Poll::Ready(result.map_err(|cause| self.broken.take().unwrap_or(cause)));
        }
        if held {
            return self.wait_held(cx, upstream, interim);
        }
        self.connection.channel.wire.wakes(cx.waker());
        upstream.outbound.watch(&self.connection.channel.wire).map_err(Cause::Io)?;
        Poll::Pending
    }

    /// Waits for 100 (Continue); if it has arrived, continues at once.
    #[cold]
    fn wait_held(
        &mut self,
        cx: &mut Context<'_>,
        upstream: &Upstream,
        interim: &mut Option<InterimSink>,
    ) -> Poll<Result<ResponseContent, Cause>> {
        if !self.sending.is_held() {
            return self.poll_head(cx, upstream, interim);
        }
        let wire = &self.connection.channel.wire;
        if self.phase == Phase::Send && self.sending.is_hungry() {
            let patience = CONTINUE.min(upstream.timeouts.first_byte);
            wire.set_deadline_once(upstream.outbound.clock().millis().after(patience));
        }
        wire.wakes(cx.waker());
        upstream.outbound.watch(wire).map_err(Cause::Io)?;
        Poll::Pending
    }

    /// Whether the expired deadline only ends the wait for 100 (Continue); if so, releases the content.
    #[cold]
    fn goes_on(&mut self) -> bool {
        let held = self.phase == Phase::Send && self.sending.is_held() && self.sending.is_hungry();
        if held {
            self.sending.let_go();
            self.connection.channel.wire.progressed();
        }
        held
    }

    /// Sends until the data or the socket buffer is exhausted.
    fn send(&mut self, cx: &mut Context<'_>, upstream: &Upstream) -> Result<(), Cause> {
        match self.poll_send(cx, upstream) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.await_response(upstream),
            Poll::Ready(Err(cause @ Cause::Content(_))) => return Err(cause),
            Poll::Ready(Err(cause)) if self.phase == Phase::Connect => return Err(cause),
            // The upstream may have responded before it closed (RFC 9112 §9.5).
            Poll::Ready(Err(cause)) => {
                self.connection.channel.wire.socket.may_read(true);
                self.sending.stop();
                self.broken = Some(cause);
                self.await_response(upstream);
            }
        }
        Ok(())
    }

    fn await_response(&mut self, upstream: &Upstream) {
        self.phase = Phase::FirstByte;
        self.sending.release(upstream.outbound.pool());
        let now = upstream.outbound.clock().millis();
        self.connection.channel.wire.set_deadline(now.after(upstream.timeouts.first_byte));
    }

    /// Sends the request; ready once all of it has been written.
    pub(super) fn poll_send(&mut self, cx: &mut Context<'_>, upstream: &Upstream) -> Poll<Result<(), Cause>> {
        loop {
            ready!(self.flush(upstream))?;
            if self.sending.is_complete() {
                return Poll::Ready(Ok(()));
            }
            let engine = &mut self.connection.engine;
            if self.sending.pull(cx, upstream.outbound.pool(), engine)?.is_pending() {
                // Only the client can make progress, and the client connection has its own timeout.
                self.connection.channel.wire.progressed();
                return Poll::Pending;
            }
        }
    }

    fn flush(&mut self, upstream: &Upstream) -> Poll<Result<(), Cause>> {
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
                        upstream.count_opened(resumed);
                    }
                }
                other => break other.map_ok(|_| ()),
            }
        };
        if sent.is_pending() {
            // The connect deadline is already set.
            let now = upstream.outbound.clock().millis();
            channel.wire.set_deadline_once(now.after(upstream.timeouts.io));
        }
        sent.map_err(Cause::Io)
    }

    /// How far a request that fails with `cause` has got.
    #[cold]
    pub(super) fn reach(&self, cause: &Cause) -> Reach {
        match cause {
            _ if self.phase == Phase::Connect => Reach::Unconnected,
            _ if self.sending.is_unsent() => Reach::Unseen,
            Cause::Io(_) | Cause::Closed if !self.heard => Reach::Lost,
            _ => Reach::Seen,
        }
    }

    /// Ends the exchange; its connection may be reused.
    pub(super) fn end(mut self, upstream: &Rc<Upstream>) {
        let complete = self.sending.has_left();
        self.sending.end_memory(upstream.outbound.pool());
        if complete {
            upstream.give(self.connection);
        }
    }

    /// Turns the exchange into a tunnel after the upstream has switched protocols.
    #[cold]
    pub(super) fn into_tunnel(mut self, upstream: InFlight, switch: &Switch) -> Tunnel {
        self.sending.end_memory(upstream.outbound.pool());
        Tunnel::new(upstream, self.connection, switch)
    }

    /// Reads until the response head is complete.
    fn read_head(
        &mut self,
        upstream: &Upstream,
        interim: &mut Option<InterimSink>,
    ) -> Poll<Result<ResponseContent, Cause>> {
        let Connection { engine, input, channel, .. } = &mut *self.connection;
        loop {
            while !input.is_empty() {
                let received = engine.receive(&upstream.limits, input.unread(), &mut self.head);
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
                // TLS without close_notify, which makes no difference while nothing is complete.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Poll::Ready(Err(Cause::Closed));
                }
                Ok(_) if self.heard => {}
                Ok(_) => {
                    self.heard = true;
                    self.head.set_own(upstream.outbound.pool().take_fields());
                }
                Err(error) => return Poll::Ready(Err(Cause::Io(error))),
            }
        }
    }
}
