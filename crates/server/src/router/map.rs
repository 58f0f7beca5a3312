//! From a listener, an authority and a path to the index of a route. Built once from the settings, for all workers.

use super::Name;
use super::guard::Guard;
use super::host::{HostTable, Key, default_port};
use super::names::Ports;
use super::path::PathTable;
use crate::config::settings::{HostSettings, PathSettings, Settings};
use crate::modules::listen::{self, Binding};
use crate::pattern::{PatternLists, PatternMemory, Patterns};
use hayami_net::service::ConnectionInfo;
use std::collections::HashSet;

/// The index of a route in its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RouteIndex(pub(super) u32);

/// The level of the configuration that a route belongs to: a path of a host, the host itself for requests that match
/// none of its paths, or none for requests that match no host. Indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Path { host: usize, path: usize },
    Host(usize),
    Nowhere,
}

/// The lookups of a configuration.
pub struct Map {
    hosts: Vec<HostMap>,
    /// By binding: the hosts it serves.
    bindings: Vec<HostTable>,
    /// By listener: its binding.
    listeners: Vec<Option<usize>>,
    /// Which connections may access which hosts, where hosts require client certificates.
    guard: Option<Guard>,
    /// Every host by the ports of its listeners, for internal redirects to `http` and to `https`.
    by_scheme: [HostTable; 2],
    /// By route: its level of the configuration.
    scopes: Vec<Scope>,
    /// Upstream groups in use: the index, and the first route that uses it.
    upstreams: Vec<(usize, RouteIndex)>,
    /// The lists of regular expressions of hosts.
    patterns: Vec<Patterns>,
}

/// The routes of a host.
struct HostMap {
    paths: PathTable<RouteIndex>,
    /// For requests that match no path.
    otherwise: RouteIndex,
    /// For requests without a path to look up: the route of `/`, or else the same.
    pathless: RouteIndex,
}

/// Index of a host; `None` if no host matches.
pub type HostIndex = Option<usize>;

/// The route of requests that match no host.
const NOWHERE: RouteIndex = RouteIndex(0);

