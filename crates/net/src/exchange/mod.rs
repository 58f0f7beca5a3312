//! One exchange: a request and its response, whatever the protocol.
//!
//! ```text
//!            begin ── Service::respond ──▸ Ready: send ─ everything is sent ─▸ no exchange
//!              │                             │ a part has to wait
//! content ──▸ BodySender                     ▾
//! (arrived,    │      Later ──▸ Exchange { Answer ─▸ Body ─▸ (tunnels: Receive) } ─▸ complete, or aborted
//!  ended)      ▾                               │        │
//!           handler, source              head, interim  data, trailers, end, reset ──▸ Protocol
//! ```
//!
//! Everything between a request and the end of its response is implemented here, once for all protocols: waiting for
//! the response (`answer`), the kinds of content and how they are sent (`body`), request content on its way to the
//! handler (`content`), timeouts of slow clients (`deadlines`), notifications of observers (`reports`), and what
//! differs for tunnels (`tunnel`).
//!
//! **A protocol** ([`Protocol`]) writes what an exchange sends, and limits how much: head, data, trailers, end,
//! reset, room. It is a view of one stream of one connection that exists for one call, and a type parameter, so that
//! each protocol is monomorphized. It does not assume that streams share one byte stream: where bytes are queued,
//! what limits them, and when they have been sent is up to the protocol.
//!
//! **A session** (`http1`, `http2`) owns the connection: it reads, manages streams and their exchanges, and schedules
//! them. It tells an exchange what the client does: [`content`](Exchange::content) has arrived,
//! [`content_complete`](Exchange::content_complete), the client is gone ([`abort`](Exchange::abort)); and when to
//! continue: it was woken, or there is room ([`go_on`](Exchange::go_on)). The result ([`Progress`]) says what the
//! exchange waits for next.
//!
//! **A response that is ready at once has no exchange.** [`begin`] calls the service and sends the response; only
//! what has to wait becomes an [`Exchange`], in memory reused from earlier exchanges of the worker ([`Pool`]). So an
//! idle connection has none, and a cached file needs none.
//!
//! The design has to suit HTTP/3: its session would be like HTTP/2's, with a buffer and a window per stream;
//! `stop_receiving` is its STOP_SENDING, `reset` its RESET_STREAM, and a DATA frame has any length.

mod answer;
mod begin;
mod body;
mod content;
mod deadlines;
mod protocol;
mod reports;
#[cfg(test)]
mod tests;
mod tunnel;

use crate::clock::{Clock, Instant, Millis};
use crate::pace::Pace;
use crate::request_body::BodySender;
use crate::service::{Answer, InterimHeads, Observer};
use body::Body;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;

pub(crate) use answer::refuse;
pub(crate) use begin::begin;
pub(crate) use content::{Arrived, DISCARD};
pub(crate) use deadlines::{Deadlines, Streams};
pub(crate) use protocol::{Follows, Piece, Protocol, Reset, Room};
pub(crate) use reports::{Extent, Report, Reports};

/// What a session stores for each stream: nothing, unless the stream outlives the turn of its request.
pub(crate) type Slot = Option<Box<Exchange>>;

/// A request whose response cannot be completed at once.
#[derive(Default)]
pub(crate) struct Exchange {
    /// The request content, while it has a reader. Dropped before the reader.
    content: Option<BodySender>,
    work: Work,
    interim: Option<InterimHeads>,
    /// The observer of the response, and when the head was written.
    observer: Option<(Box<dyn Observer>, Instant)>,
    /// Bytes of response content sent.
    sent: u64,
    /// Bytes of request content received, and how many were announced.
    received: u64,
    length: Option<u64>,
    /// The client's pace in what the exchange waits for: granting credit for the response, or sending content that is
    /// discarded.
    pub(crate) pace: Option<Pace>,
    /// For tunnels: since when the worker has been draining.
    pub(crate) drains_since: Option<Millis>,
    /// The client waits for 100 before it sends content (RFC 9110 §10.1.1).
    expects_continue: bool,
    /// The request asks for a tunnel; once answered: the exchange is a tunnel.
    tunnel: bool,
    /// The handler waits for content.
    starves: bool,
}

/// The state of an exchange.
#[derive(Default)]
enum Work {
    /// The response is complete, and what the client still sends is discarded.
    #[default]
    Discard,
    /// Waiting for the response.
    Answer(Pin<Box<dyn Future<Output = Answer>>>),
    /// The head is sent, content follows.
    Body(Body),
    /// The server's side of a tunnel has ended; the client may still send.
    Receive,
}

/// Result of a step of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It can continue as soon as there is room.
    More,
    /// It waits for the response, or for content in either direction; its waker reports progress.
    Pending,
    /// The server's side of a tunnel has ended; the client may still send.
    HalfClosed,
    /// The response is complete.
    Complete,
    /// The response was aborted: the stream is reset, or the connection closed.
    Broken,
}

impl Exchange {
    /// Whether the response is complete and request content is still to come.
    #[inline]
    pub(crate) fn is_discarding(&self) -> bool {
        matches!(self.work, Work::Discard)
    }

    /// Whether it waits for the response.
    pub(crate) fn awaits_answer(&self) -> bool {
        matches!(self.work, Work::Answer(_))
    }

    /// Whether response content is to be sent.
    pub(crate) fn has_body(&self) -> bool {
        matches!(self.work, Work::Body(_))
    }

    /// Whether the server's side of a tunnel has ended while the client may still send.
    pub(crate) fn is_half_closed(&self) -> bool {
        matches!(self.work, Work::Receive)
    }

    /// Bytes of response content sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes of request content that are known to be outstanding.
    pub(crate) fn remaining(&self) -> u64 {
        self.length.map_or(0, |length| length.saturating_sub(self.received))
    }

    /// Clears the exchange. Field by field: a complete exchange has few fields set.
    fn reset(&mut self) {
        let Self { content, work, interim, observer, sent, received, length, pace, drains_since, .. } = self;
        // Dropped before its reader.
        *content = None;
        *work = Work::Discard;
        (*interim, *observer, *pace, *drains_since) = (None, None, None, None);
        (*sent, *received, *length) = (0, 0, None);
        (self.expects_continue, self.tunnel, self.starves) = (false, false, false);
    }

    /// Aborts the response. Of the bytes written, `unsent` were not sent.
    pub(crate) fn abort(&mut self, clock: &Clock, unsent: u64, why: &'static str) {
        // Dropped before its reader.
        self.content = None;
        self.work = Work::Discard;
        if let Some((observer, began)) = self.observer.take() {
            let content = Extent::Spread(self.sent.saturating_sub(unsent));
            Report { observer, began, content, ends: 0 }.tell(0, clock, Some(why));
        }
    }
}

/// Memory of completed exchanges, kept for reuse.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "the boxes go to the sessions and come back")]
pub(crate) struct Pool(RefCell<Vec<Box<Exchange>>>);

/// Maximum number of exchanges a worker keeps: about 300 KB.
const KEPT: usize = 1024;

impl Pool {
    /// Returns an empty exchange.
    #[inline]
    pub(crate) fn take(&self) -> Box<Exchange> {
        self.0.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes back a completed exchange.
    #[inline]
    pub(crate) fn give(&self, mut exchange: Box<Exchange>) {
        exchange.reset();
        let mut kept = self.0.borrow_mut();
        if kept.len() < KEPT {
            kept.push(exchange);
        }
    }

    /// Number of exchanges kept.
    #[cfg(test)]
    fn kept(&self) -> usize {
        self.0.borrow().len()
    }
}
