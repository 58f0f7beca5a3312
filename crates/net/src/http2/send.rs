//! Responses: heads at once, content by priority, as windows and the output have room.

use super::Http2;
use super::body::{Body, Piece};
use super::stream::{Slot, Stream, Work};
use crate::incoming::Feed;
use crate::link::{Link, Need};
use crate::output::{COPY_SIZE, ROOM};
use crate::reports::{Extent, Report};
use crate::service::{Answer, Observer, Service};
use crate::turn_budget::cost;
use crate::worker::Worker;
use hayami_h2::{ErrorCode, Key, Server};
use hayami_http::{Content, Response};
use std::task::{Context, Poll};

/// Octets of a frame's header (RFC 9113 §4.1).
pub(super) const FRAME_HEADER: usize = 9;

impl Http2 {
    /// Writes a response's head, and its content if that is little and nothing stops it.
    #[inline]
    pub(super) fn send<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key, answer: Answer) {
        let Answer { response: Response { head, content }, observer } = answer;
        let (common, version) = worker.common.fields(&worker.clock, worker.service.server_name(), &head);
        let (length, is_granted) = (content.len(), (200..300).contains(&head.status().code()));
        let small = match &content {
            Content::Shared(shared) if shared.len() <= COPY_SIZE => shared.as_slice(),
            _ => &[],
        };
        let room = !small.is_empty() && !link.output.is_full();
        link.idle_since = worker.clock.millis();
        let engine = &mut self.engine;
        let complete = link.output.write(&worker.pool, |out| {
            match engine.send_head(key, &head, length, &common, version, out) {
                hayami_h2::Body::Complete => Some(0),
                hayami_h2::Body::Content if room && small.len() <= engine.room(key) => {
                    engine.send_data(key, small, true, out);
                    Some(small.len() as u64)
                }
                hayami_h2::Body::Content => None,
            }
        });
        drop(common);
        if let Some(fields) = head.into_own() {
            worker.pool.give_fields(fields);
        }
        match complete {
            Some(octets) => self.complete(link, worker, observer, octets),
            None => self.send_later(worker, key, is_granted, content, observer),
        }
    }

    /// The response's last octet is in the output: the observer is told when it has left.
    #[inline]
    fn complete<S>(
        &self,
        link: &mut Link,
        worker: &Worker<S>,
        observer: Option<Box<dyn Observer>>,
        octets: u64,
    ) {
        if let Some(observer) = observer {
            let (began, ends) = (worker.clock.refresh_if_exact(), link.output.position());
            link.reports.expect(Report { observer, began, content: Extent::Octets(octets), ends });
        }
    }

    /// The content waits for its turn.
    fn send_later<S>(
        &mut self,
        worker: &Worker<S>,
        key: Key,
        is_granted: bool,
        content: Content,
        observer: Option<Box<dyn Observer>>,
    ) {
        let began = Some(worker.clock.refresh_if_exact());
        let Some(slot) = self.engine.get(key) else {
            // The client has canceled it.
            let stream = Stream { observer, began, ..Stream::default() };
            return stream.abort(&worker.clock, "the client canceled the request");
        };
        let stream = self.spare.stream(slot);
        (stream.work, stream.observer, stream.began) = (Work::Body(Body::new(content)), observer, began);
        stream.tunnel &= is_granted;
        if stream.tunnel {
            self.tunnels.push(key);
        }
        self.busiest = self.busiest.max(self.engine.streams());
        self.engine.set_ready(key, true);
    }

    /// Goes on with the streams that were woken.
    #[inline]
    pub(super) fn take_woken<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        while let Some(stream) = self.woken.pop() {
            if let Some(at) = self.waiting.iter().position(|key| key.stream_id() == stream) {
                let key = self.waiting.swap_remove(at);
                self.resume(link, worker, key);
            } else if let Some(key) = self.engine.find(stream) {
                self.push(link, worker, key);
                // Who takes its content does not do so on this connection's behalf.
                self.settle_content(link, worker, key);
            }
        }
    }

    fn resume<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key) {
        let stream = self.engine.get(key).and_then(|slot| slot.as_deref_mut());
        match stream.map(|stream| &mut stream.work) {
            Some(Work::Body(_)) => {
                self.engine.set_ready(key, true);
                self.push(link, worker, key);
            }
            Some(Work::Hear) => self.hear_out(link, worker, key),
            Some(work @ Work::Answer(_)) => {
                let work = std::mem::take(work);
                self.wait_for(link, worker, key, work);
            }
            Some(Work::None) | None => {}
        }
    }

    /// Sends an answer if it is there, and waits for it otherwise.
    pub(super) fn wait_for<S: Service>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        key: Key,
        mut work: Work,
    ) {
        let Work::Answer(answer) = &mut work else { return };
        let stream = self.engine.get(key).and_then(|slot| slot.as_deref());
        let content = stream.and_then(|stream| stream.content.as_ref());
        let own = || worker.woken.waker(link.token, key.stream_id());
        let waker = content.map_or_else(own, Feed::waker);
        let mut poll = || answer.as_mut().poll(&mut Context::from_waker(&waker));
        let polled = match content {
            Some(feed) => feed.attend(poll),
            None => poll(),
        };
        let kept = stream.is_some();
        if kept {
            self.send_interim(link, worker, key);
        }
        match polled {
            Poll::Ready(answer) => {
                drop(work);
                self.send(link, worker, key, answer);
            }
            Poll::Pending => {
                if let Some(slot) = self.engine.get(key) {
                    self.spare.stream(slot).work = work;
                    self.waiting.push(key);
                }
            }
        }
        if kept {
            self.settle_content(link, worker, key);
        }
    }

    /// Sends content, the most urgent first.
    pub(super) fn pump<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
        while !link.output.is_full() {
            let Some((key, room)) = self.engine.next() else {
                return if worker.budget.is_used_up() { Need::Turn } else { Need::Input };
            };
            let frame = self.max_frame();
            let most = if self.engine.may_send_on(key) { link.output.room().max(frame) } else { frame };
            self.send_content(link, worker, key, room.min(most));
            worker.budget.spend(cost::SYSTEM_CALL);
        }
        Need::Room
    }

    /// The most content of a frame: what the peer takes, and no more than the output holds.
    fn max_frame(&self) -> usize {
        self.engine.max_data().min(ROOM)
    }

    /// Sends content of a stream, `room` bytes at most: of a file as many frames as that takes, since each read of it is
    /// a system call, of anything else one.
    fn send_content<S>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key, room: usize) {
        let frame = self.max_frame();
        let Some(slot) = self.engine.get(key) else { return };
        let Some(Stream { work: Work::Body(body), sent, content, tunnel, .. }) = slot.as_deref_mut() else {
            return self.engine.set_ready(key, false);
        };
        let content = content.as_ref();
        let own = || worker.woken.waker(link.token, key.stream_id());
        let wake = || content.map_or_else(own, Feed::waker);
        let mut take = |out: &mut Vec<u8>| match content {
            Some(feed) => feed.attend(|| body.take(&wake, room, frame, out)),
            None => body.take(&wake, room, frame, out),
        };
        // The place of the header is kept, since only afterwards it is known how much there was.
        let (piece, header, copied) = link.output.write(&worker.pool, |out| {
            let header = out.len();
            out.resize(header + FRAME_HEADER, 0);
            let piece = take(out);
            (piece, header, framed_len(out.len() - header, frame))
        });
        let (len, last, shared, pending) = match piece {
            Piece::Shared { octets, last } => (octets.len(), last, Some(octets), false),
            Piece::Copied { last } => (copied, last, None, false),
            Piece::Pending => (copied, false, None, true),
            Piece::Broken(why) => return self.break_off(link, worker, key, header, why),
        };
        *sent += len as u64;
        self.deadlines.sent += len as u64;
        let trailers = body.trailers(last);
        let takes = content.is_some();
        let hears = last && *tunnel && content.is_some_and(Feed::is_open);
        let mut ended = if last && !hears { slot.take() } else { None };
        // Nobody will take it any more: the client may send what is left to be thrown away.
        let held = ended.as_mut().and_then(|stream| stream.content.take()).map_or(0, Feed::end);
        let (engine, config) = (&mut self.engine, &*self.config);
        link.output.write(&worker.pool, |out| {
            write_headers(engine, key, header, (len, frame), last && trailers.is_none(), out);
            if let Some(trailers) = trailers {
                engine.send_trailers(key, &trailers, out);
            }
            engine.release_stream_window(config, key, held, out);
        });
        if let Some(octets) = shared {
            link.output.put(&worker.pool, Content::Shared(octets));
        }
        if pending {
            self.engine.set_ready(key, false);
            self.waiting.push(key);
        }
        if hears {
            self.hear_on(key);
        }
        self.spare.complete(ended, link);
        if takes {
            self.settle_content(link, worker, key);
        }
    }

    /// Ends a stream whose content has failed; in the output, `header` is where its next frame would begin.
    #[cold]
    pub(super) fn break_off<S>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        key: Key,
        header: usize,
        why: &'static str,
    ) {
        let code = if self.is_tunnel(key) { ErrorCode::CONNECT_ERROR } else { ErrorCode::INTERNAL_ERROR };
        let engine = &mut self.engine;
        let stream = link.output.write(&worker.pool, |out| {
            out.truncate(header);
            engine.reset(key, code, out)
        });
        stream.flatten().into_iter().for_each(|stream| stream.abort(&worker.clock, why));
    }
}

