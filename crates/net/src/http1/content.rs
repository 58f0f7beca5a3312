//! Content of the request at hand: to whoever takes it, or thrown away.

use super::{DISCARD, Exchange, Http1};
use crate::clock::Millis;
use crate::incoming::{self, Feed, Incoming};
use crate::link::{Link, Need, Stage};
use crate::service::{Refusal, Service};
use crate::worker::{Timeouts, Worker};
use hayami_h1::Event;
use hayami_http::{ResponseHead, Status};

/// How far content could be handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    /// As far as it is wanted.
    Enough,
    /// As far as it has come.
    All,
}

impl Http1 {
    /// Both ends of the content that a request announces.
    #[inline(never)]
    pub(super) fn expect_content<S>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        length: Option<u64>,
    ) -> Option<Incoming> {
        let (feed, incoming) = incoming::content(length, link.waker(worker), &worker.content);
        self.content = Some(feed);
        Some(incoming)
    }

    /// Hands content that has been received to who takes it.
    #[inline]
    pub(super) fn feed<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Fed {
        if self.content.is_some() { self.feed_some(link, worker) } else { Fed::Enough }
    }

    #[inline(never)]
    fn feed_some<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Fed {
        while let Some(feed) = self.content.as_ref().filter(|feed| feed.has_room()) {
            let input = link.input.unread();
            let received = match self.engine.receive_more(&worker.limits, input) {
                Ok(received) => received,
                Err(fault) => {
                    feed.refuse(fault.into());
                    break;
                }
            };
            match &received.event {
                Event::Content(range) => {
                    let (now, patience) = (worker.clock.millis(), worker.timeouts.receiving());
                    feed.put(&input[range.clone()], now, patience);
                }
                Event::End => {
                    self.unread_content = false;
                    feed.complete(self.engine.take_trailers().map(Box::new));
                }
                Event::More | Event::Request(_) => {}
            }
            link.input.consume(received.consumed);
            if received.event == Event::More {
                return Fed::All;
            }
        }
        Fed::Enough
    }

    /// The answer is not there yet: goes on with the request's content, if that is what it takes.
    pub(super) fn pause<S>(&mut self, link: &mut Link, worker: &Worker<S>, fed: Fed) -> Option<Need> {
        if let Some(feed) = &self.content {
            feed.note_starvation(worker.clock.millis(), worker.timeouts.receiving());
        }
        let wanted = |feed: &&Feed| feed.is_asked() && feed.has_room();
        // What is behind a request may be meant for a tunnel that is not granted yet: then it is not read.
        if self.content.as_ref().filter(wanted).is_none() || !self.unread_content {
            return Some(Need::Later);
        }
        if self.engine.expects_continue() {
            let head = ResponseHead::new(Status::CONTINUE);
            link.output.write(&worker.pool, |out| self.engine.send_interim(&head, out));
        }
        match fed {
            Fed::All => Some(Need::Content),
            Fed::Enough => None,
        }
    }

    /// When [`content_is_late`](Self::content_is_late) or [`expire`](crate::protocol::Protocol::expire) has to be
    /// called, whatever the connection waits for.
    #[inline]
    pub(crate) fn latest(&mut self, now: Millis, timeouts: &Timeouts) -> Millis {
        match (&mut self.exchange, &self.content) {
            (Exchange::Reading, _) => Millis::NEVER,
            (Exchange::Discarding { most, pace }, _) => {
                pace.note(now, DISCARD - *most, true, timeouts.receiving());
                pace.due()
            }
            (Exchange::Tunnel(tunnel), _) => tunnel.latest(timeouts),
            (_, content) => content.as_ref().map_or(Millis::NEVER, Feed::due),
        }
    }

    /// Whether a client does not send what a handler waits for: then the handler is told.
    #[cold]
    pub(crate) fn content_is_late<S>(&mut self, worker: &Worker<S>) -> bool {
        let late = |feed: &&Feed| feed.due() <= worker.clock.millis();
        let late = self.content.as_ref().filter(late);
        if let Some(feed) = late {
            feed.refuse(Refusal::Timeout);
            self.engine.refuse();
        }
        late.is_some()
    }

    /// Whether a client sends content that is discarded, but too slowly.
    pub(crate) fn discarding_is_late(&self, now: Millis) -> bool {
        matches!(&self.exchange, Exchange::Discarding { pace, .. } if pace.is_late(now))
    }

    /// Discards content: its request is answered.
    pub(super) fn discard(&mut self, link: &mut Link, bytes: u64) {
        let Exchange::Discarding { most, .. } = &mut self.exchange else { return };
        match most.checked_sub(bytes) {
            Some(left) => *most = left,
            None => link.stage = Stage::Closing { linger: true },
        }
    }

    /// Whether more content is to come than is thrown away for the sake of a connection.
    pub(super) fn rests_much(&self) -> bool {
        let remaining = self.content.as_ref().and_then(|feed| feed.remaining());
        self.unread_content && remaining.is_some_and(|octets| octets > DISCARD)
    }

    /// The response is about to begin: if nobody takes what is still to come, and that is much, it says that
    /// the connection closes.
    #[inline]
    pub(super) fn consider_rest(&mut self) {
        if let Some(feed) = &self.content
            && !feed.has_reader()
            && self.rests_much()
        {
            self.engine.close_after_response();
        }
    }
}
