//! HTTP/1.1 on a connection: what the engine's events lead to.

use crate::clock::Instant;
use crate::link::{Link, Need, Stage};
use crate::reports::{Extent, Report};
use crate::service::{Answer, Interim, Observer, Outcome, Refusal, Service};
use crate::upgrade;
use crate::worker::Worker;
use hayami_h1::{Event, Fault, Framing, Next, RequestContent, Server};
use hayami_http::{RequestHead, Response, Source};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Unread request content that is thrown away to keep a connection; with more to come it is cheaper to
/// close (RFC 9112 §9.3 leaves the choice).
const DISCARD: u64 = 256 * 1024;

/// Where a connection stands between request and response.
pub(crate) enum Exchange {
    /// A request head is awaited.
    Reading,
    /// The answer is sent, the rest of the request's content is thrown away.
    Discarding,
    /// The answer needs I/O.
    Waiting(Pin<Box<dyn Future<Output = Answer>>>),
    /// The head is sent, the content comes piece by piece.
    Streaming(Box<Streaming>),
}

/// A response whose content is being pulled.
pub(crate) struct Streaming {
    source: Box<dyn Source>,
    observer: Option<Box<dyn Observer>>,
    began: Instant,
    /// Position in the output of the first octet behind the head.
    content_from: u64,
}

/// A connection that speaks HTTP/1.1.
pub(crate) struct Http1 {
    engine: Server,
    exchange: Exchange,
    /// Content of the request at hand is still to come.
    unread_content: bool,
}

impl Http1 {
    pub(crate) fn new() -> Self {
        Self { engine: Server::new(), exchange: Exchange::Reading, unread_content: false }
    }

    /// Whether the head of a request is awaited.
    pub(crate) fn is_reading(&self) -> bool {
        matches!(self.exchange, Exchange::Reading)
    }

    /// Whether the rest of a request's content is being thrown away.
    pub(crate) fn is_discarding(&self) -> bool {
        matches!(self.exchange, Exchange::Discarding)
    }

    /// Answers what has been received, as far as there is room.
    pub(crate) fn answer<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
        loop {
            if link.stage != Stage::Open {
                return Need::Close;
            }
            if link.output.is_full() {
                return Need::Room;
            }
            let need = match &mut self.exchange {
                Exchange::Reading | Exchange::Discarding => self.receive(link, worker),
                Exchange::Waiting(answer) => {
                    match answer.as_mut().poll(&mut Context::from_waker(&link.waker(worker))) {
                        Poll::Pending => Some(Need::Later),
                        Poll::Ready(answer) => self.send(link, worker, answer),
                    }
                }
                Exchange::Streaming(_) => self.pull(link, worker),
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
            Err(fault) => return self.refuse(link, worker, &Refusal::Fault(fault), &mut head),
        };
        link.input.consume(received.consumed);
        match received.event {
            Event::More => return Some(Need::Input),
            Event::Request(content) => return self.request(link, worker, content, &mut head),
            Event::Content(_) => {}
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
        if worker.draining.get() || content_length.is_some_and(|octets| octets > DISCARD) {
            self.engine.close_after_response();
        }
        let mut request = link.as_request(worker, head, content_length);
        match worker.service.respond(&mut request) {
            Outcome::Ready(answer) => self.send(link, worker, answer),
            Outcome::Later(answer) => {
                if let Some(interim) = request.interim.take() {
                    self.send_interim(link, worker, &interim);
                }
                self.exchange = Exchange::Waiting(answer);
                None
            }
        }
    }

    /// Sends what is to be sent before the answer.
    #[cold]
    fn send_interim<S>(&mut self, link: &mut Link, worker: &Worker<S>, interim: &Interim) {
        for head in interim.take() {
            link.output.write(&worker.pool, |out| self.engine.send_interim(&head, out));
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
        let (common, _) = worker.common.fields(&worker.clock, worker.service.server_name(), &head);
        let lines = common.wire_form().unwrap_or_default();
        let length = content.len();
        let engine = &mut self.engine;
        let framing = link.output.write(&worker.pool, |out| engine.send_head(&head, length, lines, out));
        drop(common);
        let began = worker.clock.refresh_if_exact();
        let content_from = link.output.position();
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
            Framing::Chunked | Framing::UntilClose => link.output.put(&worker.pool, content),
        };
        match source {
            Some(source) => {
                let streaming = Streaming { source, observer, began, content_from };
                self.exchange = Exchange::Streaming(Box::new(streaming));
            }
            None => self.complete(link, worker, observer, began, content_from),
        }
        None
    }

    /// The response's last octet is in the output.
    fn complete<S>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        observer: Option<Box<dyn Observer>>,
        began: Instant,
        content_from: u64,
    ) {
        if let Some(observer) = observer {
            let ends = link.output.position();
            link.reports.expect(Report { observer, began, content: Extent::From(content_from), ends });
        }
        let draining = worker.draining.get();
        match self.engine.next() {
            Next::KeepAlive if draining && link.input.is_empty() => {
                link.stage = Stage::Closing { linger: true }
            }
            Next::KeepAlive => self.begin_next(link, worker),
            Next::Discard => self.exchange = Exchange::Discarding,
            Next::Close => {
                let linger = !link.input.is_empty() || self.unread_content || draining;
                link.stage = Stage::Closing { linger };
            }
        }
    }

    /// Request and response are complete: the next request may come.
    fn begin_next<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        self.exchange = Exchange::Reading;
        link.idle_since = worker.clock.millis();
        link.begun = worker.clock.now();
    }

    /// Pulls content into the output.
    fn pull<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Option<Need> {
        let Exchange::Streaming(streaming) = &mut self.exchange else { return None };
        let room = link.output.room();
        let waker = link.waker(worker);
        let mut cx = Context::from_waker(&waker);
        let engine = &mut self.engine;
        let filled = link.output.write(&worker.pool, |out| {
            let mark = engine.begin_chunk(out);
            let filled = streaming.source.fill(&mut cx, room, out);
            engine.end_chunk(mark, out);
            filled
        });
        match filled {
            Poll::Pending => Some(Need::Later),
            Poll::Ready(Ok(false)) => None,
            Poll::Ready(Ok(true)) => self.finish_stream(link, worker),
            Poll::Ready(Err(_)) => {
                link.abort(worker, "the content ended early");
                Some(Need::Close)
            }
        }
    }

    fn finish_stream<S>(&mut self, link: &mut Link, worker: &Worker<S>) -> Option<Need> {
        let Exchange::Streaming(mut ended) = std::mem::replace(&mut self.exchange, Exchange::Reading) else {
            return None;
        };
        let trailers = ended.source.trailers();
        let engine = &mut self.engine;
        if link.output.write(&worker.pool, |out| engine.send_end(trailers.as_ref(), out)).is_err() {
            link.abort(worker, "the content was shorter than announced");
            return Some(Need::Close);
        }
        let Streaming { observer, began, content_from, .. } = *ended;
        self.complete(link, worker, observer, began, content_from);
        None
    }
}
