//! Configuration of upstream groups: plain data.

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

/// `upstreams`, and the groups that `proxy.reverse.url` and `fastcgi.*` define in place.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// All groups, referenced by index.
    pub groups: Vec<Group>,
    /// `resolver`: name servers; if empty, the system resolver is used.
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

    /// Adds a group and returns its index.
    pub fn add(&mut self, group: Group) -> usize {
        self.groups.push(group);
        self.groups.len() - 1
    }
}

/// Upstreams that serve the same requests.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name; `None` for the upstreams of a single path.
    pub name: Option<String>,
    /// Position in the configuration.
    pub at: At,
    /// Whether any path uses it.
    pub used: bool,
    /// `balancer`
    pub policy: Policy,
    /// What is hashed if the balancer is `hash`.
    pub key: HashKey,
    /// `backends`: at least one.
    pub upstreams: Vec<Upstream>,
    /// `max-failures`, `fail-timeout`
    pub patience: Patience,
    /// `slow-start`: how long the share of a recovered upstream takes to grow back.
    pub slow_start: Duration,
    /// `queue`
    pub queue: Queueing,
    /// `health-check`
    pub check: Option<Check>,
    /// `retry`
    pub retry: Retry,
}

impl Group {
    /// A group without a name, with defaults for everything else.
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
    /// Whether both groups behave the same, wherever they are written.
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
    /// Position in the configuration.
    pub at: At,
    /// Its URL.
    pub url: Url,
    /// Weight relative to the others, from 1 to 256.
    pub weight: u32,
    /// Whether it is used only if no other upstream is available.
    pub backup: bool,
    /// Whether it is excluded.
    pub down: bool,
    /// `max-connections`: limit of requests in flight, across all workers.
    pub most: Option<u32>,
    /// Whether its name is that of SRV records (RFC 2782) rather than of addresses.
    pub srv: bool,
    /// Its servers at startup; empty if its name could not be resolved.
    pub found: Vec<Endpoint>,
    /// The application that the server starts (`fastcgi.spawn`), if it is one.
    pub spawn: Option<Arc<Spawn>>,
}

impl Upstream {
    /// An upstream with a weight of 1 and defaults for everything else.
    pub fn new(url: Url, peers: Vec<Peer>) -> Self {
        let found = vec![Endpoint { url: url.clone(), weight: 1, backup: false, peers }];
        let at = At::NOWHERE;
        Self { at, url, weight: 1, backup: false, down: false, most: None, srv: false, found, spawn: None }
    }

    /// Whether it is the same upstream, whatever its name currently resolves to.
    fn is_like(&self, other: &Self) -> bool {
        let Self { at: _, url, weight, backup, down, most, srv, found: _, spawn } = self;
        let spawned =
            |own: &Option<Arc<Spawn>>| own.as_ref().map(|own| (own.command.clone(), own.user.clone()));
        (url, weight, backup, down) == (&other.url, &other.weight, &other.backup, &other.down)
            && (most, srv) == (&other.most, &other.srv)
            && spawned(spawn) == spawned(&other.spawn)
    }

    /// The upstream as a server with these addresses.
    pub(super) fn endpoints_at(&self, peers: Vec<Peer>) -> Vec<Endpoint> {
        vec![Endpoint { url: self.url.clone(), weight: self.weight, backup: self.backup, peers }]
    }

    /// Its initial servers; for a started application, its listening socket.
    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        let Some(spawn) = &self.spawn else { return self.found.clone() };
        self.endpoints_at(vec![Peer::Unix(spawn.socket().to_owned())])
    }
}

/// A server that requests may be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its URL: the upstream's, or that of a server its name resolves to.
    pub url: Url,
    /// Its weight; up to 65535 from SRV records.
    pub weight: u32,
    /// Whether it is used only if no other upstream is available.
    pub backup: bool,
    /// Its addresses.
    pub peers: Vec<Peer>,
}

/// When an upstream that does not accept connections is ejected, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Failures in a row; 0 disables ejection.
    pub failures: u32,
    /// Longest ejection: keeps the delay short until a recovered upstream is used again.
    pub longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { failures: 1, longest: Duration::from_secs(16) }
    }
}

/// Queueing of requests while all upstreams are at their limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// Longest queue, across all workers.
    pub length: usize,
    /// Longest wait.
    pub timeout: Duration,
}

impl Default for Queueing {
    fn default() -> Self {
        // After a longer wait most clients have gone, and their requests would be wasted work.
        Self { length: 1000, timeout: Duration::from_secs(5) }
    }
}

/// Limits on retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Upstreams tried per request: with many of them down, a client does not wait for all.
    pub tries: usize,
    /// No further try begins after this time.
    pub time: Option<Duration>,
}

impl Default for Retry {
    fn default() -> Self {
        Self { tries: 4, time: None }
    }
}

/// Active health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The path to request; `None`: a connection suffices.
    pub path: Option<String>,
    /// Host, if different from that of the URL.
    pub host: Option<String>,
    /// Statuses of a healthy upstream.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// Time between the starts of two checks.
    pub interval: Duration,
    /// Limit for a whole check.
    pub timeout: Duration,
    /// Successful checks in a row that bring it back.
    pub rises: u32,
    /// Failed checks in a row that take it out.
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
    /// Whether a response with that status counts as healthy.
    pub fn is_good(&self, status: Status) -> bool {
        self.statuses.iter().any(|range| range.contains(&status.code()))
    }
}
