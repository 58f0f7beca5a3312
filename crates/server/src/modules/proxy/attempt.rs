//! One request's way through the upstreams: asked, and if that fails and may be done, asked again elsewhere.

use super::failure;
use super::handler::{Member, Pool};
use super::health::Manner;
use super::response;
use super::target::Below;
use super::tunnel::Asked;
use super::upload::Blame;
use crate::handler::Outcome;
use hayami_http::{Content, FieldSection, Response, Source, SourceError, Status};
use hayami_net::upstream::{Call, Failure, Phase, Reply, call};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Upstreams that are asked for one request: with many of them down, a client does not wait for all.
const MOST: usize = 4;

/// A request under way.
pub(super) struct Attempt {
    pub(super) pool: Rc<Pool>,
    /// For another upstream's target.
    pub(super) below: Below,
    /// Where the client's content says what is wrong with it.
    pub(super) blame: Option<Blame>,
    /// Another upstream gets another Host.
    pub(super) replaces_host: bool,
    /// The tunnel that is asked for.
    pub(super) asked: Option<Box<Asked>>,
}

impl Attempt {
    /// Asks `chosen`, and others if need be.
    pub(super) async fn run(self, mut chosen: usize, mut request: Call) -> Outcome {
        let pool = Rc::clone(&self.pool);
        let (mut tried, mut reasons) = (Vec::new(), Vec::new());
        loop {
            let member = &pool.members[chosen];
            let mut failure = match call(&member.backend, request).await {
                Ok(reply) => {
                    pool.note_success(member);
                    return self.answer(reply, chosen);
                }
                Err(failure) => failure,
            };
            pool.note_failure(member, &failure);
            reasons.push(failure::reason(&member.shown, &failure));
            tried.push(chosen);
            let again = failure.call.take().filter(|_| failure::is_worth_repeating(&failure));
            let (Some(again), Some(next)) = (again, self.next(&tried, &failure)) else {
                return self.failed(&failure, &reasons);
            };
            (chosen, request) = (next, self.readdressed(again, next));
        }
    }

    /// Whom to ask after a failure. An only upstream that closed a connection is asked once more.
    fn next(&self, tried: &[usize], failure: &Failure) -> Option<usize> {
        if tried.len() >= MOST {
            return None;
        }
        let only = self.pool.members.len() == 1;
        if only && tried.len() == 1 && failure.phase != Phase::Connect {
            return Some(0);
        }
        self.pool.choose(tried).ok()
    }

    /// The same request to another upstream.
    fn readdressed(&self, mut call: Call, to: usize) -> Call {
        let member = &self.pool.members[to];
        call.target = member.target(&self.below);
        if self.replaces_host && self.pool.members.len() > 1 {
            call.fields = with_host(std::mem::take(&mut call.fields), &member.authority);
        }
        call
    }

    fn failed(&self, failure: &Failure, reasons: &[String]) -> Outcome {
        let refusal = self.blame.as_ref().and_then(|blame| blame.borrow().clone());
        let status = failure::status(failure, refusal.as_ref());
        Outcome::Failed { response: failure::response(status), reason: reasons.join("; ") }
    }

    fn answer(mut self, mut reply: Reply, chosen: usize) -> Outcome {
        let Some(asked) = self.asked.take() else { return Outcome::Ready(self.response(reply, chosen)) };
        let wrong = match reply.tunnel.take() {
            None if asked.takes(&reply.head) => return Outcome::Ready(self.response(reply, chosen)),
            None => "it answered with success and did not switch protocols",
            Some(tunnel) => match asked.granted(reply.head, tunnel, self.pool.keep_server) {
                Ok(response) => return Outcome::Ready(response),
                Err(wrong) => wrong,
            },
        };
        let reason = format!("upstream {}: {wrong}", self.pool.members[chosen].shown);
        Outcome::Failed { response: failure::response(Status::BAD_GATEWAY), reason }
    }

