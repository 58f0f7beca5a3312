//! HTTP/1.1 as an exchange sees it: the connection is its only stream.

use crate::clock::Instant;
use crate::exchange::{Extent, Follows, Piece, Protocol, Report, Reset, Room};
use crate::link::Link;
use crate::service::{Observer, Request};
use crate::worker::Worker;
use hayami_h1::{CutShort, Framing, Server};
use hayami_http::{Content, FieldSection, Method, RequestHead, ResponseHead};
use std::borrow::Cow;
use std::task::Waker;

/// The only stream of a connection.
pub(super) struct Stream<'a, S> {
    pub(super) engine: &'a mut Server,
    pub(super) link: &'a mut Link,
    pub(super) worker: &'a Worker<S>,
}

impl<S> Protocol for Stream<'_, S> {
    const READS_AHEAD: bool = false;

    #[inline]
    fn request<'a>(&'a mut self, head: &'a mut RequestHead, length: Option<u64>) -> Request<'a> {
        self.link.as_request(self.worker, head, length)
    }

    #[inline]
    fn may_tunnel(&self, head: &RequestHead, follows: bool) -> bool {
        (self.engine.asks_upgrade() || head.method() == Method::Connect) && !follows
    }

    fn expects_continue(&self, _: &RequestHead) -> bool {
        self.engine.expects_continue()
    }

    #[inline]
    fn waker(&mut self) -> Cow<'_, Waker> {
        Cow::Borrowed(self.link.own_waker(self.worker))
    }

    fn interim(&mut self, head: &ResponseHead) {
        let engine = &mut *self.engine;
        self.link.output.write(&self.worker.pool, |out| engine.send_interim(head, out));
    }

    /// Closing the connection is cheaper than reading the content.
    fn will_not_read(&mut self, _: u64) {
        self.engine.close_after_response();
    }

    #[inline]
    fn head(&mut self, head: &ResponseHead, length: Option<u64>, common: (&FieldSection, u64)) -> Follows {
        if self.link.info.ends.get() {
            self.engine.close_after_response();
        }
        let lines = common.0.wire_form().unwrap_or_default();
        let engine = &mut *self.engine;
        let pool = &self.worker.pool;
        match self.link.output.write(pool, |out| engine.send_head(head, length, lines, out)) {
            Framing::Complete => Follows::Nothing,
            Framing::Length(_) | Framing::Chunked | Framing::UntilClose => Follows::Content,
            Framing::Tunnel => Follows::Tunnel,
        }
    }

    /// Everything but streamed content goes to the output, which sends it without a copy.
    #[inline]
    fn whole(&mut self, content: Content) -> Option<Content> {
        let length = content.len();
        let source = self.link.output.put(&self.worker.pool, content);
        if let (None, Some(length)) = (&source, length) {
            self.engine.content_sent(length);
        }
        source.map(Content::Stream)
    }

    #[inline]
    fn room(&self) -> Room {
        Room::unframed(self.link.output.room())
    }

    #[inline]
    fn data(&mut self, take: impl FnOnce(&mut Vec<u8>) -> Piece) -> Result<usize, &'static str> {
        let engine = &mut *self.engine;
        self.link.output.write(&self.worker.pool, |out| {
            let mark = engine.begin_chunk(out);
            let begun = out.len();
            let piece = take(out);
            if let Piece::Shared { bytes, .. } = &piece {
                out.extend_from_slice(bytes.as_slice());
            }
            let written = out.len() - begun;
            engine.end_chunk(mark, out);
            match piece {
                Piece::Shared { last: true, .. } | Piece::Copied { last: true } => {
                    engine.send_end(None, out).map_err(too_short)?;
                }
                _ => {}
            }
            Ok(written)
        })
    }

    fn trailers(&mut self, trailers: &FieldSection) -> Result<(), &'static str> {
        let engine = &mut *self.engine;
        let pool = &self.worker.pool;
        self.link.output.write(pool, |out| engine.send_end(Some(trailers), out)).map_err(too_short)
    }

    /// Only the end of the connection shows that the response is incomplete.
    fn reset(&mut self, reset: Reset, why: &'static str) {
        self.link.resets = reset == Reset::Tunnel;
        self.link.abort(self.worker, why);
    }

    fn stop_receiving(&mut self, _: Reset) {
        self.link.close(true);
    }

    fn unsent(&self) -> u64 {
        self.link.output.position() - self.link.output.sent()
    }

    #[inline]
    fn report(&mut self, (observer, began): (Box<dyn Observer>, Instant), content: u64) {
        let (content, ends) = (Extent::Contiguous(content), self.link.output.position());
        self.link.reports.expect(Report { observer, began, content, ends });
    }
}

#[cold]
fn too_short(_: CutShort) -> &'static str {
    "the content is shorter than its Content-Length"
}
