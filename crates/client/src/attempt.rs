//! One attempt of a call, on a connection of its own or on a session that calls share; and what the attempts of a call
//! have in common.

use super::call::Call;
use super::cause::{Cause, Phase};
use super::reply::{Reply, Timing};
use super::retry::{Left, Reach};
use super::upstream::{InFlight, Upstream};
use hayami_http::{ResponseHead, Source};
use hayami_net::clock::Instant;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// What a kind of attempt supplies; everything else of a call is in `calling`.
pub(super) trait Attempt: Sized {
    /// What is known of a response with its head.
    type Answer;

    /// Begins with the request, or goes on with it elsewhere; ready as soon as it has a connection or session.
    ///
    /// # Errors
    /// No address takes a connection.
    fn poll_begin(&mut self, cx: &mut Context<'_>, context: &mut CallContext) -> Poll<Result<(), Cause>>;

    /// Sends what can be sent, and looks for the response's head.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        context: &mut CallContext,
    ) -> Poll<Result<Self::Answer, Loss>>;

    /// How far it is.
    fn phase(&self) -> Phase;

    /// Whether its connection has served others.
    fn is_reused(&self) -> bool;

    /// What could be sent of the content once more.
    fn left(&self) -> Left;

    /// The request is to begin once more, at the next address because of this cause, or `None`: wherever it can.
    fn leave(&mut self, cause: Cause, next: bool, context: &mut CallContext);

    /// Gives the content back, for another attempt, if all of it is left.
    fn into_content(self, upstream: &Upstream) -> Option<Box<dyn Source>>;

    /// The response.
    fn reply(&mut self, answer: Self::Answer, context: &mut CallContext) -> Reply;
}

/// What a call is, whichever attempt it is at.
pub(super) struct CallContext {
    pub(super) upstream: InFlight,
    pub(super) call: Call,
    /// Index of the address that is tried next, or was last; why the one before failed.
    pub(super) at: usize,
    pub(super) before: Option<Cause>,
    /// How often the request was sent again.
    pub(super) repeats: u8,
    began: Instant,
    pub(super) timing: Timing,
}

/// Why an attempt has no response.
pub(super) struct Loss {
    pub(super) cause: Cause,
    pub(super) reach: Reach,
}

impl CallContext {
    /// The call begins.
    pub(super) fn new(upstream: &Rc<Upstream>, call: Call) -> Self {
        let (began, upstream) = (upstream.outbound.clock().now(), InFlight::new(upstream));
        Self { upstream, call, at: 0, before: None, repeats: 0, began, timing: Timing::default() }
    }

    /// For another kind of attempts.
    #[cold]
    pub(super) fn restarted(self) -> Self {
        Self { at: 0, before: None, repeats: 0, ..self }
    }

    /// Since the call began.
    pub(super) fn elapsed(&self) -> Duration {
        self.upstream.outbound.clock().refresh_if_exact().saturating_duration_since(self.began)
    }

    /// Why there is no address left.
    #[cold]
    pub(super) fn no_address(&mut self) -> Cause {
        self.before.take().unwrap_or(Cause::NoPeers)
    }

    /// Notes the time of what an attempt has got to.
    #[inline]
    pub(super) fn note_phase(&mut self, before: Phase, now: Phase) {
        if before == now {
            return;
        }
        if before == Phase::Connect {
            self.timing.connected = Some(self.elapsed());
        }
        if matches!(before, Phase::Connect | Phase::Send) && matches!(now, Phase::FirstByte | Phase::Head) {
            self.timing.sent = self.elapsed();
        }
    }

    /// The response's head is there.
    pub(super) fn note_head(&mut self) {
        self.timing.head = self.elapsed();
        if self.timing.sent.is_zero() {
            self.timing.sent = self.timing.head;
        }
    }

    /// Whether a response to HEAD with this head says what GET would have got.
    pub(super) fn is_announced(&self, head: &ResponseHead) -> bool {
        self.call.method == b"HEAD" && !head.status().forbids_content()
    }
}
