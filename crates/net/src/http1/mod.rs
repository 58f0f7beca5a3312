//! HTTP/1.1 on a connection: what the engine's events lead to. Content of requests that somebody takes is
//! in `content`, what comes after HTTP in `tunnel`.

mod content;
mod tunnel;

use crate::connection::Wait;
use crate::incoming::Feed;
use crate::link::{Link, Need, Stage};
use crate::pace::Pace;
use crate::reports::{Extent, Report, UNKNOWN_END};
use crate::service::{Answer, Interim, InterimHeads, Outcome, Refusal, Request, Service};
use crate::turn_budget::cost;
use crate::upgrade;
use crate::worker::Worker;
use hayami_h1::{Event, Fault, Framing, Next, RequestContent, Server};
use hayami_http::{Method, RequestHead, Response, Source};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
pub(crate) use tunnel::LEAVE;
use tunnel::Tunnel;

/// Unread request content that is thrown away to keep a connection; with more to come it is cheaper to
/// close (RFC 9112 §9.3 leaves the choice).
const DISCARD: u64 = 256 * 1024;

/// Where a connection stands between request and response.
pub(crate) enum Exchange {
    /// A request head is awaited.
    Reading,
    /// The response is sent, the rest of the request's content is discarded: so many bytes at most.
    Discarding { most: u64, pace: Box<Pace> },
    /// The answer needs I/O.
    Waiting(Waiting),
    /// The head is sent, the content comes piece by piece.
    Streaming(Box<dyn Source>),
    /// The connection is a tunnel.
    Tunnel(Box<Tunnel>),
}

/// An answer that is being made.
pub(crate) struct Waiting {
    answer: Pin<Box<dyn Future<Output = Answer>>>,
    interim: Option<InterimHeads>,
}

/// A connection that speaks HTTP/1.1.
pub(crate) struct Http1 {
    engine: Server,
    /// The content of the request at hand, until its response is complete. It ends before who takes it.
    content: Option<Feed>,
    exchange: Exchange,
    /// Content of the request at hand is still to come.
    unread_content: bool,
    /// Somebody wants to hear of the end of the response that is being pulled.
    observed: bool,
}

impl Http1 {
    pub(crate) fn new() -> Self {
        Self {
            engine: Server::new(),
            content: None,
            exchange: Exchange::Reading,
            unread_content: false,
            observed: false,
        }
    }

    /// Whether the head of a request is awaited.
    pub(crate) fn is_reading(&self) -> bool {
        matches!(self.exchange, Exchange::Reading)
    }

    /// Whether what is being answered is given up when the client closes its half of the connection.
    #[inline]
    pub(crate) fn ends_with_client(&self, link: &Link) -> bool {
        link.info.cancel_on_close.get()
            && matches!(self.exchange, Exchange::Waiting(_) | Exchange::Streaming(_))
    }

    /// What is waited for when everything received is answered and everything made is sent.
    pub(crate) fn wait(&self) -> Wait {
        match self.exchange {
            Exchange::Reading => Wait::Head,
            Exchange::Discarding { .. } => Wait::Content,
            Exchange::Waiting(_) | Exchange::Streaming(_) | Exchange::Tunnel(_) => Wait::Answer,
        }
    }

