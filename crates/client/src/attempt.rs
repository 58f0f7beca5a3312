//! One attempt of a call, on a dedicated connection or on a shared session, and the state common to all
//! attempts of a call.

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

/// Implemented by each kind of attempt; the rest of a call is in `calling`.
pub(super) trait Attempt: Sized {
    /// What the attempt learns along with the response head.
    type Answer;

    /// Starts the attempt, or restarts it elsewhere; ready as soon as it has a connection or session.
    ///
    /// # Errors
    /// No address accepts a connection.
    fn poll_begin(&mut self, cx: &mut Context<'_>, context: &mut CallContext) -> Poll<Result<(), Cause>>;

    /// Sends what it can and reads the response head.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        context: &mut CallContext,
    ) -> Poll<Result<Self::Answer, Loss>>;

    /// The current phase.
    fn phase(&self) -> Phase;

    /// Whether its connection has served earlier requests.
    fn is_reused(&self) -> bool;

    /// How much of the content could be sent again.
    fn left(&self) -> Left;

    /// Restarts the request after `cause`: at the next address if `next`, otherwise wherever possible.
    fn leave(&mut self, cause: Cause, next: bool, context: &mut CallContext);

    /// Returns the content for another attempt if none of it has been lost.
    fn into_content(self, upstream: &Upstream) -> Option<Box<dyn Source>>;

    /// Builds the response.
    fn reply(&mut self, answer: Self::Answer, context: &mut CallContext) -> Reply;
}

/// State of a call that outlives its attempts.
pub(super) struct CallContext {
    pub(super) upstream: InFlight,
    pub(super) call: Call,
    /// Index of the address being tried or to try next; why the previous one failed.
    pub(super) at: usize,
    pub(super) before: Option<Cause>,
    /// How often the request has been resent.
    pub(super) repeats: u8,
    began: Instant,
    pub(super) timing: Timing,
}

/// Why an attempt got no response.
pub(super) struct Loss {
    pub(super) cause: Cause,
    pub(super) reach: Reach,
}

impl CallContext {
    /// Starts a call.
    pub(super) fn new(upstream: &Rc<Upstream>, call: Call) -> Self {
        let (began, upstream) = (upstream.outbound.clock().now(), InFlight::new(upstream));
        Self { upstream, call, at: 0, before: None, repeats: 0, began, timing: Timing::default() }
    }

    /// Resets the state for another kind of attempt.
    #[cold]
    pub(super) fn restarted(self) -> Self {
        Self { at: 0, before: None, repeats: 0, ..self }
    }

    /// Time since the call began.
    pub(super) fn elapsed(&self) -> Duration {
        self.upstream.outbound.clock().refresh_if_exact().saturating_duration_since(self.began)
    }

    /// The cause to report when no address remains.
    #[cold]
    pub(super) fn no_address(&mut self) -> Cause {
        self.before.take().unwrap_or(Cause::NoPeers)
    }

    /// Records the time of a phase transition.
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

    /// Records the arrival of the response head.
    pub(super) fn note_head(&mut self) {
        self.timing.head = self.elapsed();
        if self.timing.sent.is_zero() {
            self.timing.sent = self.timing.head;
        }
    }

    /// Whether a response with this head answers HEAD and describes the content GET would have returned.
    pub(super) fn is_announced(&self, head: &ResponseHead) -> bool {
        self.call.method == b"HEAD" && !head.status().forbids_content()
    }
}
