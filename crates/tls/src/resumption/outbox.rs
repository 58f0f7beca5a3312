//! The queue of writes to a remote store: workers push and continue, background threads pop.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The maximum length: the handshakes of a second on a busy machine, some megabytes.
const LONGEST: usize = 8192;

/// A change for the store.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Keep the session through the second `until`.
    Put { id: Vec<u8>, session: Vec<u8>, until: u64 },
    /// Remove the session: it was resumed, which is allowed only once.
    Remove { id: Vec<u8> },
}

/// A bounded queue.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    changes: Mutex<VecDeque<Change>>,
    arrived: Condvar,
    lost: AtomicU64,
}

impl Outbox {
    /// Queues a change, or counts it as lost if the threads can't keep up. Never waits for a store.
    pub(super) fn push(&self, change: Change) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.len() >= LONGEST {
            drop(changes);
            return self.count_lost();
        }
        changes.push_back(change);
        drop(changes);
        self.arrived.notify_one();
    }

    /// The next change; `None` if there is none within `time`.
    pub(super) fn next(&self, time: Duration) -> Option<Change> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.arrived.wait_timeout_while(changes, time, |changes| changes.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.pop_front()
    }

    /// A change didn't reach the store.
    pub(super) fn count_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were lost since the last call.
    pub(super) fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_in_order_and_too_many_are_counted() {
        let outbox = Outbox::default();
        for number in 0..LONGEST + 3 {
            outbox.push(Change::Remove { id: number.to_be_bytes().to_vec() });
        }
        assert_eq!((outbox.take_lost(), outbox.take_lost()), (3, 0));
        for number in 0..LONGEST {
            let want = Change::Remove { id: number.to_be_bytes().to_vec() };
            assert_eq!(outbox.next(Duration::ZERO), Some(want));
        }
        assert_eq!(outbox.next(Duration::ZERO), None);
    }
}
