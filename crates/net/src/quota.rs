//! Connection limits of the process.

use crate::placement::Workers;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The connection limits of the process, its current connections, and how they are spread over the workers.
#[derive(Debug)]
pub struct Quota {
    /// Hard limit: above it, new connections wait in the kernel's accept queue.
    most: usize,
    /// Soft limit: above it, idle connections are closed early; with the minimum idle time before that.
    soft: Option<(usize, Duration)>,
    live: AtomicUsize,
    next_id: AtomicU64,
    starved: AtomicU64,
    workers: Arc<Workers>,
}

impl Quota {
    /// Creates a quota of `most` connections, with idle ones closed early above `soft`.
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

    /// Number of current connections.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// How often a connection could not be accepted for lack of descriptors or memory.
    pub fn starved(&self) -> u64 {
        self.starved.load(Ordering::Relaxed)
    }

    /// Minimum idle time before a connection is closed above the soft limit.
    pub(crate) fn min_age(&self) -> Duration {
        self.soft.map_or(Duration::ZERO, |(_, min_age)| min_age)
    }

    /// Whether there is a soft limit.
    pub(crate) fn is_soft(&self) -> bool {
        self.soft.is_some()
    }

    /// A worker's share of the connections above the soft limit, if it has `own` of all.
    pub(crate) fn excess(&self, own: usize) -> usize {
        let Some((soft, _)) = self.soft else { return 0 };
        let live = self.live();
        if live <= soft { 0 } else { ((live - soft) * own).div_ceil(live) }
    }

    /// The workers that hold the connections.
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

    /// Counts a connection that could not be accepted for lack of descriptors or memory.
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
