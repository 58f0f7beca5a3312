//! Streams that are tunnels (RFC 8441, RFC 9113 §8.5): what is different for them.
//!
//! Their content goes both ways at a time, so what the client sends must move even if it grants no credit for
//! what is to be sent to it; and the end of either direction leaves the other.

use super::Http2;
use super::body::Piece;
use super::stream::{Stream, Work};
use crate::incoming::Feed;
use crate::link::{Link, Stage};
use crate::worker::Worker;
use hayami_h2::{ErrorCode, Key};

impl Http2 {
    /// Whether a stream is a tunnel, or asks to be one.
    pub(super) fn is_tunnel(&mut self, key: Key) -> bool {
        self.engine.get(key).and_then(|slot| slot.as_deref()).is_some_and(|stream| stream.tunnel)
    }

    /// Notices which tunnels have ended.
    #[inline]
    pub(super) fn forget_tunnels(&mut self) {
        let engine = &mut self.engine;
        self.tunnels.retain(|key| engine.get(*key).is_some());
    }

    /// The worker waits no longer for tunnels; it does for answers, which come to an end by themselves.
    #[cold]
    pub(super) fn leave_tunnels<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        for key in std::mem::take(&mut self.tunnels) {
            let engine = &mut self.engine;
            let stream = link.output.write(&worker.pool, |out| engine.reset(key, ErrorCode::NO_ERROR, out));
            self.waiting.retain(|waiting| *waiting != key);
            stream
                .flatten()
                .into_iter()
                .for_each(|stream| stream.abort(&worker.clock, "the server is shutting down"));
        }
        if self.engine.is_over() {
            link.stage = Stage::Closing { linger: true };
        }
    }

    /// Moves what the client of a tunnel has sent, whatever stops the other direction.
    pub(super) fn push<S>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key) {
        let stream = self.engine.get(key).and_then(|slot| slot.as_deref_mut());
        let Some(Stream { work: Work::Body(body), content: Some(feed), tunnel: true, .. }) = stream else {
            return;
        };
        let wake = || feed.waker();
        let piece = link.output.write(&worker.pool, |out| feed.attend(|| body.take(&wake, 0, 0, out)));
        match piece {
            Piece::Broken(why) => {
                let end = link.output.write(&worker.pool, |out| out.len());
                self.break_off(link, worker, key, end, why);
            }
            _ => self.settle_content(link, worker, key),
        }
    }

    /// Nothing more goes to the client of a tunnel; what it still sends is heard.
    #[cold]
    pub(super) fn hear_on(&mut self, key: Key) {
        if let Some(stream) = self.engine.get(key).and_then(|slot| slot.as_deref_mut()) {
            stream.work = Work::Hear;
            self.waiting.push(key);
        }
    }

    /// Something was done with what the client of such a tunnel has sent.
    #[cold]
    pub(super) fn hear_out<S>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key) {
        let stream = self.engine.get(key).and_then(|slot| slot.as_deref());
        if stream.and_then(|stream| stream.content.as_ref()).is_some_and(Feed::has_reader) {
            self.waiting.push(key);
            return self.settle_content(link, worker, key);
        }
        // Nobody takes it any more: the client is told to stop.
        let engine = &mut self.engine;
        let stream = link.output.write(&worker.pool, |out| engine.reset(key, ErrorCode::CONNECT_ERROR, out));
        self.spare.complete(stream.flatten(), link);
    }

    /// The client has ended its direction. If that was the last one, the stream is gone with the next frame.
    #[cold]
    pub(super) fn end_tunnel(&mut self, link: &mut Link, key: Key) {
        let Some(slot) = self.engine.get(key) else { return };
        if slot.as_deref().is_some_and(|stream| matches!(stream.work, Work::Hear)) {
            let stream = slot.take();
            self.waiting.retain(|waiting| *waiting != key);
            self.spare.complete(stream, link);
        }
    }
}
