//! Request content: passed to the handler, or discarded.

use super::protocol::{Protocol, Reset};
use super::{Exchange, Work};
use crate::clock::Millis;
use crate::request_body::BodySender;
use crate::service::{Limit, Refusal};
use crate::timeouts::Timeouts;
use crate::worker::Worker;
use hayami_http::{FieldSection, ResponseHead, Status};

/// Maximum request content discarded after a complete response: to keep the connection open (RFC 9112 §9.3 leaves the
/// choice), or so that the client need not treat the stream as failed (RFC 9113 §8.1). If more is to come, closing is
/// cheaper, and a multiplexed client is told to stop.
pub(crate) const DISCARD: u64 = 256 * 1024;

/// The effect of received content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// It was kept or discarded. `wakes`: the exchange has to be continued.
    Taken { wakes: bool },
    /// It exceeds a limit: the exchange has ended.
    TooMuch,
}

impl Exchange {
    /// Whether request content can be passed on.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.content.as_ref().is_some_and(BodySender::has_room)
    }

    /// Whether the handler may still take request content.
    pub(crate) fn has_reader(&self) -> bool {
        self.content.as_ref().is_some_and(BodySender::has_reader)
    }

    /// Whether the handler has asked for content at least once.
    pub(crate) fn is_asked(&self) -> bool {
        self.content.as_ref().is_some_and(BodySender::is_asked)
    }

    /// Whether the handler waits for content, as of the last update.
    pub(crate) fn starves(&self) -> bool {
        self.starves
    }

    /// Handles received content.
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
            // The content was refused, and no more credit is granted.
            false => false,
        };
        protocol.kept(bytes.len());
        Arrived::Taken { wakes }
    }

    /// All content has arrived, or the client of a tunnel has closed its side. Returns true if the exchange has to be
    /// continued.
    pub(crate) fn content_complete(&mut self, trailers: Option<Box<FieldSection>>) -> bool {
        let open = self.content.as_ref().filter(|feed| feed.is_open());
        open.is_some_and(|feed| feed.complete(trailers)) || matches!(self.work, Work::Receive)
    }

    /// Rejects the request content. Returns true if the exchange has to be continued.
    pub(crate) fn refuse_content(&self, refusal: Refusal) -> bool {
        self.content.as_ref().is_some_and(|feed| feed.refuse(refusal))
    }

    /// Discards content that has no reader.
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

    /// Acts on what the handler has done since the last call: grants credit for the bytes it took, and sends 100
    /// (Continue) if it asked for content.
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

    /// Updates the client's pace. Returns true if the handler waits for content.
    pub(crate) fn note_starvation(&mut self, now: Millis, timeouts: &Timeouts) -> bool {
        let feed = self.content.as_ref().filter(|feed| feed.has_reader());
        self.starves = feed.is_some_and(|feed| feed.note_starvation(now, timeouts.receiving()));
        self.starves
    }

    /// When the client's read timeout expires, as of the last update.
    pub(crate) fn content_due(&self) -> Millis {
        self.content.as_ref().map_or(Millis::NEVER, BodySender::due)
    }
}
