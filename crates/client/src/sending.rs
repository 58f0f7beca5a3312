//! A request's bytes on their way out, and whether they could be sent once more.

use super::call::Call;
use super::cause::Cause;
use super::engine::Engine;
use super::retry::Left;
use super::upstream::Upstream;
use hayami_h1::RequestContent;
use hayami_http::{Source, SourceError};
use hayami_net::buffer::Pool;
use std::task::{Context, Poll};

/// Bytes of content that are taken at once: they fit a record of FastCGI, whose length has 16 bits.
const ROOM: usize = 64 * 1024 - 8;

/// Bytes that are kept of a request that may have to be sent once more. Larger ones with content risk what all
/// requests risk with every proxy: that the upstream closes the connection in the same moment.
const KEPT: usize = 16 * 1024;

/// A request that is being sent.
#[derive(Default)]
pub(super) struct Sending {
    out: Vec<u8>,
    sent: usize,
    /// What has left stays in `out`, if it is little.
    keeps: bool,
    /// What is still to come of the content.
    content: Option<Box<dyn Source>>,
    /// Bytes of the content were taken.
    touched: bool,
    /// Bytes of the request have left and are not in `out` any more.
    shortened: bool,
    /// The upstream takes no more of it.
    stopped: bool,
    /// Content waits until the upstream wants it.
    held: bool,
    /// Bytes of its head.
    head: usize,
}

impl Sending {
    /// Writes a request's head; its content is taken over.
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

    /// Bytes of the request's head.
    pub(super) fn head_bytes(&self) -> usize {
        self.head
    }

    /// Whether content waits until the upstream wants it.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Content waits no longer.
    #[cold]
    pub(super) fn let_go(&mut self) {
        self.held = false;
    }

    /// What has to be sent.
    pub(super) fn unsent(&self) -> &[u8] {
        if self.stopped { &[] } else { &self.out[self.sent..] }
    }

    /// So many bytes have left.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    /// Whether nothing is to be sent any more.
    pub(super) fn is_complete(&self) -> bool {
        self.stopped || self.content.is_none() && self.unsent().is_empty()
    }

    /// Whether the request is only waiting for its own content.
    pub(super) fn is_hungry(&self) -> bool {
        !self.is_complete() && self.unsent().is_empty()
    }

    /// Takes content. Pending: none is there.
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

    /// What was to be sent has left: gives memory back, unless it is kept to be sent once more.
    pub(super) fn release(&mut self, pool: &Pool) {
        if self.sent == self.out.len() && (self.shortened || !self.keeps) {
            self.shortened |= self.sent > 0;
            self.sent = 0;
            pool.give(std::mem::take(&mut self.out));
        }
    }

    /// Whether nothing has left.
    pub(super) fn is_unsent(&self) -> bool {
        self.sent == 0 && !self.shortened
    }

    /// What could be sent of the content once more.
    pub(super) fn left(&self) -> Left {
        match (self.touched, self.shortened) {
            (false, _) => Left::Whole,
            (true, false) => Left::Encoded,
            (true, true) => Left::Part,
        }
    }

    /// Prepares to send the request from its first byte on.
    pub(super) fn rewind(&mut self, upstream: &Upstream, engine: &mut Engine, call: &Call) {
        if self.shortened {
            *engine = engine.anew();
            self.end_memory(upstream.outbound.pool());
            self.write_head(upstream, engine, call);
        }
        (self.sent, self.shortened, self.stopped) = (0, false, false);
    }

    /// Gives up the rest. What was not touched can be used elsewhere.
    pub(super) fn into_content(mut self, pool: &Pool) -> Option<Box<dyn Source>> {
        self.end_memory(pool);
        self.content.filter(|_| !self.touched)
    }

    /// The rest is not sent on this connection.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether all of it has left.
    pub(super) fn has_left(&self) -> bool {
        !self.stopped && self.is_complete()
    }

    /// Gives memory back, whatever is in it.
    pub(super) fn end_memory(&mut self, pool: &Pool) {
        pool.give(std::mem::take(&mut self.out));
        self.sent = 0;
    }
}
