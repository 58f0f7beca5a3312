//! From a host and a path to what answers there.
//!
//! [`map`] is shared by all workers; [`host`] and [`path`] are its two lookups. Handlers, filters and logs of a path are in
//! its [`Route`], which each worker builds for itself; calling them is the service's work.

mod build;
mod guard;
mod host;
mod map;
mod names;
mod path;
pub(crate) mod unlike_h2o;

pub use map::{HostIndex, Map};

use crate::environment::Environment;
use crate::generation::Generation;
use crate::gradually::gradually;
use crate::handler::{Filter, Handler};
use crate::modules::access_log::PathLogs;
use crate::modules::upstreams::Pools;
use crate::modules::{error_doc, reproxy, server_timing};
use crate::observe::{Severity, Subject, report};
use crate::pattern::PatternMemory;
use crate::phase::Phases;
use crate::subrequest::RemoteServers;
use crate::worker::WorkerContext;
use build::Builder;
use hayami_http::{FieldSection, split_authority};
use hayami_net::service::{ConnectionInfo, HeadChange};
use map::RouteIndex;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

/// The router of one worker: the lookups that all workers share, and the routes that the worker's requests have met.
pub struct Router {
    generation: Arc<Generation>,
    worker: WorkerContext,
    /// By number. A route is built for its first request: a worker has directories open, and connections to upstreams,
    /// where it serves them, however many the configuration has.
    routes: Box<[OnceCell<Rc<Route>>]>,
    /// Where regular expressions are searched.
    memory: PatternMemory,
    /// Whether another generation has replaced this one while the worker goes on.
    is_retired: Cell<bool>,
}

/// What happens to the requests of one path.
#[derive(Default)]
pub struct Route {
    /// What a request passes before its handlers.
    pub phases: Phases,
    /// Asked in order until one does not decline.
    pub handlers: Vec<Box<dyn Handler>>,
    /// What handlers' answers may say is to be done instead of sending them.
    pub reproxy: Option<reproxy::Rules>,
    /// What answers for servers that this one does not stand for, if anything may lead to them.
    pub remote: Option<Box<dyn RemoteServers>>,
    /// Whether clients find nothing here.
    pub internal: bool,
    /// Applied in order to every answer.
    pub filters: Vec<Box<dyn Filter>>,
    /// Whether clients are told how long it took.
    pub server_timing: server_timing::Mode,
    /// Pages in place of the server's own error texts.
    pub error_pages: error_doc::Settings,
    /// What goes out as 103 while an answer is being made.
    pub hints: Option<Rc<FieldSection>>,
    /// What changes the 103 of an upstream.
    pub early: Option<HeadChange>,
    /// What handlers and logs see of the environment.
    pub env: Rc<Environment>,
    /// Where the requests are logged.
    pub logs: Rc<PathLogs>,
    /// Whether errors of the requests go to the error log.
    pub reports_errors: bool,
}

impl Router {
    pub(crate) fn new(generation: &Arc<Generation>, worker: WorkerContext) -> Self {
        let map = generation.map();
        Self {
            generation: Arc::clone(generation),
            worker,
            routes: map.scopes().iter().map(|_| OnceCell::new()).collect(),
            memory: PatternMemory::new(map.pattern_lists()),
            is_retired: Cell::new(false),
        }
    }

    /// The upstream groups whose names and health no worker watches.
    pub(crate) fn unwatched(&self) -> impl Iterator<Item = Unwatched> {
        let pools = self.worker.get::<Pools>();
        let all =
            self.map().upstreams().iter().map(|(group, route)| Unwatched { group: *group, route: *route });
        all.filter(move |own| !pools.is_watched(own.group))
    }

    /// Watches a group, whether there are requests for it or not, unless another worker does: one does it for all.
    pub(crate) fn watch(&self, group: Unwatched) {
        if !self.worker.get::<Pools>().is_watched(group.group) {
            self.get(group.route);
        }
    }

    /// Another generation takes its place: the last request that uses this one must not delay others by freeing it.
    pub(crate) fn retire(&self) {
        self.is_retired.set(true);
    }

