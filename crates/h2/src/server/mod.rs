//! The server's side of a connection: requests in, responses out.
//!
//! [`receive`](Server::receive) and what both directions need are here; requests are opened in `request`,
//! responses written in `response`.

mod request;
mod response;

use crate::abuse::Abuse;
use crate::code::ErrorCode;
use crate::config::Config;
use crate::connection::{Content, Core, Role, Step};
use crate::encode::Memo;
use crate::event::{Event, Key, Received};
use crate::fault::Fault;
use crate::request::Checked;
use crate::upgrade;
use hayami_http::RequestHead;

/// One connection as its server sees it. It holds no bytes of content: the caller's buffers do.
///
/// `T` is what the caller keeps for each stream; it lives in the stream's slot. A stream whose both sides
/// have ended is freed at once together with its `T`, its key stale; one that an event ends, by the next call
/// of [`receive`](Self::receive).
#[derive(Debug)]
pub struct Server<T> {
    core: Core<T>,
    memo: Memo,
    checked: Checked,
}

impl<T: Default> Server<T> {
    /// A connection of which nothing has been read. It owns no memory until a stream is opened.
    pub fn new(config: &Config) -> Self {
        Self { core: Core::new(Role::Server, config), memo: Memo::default(), checked: Checked::default() }
    }

    /// Writes the server's SETTINGS, and the WINDOW_UPDATE that opens the connection's window.
    pub fn start(&mut self, config: &Config, out: &mut Vec<u8>) {
        self.core.announce(config, out);
    }

    /// Takes over the request of an HTTP/1.1 connection that was upgraded (RFC 7540 §3.2): it becomes stream
    /// 1, whose request is complete. Call it after 101 was sent and before anything is received; it includes
    /// [`start`](Self::start).
    ///
    /// `http2_settings` is the value of the HTTP2-Settings field as received.
    ///
    /// # Errors
    /// The settings are malformed. Nothing was written: try it before 101 is sent.
    pub fn upgrade(
        &mut self,
        config: &Config,
        http2_settings: &[u8],
        is_head: bool,
        out: &mut Vec<u8>,
    ) -> Result<Key, Fault> {
        let payload = upgrade::settings_payload(http2_settings).ok_or(Fault::UpgradeSettings)?;
        self.core.apply(&payload).map_err(|_| Fault::UpgradeSettings)?;
        self.core.announce(config, out);
        Ok(self.core.upgrade(config, is_head))
    }

    /// Reads at most one frame from the front of `input`: all bytes that were received and not yet consumed.
    /// `head` is filled in if the event is a request. The engine's own replies are appended to `out`, less
    /// than 100 bytes. Call it until it returns [`Event::More`]. `now` is in milliseconds; only differences
    /// count.
    ///
    /// # Errors
    /// The rule that the client broke. GOAWAY is in `out`; responses in progress may still be sent, or
    /// [`drain_data`](Self::drain_data) abandons them, and the connection closes.
    #[inline]
    pub fn receive(
        &mut self,
        config: &Config,
        now: u32,
        input: &[u8],
        head: &mut RequestHead,
        out: &mut Vec<u8>,
    ) -> Result<Received<T>, Fault> {
        let result = self.receive_frame(config, now, input, head, out);
        if let Err(fault) = result {
            self.core.fail(fault.code(), out);
        }
        result
    }

    #[inline]
    fn receive_frame(
        &mut self,
        config: &Config,
        now: u32,
        input: &[u8],
        head: &mut RequestHead,
        out: &mut Vec<u8>,
    ) -> Result<Received<T>, Fault> {
        let taken = self.core.receive(config, now, input, out)?;
        let event = match taken.step {
            Step::Block(block) => self.receive_block(config, block, input, head, out)?,
            step => event(step),
        };
        Ok(Received { consumed: taken.consumed, event })
    }

    /// Bytes of content that a stream may send now.
    #[inline]
    pub fn room(&self, key: Key) -> usize {
        self.core.room(key)
    }

    /// The most bytes that one DATA frame may have.
    pub fn max_data(&self) -> usize {
        self.core.peer.max_frame as usize
    }

    /// The stream whose turn it is by RFC 9218, of those that are [ready](Self::set_ready) and may send, and
    /// how much it may send. Streams that share take turns.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it says whose turn it is, and never ends")]
    pub fn next(&mut self) -> Option<(Key, usize)> {
        self.core.next()
    }

