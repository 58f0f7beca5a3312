//! The outgoing bytes of a request, and whether they can be sent again.

use super::call::Call;
use super::cause::Cause;
use super::engine::Engine;
use super::retry::Left;
use super::upstream::Upstream;
use hayami_h1::RequestContent;
use hayami_http::{Source, SourceError};
use hayami_net::buffer::Pool;
use std::task::{Context, Poll};

/// Content bytes taken at once: they fit a FastCGI record, whose length has 16 bits.
const ROOM: usize = 64 * 1024 - 8;

/// Bytes kept of a request that may have to be resent. Larger requests with content take the risk common to
/// all proxies: that the upstream closes the connection at the same moment.
const KEPT: usize = 16 * 1024;

/// A request being sent.
#[derive(Default)]
pub(super) struct Sending {
    out: Vec<u8>,
    sent: usize,
    /// Whether sent bytes stay in `out` while there are few.
    keeps: bool,
    /// The remaining content.
    content: Option<Box<dyn Source>>,
    /// Whether any content has been taken.
    touched: bool,
    /// Whether sent bytes have been removed from `out`.
    shortened: bool,
    /// The upstream accepts no more of it.
    stopped: bool,
    /// Whether content waits for 100 (Continue).
    held: bool,
    /// Bytes of the request head.
    head: usize,
}

impl Sending {
    /// Writes a request head and takes ownership of the content.
    pub(super) fn begin(upstream: &Upstream, engine: &mut Engine, reused: bool, call: &mut Call) -> Self {
        let content = call.content.take().filter(|source| source.length() != Some(0));
        let keeps = reused && call.repeatable && content.is_some();
        let held = call.options.expects_continue && content.is_some();
        let mut sending = Self { content, keeps, held, ..Self::default() };
        sending.write_head(upstream, engine, call);
        sending
    }

    fn write_head(&mut self, upstream: &Upstream, engine: &mut Engine, call: &Call) {
        let content = match &self.content {
            None => RequestContent::None,
            Some(source) => source.length().map_or(RequestContent::Chunked, RequestContent::Length),
        };
        let request = (&call.method[..], &call.target[..], &*call.fields);
        self.out = upstream.outbound.pool().take();
        engine.tell(call.errors.as_ref());
        match &call.upgrade {
            None => engine.send_head(upstream.closes(), request, content, &mut self.out),
            Some(switch) => engine.send_upgrade_head(request, &switch.protocols, &mut self.out),
        }
        self.head = self.out.len();
    }

    /// Bytes of the request head.
    pub(super) fn head_bytes(&self) -> usize {
        self.head
    }

    /// Whether content waits for 100 (Continue).
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Releases the held content.
    #[cold]
    pub(super) fn let_go(&mut self) {
        self.held = false;
    }

    /// The bytes to send.
    pub(super) fn unsent(&self) -> &[u8] {
        if self.stopped { &[] } else { &self.out[self.sent..] }
    }

    /// Marks `bytes` as sent.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    /// Whether nothing remains to be sent.
    pub(super) fn is_complete(&self) -> bool {
        self.stopped || self.content.is_none() && self.unsent().is_empty()
    }

    /// Whether the request is only waiting for its own content.
    pub(super) fn is_hungry(&self) -> bool {
        !self.is_complete() && self.unsent().is_empty()
    }

    /// Takes content; pending if none is available.
    pub(super) fn pull(
        &mut self,
        cx: &mut Context<'_>,
        pool: &Pool,
        engine: &mut Engine,
    ) -> Result<Poll<()>, Cause> {
        let Some(source) = &mut self.content else { return Ok(Poll::Ready(())) };
        if self.held {
            return Ok(Poll::Pending);
        }
        let kept = self.keeps && self.out.len() < KEPT;
        if self.sent > 0 && self.sent == self.out.len() && !kept {
            self.out.clear();
            (self.sent, self.shortened) = (0, true);
        }
        if self.out.capacity() == 0 {
            self.out = pool.take();
        }
        let mark = engine.begin_chunk(&mut self.out);
        let before = self.out.len();
        let filled = source.fill(cx, ROOM, &mut self.out);
        let taken = self.out.len() > before;
        engine.end_chunk(mark, &mut self.out);
        self.touched |= taken;
        match filled {
            Poll::Ready(Ok(false)) => Ok(Poll::Ready(())),
            Poll::Ready(Ok(true)) => self.end(engine).map(Poll::Ready),
            Poll::Ready(Err(error)) => Err(Cause::Content(error)),
            Poll::Pending if taken => Ok(Poll::Ready(())),
            Poll::Pending => {
                self.release(pool);
                Ok(Poll::Pending)
            }
        }
    }

    fn end(&mut self, engine: &mut Engine) -> Result<(), Cause> {
        let trailers = self.content.take().and_then(|mut source| source.trailers());
        let ended = engine.send_end(trailers.as_ref(), &mut self.out);
        ended.map_err(|cut| Cause::Content(SourceError(cut.to_string())))
    }

    /// Releases the buffer once it has been sent, unless it is kept for a retry.
    pub(super) fn release(&mut self, pool: &Pool) {
        if self.sent == self.out.len() && (self.shortened || !self.keeps) {
            self.shortened |= self.sent > 0;
            self.sent = 0;
            pool.give(std::mem::take(&mut self.out));
        }
    }

    /// Whether nothing has been sent.
    pub(super) fn is_unsent(&self) -> bool {
        self.sent == 0 && !self.shortened
    }

    /// How much of the content could be sent again.
    pub(super) fn left(&self) -> Left {
        match (self.touched, self.shortened) {
            (false, _) => Left::Whole,
            (true, false) => Left::Encoded,
            (true, true) => Left::Part,
        }
    }

    /// Prepares to send the request again from its first byte.
    pub(super) fn rewind(&mut self, upstream: &Upstream, engine: &mut Engine, call: &Call) {
        if self.shortened {
            *engine = engine.anew();
            self.end_memory(upstream.outbound.pool());
            self.write_head(upstream, engine, call);
        }
        (self.sent, self.shortened, self.stopped) = (0, false, false);
    }

    /// Abandons the request; returns its content if none of it was taken.
    pub(super) fn into_content(mut self, pool: &Pool) -> Option<Box<dyn Source>> {
        self.end_memory(pool);
        self.content.filter(|_| !self.touched)
    }

    /// Stops sending on this connection.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether the whole request has been sent.
    pub(super) fn has_left(&self) -> bool {
        !self.stopped && self.is_complete()
    }

    /// Releases the buffer, whatever it contains.
    pub(super) fn end_memory(&mut self, pool: &Pool) {
        pool.give(std::mem::take(&mut self.out));
        self.sent = 0;
    }
}
