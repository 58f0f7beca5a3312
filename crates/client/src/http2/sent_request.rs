//! A request on a session: what it waits for, and for how long.

use super::super::cause::{Cause, Phase};
use super::super::upstream::Upstream;
use super::session::Session;
use super::stream::Stream;
use super::upload::{Sending, Upload};
use hayami_h2::{ErrorCode, Key};
use std::rc::Rc;
use std::task::Context;

/// A request on a session. Dropped, it is given up.
pub(super) struct SentRequest {
    pub(super) session: Rc<Session>,
    pub(super) key: Key,
    pub(super) stream: Rc<Stream>,
    /// The session has served others.
    pub(super) reused: bool,
    pub(super) phase: Phase,
    /// What is waited for.
    waits: Waits,
    /// Nobody waits for the rest, and it may come all the same.
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

    /// Sends content as far as there is some and the upstream takes it.
    ///
    /// # Errors
    /// The content could not be had.
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
                // Its connection knows how long.
                Waits::Client | Waits::Connection => self.stream.clear_deadline(),
            }
        }
        Ok(())
    }

    /// Whether only the client is waited for, as far as the request goes.
    pub(super) fn is_hungry(&self) -> bool {
        self.waits == Waits::Client
    }

    /// Nothing of the response matters any more; its end may still come, unless the request goes on for nobody.
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
