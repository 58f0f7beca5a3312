//! HTTP/1.1 on a connection: one exchange after the other. This module acts on the engine's events; `stream` writes
//! responses to the connection, `tunnel` is what follows HTTP after an upgrade.

mod stream;
mod tunnel;

use crate::clock::Millis;
use crate::connection::{Event as Lifecycle, Need, Stage};
use crate::exchange::{self, Arrived, DISCARD, Exchange, Progress, Slot};
use crate::link::Link;
use crate::pace::Pace;
use crate::service::{Refusal, Service};
use crate::session::Session;
use crate::timeouts::Timeouts;
use crate::turn_budget::cost;
use crate::upgrade;
use crate::worker::Worker;
use hayami_h1::{Event, Fault, Next, RequestContent, Server};
use hayami_http::RequestHead;
use std::time::Duration;
use stream::Stream;
use tunnel::HalfClose;

/// A connection that speaks HTTP/1.1.
pub(crate) struct Http1 {
    engine: Server,
    /// `None` while waiting for a request head.
    exchange: Slot,
    /// Content of the current request is still to come.
    unread_content: bool,
    half_close: HalfClose,
}

/// How much content could be passed to the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fed {
    /// As much as the handler wants.
    Enough,
    /// All that has been received.
    All,
}

impl Http1 {
    pub(crate) fn new() -> Self {
        Self { engine: Server::new(), exchange: None, unread_content: false, half_close: HalfClose::No }
    }

    /// Passes the input to the engine and handles the resulting event.
    fn receive<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Option<Need> {
        // The end of content is a separate event that needs no more bytes.
        if link.input.is_empty() && !self.unread_content {
            return Some(self.need_of_request());
        }
        let mut head = worker.head.borrow_mut();
        let received = match self.engine.receive(&worker.limits, link.input.unread(), &mut head) {
            Ok(received) => received,
            // A response would only confuse a client that speaks another protocol (for HTTP/2: RFC 9113 §3.4).
            Err(Fault::NotHttp) if link.requests == 0 => {
                link.close(true);
                return Some(Need::Close);
            }
            // The request was already answered.
            Err(_) if self.exchange.is_some() => {
                link.close(true);
                return Some(Need::Close);
            }
            Err(fault) => {
                self.refuse(link, worker, &fault.into(), &mut head);
                return None;
            }
        };
        let consumed = received.consumed;
        match received.event {
            Event::Request(content) => {
                link.input.consume(consumed);
                return self.request(link, worker, content, &mut head);
            }
            Event::More => {
                link.input.consume(consumed);
                return Some(self.need_of_request());
            }
            Event::Content(range) => {
                self.content(link, worker, range);
                link.input.consume(consumed);
            }
            Event::End => {
                link.input.consume(consumed);
                self.unread_content = false;
                self.begin_next(link, worker);
            }
        }
        None
    }

