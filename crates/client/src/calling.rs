//! A call up to its response head: attempts, until one gets a response or no further attempt is allowed.

use super::attempt::{Attempt, CallContext, Loss};
use super::backend::Backend;
use super::call::Call;
use super::cause::{Cause, Phase};
use super::dedicated::Dedicated;
use super::http2::Shared;
use super::reply::{Failure, Reply};
use super::retry::{Failed, Reach, Verdict, judge};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Sends a request, on an idle connection if there is one, and waits for the response head. Dropping the
/// future early closes the connection so that the upstream can stop working.
///
/// The upstream may close an idle connection just as a request is sent on it. That is not a failure: if the
/// request is repeatable or none of it has been sent, it is retried on a new connection.
pub fn call(backend: &Rc<Backend>, call: Call) -> Calling {
    let shared = call.options.proxy_header.is_none() && backend.shares(&call);
    let mut context = CallContext::new(&backend.upstream, call);
    Calling(match shared {
        false => CallState::Own(Attempts::dedicated(context)),
        true => {
            let attempt = Shared::new(&backend.sessions, &mut context.call);
            CallState::Shared(Box::new(Attempts { context, attempt }))
        }
    })
}

/// A request in progress. Boxed because it becomes part of other futures, which are moved.
pub struct Calling(CallState);

/// The state of a request in progress.
enum CallState {
    /// On a dedicated connection.
    Own(Box<Attempts<Dedicated>>),
    /// On a shared HTTP/2 session.
    Shared(Box<Attempts<Shared>>),
    Over,
}

/// A call and its current attempt.
struct Attempts<A> {
    context: CallContext,
    attempt: A,
}

/// Why there is no response, and how to proceed.
type Unanswered = (Phase, Cause, Verdict);

impl Future for Calling {
    type Output = Result<Reply, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let unanswered = match &mut self.0 {
            CallState::Own(attempts) => match ready!(attempts.poll(cx)) {
                Ok(reply) => {
                    self.end();
                    return Poll::Ready(Ok(reply));
                }
                Err(unanswered) => unanswered,
            },
            CallState::Shared(attempts) => match ready!(attempts.poll(cx)) {
                Ok(reply) => {
                    self.end();
                    return Poll::Ready(Ok(reply));
                }
                Err(unanswered) => unanswered,
            },
            // A future must not be polled after completion.
            CallState::Over => return Poll::Pending,
        };
        self.fail(cx, unanswered)
    }
}

impl Calling {
    /// Ends an answered call and recycles the memory of its fields.
    #[inline]
    fn end(&mut self) {
        match std::mem::replace(&mut self.0, CallState::Over) {
            CallState::Own(attempts) => {
                attempts.context.upstream.outbound.pool().give_fields(attempts.context.call.fields)
            }
            CallState::Shared(attempts) => {
                attempts.context.upstream.outbound.pool().give_fields(attempts.context.call.fields)
            }
            CallState::Over => {}
        }
    }

    #[cold]
    fn fail(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        (phase, cause, verdict): Unanswered,
    ) -> Poll<Result<Reply, Failure>> {
        let context = match std::mem::replace(&mut self.0, CallState::Over) {
            CallState::Own(attempts) => attempts.into_context(),
            CallState::Shared(attempts) => attempts.into_context(),
            CallState::Over => return Poll::Pending,
        };
        if verdict == Verdict::OtherProtocol {
            self.0 = CallState::Own(Attempts::dedicated(context.restarted()));
            return self.poll(cx);
        }
        let elsewhere = verdict == Verdict::Over { elsewhere: true };
        let (elapsed, call) = (context.elapsed(), elsewhere.then_some(context.call));
        Poll::Ready(Err(Failure { phase, cause, elapsed, call }))
    }
}

impl Attempts<Dedicated> {
    fn dedicated(context: CallContext) -> Box<Self> {
        let attempt = Dedicated::new(&context.call);
        Box::new(Self { context, attempt })
    }
}

impl<A: Attempt> Attempts<A> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply, Unanswered>> {
        let Self { context, attempt } = self;
        loop {
            if let Err(cause) = ready!(attempt.poll_begin(cx, context)) {
                let loss = Loss { cause, reach: Reach::Unreachable };
                return Poll::Ready(Err((Phase::Connect, loss.cause, verdict(context, attempt, loss.reach))));
            }
            let before = attempt.phase();
            let head = attempt.poll_head(cx, context);
            context.note_phase(before, attempt.phase());
            match ready!(head) {
                Ok(answer) => {
                    context.note_head();
                    return Poll::Ready(Ok(attempt.reply(answer, context)));
                }
                Err(loss) => go_on(context, attempt, loss)?,
            }
        }
    }

    /// The call context, with the content if all of it is still available.
    fn into_context(self) -> CallContext {
        let Self { mut context, attempt } = self;
        if let Some(content) = attempt.into_content(&context.upstream) {
            context.call.content = Some(content);
        }
        context
    }
}

/// Handles a failed attempt: starts another one if that is allowed and possible.
#[cold]
fn go_on<A: Attempt>(context: &mut CallContext, attempt: &mut A, loss: Loss) -> Result<(), Unanswered> {
    let verdict = verdict(context, attempt, loss.reach);
    match verdict {
        Verdict::NextAddress => attempt.leave(loss.cause, true, context),
        Verdict::Again => {
            context.repeats += 1;
            attempt.leave(loss.cause, false, context);
        }
        Verdict::OtherProtocol | Verdict::Over { .. } => {
            return Err((attempt.phase(), loss.cause, verdict));
        }
    }
    Ok(())
}

fn verdict<A: Attempt>(context: &CallContext, attempt: &A, reach: Reach) -> Verdict {
    let (reused, repeatable, left) = (attempt.is_reused(), context.call.repeatable, attempt.left());
    judge(&Failed { reach, reused, repeatable, left, repeats: context.repeats })
}