impl Map {
    /// The map of these settings.
    ///
    /// # Errors
    /// One line for the user: the name of a host is invalid.
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        let bindings = listen::bindings(settings);
        let tables = bindings.iter().map(|binding| of_listener(settings, binding, &Ports::Any));
        let mut map = Self {
            hosts: Vec::with_capacity(settings.hosts.len()),
            bindings: tables.collect::<Result<_, _>>()?,
            listeners: (0..bindings.len()).map(Some).collect(),
            guard: Guard::new(settings, &bindings),
            by_scheme: [by_scheme(settings, &bindings, false)?, by_scheme(settings, &bindings, true)?],
            scopes: vec![Scope::Nowhere],
            upstreams: Vec::new(),
            patterns: Vec::new(),
        };
        let (mut seen, mut lists) = (HashSet::new(), PatternLists::default());
        for (host, own) in settings.hosts.iter().enumerate() {
            map.add_host(host, own, &mut seen, &mut lists);
        }
        map.patterns = lists.compile()?;
        Ok(map)
    }

    fn add_host<'a>(
        &mut self,
        host: usize,
        settings: &'a HostSettings,
        seen: &mut HashSet<usize>,
        lists: &mut PatternLists<'a>,
    ) {
        let otherwise = self.add(Scope::Host(host));
        let mut paths = Vec::with_capacity(settings.paths.len());
        for (path, own) in settings.paths.iter().enumerate() {
            let route = self.add(Scope::Path { host, path });
            paths.push((&own.key, route));
            let new = groups(own).filter(|group| seen.insert(*group));
            self.upstreams.extend(new.map(|group| (group, route)));
        }
        let paths = PathTable::new(paths, lists);
        let pathless = paths.root().unwrap_or(otherwise);
        self.hosts.push(HostMap { paths, otherwise, pathless });
    }

    fn add(&mut self, scope: Scope) -> RouteIndex {
        self.scopes.push(scope);
        RouteIndex((self.scopes.len() - 1) as u32)
    }

    /// The level of each route, in the order of the indexes.
    pub(super) fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// The first path that uses an upstream group; its settings apply to health checks.
    pub(crate) fn first_user(&self, group: usize) -> Option<(usize, usize)> {
        let (_, route) = self.upstreams.iter().find(|(own, _)| *own == group)?;
        match self.scopes[route.0 as usize] {
            Scope::Path { host, path } => Some((host, path)),
            Scope::Host(_) | Scope::Nowhere => None,
        }
    }

    /// The upstream groups in use, each with the first route that uses it.
    pub(super) fn upstreams(&self) -> &[(usize, RouteIndex)] {
        &self.upstreams
    }

    pub(crate) fn assign_listeners(&mut self, listeners: impl Iterator<Item = (usize, usize)>) {
        self.listeners.clear();
        for (listener, binding) in listeners {
            let most = self.listeners.len().max(listener + 1);
            self.listeners.resize(most, None);
            self.listeners[listener] = Some(binding);
        }
    }

    /// Whether this map has all listeners of another one.
    pub(crate) fn has_listeners_of(&self, other: &Self) -> bool {
        (0..other.listeners.len())
            .all(|listener| !other.has_listener(listener) || self.has_listener(listener))
    }

    /// Whether connections to a listener are served.
    #[inline]
    pub(crate) fn has_listener(&self, listener: usize) -> bool {
        self.binding(listener).is_some()
    }

    #[inline]
    fn binding(&self, listener: usize) -> Option<usize> {
        self.listeners.get(listener).copied().flatten()
    }

    /// The host that serves `authority` on a listener.
    #[inline]
    pub(super) fn host(&self, listener: usize, authority: &[u8]) -> HostIndex {
        self.bindings[self.binding(listener)?].find(authority)
    }

    /// Whether a connection may access this host: its handshake required the host's client certificate.
    #[inline]
    pub(super) fn admits(&self, host: HostIndex, connection: &ConnectionInfo) -> bool {
        let (Some(guard), Some(host)) = (&self.guard, host) else { return true };
        let name = connection.tls.as_ref().and_then(|tls| tls.server_name.as_deref());
        self.binding(connection.listener)
            .is_some_and(|binding| guard.admits(host, binding, name, connection.outdated.get()))
    }

    /// The host named `authority` in a URL of `https` or of `http`, on any listener.
    pub(super) fn named_host(&self, https: bool, authority: &[u8]) -> HostIndex {
        self.by_scheme[usize::from(https)].named(authority)
    }

    /// The route for a normalized path of a host, and the length of the path's prefix. The memory is the worker's.
    #[inline]
    pub(super) fn route(&self, host: HostIndex, path: &[u8], memory: &PatternMemory) -> (RouteIndex, usize) {
        let Some(host) = host.map(|index| &self.hosts[index]) else { return (NOWHERE, 0) };
        let first = |list: usize| memory.first(list, &self.patterns[list], path);
        host.paths.find(path, first).unwrap_or((host.otherwise, 0))
    }

    /// How many lists of regular expressions there are.
    pub(super) fn pattern_lists(&self) -> usize {
        self.patterns.len()
    }

    /// The route of a host for requests without a path to look up.
    #[inline]
    pub(super) fn pathless(&self, host: HostIndex) -> RouteIndex {
        host.map_or(NOWHERE, |index| self.hosts[index].pathless)
    }
}

/// The upstream groups that a path uses: of its handlers, and of the subrequests that authorize its requests.
fn groups(path: &PathSettings) -> impl Iterator<Item = usize> {
    path.handlers
        .iter()
        .filter_map(|handler| handler.upstream_group())
        .chain(path.inherited.upstream_groups())
}

/// The hosts of a listener; keys without a port stand for `portless`.
pub(super) fn of_listener(
    settings: &Settings,
    binding: &Binding<'_>,
    portless: &Ports,
) -> Result<HostTable, String> {
    let keys = binding.hosts.iter().map(|host| key(settings, *host, portless.clone()));
    Ok(HostTable::new(binding.is_tls(), keys.collect::<Result<Vec<_>, _>>()?.into_iter()))
}

/// All hosts, for URLs of `https` or of `http`: keys without a port stand for the ports of their listeners.
fn by_scheme(settings: &Settings, bindings: &[Binding<'_>], tls: bool) -> Result<HostTable, String> {
    let mut ports = vec![vec![default_port(tls)]; settings.hosts.len()];
    for binding in bindings.iter().filter(|binding| binding.is_tls() == tls) {
        let port = binding.listener.address.port();
        binding.hosts.iter().for_each(|host| ports[*host].extend(port));
    }
    let keys = ports.into_iter().enumerate();
    let keys = keys.map(|(host, ports)| key(settings, host, Ports::These(ports.into())));
    Ok(HostTable::new(tls, keys.collect::<Result<Vec<_>, _>>()?.into_iter()))
}

fn key(settings: &Settings, host: usize, portless: Ports) -> Result<Key<'_>, String> {
    let HostSettings { name: text, strict_match, .. } = &settings.hosts[host];
    let name = Name::of(text.as_bytes()).ok_or_else(|| format!("`{text}` is not a valid host name"))?;
    Ok(Key { host, name, strict: *strict_match, portless })
}