    /// Whether a stream returned by [`next`](Self::next) may send several frames before the next call of it:
    /// streams that share take turns frame by frame (RFC 9218 §10), the others are sent one after another.
    pub fn may_send_on(&self, key: Key) -> bool {
        self.core.may_send_on(key)
    }

    /// Sets whether the caller has content to send for a stream, or waits for its source.
    pub fn set_ready(&mut self, key: Key, ready: bool) {
        self.core.set_ready(key, ready);
    }

    /// Whether the content of some stream waits only for a window: the peer has to grant credit.
    #[inline]
    pub fn has_stalled(&self) -> bool {
        self.core.has_stalled()
    }

    /// Whether content waits only for the connection's window.
    pub fn is_all_stalled(&self) -> bool {
        self.core.is_all_stalled()
    }

    /// Whether the content of a stream waits for its own window.
    pub fn is_stalled(&self, key: Key) -> bool {
        self.core.is_stalled(key)
    }

    /// The open streams, in no particular order.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.core.keys()
    }

    /// Number of open streams with a complete response on which the client may still send.
    pub fn half_closed_local(&self) -> usize {
        self.core.half_closed_local()
    }

    /// Records that bytes of a request's content were consumed: both windows are opened again by as many.
    pub fn consumed(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        self.core.consumed(config, key, bytes, out);
    }

    /// Records that bytes of a request's content were buffered until they are consumed: the connection's
    /// window is opened again, the stream's by [`release_stream_window`](Self::release_stream_window) when they are consumed. So no stream
    /// waits for the consumer of another one, and a stream buffers no more than its announced window.
    pub fn release_connection_window(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        self.core.release_connection_window(config, key, bytes, out);
    }

    /// Records that buffered bytes were consumed: the stream's window is opened again by as many, and grows
    /// if they were consumed as fast as the peer could send them.
    #[inline]
    pub fn release_stream_window(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        if bytes > 0 {
            self.core.release_stream_window(config, key, bytes, out);
        }
    }

    /// The stream of that number, if it is open.
    pub fn find(&self, stream_id: u32) -> Option<Key> {
        self.core.streams.find(stream_id).map(|slot| self.core.streams.key(slot))
    }

    /// Resets a stream and returns its data.
    pub fn reset(&mut self, key: Key, code: ErrorCode, out: &mut Vec<u8>) -> Option<T> {
        self.core.reset(key, code, out)
    }

    /// The caller's data of a stream.
    #[inline]
    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        self.core.get(key)
    }

    /// Says that the connection ends, in two steps (RFC 9113 §6.8): the first call announces it; the second,
    /// to be made after a round trip or a second, names the last stream that is answered. Further calls do
    /// nothing.
    pub fn go_away(&mut self, out: &mut Vec<u8>) {
        self.core.go_away(out);
    }

    /// Ends the connection at once: GOAWAY with a code and the last stream. No further input is read.
    pub fn abort(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        self.core.fail(code, out);
    }

    /// Number of open streams.
    pub fn streams(&self) -> usize {
        self.core.open_count()
    }

    /// Whether nothing more is to come in either direction: the transport may be closed once the output is
    /// sent.
    pub fn is_over(&self) -> bool {
        self.core.is_over()
    }

    /// Whether the client has acknowledged the settings. The time limit is left to the caller
    /// (SETTINGS_TIMEOUT).
    pub fn settings_acknowledged(&self) -> bool {
        self.core.is_acknowledged()
    }

    /// Frees memory that is not in use: for connections that are idle for a while. The compression tables
    /// stay, since both ends rely on them.
    pub fn release(&mut self) {
        self.core.release();
        self.memo.release();
    }

    /// Closes all streams and returns their data: the connection is lost.
    pub fn drain_data(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.core.drain()
    }

    /// Counts of the client's actions that cost work and achieve nothing.
    pub fn abuse(&self) -> &Abuse {
        &self.core.abuse
    }
}

fn event<T>(step: Step<T>) -> Event<T> {
    match step {
        Step::More => Event::More,
        Step::Handled | Step::Settings | Step::Block(_) => Event::Handled,
        Step::Content(Content { key, len: 0, .. }) => Event::End { key, trailers: None },
        Step::Content(Content { key, start, len, end }) => Event::Content { key, start, len, end },
        Step::Reset { key, data, code, fault } => Event::Reset { key, data, code, fault },
        Step::GoAway(_) => Event::PeerGoesAway,
    }
}
