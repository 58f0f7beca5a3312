//! The step of the limit phase: each limit of a route counts the request.

use super::Settings;
use super::bound::Exceeded;
use super::key::RouteKey;
use super::limit::Limit;
use super::reply::rejection;
use crate::feature::RouteContext;
use crate::network_table::NetworkTable;
use crate::observe::{Severity, report_request};
use crate::phase::{PhaseRequest, Reply, Resumption, Step, Verdict};
use crate::watched_file::{WatchedFile, refresh_all};
use hayami_net::Clock;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The step for these settings; `None` if they ask for nothing.
pub(super) fn build(settings: &Settings, route: &RouteContext<'_>) -> Option<Box<dyn Step>> {
    let path = route.path.map(|path| path.key.to_string()).unwrap_or_default();
    let key = |limit: &Arc<Limit>| RouteKey::new(&limit.key, route.host_name(), &path);
    let limits: Box<[_]> = settings.all().map(|limit| (Arc::clone(limit), key(limit))).collect();
    let clock = Rc::clone(&route.worker.clock);
    (!limits.is_empty()).then(|| Box::new(LimitStep(Rc::new(Limits { limits, clock }))) as Box<dyn Step>)
}

struct LimitStep(Rc<Limits>);

/// The limits of a route.
struct Limits {
    limits: Box<[(Arc<Limit>, RouteKey)]>,
    clock: Rc<Clock>,
}

impl Step for LimitStep {
    fn check(&self, request: &mut PhaseRequest<'_>) -> Verdict {
        let now = self.0.clock.now();
        if self.0.files().any(|file| !file.is_fresh(now)) {
            return self.compare_files();
        }
        self.0.count(request)
    }
}

impl LimitStep {
    /// Counts when the files have been compared with the disk.
    #[cold]
    fn compare_files(&self) -> Verdict {
        let limits = Rc::clone(&self.0);
        Verdict::Wait(Box::pin(async move {
            refresh_all(limits.files(), &limits.clock).await;
            Box::new(move |request: &mut PhaseRequest<'_>| limits.count(request)) as Resumption
        }))
    }
}

impl Limits {
    fn files(&self) -> impl Iterator<Item = &Arc<WatchedFile<NetworkTable>>> {
        self.limits.iter().flat_map(|(limit, _)| &limit.exempt.files)
    }

    /// Has each limit count the request that has not done so.
    fn count(&self, request: &mut PhaseRequest<'_>) -> Verdict {
        let now = self.clock.now().as_nanos();
        let mut wait = Duration::ZERO;
        for (limit, key) in &self.limits {
            let client = request.client.address(request.connection);
            let account = limit.account();
            if request.passed_limits.contains(account.id) || limit.exempt.contains(client) {
                continue;
            }
            let number = key.of(request.head, client);
            match limit.bound.count(account, number, now, request.passed_limits) {
                Ok(own) if !limit.dry_run => wait = wait.max(own),
                Ok(_) => {}
                Err(exceeded) => {
                    let is_logged = account.may_log(number, now);
                    match limit.dry_run {
                        true => note(limit, key, request, is_logged),
                        false => return reject(limit, key, request, &exceeded, is_logged),
                    }
                }
            }
        }
        if wait.is_zero() { Verdict::Pass } else { delay(wait, request) }
    }
}

#[cold]
fn reject(
    limit: &Limit,
    key: &RouteKey,
    request: &PhaseRequest<'_>,
    exceeded: &Exceeded,
    is_logged: bool,
) -> Verdict {
    let reason = reason(limit, key, request);
    let response = rejection(limit, exceeded);
    Verdict::Answer(Box::new(Reply { response, reason, is_repeated: !is_logged }))
}

/// Logs what would be rejected.
#[cold]
fn note(limit: &Limit, key: &RouteKey, request: &PhaseRequest<'_>, is_logged: bool) {
    if is_logged {
        let text = format!("dry run, not rejected: {}", reason(limit, key, request));
        let client = request.client.address(request.connection);
        report_request(Severity::Info, request.head, client, &text);
    }
}

fn reason(limit: &Limit, key: &RouteKey, request: &PhaseRequest<'_>) -> String {
    let key = key.shown(request.head, request.client.address(request.connection));
    format!("{} from {key} ({})", limit.bound.fault(), limit.shown())
}

/// Lets the request wait, without a thread, until the client leaves at most.
#[cold]
fn delay(wait: Duration, request: &PhaseRequest<'_>) -> Verdict {
    request.connection.cancel_on_close.set(true);
    Verdict::Wait(Box::pin(async move {
        tokio::time::sleep(wait).await;
        Box::new(|_: &mut PhaseRequest<'_>| Verdict::Pass) as Resumption
    }))
}
