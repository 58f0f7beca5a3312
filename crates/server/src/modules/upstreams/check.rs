//! Active health checks: an upstream is probed at an interval, whether or not it gets requests.
//!
//! One worker checks for all. Each check opens its own connection, made as for requests, so it also tests whether the
//! upstream accepts new connections, and it neither uses nor disturbs pooled ones.

use super::settings::Check;
use super::shared::{SharedGroup, SharedMember};
use super::transport::Transport;
use crate::observe::{Severity, Subject, report};
use hayami_client::{Backend, Call, Origin, Timeouts, call, reach};
use hayami_http::FieldSection;
use hayami_net::Clock;
use hayami_net::upstream_io::UpstreamIo;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// What the checks of a group need.
pub(super) struct Checker {
    group: Weak<SharedGroup>,
    check: Check,
    outbound: UpstreamIo,
    clock: Rc<Clock>,
    transport: Transport,
}

impl Checker {
    pub(super) fn new(
        group: &Arc<SharedGroup>,
        outbound: &UpstreamIo,
        clock: &Rc<Clock>,
        transport: &Transport,
    ) -> Self {
        Self {
            group: Arc::downgrade(group),
            check: group.settings.check.clone().unwrap_or_default(),
            outbound: outbound.clone(),
            clock: Rc::clone(clock),
            transport: transport.clone(),
        }
    }

    /// Runs one check. The error says why it failed.
    async fn once(&self, member: &SharedMember) -> Result<(), String> {
        match timeout(self.check.timeout, self.ask(member)).await {
            Ok(result) => result,
            Err(_) => Err(format!("no response within {} ms", self.check.timeout.as_millis())),
        }
    }

    async fn ask(&self, member: &SharedMember) -> Result<(), String> {
        let origin = self.transport.origin(&member.url, member.peers().to_vec());
        let origin = origin.map_err(|error| error.to_string())?;
        let time = self.check.timeout;
        let timeouts = Timeouts { connect: time, first_byte: time, io: time, keep_alive: Duration::ZERO };
        let backend = Backend::new(&self.outbound, Origin { timeouts, idle: 0, ..origin });
        let Some(path) = &self.check.path else {
            return reach(&backend).await.map_err(|failure| failure.cause.to_string());
        };
        let host = self.check.host.as_ref().unwrap_or(&member.url.authority);
        let mut request = request(path, host);
        request.options.proxy_header = self.transport.proxy_header();
        let reply = call(&backend, request).await;
        let reply = reply.map_err(|failure| format!("{} while {}", failure.cause, failure.phase))?;
        let status = reply.head.status();
        if self.check.is_good(status) { Ok(()) } else { Err(format!("it returned {}", status.code())) }
    }

    fn conclude(&self, member: &SharedMember, verdict: Verdict, why: &str) {
        let Some(group) = self.group.upgrade() else { return };
        let shown = &member.url.shown;
        match verdict {
            Verdict::Same => return,
            Verdict::Down => {
                member.set_unhealthy(true);
                let text = format_args!("{shown}: health check failed, removed from the group: {why}");
                report(Severity::Warn, Subject::Upstream, text);
            }
            Verdict::Up => {
                group.mark_recovered(member, self.clock.refresh());
                member.set_unhealthy(false);
                let text = format_args!("{shown}: health check passed, back in the group");
                report(Severity::Notice, Subject::Upstream, text);
            }
        }
        group.queue.wake_first();
    }
}

fn request(path: &str, host: &str) -> Call {
    let mut fields = FieldSection::default();
    fields.append(b"host", host.as_bytes());
    fields.append(b"user-agent", b"hayami health check");
    Call::new(b"GET", path.as_bytes().to_vec(), fields)
}

/// Checks an upstream until it is removed.
pub(super) async fn run(checker: Rc<Checker>, member: Weak<SharedMember>) {
    let mut series = Series::default();
    let mut due = Instant::now();
    loop {
        let Some(checked) = member.upgrade() else { return };
        let result = checker.once(&checked).await;
        let verdict = series.add(result.is_ok(), checked.is_unhealthy(), &checker.check);
        checker.conclude(&checked, verdict, &result.err().unwrap_or_default());
        drop(checked);
        due = (due + checker.check.interval).max(Instant::now());
        sleep_until(due).await;
    }
}

/// The effect of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    Up,
    Down,
}

/// Successful checks in a row, or failed ones.
#[derive(Debug, Default)]
struct Series {
    /// Whether any check was made.
    has_begun: bool,
    good: bool,
    length: u32,
}

impl Series {
    /// Adds a check. The very first one decides alone: an upstream that is down from the start need not fail `falls`
    /// times first.
    fn add(&mut self, good: bool, sick: bool, check: &Check) -> Verdict {
        let first = !std::mem::replace(&mut self.has_begun, true);
        self.length = if self.good == good { self.length.saturating_add(1) } else { 1 };
        self.good = good;
        match (good, sick) {
            (false, false) if first || self.length >= check.falls => Verdict::Down,
            (true, true) if self.length >= check.rises => Verdict::Up,
            _ => Verdict::Same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_a_row_change_the_verdict_and_the_first_one_alone() {
        let check = Check { rises: 2, falls: 3, ..Check::default() };
        let run = |checks: &str| -> String {
            let (mut series, mut sick) = (Series::default(), false);
            let mut shown = |check_is_good: bool| match series.add(check_is_good, sick, &check) {
                Verdict::Same => '.',
                Verdict::Up => {
                    sick = false;
                    'U'
                }
                Verdict::Down => {
                    sick = true;
                    'D'
                }
            };
            checks.chars().map(|check| shown(check == '+')).collect()
        };
        let cases = [
            ("+++", "..."),
            ("-+-++-", "D...U."),
            ("+--+---", "......D"),
            ("+------", "...D..."),
            ("+---++---", "...D.U..D"),
        ];
        for (checks, want) in cases {
            assert_eq!(run(checks), want, "{checks}");
        }
    }

    #[test]
    fn a_check_names_its_source_and_its_target() {
        let call = request("/health?deep=1", "app.example");
        assert_eq!((&call.method[..], &call.target[..]), (&b"GET"[..], &b"/health?deep=1"[..]));
        assert_eq!(call.fields.get_named(b"host"), Some(&b"app.example"[..]));
    }
}
