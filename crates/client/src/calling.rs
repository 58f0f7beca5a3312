//! A call from its beginning to its response's head: which connection, and what if that fails.

use super::backend::{Backend, InFlight};
use super::body::{Announced, Body, Broken};
use super::call::{Call, Cause, Failure, Phase, Reply, Timing};
use super::connection::Connection;
use super::exchange::Exchange;
use super::eyeballs::Race;
use super::http2::{Failed, H2Call};
use hayami_h1::{ClientEvent, Fault, ResponseContent};
use hayami_http::{Content, Known, ResponseHead, Shared, Status};
use hayami_net::clock::Instant;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Sends a request, on a connection that waits if there is one, and waits for the response's head. Dropped
/// before it is ready, it closes the connection, so that the upstream may stop working.
///
/// A connection may have been closed by the upstream in the very moment in which a request leaves on it. That
/// is no failure: if the request is repeatable, or nothing of it has left, it is sent on a new connection.
pub fn call(backend: &Rc<Backend>, call: Call) -> Calling {
    if call.options.proxy_header.is_none() && backend.shares(&call) {
        return Calling(CallState::Shared(Box::new(H2Call::new(backend, call))));
    }
    Calling(CallState::Own(State::begin(backend, call)))
}

/// A request under way. Boxed, since it becomes part of other futures, each of which is moved.
pub struct Calling(CallState);

/// How a request is under way.
enum CallState {
    /// On a connection of its own.
    Own(Box<State>),
    /// On a session of HTTP/2.
    Shared(Box<H2Call>),
    Over,
}

struct State {
    backend: InFlight,
    call: Call,
    exchange: Option<Exchange>,
    search: Search,
    began: Instant,
    timing: Timing,
}

/// An exchange whose response's head is there, and what follows it.
type Answered = (Exchange, ResponseContent);

/// Where the next connection comes from.
enum Search {
    /// The pool; if that is empty, the first address.
    Pool,
    /// The address of that index; and why the connection before failed.
    Address(usize, Option<Cause>),
    /// Several addresses, of which the first that takes a connection is used.
    Race(Box<Race>),
    /// It is found: the address of that index, if it is a new one.
    Found(usize),
}

impl Future for Calling {
    type Output = Result<Reply, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            CallState::Own(state) => {
                let result = ready!(state.poll(cx));
                let CallState::Own(state) = std::mem::replace(&mut self.0, CallState::Over) else {
                    return Poll::Pending;
                };
                Poll::Ready(match result {
                    Ok((exchange, content)) => Ok(state.reply(exchange, content)),
                    Err(failure) => Err(state.fail(failure)),
                })
            }
            CallState::Shared(h2_call) => {
                let result = ready!(h2_call.poll(cx));
                let CallState::Shared(h2_call) = std::mem::replace(&mut self.0, CallState::Over) else {
                    return Poll::Pending;
                };
                match result {
                    Ok(answered) => Poll::Ready(Ok(h2_call.reply(answered))),
                    Err(Failed::Response(failed)) => Poll::Ready(Err(h2_call.fail(failed))),
                    Err(Failed::Protocol) => {
                        let (backend, call) = h2_call.into_call();
                        self.0 = CallState::Own(State::begin(&backend, call));
                        self.poll(cx)
                    }
                }
            }
            // A future is not polled once it was ready.
            CallState::Over => Poll::Pending,
        }
    }
}

