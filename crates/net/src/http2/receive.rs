//! Requests and their content, as frames bring them.

use super::Http2;
use super::stream::{Slot, Work};
use crate::link::{Link, Stage};
use crate::service::{Outcome, Refusal, Service};
use crate::worker::Worker;
use hayami_h1::Fault;
use hayami_h2::{ErrorCode, Event, Key, RequestContent};
use hayami_http::{Method, RequestHead, Status};

/// Request content that is thrown away behind a complete response, so that the client need not treat the
/// stream as failed; with more to come it is told to stop (RFC 9113 §8.1).
const DISCARD: u64 = 256 * 1024;

impl Http2 {
    /// Takes one frame from the input. Whether there was one.
    pub(super) fn receive<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> bool {
        let mut head = worker.head.borrow_mut();
        let (engine, input, now) = (&mut self.engine, link.input.unread(), worker.clock.millis());
        let config = &worker.http2.engine;
        let received =
            link.output.write(&worker.pool, |out| engine.receive(config, now, input, &mut head, out));
        let received = match received {
            Ok(received) => received,
            Err(_) => {
                link.stage = Stage::Closing { linger: true };
                return false;
            }
        };
        link.input.consume(received.consumed);
        self.expects_preface &= received.consumed == 0;
        match received.event {
            Event::More => return false,
            Event::Handled | Event::PeerGoesAway => {}
            Event::Request { key, content } => self.request(link, worker, key, content, &mut head),
            Event::TooLarge { key, content, status } => {
                let refusal = Refusal::Fault(match status {
                    Status::URI_TOO_LONG => Fault::RequestLineTooLong,
                    _ => Fault::HeadTooLarge,
                });
                self.refuse(link, worker, key, content, &refusal, &mut head);
            }
            Event::Content { key, len, .. } => self.content(link, worker, key, len),
            Event::End { .. } => self.progress = now,
            Event::Reset { key, data, .. } => {
                self.end_early(worker, key, data, "the client canceled the request");
            }
        }
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
            let refusal = Refusal::Fault(Fault::ContentTooLarge);
            return self.refuse(link, worker, key, content, &refusal, head);
        }
        link.begun = worker.clock.now();
        let mut request = link.as_request(worker, head, content_length);
        request.stream = Some(key.stream_id());
        match worker.service.respond(&mut request) {
            Outcome::Ready(answer) => self.send(link, worker, key, answer),
            Outcome::Later(answer) => {
                if let Some(interim) = request.interim.take() {
                    self.send_interim(link, worker, key, &interim);
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
        let settings = head.fields().get_named(crate::upgrade::SETTINGS).unwrap_or_default().to_vec();
        let is_head = head.method() == Method::Head;
        let (engine, config) = (&mut self.engine, &worker.http2.engine);
        let key = link.output.write(&worker.pool, |out| engine.upgrade(config, &settings, is_head, out));
        match key {
            Ok(key) => self.request(link, worker, key, RequestContent::None, &mut head),
            Err(_) => link.stage = Stage::Closing { linger: true },
        }
    }

    /// Content that nobody wants: the window is opened again, since it is done with.
    fn content<S>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key, len: usize) {
        self.progress = worker.clock.millis();
        let (engine, config) = (&mut self.engine, &worker.http2.engine);
        link.output.write(&worker.pool, |out| engine.consumed(config, key, len, out));
        let Some(slot) = engine.get(key) else { return };
        let stream = self.spare.stream(slot);
        stream.received += len as u64;
        let answered = matches!(stream.work, Work::None);
        if stream.received > worker.limits.content || answered && stream.received > DISCARD {
            let data = link.output.write(&worker.pool, |out| engine.reset(key, ErrorCode::NO_ERROR, out));
            self.end_early(worker, key, data.flatten(), "the request's content is too large");
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
