//! The client's side of a connection: requests out, responses in.
//!
//! [`receive`](Client::receive) and what both directions need are here; response heads are read in
//! `response`, requests written in `request`.

mod request;
mod response;

pub use request::{OutOfTurn, Request, RequestMemo};

use crate::PREFACE;
use crate::abuse::Abuse;
use crate::code::ErrorCode;
use crate::config::Config;
use crate::connection::{Content, Core, Role, Step};
use crate::event::Key;
use crate::fault::Fault;
use hayami_http::{FieldSection, ResponseHead};

/// One connection as its client sees it. It holds no bytes of content: the caller's buffers do.
///
/// `T` is what the caller keeps for each stream; it lives in the stream's slot. A stream that an event ends
/// is freed by the next call of [`receive`](Self::receive).
#[derive(Debug)]
pub struct Client<T> {
    core: Core<T>,
}

/// What [`Client::receive`] found.
#[derive(Debug)]
pub struct ClientReceived<T> {
    /// Bytes at the front of the input that were consumed; the caller drops them after it has handled the
    /// event.
    pub consumed: usize,
    /// What was found in them.
    pub event: ClientEvent<T>,
}

/// What a frame means to a client.
#[derive(Debug)]
pub enum ClientEvent<T> {
    /// Nothing yet: call again when there is more input.
    More,
    /// The engine handled the frame; call again.
    Handled,
    /// The server's settings were applied: how many requests may be sent at once is known.
    Settings,
    /// An interim response; its head was filled in. The final one is still to come (RFC 9110 §15.2).
    Interim {
        /// Its stream.
        key: Key,
    },
    /// A response; its head was filled in.
    Response {
        /// Its stream.
        key: Key,
        /// What follows the head.
        content: ResponseContent,
    },
    /// Content of a response, in the input from index `start`, `len` bytes long, more than none.
    Content {
        /// Its stream.
        key: Key,
        /// Index of the first byte in the input.
        start: usize,
        /// Number of bytes.
        len: usize,
        /// Whether the response is complete with it; no [`End`](ClientEvent::End) follows then.
        end: bool,
    },
    /// The response's content is complete.
    End {
        /// Its stream.
        key: Key,
        /// The trailer section, if one came.
        trailers: Option<Box<FieldSection>>,
    },
    /// The stream was closed early; its key is stale. With REFUSED_STREAM the request may be sent again
    /// (RFC 9113 §8.7).
    Reset {
        /// The stream.
        key: Key,
        /// The caller's data of the stream.
        data: T,
        /// The code in the RST_STREAM frame, the server's or the client's.
        code: ErrorCode,
        /// The rule that the server broke, if this side reset the stream.
        fault: Option<Fault>,
    },
    /// The server accepts no more requests. Those on streams beyond `last_stream` were not processed:
    /// [`Client::next_unanswered`] returns them.
    GoAway {
        /// The last stream that the server processes.
        last_stream: u32,
        /// The reason.
        code: ErrorCode,
    },
}

/// What follows a response head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseContent {
    /// Nothing, and no [`ClientEvent::End`] either.
    None,
    /// This many bytes, then the end.
    Length(u64),
    /// An unknown number of bytes, then the end. After a 2xx to CONNECT they are a tunnel's.
    Unknown,
}

impl<T: Default> Client<T> {
    /// A connection on which nothing was sent. It owns no memory until a stream is opened.
    /// [`Config::max_concurrent_streams`] bounds the concurrent requests, in addition to the server's limit.
    pub fn new(config: &Config) -> Self {
        Self { core: Core::new(Role::Client, config) }
    }

    /// Writes the preface, the client's SETTINGS, and the WINDOW_UPDATE that opens the connection's window
    /// (RFC 9113 §3.4).
    pub fn start(&mut self, config: &Config, out: &mut Vec<u8>) {
        out.extend_from_slice(PREFACE);
        self.core.announce(config, out);
    }

    /// Reads at most one frame from the front of `input`: all bytes received and not yet consumed. `head` is
    /// filled in if the event is a response, interim or final. The engine's own replies are appended to
    /// `out`. Call it until it returns [`ClientEvent::More`]. `now` is in milliseconds; only differences
    /// count.
    ///
    /// # Errors
    /// The server violated the protocol. GOAWAY is in `out`; [`drain_data`](Self::drain_data) removes the
    /// open requests, and the connection closes.
    pub fn receive(
        &mut self,
        config: &Config,
        now: u32,
        input: &[u8],
        head: &mut ResponseHead,
        out: &mut Vec<u8>,
    ) -> Result<ClientReceived<T>, Fault> {
        let result = self.receive_frame(config, now, input, head, out);
        if let Err(fault) = result {
            self.core.fail(fault.code(), out);
        }
        result
    }

