//! Requests and their content, as received in frames.

use super::Http2;
use super::stream::Stream;
use crate::exchange::{self, Arrived, Streams};
use crate::link::Link;
use crate::service::{Limit, Refusal, Service};
use crate::upgrade;
use crate::worker::Worker;
use hayami_h2::{Event, Key, RequestContent};
use hayami_http::{FieldSection, Method, RequestHead, Status};
use std::ops::Range;

impl Http2 {
    /// Handles one frame of the input. Returns false if there was none.
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
                link.close(true);
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
                self.content(link, worker, key, start..start + len);
                if end {
                    self.content_complete(link, worker, key, None);
                }
            }
            Event::End { key, trailers } => self.content_complete(link, worker, key, trailers),
            Event::Reset { key, data, .. } => {
                self.end_early(worker, key, data, "the client canceled the request");
            }
        }
        link.input.consume(consumed);
        if self.engine.is_over() {
            link.close(true);
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
        let length = length(content);
        if length.is_some_and(|bytes| bytes > worker.limits.content) {
            let refusal = Refusal::Beyond(Limit::Content);
            return self.refuse(link, worker, key, content, &refusal, head);
        }
        link.begun = worker.clock.now();
        let mut stream =
            Stream { engine: &mut self.engine, config: &self.config, link, worker, key, room: 0 };
        if let Some(exchange) =
            exchange::begin(&mut stream, worker, head, (length, content != RequestContent::None))
        {
            self.keep(link, worker, key, Some(exchange));
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
        let mut stream =
            Stream { engine: &mut self.engine, config: &self.config, link, worker, key, room: 0 };
        let exchange = exchange::refuse(&mut stream, worker, refusal, head, length(content));
        self.keep(link, worker, key, exchange);
    }

    /// Handles content at `range` of the input.
    #[inline(never)]
    fn content<S>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key, range: Range<usize>) {
        self.deadlines.received += range.len() as u64;
        let Some(slot) = self.engine.get(key) else { return };
        // Without an exchange, the request was already answered.
        let exchange = self.at_work.insert(slot.take().unwrap_or_else(|| worker.exchanges.take()));
        let input = std::mem::take(&mut link.input);
        let mut stream =
            Stream { engine: &mut self.engine, config: &self.config, link, worker, key, room: 0 };
        let arrived = exchange.content(&mut stream, worker, &input.unread()[range]);
        link.input = input;
        match arrived {
            Arrived::Taken { wakes } => {
                if wakes {
                    self.woken.push(key.stream_id());
                }
                self.put_back(worker, key);
            }
            Arrived::TooMuch => {
                let exchange = self.at_work.take();
                self.end_early(worker, key, exchange, "the request's content is too large");
            }
        }
    }

    /// All content has arrived, or the client of a tunnel has closed its side.
    #[inline(never)]
    fn content_complete<S: Service>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        key: Key,
        trailers: Option<Box<FieldSection>>,
    ) {
        let Some(exchange) = self.engine.exchange(key) else { return };
        let wakes = exchange.content_complete(trailers);
        if exchange.is_half_closed() {
            // That was the last open direction: the engine drops the stream with the next frame.
            self.waiting.retain(|waiting| *waiting != key);
            self.go_on(link, worker, key, 0);
        } else if exchange.is_discarding() {
            self.engine
                .get(key)
                .and_then(Option::take)
                .into_iter()
                .for_each(|own| worker.exchanges.give(own));
        } else if wakes {
            self.woken.push(key.stream_id());
        }
    }

    /// The upgrade request becomes the first request of the HTTP/2 connection.
    #[cold]
    pub(super) fn first<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        let mut head = worker.head.borrow_mut();
        let settings = head.fields().get_named(upgrade::SETTINGS).unwrap_or_default().to_vec();
        let is_head = head.method() == Method::Head;
        let (engine, config) = (&mut self.engine, &*self.config);
        let key = link.output.write(&worker.pool, |out| engine.upgrade(config, &settings, is_head, out));
        match key {
            Ok(key) => self.request(link, worker, key, RequestContent::None, &mut head),
            Err(_) => link.close(true),
        }
    }
}

fn length(content: RequestContent) -> Option<u64> {
    match content {
        RequestContent::None => Some(0),
        RequestContent::Length(bytes) => Some(bytes),
        RequestContent::Unknown => None,
    }
}
