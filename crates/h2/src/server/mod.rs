//! The server's side of a connection: requests in, responses out.
//!
//! [`receive`](Server::receive) and what both directions need is here; requests are opened in `request`,
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
/// have ended is gone at once with what was kept, its key stale; one that an event ends, with the next call
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

    /// Writes our SETTINGS, and the WINDOW_UPDATE that opens the connection's window.
    pub fn start(&mut self, config: &Config, out: &mut Vec<u8>) {
        self.core.announce(config, out);
    }

    /// Takes over the request of an HTTP/1.1 connection that was upgraded (RFC 7540 §3.2): it becomes stream
    /// 1, whose request is complete. To be called after 101 was sent and before anything is received; it does
    /// what [`start`](Self::start) does too.
    ///
    /// `http2_settings` is the value of the HTTP2-Settings field as it came.
    ///
    /// # Errors
    /// The settings are malformed. Nothing was written: to be tried before 101 is sent.
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
    /// `head` is filled in if the event is a request. Answers of the engine's own are appended to `out`, less
    /// than 100 bytes. To be called until it gives [`Event::More`]. `now` is in milliseconds; only
    /// differences count.
    ///
    /// # Errors
    /// The rule that the client broke. GOAWAY is in `out`; what was being answered may still be sent, or
    /// [`drain_data`](Self::drain_data) gives it up, and the connection closes.
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
    /// how much it may send. Those that share get their turns one after the other.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it says whose turn it is, and never ends")]
    pub fn next(&mut self) -> Option<(Key, usize)> {
        self.core.next()
    }

    /// Whether a stream that [`next`](Self::next) gave may send several frames before that is asked again: those that
    /// share take turns frame by frame (RFC 9218 §10), the others one after the other.
    pub fn may_send_on(&self, key: Key) -> bool {
        self.core.may_send_on(key)
    }

    /// Tells whether the caller has content to send for a stream, or waits for its source.
    pub fn set_ready(&mut self, key: Key, ready: bool) {
        self.core.set_ready(key, ready);
    }

    /// Whether the content of some stream waits for nothing but a window: the peer has to grant credit.
    #[inline]
    pub fn has_stalled(&self) -> bool {
        self.core.has_stalled()
    }

    /// Whether content waits for nothing but the connection's window.
    pub fn is_all_stalled(&self) -> bool {
        self.core.is_all_stalled()
    }

    /// Whether the content of a stream waits for its own window.
    pub fn is_stalled(&self, key: Key) -> bool {
        self.core.is_stalled(key)
    }

    /// The streams that are open, in no order.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.core.keys()
    }

    /// Number of open streams on which the response is complete and the client still sends.
    pub fn half_closed_local(&self) -> usize {
        self.core.half_closed_local()
    }

    /// Tells that bytes of a request's content were consumed: the peer may send as many again.
    pub fn consumed(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        self.core.consumed(config, key, bytes, out);
    }

    /// Tells that bytes of a request's content were put where they wait to be consumed: the connection's
    /// window is opened again, that of the stream by [`grant`](Self::grant) as they are. So nobody waits for
    /// the consumer of another stream, and no more bytes wait than the window that was announced.
    pub fn set_aside(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        self.core.set_aside(config, key, bytes, out);
    }

    /// Tells that bytes that were set aside are consumed: the peer may send as many again, and more than
    /// before if they were consumed as fast as it could send them.
    #[inline]
    pub fn grant(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        if bytes > 0 {
            self.core.grant(config, key, bytes, out);
        }
    }

    /// The stream of that number, if it is open.
    pub fn find(&self, stream_id: u32) -> Option<Key> {
        self.core.streams.find(stream_id).map(|slot| self.core.streams.key(slot))
    }

    /// Resets a stream. Gives what was kept for it.
    pub fn reset(&mut self, key: Key, code: ErrorCode, out: &mut Vec<u8>) -> Option<T> {
        self.core.reset(key, code, out)
    }

    /// What is kept for a stream.
    #[inline]
    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        self.core.get(key)
    }

    /// Says that the connection ends, in two steps (RFC 9113 §6.8): the first call announces it, the second,
    /// to be made after a round trip or a second, names the last stream that is answered. More calls do
    /// nothing.
    pub fn go_away(&mut self, out: &mut Vec<u8>) {
        self.core.go_away(out);
    }

    /// Ends the connection at once: GOAWAY with a code and the last stream. Nothing more is read.
    pub fn abort(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        self.core.fail(code, out);
    }

    /// Number of open streams.
    pub fn streams(&self) -> usize {
        self.core.open_count()
    }

    /// Whether nothing more is to come in either direction: the transport may be closed when what was
    /// written is sent.
    pub fn is_over(&self) -> bool {
        self.core.is_over()
    }

    /// Whether the client has acknowledged our settings. How long that may take is the caller's affair
    /// (SETTINGS_TIMEOUT).
    pub fn settings_acknowledged(&self) -> bool {
        self.core.is_acknowledged()
    }

    /// Gives memory back that holds nothing: for connections that rest for a while. The tables of field
    /// compression stay, since both ends have them.
    pub fn release(&mut self) {
        self.core.release();
        self.memo.release();
    }

    /// Closes all streams and gives what was kept for them: the connection is lost.
    pub fn drain_data(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.core.drain()
    }

    /// What the client did that costs us and means nothing.
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
