//! Content of a request: to the handler that takes it, or thrown away.

use super::protocol::{Protocol, Reset};
use super::{Exchange, Work};
use crate::clock::Millis;
use crate::request_body::BodySender;
use crate::service::{Limit, Refusal};
use crate::timeouts::Timeouts;
use crate::worker::Worker;
use hayami_http::{FieldSection, ResponseHead, Status};

/// Request content that is thrown away behind a complete response: to keep the connection (RFC 9112 §9.3 leaves the
/// choice), or so that the client need not treat the stream as failed (RFC 9113 §8.1). With more to come it is cheaper
/// to close, and a multiplexed client is told to stop.
pub(crate) const DISCARD: u64 = 256 * 1024;

/// What came of content that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// It was kept or thrown away. `wakes`: the exchange is to be gone on with.
    Taken { wakes: bool },
    /// It is too much: the exchange is over.
    TooMuch,
}

impl Exchange {
    /// Whether content of the request can be handed on.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.content.as_ref().is_some_and(BodySender::has_room)
    }

    /// Whether the handler may still take content of the request.
    pub(crate) fn has_reader(&self) -> bool {
        self.content.as_ref().is_some_and(BodySender::has_reader)
    }

    /// Whether the handler has asked for content at least once.
    pub(crate) fn is_asked(&self) -> bool {
        self.content.as_ref().is_some_and(BodySender::is_asked)
    }

    /// Whether the handler waits for content, as far as that was noted.
    pub(crate) fn starves(&self) -> bool {
        self.starves
    }

    /// Content has come.
    pub(crate) fn content<P: Protocol, S>(
        &mut self,
        protocol: &mut P,
        worker: &Worker<S>,
        bytes: &[u8],
    ) -> Arrived {
        self.received += bytes.len() as u64;
        let Some(feed) = self.content.as_ref().filter(|feed| feed.has_reader()) else {
            return self.discard(protocol, worker, bytes.len());
        };
        let too_much = self.received > worker.limits.content && !self.tunnel;
        let (now, patience) = (worker.clock.millis(), worker.timeouts.receiving());
        let wakes = match feed.is_open() {
            true if too_much => feed.refuse(Refusal::Beyond(Limit::Content)),
            true if P::READS_AHEAD => feed.put_or_refuse(bytes, now, patience),
            true => feed.put(bytes, now, patience),
            // It broke a rule, and no more is granted.
            false => false,
        };
        protocol.kept(bytes.len());
        Arrived::Taken { wakes }
    }

    /// All content has come, or the client of a tunnel has ended its direction. Whether the exchange is to be gone on
    /// with.
    pub(crate) fn content_complete(&mut self, trailers: Option<Box<FieldSection>>) -> bool {
        let open = self.content.as_ref().filter(|feed| feed.is_open());
        open.is_some_and(|feed| feed.complete(trailers)) || matches!(self.work, Work::Receive)
    }

    /// No more content is taken from the client, by its own fault. Whether the exchange is to be gone on with.
    pub(crate) fn refuse_content(&self, refusal: Refusal) -> bool {
        self.content.as_ref().is_some_and(|feed| feed.refuse(refusal))
    }

    /// Content that has no reader.
    fn discard<P: Protocol, S>(&mut self, protocol: &mut P, worker: &Worker<S>, bytes: usize) -> Arrived {
        protocol.discarded(bytes);
        let held = self.content.take().map_or(0, BodySender::end);
        if self.received > worker.limits.content || self.is_discarding() && self.received > DISCARD {
            protocol.stop_receiving(Reset::Content);
            return Arrived::TooMuch;
        }
        protocol.taken(held);
        Arrived::Taken { wakes: false }
    }

    /// Does what the handler has asked for since this was last called: grants as much as it took, and asks the client to
    /// begin.
    #[inline]
    pub(crate) fn settle<P: Protocol, S>(&mut self, protocol: &mut P, worker: &Worker<S>) {
        if self.content.is_some() {
            self.settle_content(protocol, worker);
        }
    }

    #[inline(never)]
    fn settle_content<P: Protocol, S>(&mut self, protocol: &mut P, worker: &Worker<S>) {
        let Some(feed) = &self.content else { return };
        let mut taken = feed.taken();
        if feed.has_reader() {
            self.starves = feed.note_starvation(worker.clock.millis(), worker.timeouts.receiving());
            let asked = feed.is_asked() && matches!(self.work, Work::Answer(_));
            if asked && std::mem::take(&mut self.expects_continue) && self.received == 0 {
                protocol.interim(&ResponseHead::new(Status::CONTINUE));
            }
        } else if !self.is_half_closed() {
            taken += self.content.take().map_or(0, BodySender::end);
            self.starves = false;
        }
        protocol.taken(taken);
    }

    /// Takes account of what the client owes. Whether the handler waits for it.
    pub(crate) fn note_starvation(&mut self, now: Millis, timeouts: &Timeouts) -> bool {
        let feed = self.content.as_ref().filter(|feed| feed.has_reader());
        self.starves = feed.is_some_and(|feed| feed.note_starvation(now, timeouts.receiving()));
        self.starves
    }

    /// When the client is late with what the handler waits for, as far as that was noted.
    pub(crate) fn content_due(&self) -> Millis {
        self.content.as_ref().map_or(Millis::NEVER, BodySender::due)
    }
}
