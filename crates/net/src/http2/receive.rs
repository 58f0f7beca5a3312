//! Requests and their content, as frames bring them.

use super::Http2;
use super::stream::{Slot, Work};
use crate::link::{Link, Stage};
use crate::service::{Limit, Outcome, Refusal, Request, Service};
use crate::turn_budget::cost;
use crate::upgrade;
use crate::worker::Worker;
use hayami_h2::{Event, Key, RequestContent};
use hayami_http::{Method, RequestHead, Status};

impl Http2 {
    /// Takes one frame from the input. Whether there was one.
    #[inline]
    pub(super) fn receive<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> bool {
        let mut head = worker.head.borrow_mut();
        let (engine, input, now) = (&mut self.engine, link.input.unread(), worker.clock.millis().low());
        let config = &*self.config;
        let received =
            link.output.write(&worker.pool, |out| engine.receive(config, now, input, &mut head, out));
        let received = match received {
            Ok(received) => received,
            Err(_) => {
                link.stage = Stage::Closing { linger: true };
                return false;
            }
        };
        self.expects_preface &= received.consumed == 0;
        let consumed = received.consumed;
        match received.event {
            Event::More => {
                link.input.consume(consumed);
                return false;
            }
            Event::Handled | Event::PeerGoesAway => {}
            Event::Request { key, content } => self.request(link, worker, key, content, &mut head),
            Event::TooLarge { key, content, status } => {
                let refusal = Refusal::Beyond(match status {
                    Status::URI_TOO_LONG => Limit::RequestLine,
                    _ => Limit::Head,
                });
                self.refuse(link, worker, key, content, &refusal, &mut head);
            }
            Event::Content { key, start, len, end } => {
                let octets = &link.input.unread()[start..start + len];
                self.content(&mut link.output, worker, key, octets, end);
                if end && !self.tunnels.is_empty() {
                    self.end_tunnel(link, key);
                }
            }
            Event::End { key, trailers } => {
                self.content_complete(key, trailers);
                if !self.tunnels.is_empty() {
                    self.end_tunnel(link, key);
                }
            }
            Event::Reset { key, data, .. } => {
                self.end_early(worker, key, data, "the client canceled the request");
            }
        }
        link.input.consume(consumed);
        if self.engine.is_over() {
            link.stage = Stage::Closing { linger: true };
        }
        true
    }

    #[inline]
    fn request<S: Service>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        key: Key,
        content: RequestContent,
        head: &mut RequestHead,
    ) {
        let content_length = content_length(content);
        if content_length.is_some_and(|octets| octets > worker.limits.content) {
            let refusal = Refusal::Beyond(Limit::Content);
            return self.refuse(link, worker, key, content, &refusal, head);
        }
        link.begun = worker.clock.now();
        let (feed, incoming) = match content {
            RequestContent::None => (None, None),
            _ => self.expect_content(link, worker, key, head, content_length),
        };
        let mut request = link.as_request(worker, head, content_length);
        (request.stream, request.content) = (Some(key.stream_id()), incoming);
        if request.head.method() == Method::Connect {
            request.upgrade =
                request.content.take().and_then(|octets| upgrade::connect(request.head, octets));
        }
        worker.budget.spend(cost::REQUEST);
        let outcome = worker.service.respond(&mut request);
        let Request { content: untaken, upgrade: ungranted, interim, .. } = request;
        if feed.is_some() {
            drop((untaken, ungranted));
            self.keep_content(key, feed);
        }
        match outcome {
            Outcome::Ready(answer) => self.send(link, worker, key, answer),
            Outcome::Later(answer) => {
                if interim.is_some() {
                    self.keep_interim(key, interim);
                }
                self.wait_for(link, worker, key, Work::Answer(answer));
            }
        }
    }

    #[cold]
    fn refuse<S: Service>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        key: Key,
        content: RequestContent,
        refusal: &Refusal,
        head: &mut RequestHead,
    ) {
        let mut request = link.as_request(worker, head, content_length(content));
        request.stream = Some(key.stream_id());
        let answer = worker.service.refuse(refusal, &mut request);
        self.send(link, worker, key, answer);
    }

    /// The request that asked for HTTP/2 is the first one over it.
    #[cold]
    pub(super) fn first<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        let mut head = worker.head.borrow_mut();
        let settings = head.fields().get_named(upgrade::SETTINGS).unwrap_or_default().to_vec();
        let is_head = head.method() == Method::Head;
        let (engine, config) = (&mut self.engine, &*self.config);
        let key = link.output.write(&worker.pool, |out| engine.upgrade(config, &settings, is_head, out));
        match key {
            Ok(key) => self.request(link, worker, key, RequestContent::None, &mut head),
            Err(_) => link.stage = Stage::Closing { linger: true },
        }
    }

    /// The stream is gone before its time.
    pub(super) fn end_early<S>(&mut self, worker: &Worker<S>, key: Key, stream: Slot, why: &'static str) {
        let Some(stream) = stream else { return };
        if !matches!(stream.work, Work::None) {
            self.waiting.retain(|waiting| *waiting != key);
        }
        stream.abort(&worker.clock, why);
    }
}

fn content_length(content: RequestContent) -> Option<u64> {
    match content {
        RequestContent::None => Some(0),
        RequestContent::Length(octets) => Some(octets),
        RequestContent::Unknown => None,
    }
}
