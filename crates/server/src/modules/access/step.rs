//! The step of the access phase: is this address admitted?

use super::Settings;
use super::rules::{Effect, RuleTable};
use crate::phase::{PhaseRequest, Reply, Resumption, Step, Verdict};
use crate::service::plain;
use crate::watched_file::refresh_all;
use crate::worker::WorkerContext;
use hayami_http::Status;
use hayami_net::Clock;
use std::rc::Rc;

/// The step for these settings; `None` if they ask for nothing.
pub(super) fn build(settings: &Settings, worker: &WorkerContext) -> Option<Box<dyn Step>> {
    let rules = RuleTable::new(&settings.rules.as_ref()?.list);
    Some(Box::new(AddressStep(Rc::new(Addresses { rules, clock: Rc::clone(&worker.clock) }))))
}

struct AddressStep(Rc<Addresses>);

struct Addresses {
    rules: RuleTable,
    clock: Rc<Clock>,
}

impl Step for AddressStep {
    fn check(&self, request: &mut PhaseRequest<'_>) -> Verdict {
        let now = self.0.clock.now();
        if self.0.rules.files().any(|file| !file.is_fresh(now)) {
            return self.wait();
        }
        self.0.decide(request)
    }
}

impl AddressStep {
    /// Decides when the files have been compared with the disk.
    #[cold]
    fn wait(&self) -> Verdict {
        let addresses = Rc::clone(&self.0);
        Verdict::Wait(Box::pin(async move {
            refresh_all(addresses.rules.files(), &addresses.clock).await;
            Box::new(move |request: &mut PhaseRequest<'_>| addresses.decide(request)) as Resumption
        }))
    }
}

impl Addresses {
    fn decide(&self, request: &PhaseRequest<'_>) -> Verdict {
        let client = request.client.address(request.connection);
        let Some(rule) = self.rules.find(client) else { return Verdict::Pass };
        if rule.effect == Effect::Allow {
            return Verdict::Admit;
        }
        let reason = format!("access is denied by `{rule}`");
        Verdict::Refuse(Box::new(Reply::new(plain(Status::FORBIDDEN, ""), reason)))
    }
}
