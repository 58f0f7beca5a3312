//! Events: the meaning of frames to a server and to a client.

use crate::code::ErrorCode;
use crate::fault::Fault;
use hayami_http::{FieldSection, Status};

/// A stream of a connection. Once the stream is closed its key is stale for good; every method accepts stale
/// keys and does nothing.
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
    /// Bytes at the front of the input that were consumed; the caller drops them after it has handled the
    /// event.
    pub consumed: usize,
    /// What was found in them.
    pub event: Event<T>,
}

/// What a frame means to a server.
#[derive(Debug)]
pub enum Event<T> {
    /// Nothing yet: call again when there is more input.
    More,
    /// The engine handled the frame; call again.
    Handled,
    /// A request; its head was filled in.
    Request {
        /// Its stream.
        key: Key,
        /// What follows the head.
        content: RequestContent,
    },
    /// A request whose head exceeds the limits, to be answered with `status`. The head holds the part within
    /// the limits.
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
    /// The stream was closed early; its key is stale.
    Reset {
        /// The stream.
        key: Key,
        /// The caller's data of the stream.
        data: T,
        /// The code in the RST_STREAM frame, the peer's or the server's.
        code: ErrorCode,
        /// The rule that the peer broke, if this side reset the stream.
        fault: Option<Fault>,
    },
    /// The peer sent GOAWAY: it won't open or accept more streams.
    PeerGoesAway,
}

/// What follows a request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestContent {
    /// Nothing, and no [`Event::End`] either.
    None,
    /// This many bytes, then the end.
    Length(u64),
    /// An unknown number of bytes, then the end.
    Unknown,
}

/// What must follow a response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing: the response is complete.
    Complete,
    /// Content, the last of which is sent with `end`, or trailers.
    Content,
    /// The same, but what goes both ways is not content (RFC 9113 §8.5): the answer grants a CONNECT.
    Tunnel,
}
