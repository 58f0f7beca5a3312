//! Groups of upstreams as they are configured: plain data.

use super::{HashKey, Policy};
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::Position as At;
use crate::modules::fastcgi::Spawn;
use crate::modules::proxy::Url;
use hayami_http::Status;
use hayami_net::dial::Peer;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// `upstreams`, and what `proxy.reverse.url` and `fastcgi.*` say where it is used.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// All groups. Users know theirs by its index.
    pub groups: Vec<Group>,
    /// `resolver`: who is asked for names; none: the system.
    pub resolver: Vec<SocketAddr>,
}

impl FeatureSetting for Settings {}

impl Settings {
    /// The group of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.groups.iter().position(|group| group.name.as_deref() == Some(name))
    }

    /// Whether any group has a name.
    pub fn has_names(&self) -> bool {
        self.groups.iter().any(|group| group.name.is_some())
    }

    /// Adds a group, and gives its index.
    pub fn add(&mut self, group: Group) -> usize {
        self.groups.push(group);
        self.groups.len() - 1
    }
}

/// Upstreams that answer the same requests.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name; none for those of one path.
    pub name: Option<String>,
    /// Where it stands.
    pub at: At,
    /// Somebody uses it.
    pub used: bool,
    /// `balancer`
    pub policy: Policy,
    /// What is hashed, if the balancer does.
    pub key: HashKey,
    /// `backends`: at least one.
    pub upstreams: Vec<Upstream>,
    /// `max-failures`, `fail-timeout`
    pub patience: Patience,
    /// `slow-start`: how long the share of one that is back grows.
    pub slow_start: Duration,
    /// `queue`
    pub queue: Queueing,
    /// `health-check`
    pub check: Option<Check>,
    /// `retry`
    pub retry: Retry,
}

impl Group {
    /// A group without a name, with everything else as it is by default.
    pub fn new(at: At, upstreams: Vec<Upstream>) -> Self {
        Self {
            name: None,
            at,
            used: true,
            policy: Policy::default(),
            key: HashKey::Client,
            upstreams,
            patience: Patience::default(),
            slow_start: Duration::ZERO,
            queue: Queueing::default(),
            check: None,
            retry: Retry::default(),
        }
    }
}

impl Group {
    /// Whether requests fare the same with the other group, wherever the two are written.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let Self { name, at: _, used: _, policy, key, upstreams, patience, slow_start, queue, check, retry } =
            self;
        let alike = |(own, other): (&Upstream, &Upstream)| own.is_like(other);
        (name, policy, key, patience) == (&other.name, &other.policy, &other.key, &other.patience)
            && (slow_start, queue, check, retry)
                == (&other.slow_start, &other.queue, &other.check, &other.retry)
            && upstreams.len() == other.upstreams.len()
            && upstreams.iter().zip(&other.upstreams).all(alike)
    }
}

/// One of `backends`.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Where it stands.
    pub at: At,
    /// Its URL.
    pub url: Url,
    /// From 1 to 256: its share, compared with that of the others.
    pub weight: u32,
    /// It is asked only if no other can be.
    pub backup: bool,
    /// It is not asked.
    pub down: bool,
    /// Requests under way to it at once, from all workers.
    pub most: Option<u32>,
    /// Its name stands for services (RFC 2782), not for addresses.
    pub srv: bool,
    /// Where it was at the start; nowhere, if its name could not be resolved.
    pub found: Vec<Endpoint>,
    /// It is an application that the program starts (`fastcgi.spawn`).
    pub spawn: Option<Arc<Spawn>>,
}

impl Upstream {
    /// With a weight of 1 and nothing else that is special.
    pub fn new(url: Url, peers: Vec<Peer>) -> Self {
        let found = vec![Endpoint { url: url.clone(), weight: 1, backup: false, peers }];
        let at = At::NOWHERE;
        Self { at, url, weight: 1, backup: false, down: false, most: None, srv: false, found, spawn: None }
    }

    /// Whether it is the same server, whatever its name stands for at the moment.
    fn is_like(&self, other: &Self) -> bool {
        let Self { at: _, url, weight, backup, down, most, srv, found: _, spawn } = self;
        let spawned =
            |own: &Option<Arc<Spawn>>| own.as_ref().map(|own| (own.command.clone(), own.user.clone()));
        (url, weight, backup, down) == (&other.url, &other.weight, &other.backup, &other.down)
            && (most, srv) == (&other.most, &other.srv)
            && spawned(spawn) == spawned(&other.spawn)
    }

    /// The server that it is at these addresses.
    pub(super) fn endpoints_at(&self, peers: Vec<Peer>) -> Vec<Endpoint> {
        vec![Endpoint { url: self.url.clone(), weight: self.weight, backup: self.backup, peers }]
    }

    /// Where it is at first: for an application that was started, where that takes its connections.
    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        let Some(spawn) = &self.spawn else { return self.found.clone() };
        self.endpoints_at(vec![Peer::Unix(spawn.socket().to_owned())])
    }
}

/// A server that requests may be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its URL: that of the upstream, or of one of the servers that its name stands for.
    pub url: Url,
    /// Its share: of SRV up to 65535.
    pub weight: u32,
    /// It is asked only if no other can be.
    pub backup: bool,
    /// Its addresses.
    pub peers: Vec<Peer>,
}

/// When an upstream that cannot be connected to is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Failures in a row; 0: never.
    pub failures: u32,
    /// At most so long: whoever is back is found soon.
    pub longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { failures: 1, longest: Duration::from_secs(16) }
    }
}

/// Requests that wait while all upstreams are as busy as they may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// So many, of all workers.
    pub length: usize,
    /// So long.
    pub timeout: Duration,
}

impl Default for Queueing {
    fn default() -> Self {
        // Who waits longer has mostly gone, and its request would be work for nobody.
        Self { length: 1000, timeout: Duration::from_secs(5) }
    }
}

/// How often a request is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Upstreams that are asked: with many of them down, a client does not wait for all.
    pub tries: usize,
    /// No further try begins after so long.
    pub time: Option<Duration>,
}

impl Default for Retry {
    fn default() -> Self {
        Self { tries: 4, time: None }
    }
}

/// Requests, or connections, that only find out whether an upstream is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is asked for; none: a connection says enough.
    pub path: Option<String>,
    /// Host, if not that of the URL.
    pub host: Option<String>,
    /// Answers that say that it is well.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// Between the beginnings of two checks.
    pub interval: Duration,
    /// For a whole check.
    pub timeout: Duration,
    /// So many good checks in a row bring it back.
    pub rises: u32,
    /// So many bad ones take it out.
    pub falls: u32,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            path: None,
            host: None,
            statuses: vec![200..=399],
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(2),
            rises: 2,
            falls: 3,
        }
    }
}

impl Check {
    /// Whether an answer of that status is a good one.
    pub fn is_good(&self, status: Status) -> bool {
        self.statuses.iter().any(|range| range.contains(&status.code()))
    }
}
