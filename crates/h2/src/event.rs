//! What frames come to, as a server and as a client see it.

use crate::code::ErrorCode;
use crate::fault::Fault;
use hayami_http::{FieldSection, Status};

/// A stream of a connection. Once the stream is closed its key is stale, and stays so: every method
/// takes stale keys and does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub(crate) id: u32,
    pub(crate) slot: u32,
}

impl Key {
    /// The stream's number on the wire (RFC 9113 §5.1.1).
    pub fn stream_id(self) -> u32 {
        self.id
    }
}

/// What [`Server::receive`](crate::Server::receive) found.
#[derive(Debug)]
pub struct Received<T> {
    /// Bytes at the front of the input that are done with; the caller drops them after it has looked at
    /// the event.
    pub consumed: usize,
    /// What they were.
    pub event: Event<T>,
}

/// What a frame means to a server.
#[derive(Debug)]
pub enum Event<T> {
    /// Nothing yet: call again when there is more input.
    More,
    /// The engine dealt with the frame; call again.
    Handled,
    /// A request; its head was filled in.
    Request {
        /// Its stream.
        key: Key,
        /// What follows the head.
        content: RequestContent,
    },
    /// A request whose head is beyond the limits, to be answered with `status`. The head holds what fitted.
    TooLarge {
        /// Its stream.
        key: Key,
        /// 431 or 414.
        status: Status,
        /// What follows the head.
        content: RequestContent,
    },
    /// Content of a request, in the input from index `start`, `len` bytes long, more than none.
    Content {
        /// Its stream.
        key: Key,
        /// Index of the first byte in the input.
        start: usize,
        /// Number of bytes.
        len: usize,
        /// Whether the request is complete with it; no [`End`](Event::End) follows then.
        end: bool,
    },
    /// The request's content is complete.
    End {
        /// Its stream.
        key: Key,
        /// The trailer section, if one came.
        trailers: Option<Box<FieldSection>>,
    },
    /// The stream is closed before its time, its key stale.
    Reset {
        /// The stream.
        key: Key,
        /// What the caller kept for it.
        data: T,
        /// The code in the peer's RST_STREAM frame, or in ours.
        code: ErrorCode,
        /// The rule that the peer broke, if it's us who reset the stream.
        fault: Option<Fault>,
    },
    /// The peer sent GOAWAY: it won't open more streams, or won't take more.
    PeerGoesAway,
}

/// What follows a request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestContent {
    /// Nothing, and no [`Event::End`] either.
    None,
    /// So many bytes, then the end.
    Length(u64),
    /// An unknown number of bytes, then the end.
    Unknown,
}

/// What has to follow a response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing: the response is complete.
    Complete,
    /// Content, the last of which is sent with `end`, or trailers.
    Content,
}
