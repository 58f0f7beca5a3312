//! The service of a worker: what the connections of `hayami_net` ask for every request.
//!
//! ```text
//! respond ─ dispatch: route ▸ phases ▸ handlers ▸ internal redirects, follow ─ finish: error page ▸ filters ▸ log
//! refuse ───────────────────────────────────────────────────────────────────── finish
//! ```

mod dispatch;
mod error_page;
mod finish;
mod follow;
pub mod objects;
mod page;
mod phases;
mod request_context;
mod subrequest;
#[cfg(test)]
mod tests;

pub use page::{moved, plain};

use crate::generation::Generation;
use crate::gradually::gradually;
use crate::handler;
use crate::modules::access_log::WorkerLogs;
use crate::modules::early_hints::{self, Recipients};
use crate::modules::identity;
use crate::modules::identity::SendServerName;
use crate::modules::limits;
use crate::modules::upstreams::Pools;
use crate::observe::{Reporter, Severity, Subject};
use crate::router::Router;
use crate::worker::WorkerContext;
use hayami_http::{RequestHead, Status};
use hayami_net::Clock;
use hayami_net::service::{Answer, ConnectionInfo, Outcome, Refusal, Request, Service};
use phases::Passed;
use request_context::DetachedRequest;
use request_context::{Pending, Progress, Scratch};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Answers the requests of one worker.
pub struct Site {
    core: Rc<Core>,
    /// What answered before a reload that has closed listeners. Their connections end as soon as nothing is under way; what a
    /// client had sent by then is answered as it was meant.
    older: Rc<RefCell<Option<Rc<Core>>>>,
}

/// For how long connections of closed listeners may bring requests.
const LEAVING: Duration = Duration::from_secs(30);

/// What the requests of a worker share; an answer that comes later keeps it.
struct Core {
    router: Router,
    logs: Rc<WorkerLogs>,
    reporter: Reporter,
    server_name: Option<Vec<u8>>,
    wants_local_address: bool,
    /// Of the worker, if clients of any path are told how long their requests took.
    timing: Option<Rc<Clock>>,
    max_reprocesses: u32,
    max_delegations: u32,
    /// For what is said when a request breaks one.
    limits: limits::Named,
    informational: Recipients,
    scratch: RefCell<Scratch>,
    /// Memory of requests that took their time.
    spare: RefCell<Vec<(RequestHead, Scratch)>>,
}

impl Site {
    /// The service of one worker. To be called on the worker's thread, within its runtime: the access log's timer is
    /// started there.
    pub fn new(generation: &Arc<Generation>, worker: WorkerContext) -> Self {
        let site = Self::build(generation, worker);
        let router = &site.core.router;
        router.unwatched().for_each(|route| router.watch(route));
        site
    }

    fn build(generation: &Arc<Generation>, worker: WorkerContext) -> Self {
        let settings = generation.settings();
        let identity = settings.global.get::<identity::Settings>();
        let named = identity.send == SendServerName::On;
        let worker_logs = WorkerLogs::new(generation.logs(), &worker);
        let core = Core {
            wants_local_address: worker_logs.want_local_address() || generation.needs().local_address,
            logs: worker_logs,
            reporter: Reporter::new(Rc::clone(&worker.clock)),
            server_name: named.then(|| identity.server_name.clone().into_bytes()),
            timing: generation.needs().timing.then(|| {
                worker.clock.be_exact();
                Rc::clone(&worker.clock)
            }),
            max_reprocesses: settings.global.get::<limits::Settings>().max_reprocesses,
            max_delegations: settings.global.get::<limits::Settings>().max_delegations,
            limits: limits::Named::new(&settings.global),
            informational: *settings.global.get(),
            scratch: RefCell::default(),
            spare: RefCell::default(),
            router: Router::new(generation, worker),
        };
        Self { core: Rc::new(core), older: Rc::default() }
    }

    /// The service of the same worker, one of `workers`, for the next generation; called within its runtime. Requests in
    /// progress keep their generation.
    pub fn next(&self, generation: &Arc<Generation>, workers: usize) -> Self {
        let before = &self.core.router;
        if Arc::ptr_eq(before.generation(), generation) {
            // A new worker has begun with it: there may be upstream groups to watch that others have left.
            self.watch_upstreams();
            return self.same();
        }
        let objects = objects::next(before.worker(), before.generation(), generation, workers);
        let next = Self::build(generation, objects);
        next.watch_upstreams();
        before.retire();
        if !generation.map().has_listeners_of(before.generation().map()) {
            *next.older.borrow_mut() = Some(Rc::clone(&self.core));
            let older = Rc::downgrade(&next.older);
            tokio::task::spawn_local(async move {
                tokio::time::sleep(LEAVING).await;
                if let Some(older) = older.upgrade() {
                    older.take();
                }
            });
        }
        next
    }

    /// The service of the same worker when it takes no new connections any more: other workers watch its upstream groups.
    pub fn leaving(&self) -> Self {
        self.core.router.worker().get::<Pools>().leave();
        self.same()
    }

