//! Requests and responses of a connection: what the engine's events lead to.

use crate::clock::{Clock, Instant};
use crate::connection::{Connection, Stage};
use crate::service::{Answer, Ended, Observer, Outcome, Refusal, Request, Service};
use crate::worker::Worker;
use hayami_h1::{Event, Framing, Next, RequestContent};
use hayami_http::{Known, RequestHead, Response, Source};
use std::collections::VecDeque;
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

/// Why answering stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Everything received is answered.
    Input,
    /// Too much waits to be sent.
    Room,
    /// The answer is not there yet.
    Later,
    /// The connection ends.
    Close,
}

impl Connection {
    /// Answers what has been received, as far as there is room.
    pub(crate) fn answer<S: Service>(&mut self, worker: &Worker<S>) -> Need {
        loop {
            if self.stage != Stage::Open {
                return Need::Close;
            }
            if self.output.is_full() {
                return Need::Room;
            }
            let need = match &mut self.exchange {
                Exchange::Reading | Exchange::Discarding => self.receive(worker),
                Exchange::Waiting(answer) => {
                    let waker = self.waker.get_or_insert_with(|| worker.woken.waker(self.index as usize));
                    match answer.as_mut().poll(&mut Context::from_waker(waker)) {
                        Poll::Pending => Some(Need::Later),
                        Poll::Ready(answer) => self.send(worker, answer),
                    }
                }
                Exchange::Streaming(_) => self.pull(worker),
            };
            if let Some(need) = need {
                return need;
            }
        }
    }

    /// Hands the input to the engine and acts on what it says.
    fn receive<S: Service>(&mut self, worker: &Worker<S>) -> Option<Need> {
        // The end of content is an event of its own, which needs no more octets.
        if self.input.is_empty() && !self.unread_content {
            return Some(Need::Input);
        }
        let mut head = worker.head.borrow_mut();
        let received = match self.engine.receive(&worker.limits, self.input.unread(), &mut head) {
            Ok(received) => received,
            Err(fault) => return self.refuse(worker, &Refusal::Fault(fault), &mut head),
        };
        self.input.consume(received.consumed);
        match received.event {
            Event::More => return Some(Need::Input),
            Event::Request(content) => return self.request(worker, content, &mut head),
            Event::Content(_) => {}
            Event::End => {
                self.unread_content = false;
                self.begin_next(worker);
            }
        }
        None
    }

    fn request<S: Service>(
        &mut self,
        worker: &Worker<S>,
        content: RequestContent,
        head: &mut RequestHead,
    ) -> Option<Need> {
        let content_length = match content {
            RequestContent::None => Some(0),
            RequestContent::Length(octets) => Some(octets),
            RequestContent::Chunked => None,
        };
        self.unread_content = content_length != Some(0);
        if worker.draining.get() || content_length.is_some_and(|octets| octets > DISCARD) {
            self.engine.close_after_response();
        }
        match worker.service.respond(&mut self.as_request(worker, head, content_length)) {
            Outcome::Ready(answer) => self.send(worker, answer),
            Outcome::Later(answer) => {
                self.exchange = Exchange::Waiting(answer);
                None
            }
        }
    }