    /// Answers what has been received, as far as there is room.
    pub(crate) fn answer<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
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
            let need = match self.exchange {
                Exchange::Reading | Exchange::Discarding { .. } => self.receive(link, worker),
                Exchange::Waiting(_) => self.go_on(link, worker),
                Exchange::Streaming(_) => self.pull(link, worker),
                Exchange::Tunnel(_) => self.pass_on(link, worker),
            };
            if let Some(need) = need {
                return need;
            }
        }
    }

    /// Hands the input to the engine and acts on what it says.
    fn receive<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Option<Need> {
        // The end of content is an event of its own, which needs no more octets.
        if link.input.is_empty() && !self.unread_content {
            return Some(Need::Input);
        }
        let mut head = worker.head.borrow_mut();
        let received = match self.engine.receive(&worker.limits, link.input.unread(), &mut head) {
            Ok(received) => received,
            // An answer would only mislead who speaks another protocol (RFC 9113 §3.4 for HTTP/2's).
            Err(Fault::NotHttp) if link.requests == 0 => {
                link.stage = Stage::Closing { linger: true };
                return Some(Need::Close);
            }
            // It was answered already.
            Err(_) if !self.is_reading() => {
                link.stage = Stage::Closing { linger: true };
                return Some(Need::Close);
            }
            Err(fault) => return self.refuse(link, worker, &fault.into(), &mut head),
        };
        link.input.consume(received.consumed);
        match received.event {
            Event::More => return Some(Need::Input),
            Event::Request(content) => return self.request(link, worker, content, &mut head),
            Event::Content(range) => self.discard(link, range.len() as u64),
            Event::End => {
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
        let content_length = match content {
            RequestContent::None => Some(0),
            RequestContent::Length(octets) => Some(octets),
            RequestContent::Chunked => None,
        };
        if content == RequestContent::None && upgrade::is_wanted(worker, &link.info, head) {
            return Some(Need::Upgrade);
        }
        self.unread_content = content_length != Some(0);
        if link.is_leaving(worker) {
            self.engine.close_after_response();
        }
        let incoming =
            if self.unread_content { self.expect_content(link, worker, content_length) } else { None };
        let asks = self.engine.asks_upgrade() || head.method() == Method::Connect;
        let upgrade = if asks && !self.unread_content { self.offer(link, worker, head) } else { None };
        let mut request = link.as_request(worker, head, content_length);
        (request.content, request.upgrade) = (incoming, upgrade);
        worker.budget.spend(cost::REQUEST);
        request.connection.cancel_on_close.set(false);
        let outcome = worker.service.respond(&mut request);
        let Request { content, upgrade, interim, .. } = request;
        drop((content, upgrade));
        match outcome {
            Outcome::Ready(answer) => self.send(link, worker, answer),
            Outcome::Later(answer) => {
                let interim = interim.map(Interim::into_heads);
                self.exchange = Exchange::Waiting(Waiting { answer, interim });
                None
            }
        }
    }

    /// Polls the answer, with what has come of the request's content.
    fn go_on<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Option<Need> {
        let fed = self.feed(link, worker);
        let Exchange::Waiting(waiting) = &mut self.exchange else { return None };
        let waker = link.waker(worker);
        let mut poll = || waiting.answer.as_mut().poll(&mut Context::from_waker(&waker));
        let answer = match &self.content {
            Some(feed) => feed.attend(poll),
            None => poll(),
        };
        if let Some(interim) = &waiting.interim {
            for head in interim.take() {
                link.output.write(&worker.pool, |out| self.engine.send_interim(&head, out));
            }
        }
        match answer {
            Poll::Pending => self.pause(link, worker, fed),
            Poll::Ready(answer) => self.send(link, worker, answer),
        }
    }

    /// Answers what is no request, and closes.
    pub(crate) fn refuse<S: Service>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        refusal: &Refusal,
        head: &mut RequestHead,
    ) -> Option<Need> {
        self.engine.refuse();
        let answer = worker.service.refuse(refusal, &mut link.as_request(worker, head, Some(0)));
        self.send(link, worker, answer);
        if link.stage == Stage::Open {
            // A refusal with streamed content has no way to finish.
            self.exchange = Exchange::Reading;
        }
        link.stage = Stage::Closing { linger: true };
        None
    }

    /// Writes a response's head, and its content unless that has to be pulled.
    fn send<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, answer: Answer) -> Option<Need> {
        let Answer { response: Response { head, content }, observer } = answer;
        self.consider_rest();
        if link.info.ends.get() {
            self.engine.close_after_response();
        }
        let (common, _) = worker.common.fields(&worker.clock, worker.service.server_name(), &head);
        let lines = common.wire_form().unwrap_or_default();
        let length = content.len();
        let engine = &mut self.engine;
        let framing = link.output.write(&worker.pool, |out| engine.send_head(&head, length, lines, out));
        drop(common);
        if let Some(fields) = head.into_own() {
            worker.pool.give_fields(fields);
        }
        let began = worker.clock.refresh_if_exact();
        let content_from = Extent::From(link.output.position());
        let source = match framing {
            Framing::Complete => None,
            Framing::Length(octets) => {
                let source = link.output.put(&worker.pool, content);
                // What is pulled later is counted then.
                if source.is_none() {
                    engine.content_sent(octets);
                }
                source
            }
            Framing::Chunked | Framing::UntilClose | Framing::Tunnel => {
                link.output.put(&worker.pool, content)
            }
        };
        self.observed = observer.is_some();
        if let Some(observer) = observer {
            let ends = if source.is_some() { UNKNOWN_END } else { link.output.position() };
            link.reports.expect(Report { observer, began, content: content_from, ends });
        }
        match source {
            Some(source) if framing == Framing::Tunnel => self.begin_tunnel(source),
            Some(source) => self.exchange = Exchange::Streaming(source),
            None => self.complete(link, worker),
        }
        None
    }

    /// The response's last octet is in the output.
    fn complete<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        let leaves = link.is_leaving(worker);
        match self.engine.next() {
            Next::KeepAlive if leaves && link.input.is_empty() => {
                link.stage = Stage::Closing { linger: true }
            }
            Next::KeepAlive => self.begin_next(link, worker),
            Next::Discard if !self.rests_much() => {
                let pace = Box::new(Pace::new(0, worker.timeouts.receiving()));
                self.exchange = Exchange::Discarding { most: DISCARD, pace };
            }
            Next::Discard | Next::Close => {
                let linger = !link.input.is_empty() || self.unread_content || leaves;
                link.stage = Stage::Closing { linger };
            }
        }
        self.content = None;
    }

    /// Request and response are complete: the next request may come.
    fn begin_next<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        self.exchange = Exchange::Reading;
        link.idle_since = worker.clock.millis();
        link.begun = worker.clock.now();
    }

    /// Pulls content into the output.
    fn pull<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Option<Need> {
        let fed = self.feed(link, worker);
        let Exchange::Streaming(source) = &mut self.exchange else { return None };
        let room = link.output.room();
        let waker = link.waker(worker);
        let mut cx = Context::from_waker(&waker);
        let engine = &mut self.engine;
        let mut fill = || {
            link.output.write(&worker.pool, |out| {
                let before = out.len();
                let mark = engine.begin_chunk(out);
                let begun = out.len();
                let filled = source.fill(&mut cx, room, out);
                let content = out.len() - begun;
                engine.end_chunk(mark, out);
                (filled, out.len() - before - content)
            })
        };
        let (filled, framing) = match &self.content {
            Some(feed) => feed.attend(fill),
            None => fill(),
        };
        if self.observed && framing > 0 {
            link.reports.framing(framing as u64);
        }
        match filled {
            Poll::Pending => self.pause(link, worker, fed),
            Poll::Ready(Ok(false)) => None,
            Poll::Ready(Ok(true)) => self.finish_stream(link, worker),
            Poll::Ready(Err(_)) => {
                link.abort(worker, "the content ended early");
                Some(Need::Close)
            }
        }
    }

    fn finish_stream<S>(&mut self, link: &mut Link, worker: &Worker<S>) -> Option<Need> {
        let Exchange::Streaming(mut source) = std::mem::replace(&mut self.exchange, Exchange::Reading) else {
            return None;
        };
        let trailers = source.trailers();
        drop(source);
        let engine = &mut self.engine;
        let before = link.output.position();
        if link.output.write(&worker.pool, |out| engine.send_end(trailers.as_ref(), out)).is_err() {
            link.abort(worker, "the content is shorter than its Content-Length");
            return Some(Need::Close);
        }
        if self.observed {
            let end = link.output.position();
            link.reports.framing(end - before);
            link.reports.ends(end);
        }
        self.complete(link, worker);
        None
    }
}
