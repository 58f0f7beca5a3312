//! An HTTP/2 stream as its exchange sees it.

use crate::clock::Instant;
use crate::exchange::{Extent, Follows, Piece, Protocol, Report, Reset, Room, Slot};
use crate::link::Link;
use crate::output::{COPY_SIZE, ROOM};
use crate::service::{Observer, Request};
use crate::worker::Worker;
use hayami_h2::{Body, Config, ErrorCode, Key, Server};
use hayami_http::{Content, FieldSection, Known, Method, RequestHead, ResponseHead};
use std::borrow::Cow;
use std::task::Waker;

/// Bytes of a frame header (RFC 9113 §4.1).
const FRAME_HEADER: usize = 9;

/// One stream of a connection.
pub(super) struct Stream<'a, S> {
    pub(super) engine: &'a mut Server<Slot>,
    pub(super) config: &'a Config,
    pub(super) link: &'a mut Link,
    pub(super) worker: &'a Worker<S>,
    pub(super) key: Key,
    /// Bytes of content that it may send.
    pub(super) room: usize,
}

impl<S> Stream<'_, S> {
    /// Maximum content of a frame: the peer's limit, and no more than the output holds.
    fn max_frame(&self) -> usize {
        self.engine.max_data().min(ROOM)
    }

    #[inline]
    fn write<T>(&mut self, write: impl FnOnce(&mut Server<Slot>, Key, &mut Vec<u8>) -> T) -> T {
        let (engine, key) = (&mut *self.engine, self.key);
        self.link.output.write(&self.worker.pool, |out| write(engine, key, out))
    }
}

impl<S> Protocol for Stream<'_, S> {
    const READS_AHEAD: bool = true;

    #[inline]
    fn request<'a>(&'a mut self, head: &'a mut RequestHead, length: Option<u64>) -> Request<'a> {
        let mut request = self.link.as_request(self.worker, head, length);
        request.stream = Some(self.key.stream_id());
        request
    }

    #[inline]
    fn may_tunnel(&self, head: &RequestHead, follows: bool) -> bool {
        head.method() == Method::Connect && follows
    }

    fn expects_continue(&self, head: &RequestHead) -> bool {
        head.get(Known::Expect).is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
    }

    fn waker(&mut self) -> Cow<'_, Waker> {
        Cow::Owned(self.worker.woken.waker(self.link.token, self.key.stream_id()))
    }

    fn interim(&mut self, head: &ResponseHead) {
        let mut fields = FieldSection::default();
        head.iter().for_each(|(name, value)| fields.append(name, value));
        self.write(|engine, key, out| engine.send_interim(key, head.status(), &fields, out));
    }

    #[inline]
    fn head(
        &mut self,
        head: &ResponseHead,
        length: Option<u64>,
        (common, version): (&FieldSection, u64),
    ) -> Follows {
        self.link.idle_since = self.worker.clock.millis();
        match self.write(|engine, key, out| engine.send_head(key, head, length, common, version, out)) {
            Body::Complete => Follows::Nothing,
            Body::Content => Follows::Content,
            Body::Tunnel => Follows::Tunnel,
        }
    }

    /// Small content follows its head at once if nothing prevents that. Larger content waits for its turn.
    #[inline]
    fn whole(&mut self, content: Content) -> Option<Content> {
        match &content {
            Content::Shared(shared) if shared.len() <= self.engine.room(self.key).min(COPY_SIZE) => {
                if self.link.output.is_full() {
                    return Some(content);
                }
                self.write(|engine, key, out| engine.send_data(key, shared.as_slice(), true, out));
                None
            }
            _ => Some(content),
        }
    }

    #[inline]
    fn room(&self) -> Room {
        Room { bytes: self.room, frame: self.max_frame(), header: FRAME_HEADER }
    }

    fn data(&mut self, take: impl FnOnce(&mut Vec<u8>) -> Piece) -> Result<usize, &'static str> {
        let frame = self.max_frame();
        // Leaves space for the frame header, which is written once the length is known.
        let (written, shared) = self.write(|engine, key, out| {
            let header = out.len();
            out.resize(header + FRAME_HEADER, 0);
            let (written, last, shared) = match take(out) {
                Piece::Broken(_) => {
                    out.truncate(header);
                    return (0, None);
                }
                Piece::Shared { bytes, last } => (bytes.len(), last, Some(bytes)),
                Piece::Copied { last } => (framed_len(out.len() - header, frame), last, None),
                Piece::Pending => (framed_len(out.len() - header, frame), false, None),
            };
            write_headers(engine, key, header, (written, frame), last, out);
            (written, shared)
        });
        if let Some(bytes) = shared {
            self.link.output.put(&self.worker.pool, Content::Shared(bytes));
        }
        Ok(written)
    }

    fn trailers(&mut self, trailers: &FieldSection) -> Result<(), &'static str> {
        self.write(|engine, key, out| engine.send_trailers(key, trailers, out));
        Ok(())
    }

    #[cold]
    fn reset(&mut self, reset: Reset, _: &'static str) {
        let code = match reset {
            Reset::Response => ErrorCode::INTERNAL_ERROR,
            Reset::Tunnel => ErrorCode::CONNECT_ERROR,
            Reset::Content => ErrorCode::NO_ERROR,
            Reset::Late => ErrorCode::CANCEL,
        };
        self.write(|engine, key, out| engine.reset(key, code, out));
    }

    /// In HTTP/2 the only way is to end the stream (RFC 9113 §8.1).
    fn stop_receiving(&mut self, reset: Reset) {
        self.reset(reset, "");
    }

    #[inline]
    fn report(&mut self, (observer, began): (Box<dyn Observer>, Instant), content: u64) {
        let (content, ends) = (Extent::Spread(content), self.link.output.position());
        self.link.reports.expect(Report { observer, began, content, ends });
    }

    /// Opens the connection's window at once, so that a slow handler does not block other streams.
    fn kept(&mut self, bytes: usize) {
        let config = self.config;
        self.write(|engine, key, out| engine.release_connection_window(config, key, bytes, out));
    }

    /// Opens the stream's window only as its content is taken, so that no more than the announced window waits in
    /// memory.
    fn taken(&mut self, bytes: usize) {
        if bytes > 0 {
            let config = self.config;
            self.write(|engine, key, out| engine.release_stream_window(config, key, bytes, out));
        }
    }

    fn discarded(&mut self, bytes: usize) {
        let config = self.config;
        self.write(|engine, key, out| engine.consumed(config, key, bytes, out));
    }
}

/// Bytes of content in DATA frames of `framed` bytes in total, all but the last of them with `frame` bytes of
/// content.
fn framed_len(framed: usize, frame: usize) -> usize {
    framed - framed.div_ceil(FRAME_HEADER + frame) * FRAME_HEADER
}

/// Writes DATA frame headers into the space left for them, the first at `place`: for `left` bytes of content in
/// frames of `frame` bytes, the last of which may be shorter. An empty frame without END_STREAM is omitted.
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

/// Writes the header of a DATA frame with `len` bytes of content at `place`.
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
