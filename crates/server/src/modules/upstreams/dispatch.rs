//! Sends one request to an upstream: waits in the queue if all are busy, and retries on another upstream if one fails
//! and a retry is safe.

use super::download;
use super::member::Member;
use super::pool::{Chosen, Pool, SelectError};
use super::shared::Permit;
use crate::handler::Outcome;
use crate::modules::proxy::failure;
use crate::upstream_trace::{Direction, UpstreamTrace};
use hayami_client::{Call, Calling, Cause, Failure, Phase, Reply, Timing, call};
use hayami_http::{Content, SourceError, Status};
use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

/// Interval at which the first in the queue checks for ejections that have ended: nothing wakes it for that.
const LOOK: Duration = Duration::from_millis(250);

/// Where a request may be sent.
pub struct Dispatch {
    /// The group.
    pub pool: Rc<Pool>,
    /// [`Pool::transport`]
    pub transport: usize,
    /// [`Pool::key`]
    pub key: Option<u64>,
    /// Records for the log which upstreams were tried.
    pub trace: Option<Rc<UpstreamTrace>>,
    /// The resource that errors name beside the upstream, if any: a script.
    pub subject: Option<Box<str>>,
}

/// A request whose first upstream has been chosen, or which waits for one. Futures keep this instead of the [`Call`], which
/// is large: each of them would have room for several copies.
pub enum Begun {
    /// It is sent to this upstream.
    Called(Called),
    /// It waits in the queue, or cannot be sent.
    Waiting(SelectError, Box<Call>),
}

/// A request that is sent to an upstream.
pub struct Called {
    member: Rc<Member>,
    permit: Option<Permit>,
    calling: Calling,
}

/// A response.
pub struct Answered {
    /// The response itself.
    pub reply: Reply,
    /// The upstream that sent it.
    pub member: Rc<Member>,
    /// Held until the response's content has been received or is abandoned.
    pub permit: Option<Permit>,
}

/// Why there is no response.
pub enum Failed {
    /// The last upstream that was tried failed.
    Upstream {
        /// Its failure.
        failure: Box<Failure>,
        /// Reasons of all failed tries, for the log.
        reasons: Vec<String>,
    },
    /// The request was sent to no upstream: the response to send instead, with the reason.
    NotSent(Outcome),
}

impl Dispatch {
    /// Begins with the first upstream, if there is one.
    pub fn begin(&self, first: Result<Chosen, SelectError>, request: Call) -> Begun {
        match first {
            Ok(chosen) => Begun::Called(self.call(chosen, request)),
            Err(select_error) => Begun::Waiting(select_error, Box::new(request)),
        }
    }

    #[inline]
    fn call(&self, Chosen { member, permit }: Chosen, request: Call) -> Called {
        if let Some(trace) = &self.trace {
            trace.called(member.shown(), self.pool.now());
        }
        let calling = call(&member.backend(self.transport), request);
        Called { member, permit, calling }
    }

    /// Waits for the response of the first upstream, then of others if it fails and a retry is safe. `readdress` adapts a
    /// call to another upstream.
    ///
    /// # Errors
    /// No upstream has sent a response.
    pub async fn run(
        &self,
        begun: Begun,
        readdress: impl Fn(Call, &Member) -> Call,
    ) -> Result<Answered, Failed> {
        let began = self.pool.now();
        let mut called = match begun {
            Begun::Called(called) => called,
            Begun::Waiting(select_error, request) => {
                // Boxed, since it is rare and would make every request's future much larger.
                let chosen = Box::pin(self.wait(select_error)).await.map_err(Failed::NotSent)?;
                let request = readdress(*request, &chosen.member);
                self.call(chosen, request)
            }
        };
        let (mut tried, mut reasons) = (Vec::new(), Vec::new());
        loop {
            let Called { member, permit, calling } = called;
            let mut failure = match calling.await {
                Ok(reply) => {
                    self.pool.note_success(&member);
                    return Ok(Answered { reply, member, permit });
                }
                Err(failure) => failure,
            };
            self.note(&member, &failure);
            reasons.push(self.reason(&member, &failure));
            tried.push(Rc::clone(&member));
            let in_time = self
                .pool
                .group
                .settings
                .retry
                .time
                .is_none_or(|time| self.pool.now().saturating_duration_since(began) < time);
            let worth = in_time && failure::is_worth_repeating(&failure);
            let again = failure.call.take().filter(|_| worth);
            let next = again
                .and_then(|again| Some((again, self.next(&tried, &failure, Chosen { member, permit })?)));
            let Some((again, next)) = next else {
                return Err(Failed::Upstream { failure: Box::new(failure), reasons });
            };
            let again = readdress(again, &next.member);
            called = self.call(next, again);
        }
    }

