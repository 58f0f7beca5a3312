//! How many connections the process may have.

use crate::placement::Workers;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How many connections the process may have, and has, and which of its workers have how many.
#[derive(Debug)]
pub struct Quota {
    /// Above it connections wait in the kernel's queue.
    most: usize,
    /// Above it idle connections are closed early; with how long an idle one is left alone at least.
    soft: Option<(usize, Duration)>,
    live: AtomicUsize,
    next_id: AtomicU64,
    starved: AtomicU64,
    workers: Arc<Workers>,
}

impl Quota {
    /// A quota of `most` connections, with idle ones closed early above `soft`.
    pub fn new(most: usize, soft: Option<(usize, Duration)>) -> Self {
        Self {
            most,
            soft,
            live: AtomicUsize::new(0),
            next_id: AtomicU64::new(1),
            starved: AtomicU64::new(0),
            workers: Arc::default(),
        }
    }

    /// Connections at the moment.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// How often a connection could not be accepted for want of descriptors or memory.
    pub fn starved(&self) -> u64 {
        self.starved.load(Ordering::Relaxed)
    }

    /// How long an idle connection is left alone when the soft limit is passed.
    pub(crate) fn min_age(&self) -> Duration {
        self.soft.map_or(Duration::ZERO, |(_, min_age)| min_age)
    }

    /// Whether idle connections may have to be closed early.
    pub(crate) fn is_soft(&self) -> bool {
        self.soft.is_some()
    }

    /// How many of a worker's `own` connections are above the soft limit: its share of the excess.
    pub(crate) fn excess(&self, own: usize) -> usize {
        let Some((soft, _)) = self.soft else { return 0 };
        let live = self.live();
        if live <= soft { 0 } else { ((live - soft) * own).div_ceil(live) }
    }

    /// The workers that have them.
    pub(crate) fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    pub(crate) fn enter(&self) -> Option<u64> {
        if self.live.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.leave();
            return None;
        }
        Some(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// One could not be accepted for want of descriptors or memory.
    pub(crate) fn note_starved(&self) {
        self.starved.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quota_is_never_passed_and_room_is_given_back() {
        let quota = Quota::new(2, None);
        assert!(quota.enter().is_some() && quota.enter().is_some());
        assert_eq!(quota.enter(), None);
        quota.leave();
        assert!(quota.enter().is_some());
        assert_eq!(quota.live(), 2);
    }

    #[test]
    fn each_worker_drops_its_share_of_the_excess() {
        let quota = Quota::new(100, Some((10, Duration::from_secs(30))));
        for _ in 0..20 {
            quota.enter();
        }
        assert_eq!(quota.excess(15), 8);
        assert_eq!(quota.excess(5), 3);
        for _ in 0..10 {
            quota.leave();
        }
        assert_eq!(quota.excess(10), 0);
    }
}
