//! A request's way through the steps of a phase.

use super::Core;
use super::request_context::{PendingPhase, Phase, RequestContext, Walk};
use super::subrequest::Parent;
use crate::handler::Outcome;
use crate::phase::{PhaseRequest, Reply, Resumption, Satisfy, Step, Verdict};
use hayami_http::RequestHead;
use std::rc::Rc;

/// What a phase has come to.
pub(super) enum Passed {
    /// The request goes on with this.
    Now(Outcome),
    /// A step waits.
    Later(PendingPhase),
}

impl RequestContext {
    /// The early phase of the request's route, and `then` behind it.
    #[cold]
    pub(super) fn pass_early(&mut self, core: &Rc<Core>, head: &mut RequestHead, then: Outcome) -> Passed {
        self.walk(Phase::Early, then).run(core, self, head, Verdict::Pass)
    }

    /// The limit and access phases of the request's route, and its handlers behind them.
    pub(super) fn pass_guards(&mut self, core: &Rc<Core>, head: &mut RequestHead) -> Passed {
        self.unchecked = false;
        // What an answer that led here has asked for is over.
        self.connection.cancel_on_close.set(false);
        // Where an answer leads is no request of the client.
        let first = if self.delegations == 0 { Phase::Limit } else { Phase::Access };
        self.walk(first, Outcome::Declined).run(core, self, head, Verdict::Pass)
    }

    /// Goes on with a phase when the wait of a step is over.
    pub(super) fn resume(
        &mut self,
        core: &Rc<Core>,
        head: &mut RequestHead,
        walk: Walk,
        resumption: Resumption,
    ) -> Passed {
        // What a subrequest has asked for is over with it.
        self.connection.cancel_on_close.set(false);
        let verdict = self.show(core, head, resumption);
        walk.run(core, self, head, verdict)
    }

    fn walk(&self, phase: Phase, then: Outcome) -> Walk {
        Walk { route: Rc::clone(&self.route), phase, next: 0, refused: None, then }
    }

    /// Shows the request to a step.
    fn show<R>(
        &mut self,
        core: &Rc<Core>,
        head: &mut RequestHead,
        to: impl FnOnce(&mut PhaseRequest<'_>) -> R,
    ) -> R {
        let mut client = self.client.clone();
        let mut passed_limits = std::mem::take(&mut self.passed_limits);
        let shown = to(&mut PhaseRequest {
            head,
            connection: &self.connection,
            client: &mut client,
            passed_limits: &mut passed_limits,
            asked: self.asked.as_deref(),
            subrequests: &self.as_parent(core),
        });
        (self.client, self.passed_limits) = (client, passed_limits);
        shown
    }

    /// The request, as one on whose behalf subrequests are made.
    pub(super) fn as_parent<'a>(&'a self, core: &'a Rc<Core>) -> Parent<'a> {
        Parent {
            core,
            host: self.host,
            route: &self.route,
            connection: &self.connection,
            client: self.client.clone(),
            depth: self.depth,
            early: self.early,
        }
    }
}

impl Walk {
    /// Asks the steps in turn, after one has given this verdict.
    fn run(
        mut self,
        core: &Rc<Core>,
        context: &mut RequestContext,
        head: &mut RequestHead,
        mut verdict: Verdict,
    ) -> Passed {
        loop {
            match verdict {
                Verdict::Pass => {}
                Verdict::Admit if self.is_one_enough() => return Passed::Now(self.then),
                Verdict::Admit => {}
                Verdict::Refuse(reply) if self.is_one_enough() => self.note(reply),
                Verdict::Refuse(reply) | Verdict::Answer(reply) => return Passed::Now((*reply).into()),
                Verdict::Wait(waiting) => {
                    return Passed::Later(PendingPhase { walk: Box::new(self), waiting });
                }
            }
            let next = self.next;
            self.next += 1;
            verdict = match self.steps().get(next) {
                Some(step) => context.show(core, head, |request| step.check(request)),
                None if self.phase == Phase::Limit => self.enter_access(),
                None => return Passed::Now(self.end()),
            };
        }
    }

    /// The limit phase is over.
    fn enter_access(&mut self) -> Verdict {
        (self.phase, self.next) = (Phase::Access, 0);
        Verdict::Pass
    }

    fn steps(&self) -> &[Box<dyn Step>] {
        match self.phase {
            Phase::Early => &self.route.phases.early,
            Phase::Limit => &self.route.phases.limit,
            Phase::Access => &self.route.phases.access,
        }
    }

    fn is_one_enough(&self) -> bool {
        self.phase == Phase::Access && self.route.phases.satisfy == Satisfy::Any
    }

    /// Keeps a refusal. One that asks for credentials, or leads to where they are asked for, wins: with them the client
    /// may be admitted.
    fn note(&mut self, reply: Box<Reply>) {
        let asks = |reply: &Reply| {
            let status = reply.response.head.status();
            matches!(status.code(), 300..=399 | 401 | 407)
        };
        if !self.refused.as_ref().is_some_and(|known| asks(known)) {
            self.refused = Some(reply);
        }
    }

    /// No step is left.
    fn end(self) -> Outcome {
        self.refused.map_or(self.then, |reply| (*reply).into())
    }
}