    #[inline]
    fn map(&self) -> &Map {
        self.generation.map()
    }

    /// What it routes to.
    pub(crate) fn generation(&self) -> &Arc<Generation> {
        &self.generation
    }

    /// What the worker has for this generation.
    pub(crate) fn worker(&self) -> &WorkerContext {
        &self.worker
    }

    /// Whether connections of a listener are served by this generation.
    #[inline]
    pub(crate) fn has_listener(&self, listener: usize) -> bool {
        self.map().has_listener(listener)
    }

    #[inline]
    fn get(&self, route: RouteIndex) -> &Rc<Route> {
        self.routes[route.0 as usize].get_or_init(|| self.build(route))
    }

    /// The route of that number. All were built once when the generation was checked; what has become impossible since is
    /// answered with 404, and the error log says why.
    #[cold]
    fn build(&self, route: RouteIndex) -> Rc<Route> {
        let scope = self.map().scopes()[route.0 as usize];
        builder(&self.generation, &self.worker).build(scope).unwrap_or_else(|why| {
            report(Severity::Error, Subject::Server, why);
            Rc::default()
        })
    }

    /// The host that serves `authority` on a listener.
    #[inline]
    pub fn host(&self, listener: usize, authority: &[u8]) -> HostIndex {
        self.map().host(listener, authority)
    }

    /// Whether a connection may ask this host: its handshake required the client certificate that the host requires.
    #[inline]
    pub fn admits(&self, host: HostIndex, connection: &ConnectionInfo) -> bool {
        self.map().admits(host, connection)
    }

    /// The host named `authority` in a URL of `https` or of `http`, on whatever listener.
    pub fn named_host(&self, https: bool, authority: &[u8]) -> HostIndex {
        self.map().named_host(https, authority)
    }

    /// What answers at a normalized path of a host, and the length of the path's prefix.
    #[inline]
    pub fn route(&self, host: HostIndex, path: &[u8]) -> (&Rc<Route>, usize) {
        let (route, below) = self.map().route(host, path, &self.memory);
        (self.get(route), below)
    }

    /// What answers at a host when there is no path to look up.
    #[inline]
    pub fn pathless(&self, host: HostIndex) -> &Rc<Route> {
        self.get(self.map().pathless(host))
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        if self.is_retired.get() {
            let (routes, generation) = (std::mem::take(&mut self.routes), Arc::clone(&self.generation));
            tokio::task::spawn_local(async move {
                let built = routes.into_iter().filter_map(OnceCell::into_inner);
                gradually(built, drop).await;
                // Off this thread, in case it is the last worker that has used it.
                tokio::task::spawn_blocking(move || drop(generation));
            });
        }
    }
}

/// An upstream group of which no worker knows whether its servers work.
#[derive(Clone, Copy)]
pub(crate) struct Unwatched {
    group: usize,
    /// The first route that uses it.
    route: RouteIndex,
}

/// Builds every route of a generation once, one after the other, and keeps none: a route of a checked generation can be
/// built.
///
/// # Errors
/// One line for the user: what cannot be built, where it stands and why.
pub fn check(generation: &Generation, worker: &WorkerContext) -> Result<(), String> {
    let builder = builder(generation, worker);
    generation.map().scopes().iter().try_for_each(|scope| builder.build(*scope).map(drop))
}

fn builder<'a>(generation: &'a Generation, worker: &'a WorkerContext) -> Builder<'a> {
    Builder { settings: generation.settings(), logs: generation.logs(), worker }
}

/// A host and a port: of an authority, or of a key of `hosts`.
#[derive(Clone, Copy, Debug)]
struct Name<'a> {
    host: &'a [u8],
    port: Option<u16>,
}

impl<'a> Name<'a> {
    /// The parts of an authority. The dot of the root makes no other name: `example.org.` is `example.org`.
    fn of(authority: &'a [u8]) -> Option<Self> {
        let (host, port) = split_authority(authority)?;
        let host = host.strip_suffix(b".").filter(|name| !name.is_empty()).unwrap_or(host);
        Some(Self { host, port })
    }
}