impl State {
    fn begin(backend: &Rc<Backend>, call: Call) -> Box<Self> {
        call.note_protocol(false);
        let began = backend.outbound.clock().now();
        let (backend, timing) = (InFlight::new(backend), Timing::default());
        let search =
            if call.options.proxy_header.is_none() { Search::Pool } else { Search::Address(0, None) };
        Box::new(Self { backend, call, exchange: None, search, began, timing })
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answered, (Phase, Cause)>> {
        loop {
            if let Err(cause) = ready!(self.find_connection(cx)) {
                return Poll::Ready(Err((Phase::Connect, cause)));
            }
            let Some(exchange) = &mut self.exchange else { continue };
            let phase = exchange.phase;
            let result = exchange.poll_head(cx, &self.backend, &mut self.call.interim);
            let (now, began) = (exchange.phase, [Phase::Connect, Phase::Send].contains(&phase));
            if phase != now && phase == Phase::Connect {
                self.timing.connected = Some(self.elapsed());
            }
            if began && matches!(now, Phase::FirstByte | Phase::Head) {
                self.timing.sent = self.elapsed();
            }
            match ready!(result) {
                Ok(ResponseContent::Tunnel) if !self.is_switch_wanted() => {
                    return Poll::Ready(Err((Phase::Head, Fault::UnexpectedSwitch.into())));
                }
                Ok(content) => {
                    if let Some(exchange) = self.exchange.take() {
                        return Poll::Ready(Ok((exchange, content)));
                    }
                }
                Err(cause) => self.consider(cause).map_err(|cause| self.with_phase(cause))?,
            }
        }
    }

    /// Whether the protocol that the upstream has switched to was asked for.
    #[cold]
    fn is_switch_wanted(&self) -> bool {
        let head = self.exchange.as_ref().map(|exchange| &exchange.head);
        head.zip(self.call.upgrade.as_ref()).is_some_and(|(head, switch)| switch.allows(head))
    }

    fn elapsed(&self) -> Duration {
        self.backend.outbound.clock().refresh_if_exact().saturating_duration_since(self.began)
    }

    fn with_phase(&self, cause: Cause) -> (Phase, Cause) {
        (self.exchange.as_ref().map_or(Phase::Connect, |exchange| exchange.phase), cause)
    }

    /// Has the exchange on a connection.
    fn find_connection(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        loop {
            match std::mem::replace(&mut self.search, Search::Found(0)) {
                Search::Found(at) => {
                    self.search = Search::Found(at);
                    return Poll::Ready(Ok(()));
                }
                Search::Pool => match self.pooled() {
                    Some(connection) => self.put_on(connection, true),
                    None => self.search = Search::Address(0, None),
                },
                Search::Address(at, before) if self.backend.has(at + 1) => {
                    self.search = Search::Race(Box::new(Race::new(at, before)));
                }
                Search::Race(mut race) => match race.poll(cx, &self.backend) {
                    Poll::Pending => {
                        self.search = Search::Race(race);
                        return Poll::Pending;
                    }
                    Poll::Ready(made) => {
                        let (mut connection, at) = made?;
                        if let Some(bytes) = &self.call.options.proxy_header {
                            connection.channel.announce(bytes);
                        }
                        self.put_on(connection, false);
                        self.search = Search::Found(at);
                    }
                },
                Search::Address(at, before) => match self.backend.open(at) {
                    None => return Poll::Ready(Err(before.unwrap_or(Cause::NoPeers))),
                    Some(Ok(mut connection)) => {
                        if let Some(bytes) = &self.call.options.proxy_header {
                            connection.channel.announce(bytes);
                        }
                        self.put_on(connection, false);
                        self.search = Search::Found(at);
                    }
                    Some(Err(error)) => {
                        self.backend.count(|counters| counters.failed += 1);
                        self.search = Search::Address(at + 1, Some(Cause::Io(error)));
                    }
                },
            }
        }
    }

    /// A connection that waits. If the request must not be sent twice, the kernel is asked what it knows of
    /// the connection that the loop does not know yet.
    fn pooled(&self) -> Option<Box<Connection>> {
        let careless = self.call.repeatable && self.call.content.is_none();
        loop {
            let mut connection = self.backend.take()?;
            if careless || connection.channel.is_quiet() {
                return Some(connection);
            }
        }
    }

    fn put_on(&mut self, connection: Box<Connection>, reused: bool) {
        match &mut self.exchange {
            Some(exchange) => exchange.move_to(connection),
            none => *none = Some(Exchange::begin(&self.backend, connection, reused, &mut self.call)),
        }
    }

    /// Something went wrong: on with another connection, if that is allowed and there may be one.
    #[cold]
    fn consider(&mut self, cause: Cause) -> Result<(), Cause> {
        let Some(exchange) = &mut self.exchange else { return Err(cause) };
        let lost = matches!(cause, Cause::Io(_) | Cause::Closed);
        self.search = match (exchange.phase, &self.search) {
            (Phase::Connect, Search::Found(at)) => {
                self.backend.count(|counters| counters.failed += 1);
                Search::Address(at + 1, Some(cause))
            }
            _ if exchange.reused && lost && may_repeat(exchange, &self.call) => {
                Search::Address(0, Some(cause))
            }
            _ => return Err(cause),
        };
        let engine = &mut exchange.connection.engine;
        exchange.sending.rewind(&self.backend, engine, &self.call);
        Ok(())
    }

    #[cold]
    fn fail(mut self, (phase, cause): (Phase, Cause)) -> Failure {
        let elapsed = self.elapsed();
        let mut again = true;
        if let Some(exchange) = self.exchange.take() {
            let untouched = exchange.sending.is_untouched();
            let unsent = phase == Phase::Connect || exchange.sending.is_unsent();
            again = untouched && (self.call.repeatable || unsent);
            self.call.content = exchange.sending.into_content(self.backend.outbound.pool());
        }
        Failure { phase, cause, elapsed, call: again.then_some(self.call) }
    }

    fn reply(mut self, mut exchange: Exchange, content: ResponseContent) -> Reply {
        self.timing.head = self.elapsed();
        if self.timing.sent.is_zero() {
            self.timing.sent = self.timing.head;
        }
        self.timing.request_head = exchange.sending.head_bytes();
        self.timing.response_head = exchange.head_bytes;
        let timing = self.timing;
        let head = std::mem::replace(&mut exchange.head, ResponseHead::new(Status::OK));
        let closes = !exchange.connection.engine.persists();
        exchange.connection.note_response_head(&head);
        self.backend.outbound.pool().give_fields(std::mem::take(&mut self.call.fields));
        if content == ResponseContent::Tunnel {
            let tunnel = self.call.upgrade.map(|switch| exchange.into_tunnel(self.backend, &switch));
            return Reply { head, content: Content::Empty, tunnel, closes, timing };
        }
        let content = match content {
            ResponseContent::None => {
                let announced = self.call.method == b"HEAD" && !head.status().forbids_content();
                let content = if announced { announced_by(&head) } else { Content::Empty };
                end(&self.backend, exchange);
                content
            }
            _ if content == ResponseContent::Chunked || exchange.connection.engine.is_framed() => {
                match whole_framed(&mut exchange, &self.backend) {
                    Some(Ok(shared)) => {
                        end(&self.backend, exchange);
                        Content::Shared(shared)
                    }
                    Some(Err(cause)) => Content::Stream(Box::new(Broken::by(&cause))),
                    None => Content::Stream(Box::new(Body::new(self.backend, exchange, content))),
                }
            }
            ResponseContent::Length(bytes) => match whole(&mut exchange, &self.backend, bytes) {
                Some(shared) => {
                    end(&self.backend, exchange);
                    Content::Shared(shared)
                }
                None => Content::Stream(Box::new(Body::new(self.backend, exchange, content))),
            },
            ResponseContent::UntilClose if is_closed_behind_head(&mut exchange) => Content::Empty,
            _ => Content::Stream(Box::new(Body::new(self.backend, exchange, content))),
        };
        Reply { head, content, tunnel: None, closes, timing }
    }
}

fn may_repeat(exchange: &Exchange, call: &Call) -> bool {
    let sending = &exchange.sending;
    !exchange.heard && sending.can_rewind() && (call.repeatable || sending.is_unsent())
}

/// The exchange is over: its connection may serve the next one.
pub(super) fn end(backend: &Rc<Backend>, mut exchange: Exchange) {
    let complete = exchange.sending.has_left();
    exchange.sending.end_memory(backend.outbound.pool());
    if complete {
        backend.give(exchange.connection);
    }
}

/// Content that came with its head.
fn whole(exchange: &mut Exchange, backend: &Backend, bytes: u64) -> Option<Shared> {
    let Connection { engine, input, .. } = &mut *exchange.connection;
    let content = input.unread().get(..usize::try_from(bytes).ok()?)?;
    let shared = backend.outbound.share(content);
    // The engine takes note of the content, and then of its end.
    for _ in 0..2 {
        let received = engine.receive(&backend.limits, input.unread(), &mut exchange.head);
        input.consume(received.map_or(0, |received| received.consumed));
    }
    Some(shared)
}

/// Whether the upstream has closed the connection without any content, as far as the loop knows. A client of HTTP/2 is
/// then told of the end with the head.
#[cold]
fn is_closed_behind_head(exchange: &mut Exchange) -> bool {
    let Connection { engine, input, channel, .. } = &mut *exchange.connection;
    let asks = input.is_empty() && channel.is_readable();
    asks && matches!(channel.read(input), Poll::Ready(Ok(0)))
        && matches!(engine.receive_eof(), Ok(ClientEvent::End))
}

/// Content that came with its head, in pieces with other bytes in between.
fn whole_framed(exchange: &mut Exchange, backend: &Backend) -> Option<Result<Shared, Cause>> {
    let Connection { engine, input, .. } = &mut *exchange.connection;
    if !engine.is_complete_in(input.unread()) {
        return None;
    }
    let mut content = backend.outbound.pool().take();
    let shared = loop {
        let received = engine.receive(&backend.limits, input.unread(), &mut exchange.head);
        match received.map(|received| (received.consumed, received.event)) {
            Ok((consumed, ClientEvent::Content(range))) => {
                content.extend_from_slice(&input.unread()[range]);
                input.consume(consumed);
            }
            Ok((consumed, ClientEvent::End)) => {
                input.consume(consumed);
                break Ok(backend.outbound.share(&content));
            }
            // There is an end in the input.
            Ok(_) => break Err(Cause::Closed),
            Err(cause) => break Err(cause),
        }
    };
    backend.outbound.pool().give(content);
    Some(shared)
}

/// The content that GET would have had (RFC 9110 §9.3.2).
pub(super) fn announced_by(head: &ResponseHead) -> Content {
    let digits = head.get(Known::ContentLength).filter(|value| value.iter().all(u8::is_ascii_digit));
    let length = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    Content::Stream(Box::new(Announced(length)))
}