/// Bytes of content in DATA frames that take `framed` bytes, all but the last of them with `frame` bytes of content.
fn framed_len(framed: usize, frame: usize) -> usize {
    framed - framed.div_ceil(FRAME_HEADER + frame) * FRAME_HEADER
}

/// Writes the headers of DATA frames into their places, the first of which is `place`: `left` bytes of content, in frames
/// of `frame` bytes but for the last. A frame that would say nothing is left out.
fn write_headers(
    engine: &mut Server<Slot>,
    key: Key,
    mut place: usize,
    (mut left, frame): (usize, usize),
    last: bool,
    out: &mut Vec<u8>,
) {
    if left == 0 && !last {
        return out.truncate(place);
    }
    while left > frame {
        write_header(engine, key, place, frame, false, out);
        place += FRAME_HEADER + frame;
        left -= frame;
    }
    write_header(engine, key, place, left, last, out);
}

/// Writes the header of a DATA frame with `len` bytes of content into its place.
fn write_header(
    engine: &mut Server<Slot>,
    key: Key,
    place: usize,
    len: usize,
    last: bool,
    out: &mut Vec<u8>,
) {
    let end = out.len();
    engine.begin_data(key, len, last, out);
    out.copy_within(end.., place);
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_of_frames_is_what_is_between_their_headers() {
        for (framed, len) in [(9, 0), (10, 1), (109, 100), (119, 101), (218, 200), (228, 201)] {
            assert_eq!(framed_len(framed, 100), len, "{framed}");
        }
    }
}