    fn same(&self) -> Self {
        Self { core: Rc::clone(&self.core), older: Rc::clone(&self.older) }
    }

    /// Has the upstream groups watched that are new.
    fn watch_upstreams(&self) {
        let unwatched: Vec<_> = self.core.router.unwatched().collect();
        let core = Rc::downgrade(&self.core);
        // Otherwise another reload has taken place.
        let watch = move |group| _ = core.upgrade().map(|core| core.router.watch(group));
        tokio::task::spawn_local(gradually(unwatched, watch));
    }

    /// What answers requests of a listener.
    #[inline]
    fn core(&self, listener: usize) -> Rc<Core> {
        if self.core.router.has_listener(listener) {
            return Rc::clone(&self.core);
        }
        self.older.borrow().as_ref().map_or_else(|| Rc::clone(&self.core), Rc::clone)
    }
}

impl Service for Site {
    #[inline]
    fn respond(&self, request: &mut Request<'_>) -> Outcome {
        let core = &self.core(request.connection.listener);
        let mut scratch = core.scratch.take();
        let host = core.router.host(request.connection.listener, request.head.authority());
        let mut context = core.enter(host, request.connection);
        let located = match core.locate(&mut context, request.head, &mut scratch) {
            // Only this server itself may ask.
            handler::Outcome::Declined if context.route.internal => {
                handler::Outcome::Ready(plain(Status::NOT_FOUND, ""))
            }
            located => located,
        };
        let passed = match context.route.phases.early.is_empty() {
            true => Passed::Now(located),
            false => context.pass_early(core, request.head, located),
        };
        context.record = core.logs.begin(&context.route.logs, request, &context.client);
        context.timing = core.timing(&context, request);
        if let Some(fault) = context.fault {
            core.report(&mut context, request.head, Status::BAD_REQUEST, &fault.to_string());
        }
        if let Some((status, reason)) = core.too_early(request) {
            core.report(&mut context, request.head, status, reason);
            let outcome = core.finish(context, request.head, &scratch.path, plain(status, reason));
            core.scratch.replace(scratch);
            return outcome;
        }
        core.take(&mut context, request);
        // A handler may take the head.
        let hints =
            context.route.hints.as_ref().filter(|_| core.supports_early_hints(request.head)).map(Rc::clone);
        match core.go_on(&mut context, request.head, &mut scratch, passed) {
            Progress::Ready(response) => {
                let outcome = core.finish(context, request.head, &scratch.path, response);
                core.scratch.replace(scratch);
                outcome
            }
            Progress::Later(pending) => {
                request.interim = context.interim();
                // A client that may yet be refused gets no hints.
                if let (Some(hints), Some(interim), Pending::Handler(_)) = (hints, &request.interim, &pending)
                {
                    interim.send(early_hints::head(&hints));
                }
                // The next request gets memory that another has left.
                let (head, spare) = core.spare.borrow_mut().pop().unwrap_or_default();
                core.scratch.replace(spare);
                let head = std::mem::replace(request.head, head);
                core.finish_later(DetachedRequest { context, head, scratch }, pending)
            }
        }
    }

    fn refuse(&self, refusal: &Refusal, request: &mut Request<'_>) -> Answer {
        let core = &self.core(request.connection.listener);
        let host = core.router.host(request.connection.listener, request.head.authority());
        let mut context = core.enter(host, request.connection);
        if !context.route.phases.early.is_empty() {
            // A refusal can neither wait nor be answered by a step: what is known of the client is all it needs.
            drop(context.pass_early(core, request.head, handler::Outcome::Declined));
        }
        context.record = core.logs.begin(&context.route.logs, request, &context.client);
        context.timing = core.timing(&context, request);
        let (status, mut reason) = (refusal.status(), refusal.to_string());
        let page = if status == Status::CONTENT_TOO_LARGE {
            plain(status, &core.limits.too_large())
        } else {
            plain(status, &reason)
        };
        if let Some(limit) = refusal.limit() {
            reason.push_str(&format!(" (`{}`)", core.limits.directive(limit)));
        }
        core.report(&mut context, request.head, status, &reason);
        core.finish_now(context, request.head, page)
    }

    #[cold]
    fn report(&self, connection: &ConnectionInfo, what: &dyn std::fmt::Display) {
        let text = format_args!("from {}: {what}", connection.peer);
        self.core.reporter.line(Severity::Warn, Subject::Connection, text);
    }

    fn server_name(&self) -> Option<&[u8]> {
        self.core.server_name.as_deref()
    }

    fn wants_local_address(&self) -> bool {
        self.core.wants_local_address
    }

    #[inline]
    fn has_idle_work(&self) -> bool {
        self.core.logs.has_lines()
    }

    fn on_idle(&self) {
        self.core.logs.flush();
    }

    async fn stop(&self) {
        self.core.logs.drain().await;
    }
}