    fn as_request<'a, S>(
        &'a mut self,
        worker: &Worker<S>,
        head: &'a mut RequestHead,
        content_length: Option<u64>,
    ) -> Request<'a> {
        let index = self.requests;
        self.requests += 1;
        let received = worker.clock.refresh_if_exact();
        Request { head, content_length, connection: &self.info, index, begun: self.begun, received }
    }

    /// Answers what is no request, and closes.
    pub(crate) fn refuse<S: Service>(
        &mut self,
        worker: &Worker<S>,
        refusal: &Refusal,
        head: &mut RequestHead,
    ) -> Option<Need> {
        self.engine.refuse();
        let answer = worker.service.refuse(refusal, &mut self.as_request(worker, head, Some(0)));
        self.send(worker, answer);
        if self.stage == Stage::Open {
            // A refusal with streamed content has no way to finish.
            self.exchange = Exchange::Reading;
        }
        self.stage = Stage::Closing { linger: true };
        None
    }

    /// Writes a response's head, and its content unless that has to be pulled.
    fn send<S: Service>(&mut self, worker: &Worker<S>, answer: Answer) -> Option<Need> {
        let Answer { response: Response { head, content }, observer } = answer;
        let server = worker.service.server_name().filter(|_| head.get(Known::Server).is_none());
        let common = worker.common.lines(&worker.clock, server);
        let length = content.len();
        let engine = &mut self.engine;
        let framing = self.output.write(&worker.pool, |out| engine.send_head(&head, length, &common, out));
        drop(common);
        let began = worker.clock.refresh_if_exact();
        let content_from = self.output.position();
        let source = match framing {
            Framing::Complete => None,
            Framing::Length(octets) => {
                engine.content_sent(octets);
                self.output.put(&worker.pool, content)
            }
            Framing::Chunked | Framing::UntilClose => self.output.put(&worker.pool, content),
        };
        match source {
            Some(source) => {
                let streaming = Streaming { source, observer, began, content_from };
                self.exchange = Exchange::Streaming(Box::new(streaming));
            }
            None => self.complete(worker, observer, began, content_from),
        }
        None
    }

    /// The response's last octet is in the output.
    fn complete<S>(
        &mut self,
        worker: &Worker<S>,
        observer: Option<Box<dyn Observer>>,
        began: Instant,
        content_from: u64,
    ) {
        if let Some(observer) = observer {
            let ends = self.output.position();
            self.reports.expect(Report { observer, began, content_from, ends });
        }
        let draining = worker.draining.get();
        match self.engine.next() {
            Next::KeepAlive if draining && self.input.is_empty() => {
                self.stage = Stage::Closing { linger: true }
            }
            Next::KeepAlive => self.begin_next(worker),
            Next::Discard => self.exchange = Exchange::Discarding,
            Next::Close => {
                let linger = !self.input.is_empty() || self.unread_content || draining;
                self.stage = Stage::Closing { linger };
            }
        }
    }

    /// Request and response are complete: the next request may come.
    fn begin_next<S>(&mut self, worker: &Worker<S>) {
        self.exchange = Exchange::Reading;
        self.idle_since = worker.clock.millis();
        self.begun = worker.clock.now();
    }

    /// Pulls content into the output.
    fn pull<S: Service>(&mut self, worker: &Worker<S>) -> Option<Need> {
        let Exchange::Streaming(streaming) = &mut self.exchange else { return None };
        let room = self.output.room();
        let waker = self.waker.get_or_insert_with(|| worker.woken.waker(self.index as usize));
        let mut cx = Context::from_waker(waker);
        let engine = &mut self.engine;
        let filled = self.output.write(&worker.pool, |out| {
            let mark = engine.begin_chunk(out);
            let filled = streaming.source.fill(&mut cx, room, out);
            engine.end_chunk(mark, out);
            filled
        });
        match filled {
            Poll::Pending => Some(Need::Later),
            Poll::Ready(Ok(false)) => None,
            Poll::Ready(Ok(true)) => self.finish_stream(worker),
            Poll::Ready(Err(_)) => {
                self.abort(worker, "the content ended early");
                Some(Need::Close)
            }
        }
    }

    fn finish_stream<S>(&mut self, worker: &Worker<S>) -> Option<Need> {
        let Exchange::Streaming(mut ended) = std::mem::replace(&mut self.exchange, Exchange::Reading) else {
            return None;
        };
        let trailers = ended.source.trailers();
        let engine = &mut self.engine;
        if self.output.write(&worker.pool, |out| engine.send_end(trailers.as_ref(), out)).is_err() {
            self.abort(worker, "the content was shorter than announced");
            return Some(Need::Close);
        }
        let Streaming { observer, began, content_from, .. } = *ended;
        self.complete(worker, observer, began, content_from);
        None
    }
}

/// Responses whose end somebody wants to hear of, in the order in which they leave.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "one pointer in each of many idle connections")]
pub(crate) struct Reports(Option<Box<VecDeque<Report>>>);

struct Report {
    observer: Box<dyn Observer>,
    began: Instant,
    /// Positions in the output: of the first octet of content, and behind the last.
    content_from: u64,
    ends: u64,
}

impl Reports {
    fn expect(&mut self, report: Report) {
        self.0.get_or_insert_default().push_back(report);
    }

    /// Octets up to `position` were handed to the kernel.
    pub(crate) fn sent(&mut self, position: u64, clock: &Clock) {
        if let Some(reports) = &mut self.0 {
            while reports.front().is_some_and(|report| report.ends <= position) {
                if let Some(report) = reports.pop_front() {
                    report.tell(position, clock, None);
                }
            }
        }
    }

    /// Nothing behind `position` will be sent.
    pub(crate) fn aborted(&mut self, why: &'static str, position: u64, clock: &Clock) {
        for report in self.0.take().into_iter().flat_map(|reports| *reports) {
            report.tell(position, clock, Some(why));
        }
    }
}

impl Report {
    fn tell(self, position: u64, clock: &Clock, aborted: Option<&'static str>) {
        let content_octets = position.min(self.ends).saturating_sub(self.content_from);
        let ended = clock.refresh();
        self.observer.ended(&Ended { content_octets, began: self.began, ended, aborted });
    }
}
