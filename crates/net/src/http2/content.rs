//! Content of requests: to whoever takes it, or thrown away.
//!
//! The window of a stream is opened again only as its content is taken, so that no more of it waits in memory
//! than the window that was announced. That of the connection is opened at once: whoever takes nothing does
//! not hold up the other streams.

use super::Http2;
use super::stream::{Slot, Stream, Work};
use crate::incoming::{self, Feed, Incoming};
use crate::link::Link;
use crate::output::Output;
use crate::service::{Interim, Limit, Refusal};
use crate::worker::Worker;
use hayami_h2::{ErrorCode, Key};
use hayami_http::{FieldSection, Known, Method, RequestHead, Status};

/// Request content that is thrown away behind a complete response, so that the client need not treat the
/// stream as failed; with more to come it is told to stop (RFC 9113 §8.1).
const DISCARD: u64 = 256 * 1024;

/// Content that a request announces.
pub(super) struct Expected {
    /// The connection's end of it.
    feed: Feed,
    /// The client waits for 100 before it sends any (RFC 9110 §10.1.1).
    waits: bool,
    /// It is what goes through a tunnel, if that is granted.
    tunnel: bool,
}

impl Http2 {
    /// Both ends of the content that a request announces.
    #[inline(never)]
    pub(super) fn expect_content<S>(
        &self,
        link: &Link,
        worker: &Worker<S>,
        key: Key,
        head: &RequestHead,
        length: Option<u64>,
    ) -> (Option<Expected>, Option<Incoming>) {
        let waker = worker.woken.waker(link.token, key.stream_id());
        let (feed, incoming) = incoming::content(length, waker, &worker.content);
        let expectation = head.get(Known::Expect);
        let waits = expectation.is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"));
        let tunnel = head.method() == Method::Connect;
        (Some(Expected { feed, waits, tunnel }), Some(incoming))
    }

    /// Somebody may take the content of a request; if nobody does, it is thrown away.
    #[inline(never)]
    pub(super) fn keep_content(&mut self, key: Key, expected: Option<Expected>) {
        let Some(expected) = expected.filter(|expected| expected.feed.has_reader()) else { return };
        if let Some(slot) = self.engine.get(key) {
            let stream = self.spare.stream(slot);
            (stream.expects_continue, stream.tunnel) = (expected.waits, expected.tunnel);
            stream.content = Some(expected.feed);
            self.busiest = self.busiest.max(self.engine.streams());
        }
    }

    /// Interim responses may come before the answer.
    #[cold]
    pub(super) fn keep_interim(&mut self, key: Key, interim: Option<Interim>) {
        if let Some(slot) = self.engine.get(key) {
            self.spare.stream(slot).interim = interim.map(Interim::into_heads);
        }
    }

    /// Content has come.
    #[inline(never)]
    pub(super) fn content<S>(
        &mut self,
        output: &mut Output,
        worker: &Worker<S>,
        key: Key,
        octets: &[u8],
        end: bool,
    ) {
        self.deadlines.received += octets.len() as u64;
        let Some(slot) = self.engine.get(key) else { return };
        let stream = self.spare.stream(slot);
        stream.received += octets.len() as u64;
        let too_much = stream.received > worker.limits.content && !stream.tunnel;
        let Some(feed) = stream.content.as_ref().filter(|feed| feed.has_reader()) else {
            return self.throw_away(output, worker, key, octets.len());
        };
        let (now, patience) = (worker.clock.millis(), worker.timeouts.receiving());
        let wakes = match feed.is_open() {
            true if too_much => feed.refuse(Refusal::Beyond(Limit::Content)),
            true => {
                feed.put_or_refuse(octets, now, patience) | (end && feed.is_open() && feed.complete(None))
            }
            // It broke a rule, and no more is granted.
            false => false,
        };
        if wakes {
            self.woken.push(key.stream_id());
        }
        let (engine, config) = (&mut self.engine, &*self.config);
        output.write(&worker.pool, |out| engine.release_connection_window(config, key, octets.len(), out));
    }

    /// The end of content has come by itself.
    #[inline(never)]
    pub(super) fn content_complete(&mut self, key: Key, trailers: Option<Box<FieldSection>>) {
        let feed = stream(self.engine.get(key)).and_then(|stream| stream.content.as_ref());
        if feed.is_some_and(|feed| feed.is_open() && feed.complete(trailers)) {
            self.woken.push(key.stream_id());
        }
    }

    /// Content that nobody wants: the window is opened again, since it is done with.
    fn throw_away<S>(&mut self, output: &mut Output, worker: &Worker<S>, key: Key, octets: usize) {
        let (engine, config) = (&mut self.engine, &*self.config);
        output.write(&worker.pool, |out| engine.consumed(config, key, octets, out));
        let Some(stream) = stream(engine.get(key)) else { return };
        let held = stream.content.take().map_or(0, Feed::end);
        let answered = matches!(stream.work, Work::None);
        let too_much = stream.received > worker.limits.content || answered && stream.received > DISCARD;
        if too_much {
            let data = output.write(&worker.pool, |out| engine.reset(key, ErrorCode::NO_ERROR, out));
            self.end_early(worker, key, data.flatten(), "the request's content is too large");
        } else {
            output.write(&worker.pool, |out| engine.release_stream_window(config, key, held, out));
        }
    }

    /// Sends what is to be sent before the answer.
    pub(super) fn send_interim<S>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key) {
        let stream = stream(self.engine.get(key));
        let Some(interim) = stream.and_then(|stream| stream.interim.as_ref()) else { return };
        for head in interim.take() {
            let mut fields = FieldSection::default();
            head.iter().for_each(|(name, value)| fields.append(name, value));
            let engine = &mut self.engine;
            link.output.write(&worker.pool, |out| engine.send_interim(key, head.status(), &fields, out));
        }
    }

    /// Does what whoever takes the content of a request has asked for since this was last called: grants as
    /// much as was taken, and asks the client to begin.
    pub(super) fn settle_content<S>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key) {
        let Some(stream) = stream(self.engine.get(key)) else { return };
        let Some(feed) = &stream.content else { return };
        let mut taken = feed.taken();
        let mut begins = false;
        if feed.has_reader() && !matches!(stream.work, Work::None) {
            let starves = feed.note_starvation(worker.clock.millis(), worker.timeouts.receiving());
            self.deadlines.starving |= starves;
            let asked = feed.is_asked() && matches!(stream.work, Work::Answer(_));
            begins = asked && std::mem::take(&mut stream.expects_continue) && stream.received == 0;
        } else {
            taken += stream.content.take().map_or(0, Feed::end);
        }
        let (engine, config) = (&mut self.engine, &*self.config);
        link.output.write(&worker.pool, |out| {
            if begins {
                engine.send_interim(key, Status::CONTINUE, &FieldSection::default(), out);
            }
            engine.release_stream_window(config, key, taken, out);
        });
    }
}

/// The stream of a slot, if there is more to it than the engine knows.
pub(super) fn stream(slot: Option<&mut Slot>) -> Option<&mut Stream> {
    slot?.as_deref_mut()
}
