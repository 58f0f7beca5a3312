//! What a protocol does for an exchange.

use crate::clock::Instant;
use crate::service::{Observer, Request};
use hayami_http::{Content, FieldSection, RequestHead, ResponseHead, Shared};
use std::borrow::Cow;
use std::task::Waker;

/// One stream of a connection, as its exchange sees it. See the [module](super).
pub(crate) trait Protocol {
    /// Content of requests comes as far as the client was granted credit, whether there is room for it or not. Otherwise
    /// it is read as there is room.
    const READS_AHEAD: bool;

    /// The request in `head` as the service wants it.
    fn request<'a>(&'a mut self, head: &'a mut RequestHead, length: Option<u64>) -> Request<'a>;

    /// Whether the request may ask for a tunnel. `follows`: it has content.
    fn may_tunnel(&self, head: &RequestHead, follows: bool) -> bool;

    /// Whether the client waits for 100 before it sends content (RFC 9110 §10.1.1).
    fn expects_continue(&self, head: &RequestHead) -> bool;

    /// What has the session go on with this stream.
    fn waker(&mut self) -> Cow<'_, Waker>;

    /// Writes an interim response, if that is allowed.
    fn interim(&mut self, head: &ResponseHead);

    /// Content of the request has no reader, and so many bytes of it are still to come; the head is written next.
    fn will_not_read(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Writes the response's head, with the fields that all responses have, and a number that changes with those.
    fn head(&mut self, head: &ResponseHead, length: Option<u64>, common: (&FieldSection, u64)) -> Follows;

    /// Writes all content of the response and ends it, if that may be done at once; otherwise gives the content back.
    fn whole(&mut self, content: Content) -> Option<Content>;

    /// How much content may be written.
    fn room(&self) -> Room;

    /// Writes the content that `take` appends, and the end if that says so. Returns the bytes of content.
    ///
    /// # Errors
    /// The content is not as the head has said.
    fn data(&mut self, take: impl FnOnce(&mut Vec<u8>) -> Piece) -> Result<usize, &'static str>;

    /// Ends the response with trailers.
    ///
    /// # Errors
    /// As for [`data`](Self::data).
    fn trailers(&mut self, trailers: &FieldSection) -> Result<(), &'static str>;

    /// Breaks the response off, so that it does not look complete.
    fn reset(&mut self, reset: Reset, why: &'static str);

    /// Tells the client to send no more of the request: it has no reader.
    fn stop_receiving(&mut self, reset: Reset);

    /// Bytes of the response that were written and have not left, as far as the protocol knows.
    fn unsent(&self) -> u64 {
        0
    }

    /// The response is written. The observer is to be told when it has left: it has `content` bytes.
    fn report(&mut self, observer: (Box<dyn Observer>, Instant), content: u64);

    /// Bytes of request content were put where the handler takes them.
    fn kept(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// The handler has done with bytes that were kept: the client may send as many again.
    fn taken(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Bytes of request content were thrown away: the client may send as many again.
    fn discarded(&mut self, bytes: usize) {
        let _ = bytes;
    }
}

/// What has to follow a response's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    /// Nothing: the response is complete.
    Nothing,
    /// Content.
    Content,
    /// Bytes of another protocol, both ways.
    Tunnel,
}

/// How much content may be written, and in what pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes of content.
    pub(crate) bytes: usize,
    /// The most bytes of content that a frame has, and the bytes of the header that comes before each.
    pub(crate) frame: usize,
    pub(crate) header: usize,
}

impl Room {
    /// Content without frames, or in frames of any size.
    pub(crate) fn unframed(bytes: usize) -> Self {
        Self { bytes, frame: usize::MAX, header: 0 }
    }
}

/// What came of asking for bytes.
pub(crate) enum Piece {
    /// Bytes that are in memory already; with `last`, the message ends behind them.
    Shared { bytes: Shared, last: bool },
    /// Bytes were appended, maybe none.
    Copied { last: bool },
    /// There are none for now, beside those appended; the waker tells.
    Pending,
    /// There is less than was announced.
    Broken(&'static str),
}

impl Piece {
    /// The flag that says whether the message ends.
    pub(super) fn last(&mut self) -> Option<&mut bool> {
        match self {
            Self::Shared { last, .. } | Self::Copied { last } => Some(last),
            Self::Pending | Self::Broken(_) => None,
        }
    }
}

/// Why a stream ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// The content of the response failed.
    Response,
    /// The other end of a tunnel failed, or is gone.
    Tunnel,
    /// The request has more content than is read without a reader.
    Content,
    /// The client does not take the response.
    Late,
}
