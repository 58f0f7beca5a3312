//! State of a group shared by all workers: members, health, load. Created once per process.
//!
//! A worker compares one number to see whether anything has changed, and locks only if so. Counts are atomics, kept
//! only where `max-connections` needs them.

use super::hash;
use super::queue::Queue;
use super::settings::{Endpoint, Group, Settings};
use super::uploads::Uploads;
use crate::modules::proxy::Url;
use hayami_net::Instant;
use hayami_net::dial::Peer;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The groups of a process.
#[derive(Default)]
pub struct Shared {
    /// By index in the configuration.
    pub(super) groups: Vec<Arc<SharedGroup>>,
    /// The configured name servers; if empty, the system resolver is used.
    pub(super) resolver: Arc<[std::net::SocketAddr]>,
    /// The limits of buffered request content.
    pub(super) uploads: Arc<Uploads>,
}

impl Shared {
    /// Creates the configured groups; `uploads` limits buffered request content.
    pub fn new(settings: &Settings, uploads: Uploads) -> Self {
        let resolver: Arc<[_]> = settings.resolver.clone().into();
        let group = |group: &Group| Arc::new(SharedGroup::new(group, Arc::clone(&resolver)));
        let groups = settings.groups.iter().map(group).collect();
        Self { groups, resolver, uploads: Arc::new(uploads) }
    }

    /// Creates the groups after a reload: an unchanged group is taken over, with the state of its upstreams.
    /// `same_transport` says, for the indexes of a new and an old group, whether both use the same transport.
    pub fn after(settings: &Settings, before: &Self, same_transport: impl Fn(usize, usize) -> bool) -> Self {
        let resolver: Arc<[_]> = settings.resolver.clone().into();
        let same_resolver = resolver == before.resolver;
        let group = |(index, group): (usize, &Group)| {
            let is_same = |(old, own): &(usize, &Arc<SharedGroup>)| {
                same_resolver && own.settings.is_like(group) && same_transport(index, *old)
            };
            match before.groups.iter().enumerate().find(is_same) {
                Some((_, own)) => Arc::clone(own),
                None => Arc::new(SharedGroup::new(group, Arc::clone(&resolver))),
            }
        };
        let groups = settings.groups.iter().enumerate().map(group).collect();
        Self { groups, resolver, uploads: Arc::clone(&before.uploads) }
    }
}

/// The shared state of a group.
pub(super) struct SharedGroup {
    pub(super) settings: Group,
    /// The configured name servers; if empty, the system resolver is used.
    pub(super) resolver: Arc<[std::net::SocketAddr]>,
    /// Whether any of its upstreams has a `max-connections`.
    pub(super) is_bounded: bool,
    pub(super) queue: Queue,
    members: Mutex<Vec<Arc<SharedMember>>>,
    /// Per entry of the configuration: why the last lookup of its name failed, if it did.
    lookups: Mutex<Vec<Option<Arc<str>>>>,
    /// Changes with `members`, and with their addresses.
    generation: AtomicU32,
    /// A worker watches names and health for all.
    is_watched: AtomicBool,
    epoch: Instant,
}

/// The shared state of an upstream.
pub(super) struct SharedMember {
    /// Index of the configuration's entry that it is, or was resolved from.
    pub(super) entry: usize,
    pub(super) url: Url,
    pub(super) weight: u32,
    pub(super) backup: bool,
    /// Hash of its name, for the hash balancer.
    pub(super) number: u64,
    /// `max-connections`
    most: Option<u32>,
    /// Requests in flight, counted only if there is a limit.
    busy: AtomicU32,
    /// Whether health checks fail.
    is_unhealthy: AtomicBool,
    /// When it last recovered, in milliseconds since the group's epoch; 0: it was never down.
    recovered: AtomicU64,
    peers: Mutex<Arc<[Peer]>>,
}

impl SharedGroup {
    fn new(settings: &Group, resolver: Arc<[std::net::SocketAddr]>) -> Self {
        let group = Self {
            settings: settings.clone(),
            resolver,
            is_bounded: settings.upstreams.iter().any(|own| own.most.is_some()),
            queue: Queue::new(settings.queue.length),
            members: Mutex::default(),
            lookups: Mutex::new(vec![None; settings.upstreams.len()]),
            generation: AtomicU32::new(0),
            is_watched: AtomicBool::new(false),
            epoch: Instant::now(),
        };
        for (entry, own) in settings.upstreams.iter().enumerate() {
            group.update(entry, own.endpoints());
        }
        group
    }

    /// The current upstreams.
    pub(super) fn members(&self) -> Vec<Arc<SharedMember>> {
        self.lock().clone()
    }

