//! An attempt on a dedicated connection, over HTTP/1.1 or FastCGI: it selects the connection and takes
//! content that arrived with the head.

use super::announced::announced_by;
use super::attempt::{Attempt, CallContext, Loss};
use super::body::{Body, Broken};
use super::call::Call;
use super::cause::{Cause, Phase};
use super::connection::Connection;
use super::exchange::Exchange;
use super::eyeballs::Race;
use super::reply::Reply;
use super::retry::{Left, Reach};
use super::upstream::{InFlight, Upstream};
use hayami_h1::{ClientEvent, Fault, ResponseContent};
use hayami_http::{Content, ResponseHead, Shared, Source, Status};
use std::task::{Context, Poll, ready};

/// An attempt on a dedicated connection.
pub(super) struct Dedicated {
    /// `None` until a connection has been found.
    exchange: Option<Exchange>,
    search: Search,
}

/// Where the next connection comes from.
enum Search {
    /// The pool, or the first address if the pool is empty.
    Pool,
    /// The next address.
    Address,
    /// Several addresses, of which the first to accept a connection is used.
    Race(Box<Race>),
    /// A connection has been found.
    Found,
}

impl Dedicated {
    pub(super) fn new(call: &Call) -> Self {
        call.note_protocol(false);
        let search = if call.options.proxy_header.is_none() { Search::Pool } else { Search::Address };
        Self { exchange: None, search }
    }

    /// Finds a connection and starts the exchange on it.
    fn find_connection(
        &mut self,
        cx: &mut Context<'_>,
        context: &mut CallContext,
    ) -> Poll<Result<(), Cause>> {
        loop {
            match &mut self.search {
                Search::Found => return Poll::Ready(Ok(())),
                Search::Pool => match pooled(context) {
                    Some(connection) => self.put_on(connection, true, context),
                    None => self.search = Search::Address,
                },
                Search::Address if context.upstream.has(context.at + 1) => {
                    self.search = Search::Race(Box::new(Race::new(context.at, context.before.take())));
                }
                Search::Race(race) => {
                    let (connection, at) = ready!(race.poll(cx, &context.upstream))?;
                    context.at = at;
                    self.put_on(connection, false, context);
                }
                Search::Address => match context.upstream.open(context.at) {
                    None => return Poll::Ready(Err(context.no_address())),
                    Some(Ok(connection)) => self.put_on(connection, false, context),
                    Some(Err(error)) => {
                        context.upstream.count(|counters| counters.failed += 1);
                        (context.at, context.before) = (context.at + 1, Some(Cause::Io(error)));
                    }
                },
            }
        }
    }

    fn put_on(&mut self, mut connection: Box<Connection>, reused: bool, context: &mut CallContext) {
        if let Some(bytes) = &context.call.options.proxy_header {
            connection.channel.announce(bytes);
        }
        self.search = Search::Found;
        match &mut self.exchange {
            Some(exchange) => exchange.move_to(connection),
            none => *none = Some(Exchange::begin(&context.upstream, connection, reused, &mut context.call)),
        }
    }
}

/// Takes an idle connection. If the request must not be sent twice, asks the kernel whether the connection
/// has events that the event loop has not seen yet.
fn pooled(context: &CallContext) -> Option<Box<Connection>> {
    let careless = context.call.repeatable && context.call.content.is_none();
    loop {
        let mut connection = context.upstream.take()?;
        if careless || connection.channel.is_quiet() {
            return Some(connection);
        }
    }
}

impl Attempt for Dedicated {
    type Answer = ResponseContent;

    #[inline]
    fn poll_begin(&mut self, cx: &mut Context<'_>, context: &mut CallContext) -> Poll<Result<(), Cause>> {
        match self.search {
            Search::Found => Poll::Ready(Ok(())),
            _ => self.find_connection(cx, context),
        }
    }

