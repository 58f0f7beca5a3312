//! HTTP/2 to upstreams (RFC 9113): sessions, each of them a connection on which many calls are under way at a time.
//!
//! ```text
//! shared ── one call: head and content out, the response's head in ──┐
//! body ──── its content, as its client takes it                     stream ─ what the two sides share
//! session ─ one connection: frames in (receive), one send a round ───┘
//! ```
//!
//! A session belongs to no call: the worker's loop drives it, by the events of its socket, its deadline, and at the
//! end of each round in which calls have written something. A call is a future that looks at its stream.

mod body;
mod ending;
mod receive;
mod sent_request;
mod session;
mod shared;
mod stream;
mod upload;

use session::Session;
pub(super) use shared::Shared;

use super::upstream::Upstream;
use hayami_h2::Config;
use hayami_net::clock::Millis;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// Bytes of content for which a stream has room before its client takes any, and as many as it grows to while the
/// client takes them as fast as they come: [`Origin::buffer`](super::Origin).
const WINDOW: u32 = 256 * 1024;

/// The same for all streams together: more than one slow client holds up, since what waits for clients does not count.
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// How long HTTP/2 is not offered to an upstream that did not take it.
const UNWANTED: Duration = Duration::from_secs(60);

/// An origin's sessions that take calls.
pub(super) struct Sessions {
    list: RefCell<Vec<Rc<Session>>>,
    config: Config,
    /// Streams that the upstream took at once when it was last asked: those of a new session are not sent in vain.
    allowed: Cell<u32>,
    /// Until when HTTP/2 is not offered, in milliseconds of the worker's clock: the upstream did not want it.
    unwanted: Cell<Millis>,
    /// Hundredths of a call that are owed to HTTP/2.
    owed: Cell<u8>,
}

impl Sessions {
    /// None yet: so many calls at a time on each, so many bytes of content that may wait for each.
    pub(super) fn new(streams: u32, buffer: u32, limits: &hayami_h1::Limits) -> Self {
        let config = config(streams, buffer, limits);
        let (list, allowed) = (RefCell::default(), Cell::new(u32::MAX));
        Self { list, config, allowed, unwanted: Cell::new(Millis::default()), owed: Cell::new(0) }
    }

    /// Whether it is the turn of HTTP/2, which `share` of 100 calls are offered over.
    pub(super) fn is_due(&self, share: u8, now: Millis) -> bool {
        if now < self.unwanted.get() {
            return false;
        }
        let owed = self.owed.get() + share.min(100);
        self.owed.set(owed % 100);
        owed >= 100
    }

    /// HTTP/2 was offered, and not taken.
    fn note_unwanted(&self, now: Millis) {
        self.unwanted.set(now.after(UNWANTED));
    }

    /// A session that takes one more call. Those that are being made count if theirs is the address of index `at` or
    /// a later one.
    fn find(&self, at: usize) -> Option<Rc<Session>> {
        let list = self.list.borrow();
        list.iter().find(|session| session.has_room(at, self.allowed.get())).map(Rc::clone)
    }

    /// Begins a session with the address at `at`; `None` if there are no more.
    fn begin(self: &Rc<Self>, upstream: &Rc<Upstream>, at: usize) -> Option<io::Result<Rc<Session>>> {
        let channel = upstream.open_shared(at)?;
        Some(channel.map(|channel| {
            let session = Session::begin(upstream, self, channel, at);
            self.list.borrow_mut().push(Rc::clone(&session));
            session
        }))
    }

    /// The session takes no more calls.
    fn remove(&self, session: &Session) {
        let at = self.list.borrow().iter().position(|own| std::ptr::eq(&**own, session));
        let removed = at.map(|at| self.list.borrow_mut().remove(at));
        drop(removed);
    }

    /// Sessions without a call.
    pub(super) fn idle(&self) -> usize {
        self.list.borrow().iter().filter(|session| session.is_idle()).count()
    }

    /// The origin's addresses are others now: sessions end with the calls that they serve.
    pub(super) fn retire(&self) {
        for session in self.list.take() {
            session.leave();
        }
    }
}

/// What may be asked at once, and how large its heads may be.
fn config(streams: u32, buffer: u32, limits: &hayami_h1::Limits) -> Config {
    Config {
        max_concurrent_streams: streams,
        initial_window: WINDOW.min(buffer),
        max_stream_window: buffer,
        connection_window: CONNECTION_WINDOW,
        max_header_list: limits.head.max(hayami_h2::DEFAULT.max_header_list),
        max_fields: limits.fields,
        max_interim: limits.interim,
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_shared_out_between_the_protocols() {
        for (share, want) in [(0, 0), (1, 2), (25, 50), (50, 100), (99, 198), (100, 200)] {
            let sessions = Sessions::new(100, WINDOW, &hayami_h1::Limits::default());
            let due = (0..200).filter(|_| sessions.is_due(share, Millis::at(0))).count();
            assert_eq!(due, want, "{share} %");
        }
    }

    #[test]
    fn what_an_upstream_did_not_want_is_offered_again_after_a_while() {
        let sessions = Sessions::new(100, WINDOW, &hayami_h1::Limits::default());
        sessions.note_unwanted(Millis::at(1000));
        assert!(!sessions.is_due(100, Millis::at(60_999)));
        assert!(sessions.is_due(100, Millis::at(61_000)));
    }
}