    fn receive_frame(
        &mut self,
        config: &Config,
        now: u32,
        input: &[u8],
        head: &mut ResponseHead,
        out: &mut Vec<u8>,
    ) -> Result<ClientReceived<T>, Fault> {
        let taken = self.core.receive(config, now, input, out)?;
        let event = match taken.step {
            Step::Block(block) => self.receive_block(config, block, input, head, out)?,
            step => event(step),
        };
        Ok(ClientReceived { consumed: taken.consumed, event })
    }

    /// Bytes of content that a stream may send now.
    pub fn room(&self, key: Key) -> usize {
        self.core.room(key)
    }

    /// The most bytes that one DATA frame may have.
    pub fn max_data(&self) -> usize {
        self.core.peer.max_frame as usize
    }

    /// The next stream that is [ready](Self::set_ready) and may send, and how much it may send.
    #[expect(clippy::should_implement_trait, reason = "it says whose turn it is, and never ends")]
    pub fn next(&mut self) -> Option<(Key, usize)> {
        self.core.next()
    }

    /// Sets whether the caller has content to send for a stream, or waits for its source.
    pub fn set_ready(&mut self, key: Key, ready: bool) {
        self.core.set_ready(key, ready);
    }

    /// Whether the content of some stream waits only for a window: the peer has to grant credit.
    pub fn has_stalled(&self) -> bool {
        self.core.has_stalled()
    }

    /// Records that bytes of a response's content were consumed: both windows are opened again by as many.
    pub fn consumed(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        self.core.consumed(config, key, bytes, out);
    }

    /// Records that bytes of a response's content were buffered until they are consumed: the connection's
    /// window is opened again, the stream's by [`release_stream_window`](Self::release_stream_window) when they are consumed. So no stream
    /// waits for the consumer of another one, and a stream buffers no more than its window.
    pub fn release_connection_window(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        self.core.release_connection_window(config, key, bytes, out);
    }

    /// Records that buffered bytes were consumed: the stream's window is opened again by as many.
    pub fn release_stream_window(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        if bytes > 0 {
            self.core.release_stream_window(config, key, bytes, out);
        }
    }

    /// Bytes of content that all streams together may send now.
    pub fn connection_room(&self) -> usize {
        self.core.connection_room()
    }

    /// Concurrent streams that the server accepts, if it has said so (RFC 9113 §6.5.2).
    pub fn allowed_streams(&self) -> Option<u32> {
        self.core.is_open().then_some(self.core.peer.max_concurrent_streams)
    }

    /// Sends PING to probe the server, which answers it before anything else (RFC 9113 §6.7).
    pub fn ping(&mut self, out: &mut Vec<u8>) {
        self.core.ping(out);
    }

    /// The open streams.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.core.keys()
    }

    /// Resets a stream and returns its data. Frames that the server still sends on it are dropped.
    pub fn reset(&mut self, key: Key, code: ErrorCode, out: &mut Vec<u8>) -> Option<T> {
        self.core.reset(key, code, out)
    }

    /// The caller's data of a stream.
    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        self.core.get(key)
    }

    /// A request that the server didn't process before GOAWAY, with its data; its stream is closed, and it
    /// may be sent again on another connection (RFC 9113 §6.8).
    pub fn next_unanswered(&mut self) -> Option<(Key, T)> {
        self.core.next_beyond_goaway()
    }

    /// Sends GOAWAY: no more requests follow.
    pub fn go_away(&mut self, out: &mut Vec<u8>) {
        self.core.go_away(out);
    }

    /// Ends the connection at once: GOAWAY with a code. No further input is read.
    pub fn abort(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        self.core.fail(code, out);
    }

    /// Number of open streams.
    pub fn streams(&self) -> usize {
        self.core.open_count()
    }

    /// Whether nothing more is to come in either direction.
    pub fn is_over(&self) -> bool {
        self.core.is_over()
    }

    /// Whether the server has acknowledged the settings.
    pub fn settings_acknowledged(&self) -> bool {
        self.core.is_acknowledged()
    }

    /// Frees memory that is not in use: for connections that are idle for a while.
    pub fn release(&mut self) {
        self.core.release();
    }

    /// Closes all streams and returns their data: the connection is lost.
    pub fn drain_data(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.core.drain()
    }

    /// Counts of the server's actions that cost work and achieve nothing.
    pub fn abuse(&self) -> &Abuse {
        &self.core.abuse
    }
}

fn event<T>(step: Step<T>) -> ClientEvent<T> {
    match step {
        Step::More => ClientEvent::More,
        Step::Handled | Step::Block(_) => ClientEvent::Handled,
        Step::Settings => ClientEvent::Settings,
        Step::Content(Content { key, len: 0, .. }) => ClientEvent::End { key, trailers: None },
        Step::Content(Content { key, start, len, end }) => ClientEvent::Content { key, start, len, end },
        Step::Reset { key, data, code, fault } => ClientEvent::Reset { key, data, code, fault },
        Step::GoAway(goaway) => ClientEvent::GoAway { last_stream: goaway.last, code: goaway.code },
    }
}
