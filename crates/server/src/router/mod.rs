//! From a host and a path to the handlers of a request.
//!
//! [`map`] is shared by all workers; [`host`] and [`path`] are its two lookups. Handlers, filters and logs of a path
//! are in its [`Route`], which each worker builds for itself; running them is up to the service.

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

/// The router of one worker: the lookups shared by all workers, and the routes used by the worker's requests so far.
pub struct Router {
    generation: Arc<Generation>,
    worker: WorkerContext,
    /// By index. A route is built for its first request: a worker opens directories and upstream connections only for
    /// the routes it serves, however many the configuration has.
    routes: Box<[OnceCell<Rc<Route>>]>,
    /// Scratch memory for regular expressions.
    memory: PatternMemory,
    /// Whether another generation has replaced this one while the worker continues.
    is_retired: Cell<bool>,
}

/// The handling of requests for one path.
#[derive(Default)]
pub struct Route {
    /// The phases before the handlers.
    pub phases: Phases,
    /// Called in order until one does not decline.
    pub handlers: Vec<Box<dyn Handler>>,
    /// The rules by which responses of handlers may be replaced.
    pub reproxy: Option<reproxy::Rules>,
    /// Sends requests to servers outside the configuration, if anything may redirect there.
    pub remote: Option<Box<dyn RemoteServers>>,
    /// Whether the path is unavailable to clients.
    pub internal: bool,
    /// Applied in order to every response.
    pub filters: Vec<Box<dyn Filter>>,
    /// Whether durations are reported to clients.
    pub server_timing: server_timing::Mode,
    /// Pages in place of the server's own error texts.
    pub error_pages: error_doc::Settings,
    /// The fields of a 103 to send while a response is being made.
    pub hints: Option<Rc<FieldSection>>,
    /// Changes to the 103 responses of upstreams.
    pub early: Option<HeadChange>,
    /// The environment for handlers and logs.
    pub env: Rc<Environment>,
    /// The logs of the requests.
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

    /// The upstream groups whose names and health no worker maintains.
    pub(crate) fn unwatched(&self) -> impl Iterator<Item = Unwatched> {
        let pools = self.worker.get::<Pools>();
        let all =
            self.map().upstreams().iter().map(|(group, route)| Unwatched { group: *group, route: *route });
        all.filter(move |own| !pools.is_watched(own.group))
    }

    /// Starts the maintenance of a group, even before requests use it, unless another worker does it for all.
    pub(crate) fn watch(&self, group: Unwatched) {
        if !self.worker.get::<Pools>().is_watched(group.group) {
            self.get(group.route);
        }
    }

    /// Called when another generation replaces this one: freeing it after its last request must not delay others.
    pub(crate) fn retire(&self) {
        self.is_retired.set(true);
    }

    #[inline]
    fn map(&self) -> &Map {
        self.generation.map()
    }

    /// The generation it routes requests of.
    pub(crate) fn generation(&self) -> &Arc<Generation> {
        &self.generation
    }

    /// The worker's context for this generation.
    pub(crate) fn worker(&self) -> &WorkerContext {
        &self.worker
    }

    /// Whether this generation serves connections to a listener.
    #[inline]
    pub(crate) fn has_listener(&self, listener: usize) -> bool {
        self.map().has_listener(listener)
    }

    #[inline]
    fn get(&self, route: RouteIndex) -> &Rc<Route> {
        self.routes[route.0 as usize].get_or_init(|| self.build(route))
    }

    /// Builds the route with that index. All routes were built once when the generation was checked; if one has become
    /// impossible since, its requests get 404, and the error log says why.
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

    /// Whether a connection may access this host: its handshake required the host's client certificate.
    #[inline]
    pub fn admits(&self, host: HostIndex, connection: &ConnectionInfo) -> bool {
        self.map().admits(host, connection)
    }

    /// The host named `authority` in a URL of `https` or of `http`, on any listener.
    pub fn named_host(&self, https: bool, authority: &[u8]) -> HostIndex {
        self.map().named_host(https, authority)
    }

    /// The route for a normalized path of a host, and the length of the path's prefix.
    #[inline]
    pub fn route(&self, host: HostIndex, path: &[u8]) -> (&Rc<Route>, usize) {
        let (route, below) = self.map().route(host, path, &self.memory);
        (self.get(route), below)
    }

    /// The route of a host for requests without a path to look up.
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
                // On another thread, since this may drop the last reference.
                tokio::task::spawn_blocking(move || drop(generation));
            });
        }
    }
}

/// An upstream group whose names and health no worker maintains.
#[derive(Clone, Copy)]
pub(crate) struct Unwatched {
    group: usize,
    /// The first route that uses it.
    route: RouteIndex,
}

/// Builds every route of a generation once, one after the other, and drops it: afterwards every route of the generation
/// can be built.
///
/// # Errors
/// One line for the user: what cannot be built, where and why.
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
    /// Splits an authority. A trailing dot makes no difference: `example.org.` is `example.org`.
    fn of(authority: &'a [u8]) -> Option<Self> {
        let (host, port) = split_authority(authority)?;
        let host = host.strip_suffix(b".").filter(|name| !name.is_empty()).unwrap_or(host);
        Some(Self { host, port })
    }
}
