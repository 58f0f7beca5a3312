//! HTTP/2 to upstreams (RFC 9113): sessions, each a connection that carries many concurrent calls.
//!
//! ```text
//! shared ── one call: sends head and content, gets the response head ┐
//! body ──── its content, as the client takes it                     stream ─ state shared by both sides
//! session ─ one connection: frames in (receive), one send a round ───┘
//! ```
//!
//! A session belongs to no call: the worker's event loop drives it, on socket events, on its deadline, and at
//! the end of each round in which calls have written something. A call is a future that polls its stream.

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

/// Initial receive window of a stream in bytes. The window grows up to [`Origin::buffer`](super::Origin)
/// while the client reads as fast as content arrives.
const WINDOW: u32 = 256 * 1024;

/// Receive window of the connection in bytes: more than one slow client can fill, since content buffered for
/// clients does not count.
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// How long HTTP/2 is not offered after an upstream declined it.
const UNWANTED: Duration = Duration::from_secs(60);

/// An origin's sessions that accept calls.
pub(super) struct Sessions {
    list: RefCell<Vec<Rc<Session>>>,
    config: Config,
    /// The upstream's last known limit on concurrent streams, so that a new session does not exceed it in vain.
    allowed: Cell<u32>,
    /// HTTP/2 is not offered before this time, in milliseconds of the worker's clock, because the upstream declined it.
    unwanted: Cell<Millis>,
    /// Hundredths of a call owed to HTTP/2.
    owed: Cell<u8>,
}

impl Sessions {
    /// Creates an empty list: `streams` concurrent calls per session, up to `buffer` bytes of content
    /// buffered for each.
    pub(super) fn new(streams: u32, buffer: u32, limits: &hayami_h1::Limits) -> Self {
        let config = config(streams, buffer, limits);
        let (list, allowed) = (RefCell::default(), Cell::new(u32::MAX));
        Self { list, config, allowed, unwanted: Cell::new(Millis::default()), owed: Cell::new(0) }
    }

    /// Whether to offer HTTP/2 for this call; `share` is the percentage of calls that do.
    pub(super) fn is_due(&self, share: u8, now: Millis) -> bool {
        if now < self.unwanted.get() {
            return false;
        }
        let owed = self.owed.get() + share.min(100);
        self.owed.set(owed % 100);
        owed >= 100
    }

    /// Records that the upstream declined HTTP/2.
    fn note_unwanted(&self, now: Millis) {
        self.unwanted.set(now.after(UNWANTED));
    }

    /// Finds a session that can take one more call. Sessions still connecting count if their address has
    /// index `at` or higher.
    fn find(&self, at: usize) -> Option<Rc<Session>> {
        let list = self.list.borrow();
        list.iter().find(|session| session.has_room(at, self.allowed.get())).map(Rc::clone)
    }

    /// Starts a session with the address at index `at`; `None` if there is no such address.
    fn begin(self: &Rc<Self>, upstream: &Rc<Upstream>, at: usize) -> Option<io::Result<Rc<Session>>> {
        let channel = upstream.open_shared(at)?;
        Some(channel.map(|channel| {
            let session = Session::begin(upstream, self, channel, at);
            self.list.borrow_mut().push(Rc::clone(&session));
            session
        }))
    }

    /// Removes a session that takes no more calls.
    fn remove(&self, session: &Session) {
        let at = self.list.borrow().iter().position(|own| std::ptr::eq(&**own, session));
        let removed = at.map(|at| self.list.borrow_mut().remove(at));
        drop(removed);
    }

    /// Number of sessions without calls.
    pub(super) fn idle(&self) -> usize {
        self.list.borrow().iter().filter(|session| session.is_idle()).count()
    }

    /// Retires all sessions after the origin's addresses changed; each ends with its last call.
    pub(super) fn retire(&self) {
        for session in self.list.take() {
            session.leave();
        }
    }
}

/// Limits on concurrency and on the size of heads.
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