    fn request<S: Service>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        content: RequestContent,
        head: &mut RequestHead,
    ) -> Option<Need> {
        let length = match content {
            RequestContent::None => Some(0),
            RequestContent::Length(bytes) => Some(bytes),
            RequestContent::Chunked => None,
        };
        if content == RequestContent::None && upgrade::is_wanted(worker, &link.info, head) {
            return Some(Need::Upgrade);
        }
        self.unread_content = length != Some(0);
        if link.is_leaving(worker) {
            self.engine.close_after_response();
        }
        let mut stream = Stream { engine: &mut self.engine, link, worker };
        match exchange::begin(&mut stream, worker, head, (length, self.unread_content)) {
            None => self.complete(link, worker, length.unwrap_or(0)),
            exchange => self.exchange = exchange,
        }
        None
    }

    /// Continues the exchange with the content received so far.
    #[inline(never)]
    fn go_on<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Option<Need> {
        let fed = self.feed(link, worker);
        if self.half_close == HalfClose::Due {
            return Some(Need::HalfClose { reads: self.reads(fed) == Some(true) });
        }
        let exchange = self.exchange.as_deref_mut()?;
        if worker.draining.get() && exchange.is_tunnel() {
            exchange.drains_since.get_or_insert(worker.clock.millis());
        }
        let mut stream = Stream { engine: &mut self.engine, link, worker };
        match exchange.go_on(&mut stream, worker) {
            Progress::More if !link.output.is_full() || !exchange.is_tunnel() => None,
            Progress::More | Progress::Pending => self.need(link, fed),
            Progress::HalfClosed if self.half_close == HalfClose::No => {
                self.half_close = HalfClose::Due;
                None
            }
            Progress::HalfClosed => self.need(link, fed),
            Progress::Complete => {
                let remaining = exchange.remaining();
                self.forget(worker);
                self.complete(link, worker, remaining);
                None
            }
            Progress::Broken => {
                self.forget(worker);
                Some(Need::Close)
            }
        }
    }

    /// What the exchange waits for.
    fn need(&self, link: &Link, fed: Fed) -> Option<Need> {
        // `None`: content already received is processed first.
        let reads = self.reads(fed)?;
        Some(match reads {
            reads if self.is_tunnel() => Need::Tunnel { reads, full: link.output.is_full() },
            true => Need::Content,
            false => Need::Answer,
        })
    }

    /// Whether to read from the client. `None`: content already received can be processed.
    fn reads(&self, fed: Fed) -> Option<bool> {
        let wants = self.exchange.as_deref().is_some_and(|exchange| {
            // Bytes behind a request may belong to a tunnel that is not granted yet; they are not read until then.
            let coming = exchange.is_tunnel() || self.unread_content && exchange.is_asked();
            coming && exchange.has_room()
        });
        if wants { (fed == Fed::All).then_some(true) } else { Some(false) }
    }

    /// Passes received content to the handler.
    #[inline]
    fn feed<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Fed {
        let wants = self.exchange.as_deref().is_some_and(|exchange| exchange.has_room());
        if wants { self.feed_some(link, worker) } else { Fed::Enough }
    }

    #[inline(never)]
    fn feed_some<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Fed {
        while let Some(exchange) = self.exchange.as_deref_mut().filter(|exchange| exchange.has_room()) {
            let received = match self.engine.receive_more(&worker.limits, link.input.unread()) {
                Ok(received) => received,
                Err(fault) => {
                    exchange.refuse_content(fault.into());
                    break;
                }
            };
            let more = received.event == Event::More;
            match received.event {
                Event::Content(range) => self.content(link, worker, range),
                Event::End => {
                    self.unread_content = false;
                    exchange.content_complete(self.engine.take_trailers().map(Box::new));
                }
                Event::More | Event::Request(_) => {}
            }
            link.input.consume(received.consumed);
            if more {
                return Fed::All;
            }
        }
        Fed::Enough
    }

    /// Handles content at `range` of the input.
    fn content<S>(&mut self, link: &mut Link, worker: &Worker<S>, range: std::ops::Range<usize>) {
        let Some(exchange) = self.exchange.as_deref_mut() else { return };
        let input = std::mem::take(&mut link.input);
        let mut stream = Stream { engine: &mut self.engine, link, worker };
        let arrived = exchange.content(&mut stream, worker, &input.unread()[range]);
        link.input = input;
        if arrived == Arrived::TooMuch {
            self.forget(worker);
        }
    }

    /// Answers an invalid request and closes the connection.
    fn refuse<S: Service>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        refusal: &Refusal,
        head: &mut RequestHead,
    ) {
        self.engine.refuse();
        let mut stream = Stream { engine: &mut self.engine, link, worker };
        // A response with streamed content cannot be completed here.
        if let Some(mut exchange) = exchange::refuse(&mut stream, worker, refusal, head, Some(0)) {
            exchange.abort(&worker.clock, 0, "the connection was reset");
            worker.exchanges.give(exchange);
        }
        link.close(true);
    }

    /// Answers a request whose head was not read completely.
    #[cold]
    pub(crate) fn refuse_unread<S: Service>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        refusal: &Refusal,
    ) {
        let mut head = worker.head.borrow_mut();
        head.reset_to(b"");
        self.refuse(link, worker, refusal, &mut head);
    }

    /// The response is completely in the output; `remaining` bytes of the request content are known to be
    /// outstanding.
    fn complete<S>(&mut self, link: &mut Link, worker: &Worker<S>, remaining: u64) {
        let leaves = link.is_leaving(worker);
        let rests_much = self.unread_content && remaining > DISCARD;
        match self.engine.next() {
            Next::KeepAlive if leaves && link.input.is_empty() => link.close(true),
            Next::KeepAlive => self.begin_next(link, worker),
            Next::Discard if !rests_much => {
                let mut exchange = worker.exchanges.take();
                exchange.pace = Some(Pace::new(0, worker.timeouts.receiving()));
                self.exchange = Some(exchange);
            }
            Next::Discard | Next::Close => {
                let is_heard = self.unread_content || self.engine.receive_eof() == Event::End;
                let linger = !link.input.is_empty() || is_heard || leaves;
                link.close(linger);
            }
        }
    }

    /// Request and response are complete: prepares for the next request.
    fn begin_next<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        self.forget(worker);
        link.idle_since = worker.clock.millis();
        link.begun = worker.clock.now();
    }

    /// Drops the exchange.
    #[inline]
    fn forget<S>(&mut self, worker: &Worker<S>) {
        if let Some(exchange) = self.exchange.take() {
            worker.exchanges.give(exchange);
        }
    }

    /// The next request, or the rest of one that is already answered.
    fn need_of_request(&self) -> Need {
        if self.exchange.is_some() { Need::Rest } else { Need::Request }
    }
}

