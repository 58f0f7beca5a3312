//! One worker watches a group for all of them: it resolves names again when their TTL expires, and checks health.

use super::check;
use super::names;
use super::shared::{SharedGroup, SharedMember};
use super::transport::Transport;
use crate::observe::{Severity, Subject, report};
use hayami_net::Clock;
use hayami_net::blocking::{self, Lane};
use hayami_net::upstream_io::UpstreamIo;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinSet;

/// Interval between lookups of a name that cannot be resolved: the first and the longest.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(8)];

/// How often the group is searched for new upstreams to check.
const LOOK: Duration = Duration::from_secs(1);

/// The tasks of the worker that watches a group. Dropping it ends them and lets another worker claim the group.
pub(super) struct Watch {
    group: Arc<SharedGroup>,
    tasks: JoinSet<()>,
}

impl Watch {
    /// Starts the tasks, unless another worker watches the group.
    pub(super) fn claim(
        group: &Arc<SharedGroup>,
        outbound: &UpstreamIo,
        clock: &Rc<Clock>,
        transport: &Transport,
    ) -> Option<Self> {
        if !group.claim() {
            return None;
        }
        let mut tasks = JoinSet::new();
        for (entry, upstream) in group.settings.upstreams.iter().enumerate() {
            if !upstream.down && names::may_change(upstream) {
                tasks.spawn_local(follow(Arc::downgrade(group), entry));
            }
        }
        if group.settings.check.is_some() {
            let checker = check::Checker::new(group, outbound, clock, transport);
            tasks.spawn_local(supervise(Arc::downgrade(group), Rc::new(checker)));
        }
        Some(Self { group: Arc::clone(group), tasks })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tasks.abort_all();
        self.group.release();
    }
}

/// Keeps a name resolved for as long as the group is in use. While lookups fail, the last addresses stay, and one
/// message is logged.
async fn follow(group: Weak<SharedGroup>, entry: usize) {
    let mut wait = AGAIN[0];
    while let Some(group) = group.upgrade() {
        let asked = Arc::clone(&group);
        let found = blocking::run(Lane::ConfiguredNames, move || {
            names::refreshed(&asked.settings.upstreams[entry], &asked.resolver)
        });
        let again = match found.await {
            Ok(Ok((endpoints, ttl))) => {
                group.update(entry, endpoints);
                note_found(&group, entry);
                wait = AGAIN[0];
                ttl
            }
            Ok(Err(error)) => {
                note_lost(&group, entry, &error);
                let longer = (wait * 2).min(AGAIN[1]);
                std::mem::replace(&mut wait, longer)
            }
            // The thread was not started, or was terminated because the process is exiting.
            Err(_) => AGAIN[0],
        };
        drop(group);
        tokio::time::sleep(again).await;
    }
}

fn note_found(group: &SharedGroup, entry: usize) {
    if group.note_lookup(entry, None) {
        let shown = &group.settings.upstreams[entry].url.shown;
        let text = format_args!("{shown}: the host name resolves again");
        report(Severity::Notice, Subject::Upstream, text);
    }
}

fn note_lost(group: &SharedGroup, entry: usize, error: &std::io::Error) {
    if group.note_lookup(entry, Some(error)) {
        let state = match group.has_members_of(entry) {
            true => "its previous addresses stay in use",
            false => "it gets no requests until the name resolves",
        };
        let shown = &group.settings.upstreams[entry].url.shown;
        let text = format_args!("{shown}: cannot resolve the host name: {error}; {state}");
        report(Severity::Warn, Subject::Upstream, text);
    }
}

/// Checks every upstream, including later ones, for as long as the group is in use.
async fn supervise(group: Weak<SharedGroup>, checker: Rc<check::Checker>) {
    let mut known: Vec<Weak<SharedMember>> = Vec::new();
    let mut checks = JoinSet::new();
    while let Some(group) = group.upgrade() {
        known.retain(|own| own.strong_count() > 0);
        for member in group.members() {
            if !known.iter().any(|own| own.as_ptr() == Arc::as_ptr(&member)) {
                known.push(Arc::downgrade(&member));
                checks.spawn_local(check::run(Rc::clone(&checker), Arc::downgrade(&member)));
            }
        }
        let may_grow = group.settings.upstreams.iter().any(|own| own.srv);
        drop(group);
        if !may_grow {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    while checks.join_next().await.is_some() {}
}
