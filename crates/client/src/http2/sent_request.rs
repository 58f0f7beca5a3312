//! A request on a session, what it is waiting for and for how long.

use super::super::cause::{Cause, Phase};
use super::super::upstream::Upstream;
use super::session::Session;
use super::stream::Stream;
use super::upload::{Sending, Upload};
use hayami_h2::{ErrorCode, Key};
use std::rc::Rc;
use std::task::Context;

/// A request on a session. Dropping it cancels the stream.
pub(super) struct SentRequest {
    pub(super) session: Rc<Session>,
    pub(super) key: Key,
    pub(super) stream: Rc<Stream>,
    /// Whether the session has served earlier requests.
    pub(super) reused: bool,
    pub(super) phase: Phase,
    /// What the request is waiting for.
    waits: Waits,
    /// The caller no longer needs the response, but its stream is not reset.
    detached: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Connection,
    Room,
    Client,
    Response,
}

impl SentRequest {
    /// A request that was written on a session.
    pub(super) fn new(session: Rc<Session>, key: Key, stream: Rc<Stream>, reused: bool) -> Self {
        let phase = if reused { Phase::Send } else { Phase::Connect };
        Self { session, key, stream, reused, phase, waits: Waits::Connection, detached: false }
    }

    /// Sends content until it or the flow-control window is exhausted.
    ///
    /// # Errors
    /// The content could not be read.
    pub(super) fn send(
        &mut self,
        cx: &mut Context<'_>,
        upstream: &Upstream,
        upload: &mut Upload,
    ) -> Result<(), Cause> {
        let before = upload.taken();
        let sending = upload.poll(cx, upstream.outbound.pool(), &self.session, self.key)?;
        let waits = match sending {
            Sending::Done => Waits::Response,
            Sending::Blocked => Waits::Room,
            Sending::Hungry => Waits::Client,
        };
        if waits != self.waits || upload.taken() > before {
            self.waits = waits;
            match waits {
                Waits::Response => self.session.expect(&self.stream, upstream.timeouts.first_byte),
                Waits::Room => self.session.expect(&self.stream, upstream.timeouts.io),
                // The client connection has its own timeout.
                Waits::Client | Waits::Connection => self.stream.clear_deadline(),
            }
        }
        Ok(())
    }

    /// Whether the request is waiting only for its client's content.
    pub(super) fn is_hungry(&self) -> bool {
        self.waits == Waits::Client
    }

    /// Stops waiting for the response. If `whole`, the stream may still end on its own; otherwise it is reset on drop.
    pub(super) fn detach(&mut self, upstream: &Upstream, whole: bool) {
        self.detached = whole;
        self.session.expect(&self.stream, upstream.timeouts.io);
    }
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        if !self.detached {
            self.session.reset(self.key, ErrorCode::CANCEL);
        }
    }
}
