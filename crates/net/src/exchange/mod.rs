//! One exchange: a request and its answer, whatever protocol carries them.
//!
//! ```text
//!            begin ── Service::respond ──▸ Ready: send ─ all of it goes out ─▸ no exchange
//!              │                             │ some of it has to wait
//! content ──▸ Feed                           ▾
//! (arrived,    │      Later ──▸ Exchange { Answer ─▸ Body ─▸ (tunnels: Receive) } ─▸ complete, or broken off
//!  ended)      ▾                               │        │
//!           handler, source              head, interim  data, trailers, end, reset ──▸ Protocol
//! ```
//!
//! What happens between a request and the end of its response is here, once: the answer that is awaited (`answer`),
//! what its content is made of and how it is sent (`body`), the request's content on its way to the handler
//! (`content`), which clients are late (`deadlines`), what observers are told (`reports`), and what differs once a
//! stream is a tunnel (`tunnel`).
//!
//! **A protocol** ([`Protocol`]) puts on the wire what an exchange says, and says how much it may: head, data, trailers,
//! end, reset, room. It is a view of one stream of one connection, made for a call and gone with it, and a type
//! parameter, so that each protocol has its own code without a table of functions. Nothing in it supposes that streams
//! share one stream of bytes: where bytes are kept until they leave, what limits them, and when they have left, is the
//! protocol's affair.
//!
//! **A session** (`http1`, `http2`) has the connection: it reads, knows its streams, keeps their exchanges, and decides
//! whose turn it is. It tells an exchange what the client does: [`content`](Exchange::content) has come,
//! [`content_complete`](Exchange::content_complete), the client is gone ([`abort`](Exchange::abort)); and that there is
//! something to do: it was woken, or there is room ([`go_on`](Exchange::go_on)). What that came to ([`Progress`]) says
//! what the exchange waits for now.
//!
//! **An answer that is ready at once has no exchange.** [`begin`] asks the service and sends what it answers; only what
//! has to wait becomes an [`Exchange`], in memory that exchanges of the worker had before ([`Pool`]). So an idle
//! connection has none, and a cached file costs none.
//!
//! HTTP/3 is what this is to be judged by: its session would be like HTTP/2's, with streams that have a buffer and a
//! window each; `stop_receiving` is its STOP_SENDING, `reset` its RESET_STREAM, and a DATA frame any number of bytes.

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

/// What a session keeps for each of its streams: nothing, unless the stream outlives the turn of its request.
pub(crate) type Slot = Option<Box<Exchange>>;

/// A request whose answer, or the rest of it, has to wait.
#[derive(Default)]
pub(crate) struct Exchange {
    /// The request's content, while it has a reader. It ends before its reader.
    content: Option<BodySender>,
    work: Work,
    interim: Option<InterimHeads>,
    /// The observer of the response's end, and when the head was written.
    observer: Option<(Box<dyn Observer>, Instant)>,
    /// Bytes of response content so far.
    sent: u64,
    /// Bytes of request content so far, and how many were announced.
    received: u64,
    length: Option<u64>,
    /// How slowly the client does what the exchange waits for: grants credit for the response, or sends what is
    /// discarded.
    pub(crate) pace: Option<Pace>,
    /// A tunnel: since when its worker has been draining.
    pub(crate) drains_since: Option<Millis>,
    /// The client waits for 100 before it sends content (RFC 9110 §10.1.1).
    expects_continue: bool,
    /// The request asks for a tunnel; once it is answered, whether it has one.
    tunnel: bool,
    /// The handler waits for content.
    starves: bool,
}

/// What an exchange is about.
#[derive(Default)]
enum Work {
    /// Nothing: the response is complete, and what the client still sends is discarded.
    #[default]
    Discard,
    /// The answer needs I/O.
    Answer(Pin<Box<dyn Future<Output = Answer>>>),
    /// The head is sent, content follows.
    Body(Body),
    /// Nothing more goes to the client of a tunnel, which may still send.
    Receive,
}

/// What came of a step of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It goes on as soon as there is room.
    More,
    /// It waits for the answer, for content of either side: its waker tells.
    Pending,
    /// Nothing more goes to the client of a tunnel; the client may still send.
    HalfClosed,
    /// The response is complete.
    Complete,
    /// The response was broken off: the stream is reset, or the connection over.
    Broken,
}

impl Exchange {
    /// Whether the response is complete and content of the request is still to come.
    #[inline]
    pub(crate) fn is_discarding(&self) -> bool {
        matches!(self.work, Work::Discard)
    }

    /// Whether the answer is awaited.
    pub(crate) fn awaits_answer(&self) -> bool {
        matches!(self.work, Work::Answer(_))
    }

    /// Whether content of the response is to be sent.
    pub(crate) fn has_body(&self) -> bool {
        matches!(self.work, Work::Body(_))
    }

    /// Whether nothing more goes to the client of a tunnel, which may still send.
    pub(crate) fn is_half_closed(&self) -> bool {
        matches!(self.work, Work::Receive)
    }

    /// Bytes of response content so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes of request content that are known to be still to come.
    pub(crate) fn remaining(&self) -> u64 {
        self.length.map_or(0, |length| length.saturating_sub(self.received))
    }

    /// Nothing is left of it, and nothing to do. Field by field: an exchange that is complete has few.
    fn reset(&mut self) {
        let Self { content, work, interim, observer, sent, received, length, pace, drains_since, .. } = self;
        // It ends before its reader.
        *content = None;
        *work = Work::Discard;
        (*interim, *observer, *pace, *drains_since) = (None, None, None, None);
        (*sent, *received, *length) = (0, 0, None);
        (self.expects_continue, self.tunnel, self.starves) = (false, false, false);
    }

    /// The response will not be complete. Of what was written of it, `unsent` bytes have not left.
    pub(crate) fn abort(&mut self, clock: &Clock, unsent: u64, why: &'static str) {
        // It ends before its reader.
        self.content = None;
        self.work = Work::Discard;
        if let Some((observer, began)) = self.observer.take() {
            let content = Extent::Spread(self.sent.saturating_sub(unsent));
            Report { observer, began, content, ends: 0 }.tell(0, clock, Some(why));
        }
    }
}

/// Memory of exchanges that are over, kept for the next ones.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "the boxes go to the sessions and come back")]
pub(crate) struct Pool(RefCell<Vec<Box<Exchange>>>);

/// Exchanges of which a worker keeps the memory: about 300 KB.
const KEPT: usize = 1024;

impl Pool {
    /// An exchange with nothing to do.
    #[inline]
    pub(crate) fn take(&self) -> Box<Exchange> {
        self.0.borrow_mut().pop().unwrap_or_default()
    }

    /// An exchange is over.
    #[inline]
    pub(crate) fn give(&self, mut exchange: Box<Exchange>) {
        exchange.reset();
        let mut kept = self.0.borrow_mut();
        if kept.len() < KEPT {
            kept.push(exchange);
        }
    }

    /// Exchanges whose memory is kept.
    #[cfg(test)]
    fn kept(&self) -> usize {
        self.0.borrow().len()
    }
}