    /// The log line for a failure. For an upstream without addresses it says why name resolution failed.
    #[cold]
    fn reason(&self, member: &Member, failure: &Failure) -> String {
        let whose = self.whose(member);
        match (&failure.cause, self.pool.group.lookup_failure(member.shared.entry)) {
            (Cause::NoPeers, Some(why)) => format!("upstream {whose}: cannot resolve the host name: {why}"),
            _ => failure::reason(&whose, failure),
        }
    }

    /// How errors name an upstream: `127.0.0.1:9000 for /index.php`.
    #[cold]
    pub fn whose<'a>(&self, member: &'a Member) -> Cow<'a, str> {
        match &self.subject {
            Some(subject) => Cow::Owned(format!("{} for {subject}", member.shown())),
            None => Cow::Borrowed(member.shown()),
        }
    }

    /// Wraps the content of a response on its way to the client: traces it for the log, holds the permit until its end,
    /// and calls `report` if it breaks off.
    pub fn follow(
        &self,
        content: Content,
        timing: Timing,
        permit: Option<Permit>,
        report: Option<impl Fn(&SourceError) + 'static>,
    ) -> Content {
        let content = match (content, &self.trace) {
            (Content::Stream(source), Some(trace)) => {
                trace.answered(timing, None);
                Content::Stream(trace.counted(source, Direction::Down, self.pool.clock()))
            }
            (content, Some(trace)) => {
                trace.answered(timing, Some(content.len().unwrap_or_default()));
                content
            }
            (content, None) => content,
        };
        download::follow(content, permit, report)
    }

    fn note(&self, member: &Member, failure: &Failure) {
        match failure::failure_kind(failure) {
            Some(manner) => self.pool.note_failure(member, manner, &failure.cause),
            None if failure.phase != Phase::Connect => self.pool.note_success(member),
            None => {}
        }
    }

    /// The upstream to retry on. If it is the only one and closed the connection, it gets a second try.
    fn next(&self, tried: &[Rc<Member>], failure: &Failure, last: Chosen) -> Option<Chosen> {
        if tried.len() >= self.pool.group.settings.retry.tries {
            return None;
        }
        if self.pool.has_one() && tried.len() == 1 && failure.phase != Phase::Connect {
            return Some(last);
        }
        self.pool.choose_but(tried, self.key).ok()
    }

    /// Waits in the queue for an upstream that is not full.
    #[cold]
    async fn wait(&self, select_error: SelectError) -> Result<Chosen, Outcome> {
        let group = &self.pool.group;
        let most = group.settings.queue.timeout;
        let ticket = match select_error {
            SelectError::Down(rest) => return Err(none_available(rest, DOWN)),
            SelectError::Unresolved => return Err(unresolved()),
            SelectError::Full => group.queue.join(),
        };
        let ticket =
            ticket.ok_or_else(|| none_available(most, "all upstreams are busy and the queue is full"))?;
        let mut late = pin!(tokio::time::sleep(most));
        let mut look = pin!(tokio::time::sleep(LOOK));
        poll_fn(|cx| {
            // Register first, so that a permit released during the search wakes us.
            ticket.wakes(cx.waker());
            if ticket.is_first() {
                match self.pool.choose_but(&[], self.key) {
                    Ok(chosen) => return Poll::Ready(Ok(chosen)),
                    Err(SelectError::Down(rest)) => return Poll::Ready(Err(none_available(rest, DOWN))),
                    Err(SelectError::Unresolved) => return Poll::Ready(Err(unresolved())),
                    Err(SelectError::Full) => {}
                }
                while look.as_mut().poll(cx).is_ready() {
                    look.as_mut().reset(tokio::time::Instant::now() + LOOK);
                }
            }
            if late.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(none_available(
                    most,
                    "all upstreams were busy; the request timed out in the queue",
                )));
            }
            Poll::Pending
        })
        .await
    }
}

const DOWN: &str = "all upstreams are ejected or down";

/// The response while no upstream name can be resolved. Failed lookups are logged per name, not per request.
fn unresolved() -> Outcome {
    Outcome::Ready(failure::response(Status::BAD_GATEWAY))
}

/// The response while no upstream is available.
fn none_available(wait: Duration, reason: &str) -> Outcome {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let mut response = crate::service::plain(Status::SERVICE_UNAVAILABLE, "");
    response.head.append(b"retry-after", seconds.max(1).to_string().as_bytes());
    Outcome::Failed { response, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_upstream_the_response_says_when_to_retry() {
        for (wait, want) in [(Duration::ZERO, "1"), (Duration::from_millis(1001), "2")] {
            let Outcome::Failed { response, reason } = none_available(wait, "why") else {
                panic!("no failure")
            };
            assert_eq!(response.head.get_named(b"retry-after"), Some(want.as_bytes()));
            assert_eq!(reason, "why");
        }
    }
}