    fn response(self, reply: Reply, chosen: usize) -> Response {
        let Reply { mut head, content, .. } = reply;
        response::clean(&mut head, self.pool.keep_server);
        let content = match content {
            Content::Stream(source) if self.pool.reports_errors => {
                Content::Stream(Box::new(Download { source, attempt: self, chosen }))
            }
            content => content,
        };
        Response { head, content }
    }
}

impl Pool {
    /// A connection was made, whatever came of it.
    fn note_success(&self, member: &Member) {
        let mut health = member.health.get();
        if health.worked() {
            self.reporter.line(&format!("upstream {}: takes connections again", member.shown));
        }
        member.health.set(health);
    }

    fn note_failure(&self, member: &Member, failure: &Failure) {
        let Some(manner) = failure::manner(failure) else {
            if failure.phase != Phase::Connect {
                self.note_success(member);
            }
            return;
        };
        let mut health = member.health.get();
        let news = health.failed(self.now(), manner);
        member.health.set(health);
        // An only upstream is asked all the same, if it says no at once.
        let Some(wait) = news.filter(|_| self.members.len() > 1 || manner == Manner::Silent) else { return };
        let shown = &member.shown;
        self.reporter.line(&format!(
            "upstream {shown}: {}; left alone for {} s",
            failure.cause,
            wait.as_secs()
        ));
    }
}

/// The answer when all upstreams are down for a while.
pub(super) fn nobody(wait: Duration) -> Outcome {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let mut response = crate::service::plain(Status::SERVICE_UNAVAILABLE, "");
    response.head.append(b"retry-after", seconds.max(1).to_string().as_bytes());
    Outcome::Failed { response, reason: "no upstream takes connections at the moment".to_owned() }
}

/// The fields with another Host, which stands first; one that a command has set stays.
fn with_host(fields: FieldSection, host: &[u8]) -> FieldSection {
    if fields.iter().next().is_none_or(|(name, _)| name != b"host") {
        return fields;
    }
    let mut changed = FieldSection::default();
    changed.append(b"host", host);
    for (name, value) in fields.iter().skip(1) {
        changed.append(name, value);
    }
    changed
}

/// A response's content on its way from an upstream; what breaks off is reported.
struct Download {
    source: Box<dyn Source>,
    attempt: Attempt,
    chosen: usize,
}

impl Source for Download {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let filled = self.source.fill(cx, room, out);
        if let Poll::Ready(Err(error)) = &filled {
            let pool = &self.attempt.pool;
            let member = &pool.members[self.chosen];
            let target = String::from_utf8_lossy(&member.target(&self.attempt.below)).into_owned();
            let shown = &member.shown;
            pool.reporter.line(&format!(
                "upstream {shown}: the content of its response for \"{target}\" broke off: {error}"
            ));
        }
        filled
    }

    fn length(&self) -> Option<u64> {
        self.source.length()
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.source.trailers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_upstream_gets_its_own_host_unless_a_command_has_set_one() {
        let cases = [(["host", "a"], ["other", "1"]), (["a", "host"], ["0", "1"])];
        for (names, want) in cases {
            let mut fields = FieldSection::default();
            for (number, name) in names.iter().enumerate() {
                fields.append(name.as_bytes(), number.to_string().as_bytes());
            }
            let changed = with_host(fields, b"other");
            assert_eq!(changed.iter().map(|(_, value)| value).collect::<Vec<_>>(), want.map(str::as_bytes));
        }
    }

    #[test]
    fn who_finds_nobody_is_told_when_to_come_back() {
        for (wait, want) in [(Duration::ZERO, "1"), (Duration::from_millis(1001), "2")] {
            let Outcome::Failed { response, reason } = nobody(wait) else { panic!("no failure") };
            assert_eq!(response.head.get_named(b"retry-after"), Some(want.as_bytes()));
            assert_eq!(reason, "no upstream takes connections at the moment");
        }
    }
}