    /// The number changes whenever members or addresses do.
    #[inline]
    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Sets the servers that an entry of the configuration resolves to. Returns whether anything changed.
    pub(super) fn update(&self, entry: usize, endpoints: Vec<Endpoint>) -> bool {
        let settings = &self.settings.upstreams[entry];
        if settings.down {
            return false;
        }
        let mut members = self.lock();
        let mut news = false;
        let mut kept = Vec::new();
        for endpoint in endpoints {
            let same = |own: &&Arc<SharedMember>| own.entry == entry && own.is(&endpoint);
            match members.iter().find(same) {
                Some(own) => {
                    news |= own.set_peers(endpoint.peers);
                    kept.push(Arc::clone(own));
                }
                None => {
                    news = true;
                    kept.push(Arc::new(SharedMember::new(entry, settings.most, endpoint)));
                }
            }
        }
        news |= members.iter().filter(|own| own.entry == entry).count() != kept.len();
        if news {
            members.retain(|own| own.entry != entry);
            members.extend(kept);
            members.sort_by_key(|own| own.entry);
            drop(members);
            self.generation.fetch_add(1, Ordering::Release);
        }
        news
    }

    /// Records the result of a lookup for an entry of the configuration. Returns whether it began or ceased to fail.
    pub(super) fn note_lookup(&self, entry: usize, failure: Option<&io::Error>) -> bool {
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut lookups[entry], failure.map(|error| error.to_string().into()));
        before.is_some() != failure.is_some()
    }

    /// Why the last lookup for an entry of the configuration failed, if it did.
    #[cold]
    pub(super) fn lookup_failure(&self, entry: usize) -> Option<Arc<str>> {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner)[entry].clone()
    }

    /// Whether an entry of the configuration currently resolves to any server.
    pub(super) fn has_members_of(&self, entry: usize) -> bool {
        self.lock().iter().any(|own| own.entry == entry)
    }

    /// Whether the calling worker is to watch names and health: the first that asks.
    pub(super) fn claim(&self) -> bool {
        !self.is_watched.swap(true, Ordering::AcqRel)
    }

    /// The worker that claimed the group no longer watches it.
    pub(super) fn release(&self) {
        self.is_watched.store(false, Ordering::Release);
    }

    /// Whether a worker watches names and health.
    pub(super) fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    /// Records that an upstream recovered at `now`.
    pub(super) fn mark_recovered(&self, member: &SharedMember, now: Instant) {
        member.recovered.store(self.millis(now).max(1), Ordering::Relaxed);
    }

    /// Time since an upstream recovered, while its slow start lasts.
    pub(super) fn is_new_since(&self, member: &SharedMember, now: Instant) -> Option<Duration> {
        if self.settings.slow_start.is_zero() {
            return None;
        }
        let recovered = member.recovered.load(Ordering::Relaxed);
        let since = Duration::from_millis(self.millis(now).saturating_sub(recovered));
        (recovered != 0 && since < self.settings.slow_start).then_some(since)
    }

    fn millis(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.epoch).as_millis() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<SharedMember>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedMember {
    fn new(entry: usize, most: Option<u32>, endpoint: Endpoint) -> Self {
        Self {
            entry,
            number: hash::number(endpoint.url.shown.as_bytes()),
            url: endpoint.url,
            weight: endpoint.weight,
            backup: endpoint.backup,
            most,
            busy: AtomicU32::new(0),
            is_unhealthy: AtomicBool::new(false),
            recovered: AtomicU64::new(0),
            peers: Mutex::new(endpoint.peers.into()),
        }
    }

    fn is(&self, endpoint: &Endpoint) -> bool {
        self.url == endpoint.url && self.weight == endpoint.weight && self.backup == endpoint.backup
    }

    /// Its addresses.
    pub(super) fn peers(&self) -> Arc<[Peer]> {
        Arc::clone(&self.peers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_peers(&self, peers: Vec<Peer>) -> bool {
        let mut own = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let news = own[..] != peers[..];
        if news {
            *own = peers.into();
        }
        news
    }

    /// Whether health checks say that it is down.
    #[inline]
    pub(super) fn is_unhealthy(&self) -> bool {
        self.is_unhealthy.load(Ordering::Relaxed)
    }

    /// Records the result of health checks.
    pub(super) fn set_unhealthy(&self, sick: bool) {
        self.is_unhealthy.store(sick, Ordering::Relaxed);
    }

    /// Whether it is at its `max-connections`.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.most.is_some_and(|most| self.busy.load(Ordering::SeqCst) >= most)
    }

    /// Counts a request, unless the limit is reached.
    fn admit(&self) -> bool {
        let Some(most) = self.most else { return true };
        let more = |busy: u32| (busy < most).then_some(busy + 1);
        self.busy.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
    }
}

/// Admission of a request to an upstream with `max-connections`; released when dropped.
pub struct Permit {
    group: Arc<SharedGroup>,
    member: Arc<SharedMember>,
}

impl Permit {
    /// Admits a request to `member`; `None` if it has no limit.
    ///
    /// # Errors
    /// The limit is reached.
    #[inline]
    pub(super) fn new(group: &Arc<SharedGroup>, member: &Arc<SharedMember>) -> Result<Option<Self>, ()> {
        if member.most.is_none() {
            return Ok(None);
        }
        let permit = || Self { group: Arc::clone(group), member: Arc::clone(member) };
        member.admit().then(permit).map(Some).ok_or(())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.member.busy.fetch_sub(1, Ordering::SeqCst);
        self.group.queue.wake_first();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::settings::Upstream;
    use super::*;
    use crate::config::yaml::{Node, Position};

    /// An upstream at a local port.
    pub(in super::super) fn upstream(port: u16) -> Upstream {
        let url = Url::read(&Node::scalar(&format!("http://127.0.0.1:{port}"))).expect("a URL");
        Upstream::new(url, vec![Peer::Tcp(([127, 0, 0, 1], port).into())])
    }

    fn group(upstreams: Vec<Upstream>) -> Arc<SharedGroup> {
        let groups = vec![Group::new(Position::default(), upstreams)];
        let mut shared = Shared::new(&Settings { groups, ..Settings::default() }, Uploads::default());
        shared.groups.remove(0)
    }

    fn endpoint(port: u16, weight: u32) -> Endpoint {
        Endpoint { weight, ..upstream(port).found.remove(0) }
    }

    #[test]
    fn remaining_members_keep_their_state_and_only_changes_are_reported() {
        let group = group(vec![upstream(1), upstream(2)]);
        let seen = group.generation();
        let first = Arc::clone(&group.members()[0]);
        assert!(!group.update(0, vec![endpoint(1, 1)]));
        assert_eq!(group.generation(), seen);
        assert!(group.update(0, vec![endpoint(1, 1), endpoint(3, 1)]));
        assert_ne!(group.generation(), seen);
        assert!(Arc::ptr_eq(&first, &group.members()[0]));
        let shown = |group: &SharedGroup| -> Vec<String> {
            group.members().iter().map(|own| own.url.shown.replace("http://127.0.0.1:", "")).collect()
        };
        assert_eq!(shown(&group), ["1", "3", "2"]);
        assert!(group.update(0, vec![endpoint(3, 1)]));
        assert!(group.update(0, vec![endpoint(3, 2)]), "another weight");
        assert_eq!(shown(&group), ["3", "2"]);
        let moved = Endpoint { peers: vec![Peer::Unix("/a".into())], ..endpoint(3, 2) };
        assert!(group.update(0, vec![moved.clone()]), "other addresses");
        assert!(!group.update(0, vec![moved]));
        assert_eq!(group.members()[0].peers()[..], [Peer::Unix("/a".into())]);
    }

    #[test]
    fn no_more_places_are_given_than_there_are_whatever_threads_ask() {
        let group = group(vec![Upstream { most: Some(3), ..upstream(1) }, upstream(2)]);
        let members = group.members();
        assert!(matches!(Permit::new(&group, &members[1]), Ok(None)));
        let most = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let Ok(permit) = Permit::new(&group, &members[0]) else { continue };
                        most.fetch_max(members[0].busy.load(Ordering::SeqCst), Ordering::SeqCst);
                        drop(permit);
                    }
                });
            }
        });
        assert!((1..=3).contains(&most.into_inner()));
        assert_eq!(members[0].busy.load(Ordering::SeqCst), 0);
        let permits: Vec<_> = (0..3).map(|_| Permit::new(&group, &members[0])).collect();
        assert!(permits.iter().all(Result::is_ok) && members[0].is_full());
        assert!(Permit::new(&group, &members[0]).is_err());
    }

    #[test]
    fn the_last_failure_to_look_a_name_up_is_remembered_until_it_is_found() {
        let group = group(vec![upstream(1), upstream(2)]);
        let failure = |text: &str| io::Error::new(io::ErrorKind::TimedOut, text);
        assert!(!group.note_lookup(1, None), "no news");
        assert!(group.note_lookup(1, Some(&failure("a"))));
        assert!(!group.note_lookup(1, Some(&failure("b"))));
        assert_eq!((group.lookup_failure(0), group.lookup_failure(1).as_deref()), (None, Some("b")));
        assert!(group.note_lookup(1, None));
        assert_eq!(group.lookup_failure(1), None);
    }

    #[test]
    fn one_of_all_workers_looks_after_a_group() {
        let group = group(vec![upstream(1)]);
        assert!(group.claim());
        assert!(!group.claim());
        group.release();
        assert!(group.claim());
    }
}
