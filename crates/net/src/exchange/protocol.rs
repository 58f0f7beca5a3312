//! The interface of a protocol to its exchanges.

use crate::clock::Instant;
use crate::service::{Observer, Request};
use hayami_http::{Content, FieldSection, RequestHead, ResponseHead, Shared};
use std::borrow::Cow;
use std::task::Waker;

/// One stream of a connection, as its exchange sees it. See the [module](super).
pub(crate) trait Protocol {
    /// Request content arrives up to the credit granted to the client, whether there is room for it or not. Otherwise
    /// it is read only while there is room.
    const READS_AHEAD: bool;

    /// The request in `head`, as passed to the service.
    fn request<'a>(&'a mut self, head: &'a mut RequestHead, length: Option<u64>) -> Request<'a>;

    /// Whether the request may ask for a tunnel. `follows`: it has content.
    fn may_tunnel(&self, head: &RequestHead, follows: bool) -> bool;

    /// Whether the client waits for 100 before it sends content (RFC 9110 §10.1.1).
    fn expects_continue(&self, head: &RequestHead) -> bool;

    /// A waker that makes the session continue this stream.
    fn waker(&mut self) -> Cow<'_, Waker>;

    /// Writes an interim response, if that is allowed.
    fn interim(&mut self, head: &ResponseHead);

    /// The request content has no reader, and `bytes` of it are outstanding; called before the head is written.
    fn will_not_read(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Writes the response head, with the fields common to all responses, and a version number that changes with
    /// those.
    fn head(&mut self, head: &ResponseHead, length: Option<u64>, common: (&FieldSection, u64)) -> Follows;

    /// Writes the whole content and ends the response, if possible at once; otherwise returns the content.
    fn whole(&mut self, content: Content) -> Option<Content>;

    /// How much content may be written.
    fn room(&self) -> Room;

    /// Writes the content that `take` appends, and ends the response if `take` says so. Returns the bytes of content.
    ///
    /// # Errors
    /// The content does not match the head.
    fn data(&mut self, take: impl FnOnce(&mut Vec<u8>) -> Piece) -> Result<usize, &'static str>;

    /// Ends the response with trailers.
    ///
    /// # Errors
    /// As for [`data`](Self::data).
    fn trailers(&mut self, trailers: &FieldSection) -> Result<(), &'static str>;

    /// Aborts the response, so that it does not appear complete.
    fn reset(&mut self, reset: Reset, why: &'static str);

    /// Tells the client to stop sending the request: it has no reader.
    fn stop_receiving(&mut self, reset: Reset);

    /// Bytes of the response that were written but not sent, if the protocol knows.
    fn unsent(&self) -> u64 {
        0
    }

    /// The response is written, with `content` bytes; notifies the observer once it is sent.
    fn report(&mut self, observer: (Box<dyn Observer>, Instant), content: u64);

    /// Request content was buffered for the handler.
    fn kept(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// The handler has taken buffered bytes: the client may send as many again.
    fn taken(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Request content was discarded: the client may send as many bytes again.
    fn discarded(&mut self, bytes: usize) {
        let _ = bytes;
    }
}

/// What follows the response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    /// Nothing: the response is complete.
    Nothing,
    /// Content.
    Content,
    /// A tunnel: bytes of another protocol in both directions.
    Tunnel,
}

/// How much content may be written, and in which units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes of content.
    pub(crate) bytes: usize,
    /// Maximum content of a frame, and the length of the header in front of it.
    pub(crate) frame: usize,
    pub(crate) header: usize,
}

impl Room {
    /// Content without frames, or in frames of any size.
    pub(crate) fn unframed(bytes: usize) -> Self {
        Self { bytes, frame: usize::MAX, header: 0 }
    }
}

/// Result of taking content.
pub(crate) enum Piece {
    /// Bytes that are already in memory; `last`: the message ends behind them.
    Shared { bytes: Shared, last: bool },
    /// Bytes were appended, possibly none.
    Copied { last: bool },
    /// No more for now, apart from those appended; the waker reports progress.
    Pending,
    /// The content is shorter than announced.
    Broken(&'static str),
}

impl Piece {
    /// The flag that ends the message.
    pub(super) fn last(&mut self) -> Option<&mut bool> {
        match self {
            Self::Shared { last, .. } | Self::Copied { last } => Some(last),
            Self::Pending | Self::Broken(_) => None,
        }
    }
}

/// Why a stream is ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// The content of the response failed.
    Response,
    /// The other end of a tunnel failed or is gone.
    Tunnel,
    /// The request has more content than is discarded without a reader.
    Content,
    /// The client does not read the response.
    Late,
}