impl Session for Http1 {
    fn answer<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
        loop {
            if link.stage != Stage::Open {
                return Need::Close;
            }
            if link.output.is_full() && !self.is_tunnel() {
                return Need::Room;
            }
            if !worker.budget.spend(cost::FRAME) {
                return Need::Turn;
            }
            let need = match &self.exchange {
                Some(exchange) if !exchange.is_discarding() => self.go_on(link, worker),
                _ => self.receive(link, worker),
            };
            if let Some(need) = need {
                return need;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.exchange.is_none()
    }

    #[inline]
    fn idle_timeout(&self, timeouts: &Timeouts) -> Duration {
        timeouts.request
    }

    #[inline]
    fn deadline(&mut self, now: Millis, timeouts: &Timeouts) -> Millis {
        match self.exchange.as_deref_mut() {
            None => Millis::NEVER,
            Some(exchange) if exchange.is_discarding() => exchange.note_discarding(now, timeouts),
            Some(exchange) if exchange.is_tunnel() => tunnel::deadline(exchange, timeouts),
            Some(exchange) => exchange.content_due(),
        }
    }

    /// Reports a read timeout to a handler that waits for content.
    #[cold]
    fn expire_exchanges<S>(&mut self, _: &mut Link, worker: &Worker<S>) -> bool {
        let late = |exchange: &&Exchange| exchange.content_due() <= worker.clock.millis();
        let late = self.exchange.as_deref().filter(late);
        if let Some(exchange) = late {
            exchange.refuse_content(Refusal::Timeout);
            self.engine.refuse();
        }
        late.is_some()
    }

    #[cold]
    fn expire<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        let now = worker.clock.millis();
        match self.exchange.as_deref() {
            None if !link.input.is_empty() => self.refuse_unread(link, worker, &Refusal::Timeout),
            None => link.on(Lifecycle::Lost),
            Some(exchange) if exchange.is_tunnel() => self.leave_tunnel(link, worker),
            Some(exchange)
                if exchange.is_discarding() && exchange.pace.is_some_and(|pace| pace.is_late(now)) =>
            {
                link.on(Lifecycle::Lost);
            }
            Some(_) => {}
        }
    }

    #[cold]
    fn half_closed(&mut self) -> bool {
        let Some(exchange) = self.exchange.as_deref_mut().filter(|exchange| exchange.is_tunnel()) else {
            return false;
        };
        if self.engine.receive_eof() == Event::End {
            exchange.content_complete(None);
        }
        true
    }

    #[cold]
    fn half_close_sent(&mut self) {
        self.half_close = HalfClose::Done;
    }

    #[inline]
    fn cancels_on_close(&self, link: &Link) -> bool {
        let gives_up = |exchange: &Exchange| !exchange.is_discarding() && !exchange.is_tunnel();
        link.info.cancel_on_close.get() && self.exchange.as_deref().is_some_and(gives_up)
    }

    /// A tunnel gets a deadline.
    fn takes_leave(&self) -> bool {
        self.is_tunnel()
    }

    #[inline]
    fn abort<S>(&mut self, link: &Link, worker: &Worker<S>, why: &'static str) {
        if let Some(mut exchange) = self.exchange.take() {
            let unsent = link.output.position() - link.output.sent();
            exchange.abort(&worker.clock, unsent, why);
            worker.exchanges.give(exchange);
        }
    }
}