    #[inline]
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        context: &mut CallContext,
    ) -> Poll<Result<ResponseContent, Loss>> {
        let Some(exchange) = &mut self.exchange else { return Poll::Pending };
        match ready!(exchange.poll_head(cx, &context.upstream, &mut context.call.interim)) {
            Ok(ResponseContent::Tunnel) if !is_switch_wanted(exchange, &context.call) => {
                exchange.phase = Phase::Head;
                Poll::Ready(Err(Loss { cause: Fault::UnexpectedSwitch.into(), reach: Reach::Seen }))
            }
            Ok(content) => Poll::Ready(Ok(content)),
            Err(cause) => Poll::Ready(Err(Loss { reach: exchange.reach(&cause), cause })),
        }
    }

    #[inline]
    fn phase(&self) -> Phase {
        self.exchange.as_ref().map_or(Phase::Connect, |exchange| exchange.phase)
    }

    fn is_reused(&self) -> bool {
        self.exchange.as_ref().is_some_and(|exchange| exchange.reused)
    }

    fn left(&self) -> Left {
        self.exchange.as_ref().map_or(Left::Whole, |exchange| exchange.sending.left())
    }

    #[cold]
    fn leave(&mut self, cause: Cause, next: bool, context: &mut CallContext) {
        if next {
            context.upstream.count(|counters| counters.failed += 1);
        }
        // The lost connection may have been idle for too long: a new one starts at the first address.
        context.at = if next { context.at + 1 } else { 0 };
        (context.before, self.search) = (Some(cause), Search::Address);
        if let Some(exchange) = &mut self.exchange {
            exchange.sending.rewind(&context.upstream, &mut exchange.connection.engine, &context.call);
        }
    }

    #[cold]
    fn into_content(self, upstream: &Upstream) -> Option<Box<dyn Source>> {
        self.exchange?.sending.into_content(upstream.outbound.pool())
    }

    fn reply(&mut self, content: ResponseContent, context: &mut CallContext) -> Reply {
        let upstream = &context.upstream;
        let Some(mut exchange) = self.exchange.take() else { unreachable!("it has answered") };
        let mut timing = context.timing;
        timing.request_head = exchange.sending.head_bytes();
        timing.response_head = exchange.head_bytes;
        let head = std::mem::replace(&mut exchange.head, ResponseHead::new(Status::OK));
        let closes = !exchange.connection.engine.persists();
        exchange.connection.note_response_head(&head);
        if content == ResponseContent::Tunnel {
            let switch = context.call.upgrade.take();
            let tunnel = switch.map(|switch| exchange.into_tunnel(InFlight::new(upstream), &switch));
            return Reply { head, content: Content::Empty, tunnel, closes, timing };
        }
        let is_announced = context.is_announced(&head);
        let content = match content {
            ResponseContent::None => {
                exchange.end(upstream);
                if is_announced { announced_by(&head) } else { Content::Empty }
            }
            _ if content == ResponseContent::Chunked || exchange.connection.engine.is_framed() => {
                match whole_framed(&mut exchange, upstream) {
                    Some(Ok(shared)) => {
                        exchange.end(upstream);
                        Content::Shared(shared)
                    }
                    Some(Err(cause)) => Content::Stream(Box::new(Broken::by(&cause))),
                    None => stream(exchange, content, upstream),
                }
            }
            ResponseContent::Length(bytes) => match whole(&mut exchange, upstream, bytes) {
                Some(shared) => {
                    exchange.end(upstream);
                    Content::Shared(shared)
                }
                None => stream(exchange, content, upstream),
            },
            ResponseContent::UntilClose if is_closed_behind_head(&mut exchange) => Content::Empty,
            _ => stream(exchange, content, upstream),
        };
        Reply { head, content, tunnel: None, closes, timing }
    }
}

/// Whether the upstream switched to a requested protocol.
#[cold]
fn is_switch_wanted(exchange: &Exchange, call: &Call) -> bool {
    call.upgrade.as_ref().is_some_and(|switch| switch.allows(&exchange.head))
}

/// Content still to be received.
fn stream(exchange: Exchange, content: ResponseContent, upstream: &InFlight) -> Content {
    Content::Stream(Box::new(Body::new(InFlight::new(upstream), exchange, content)))
}

/// Content of known length that arrived with its head.
fn whole(exchange: &mut Exchange, upstream: &Upstream, bytes: u64) -> Option<Shared> {
    let Connection { engine, input, .. } = &mut *exchange.connection;
    let content = input.unread().get(..usize::try_from(bytes).ok()?)?;
    let shared = upstream.outbound.share(content);
    // The engine consumes the content first, then its end.
    for _ in 0..2 {
        let received = engine.receive(&upstream.limits, input.unread(), &mut exchange.head);
        input.consume(received.map_or(0, |received| received.consumed));
    }
    Some(shared)
}

/// Whether the upstream has already closed the connection without sending content, as the event loop knows.
/// An HTTP/2 client then gets END_STREAM with the head.
#[cold]
fn is_closed_behind_head(exchange: &mut Exchange) -> bool {
    let Connection { engine, input, channel, .. } = &mut *exchange.connection;
    let asks = input.is_empty() && channel.is_readable();
    asks && matches!(channel.read(input), Poll::Ready(Ok(0)))
        && matches!(engine.receive_eof(), Ok(ClientEvent::End))
}

/// Framed content that arrived complete with its head.
fn whole_framed(exchange: &mut Exchange, upstream: &Upstream) -> Option<Result<Shared, Cause>> {
    let Connection { engine, input, .. } = &mut *exchange.connection;
    if !engine.is_complete_in(input.unread()) {
        return None;
    }
    let mut content = upstream.outbound.pool().take();
    let shared = loop {
        let received = engine.receive(&upstream.limits, input.unread(), &mut exchange.head);
        match received.map(|received| (received.consumed, received.event)) {
            Ok((consumed, ClientEvent::Content(range))) => {
                content.extend_from_slice(&input.unread()[range]);
                input.consume(consumed);
            }
            Ok((consumed, ClientEvent::End)) => {
                input.consume(consumed);
                break Ok(upstream.outbound.share(&content));
            }
            // The input is known to contain the end.
            Ok(_) => break Err(Cause::Closed),
            Err(cause) => break Err(cause),
        }
    };
    upstream.outbound.pool().give(content);
    Some(shared)
}
