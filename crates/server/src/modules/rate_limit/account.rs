//! What a limit has counted, for all workers; kept over reloads.

use super::rate::{Admission, Gcra};
use super::table::Table;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The account of a limit.
pub(super) struct Account {
    /// Unique within this process.
    pub(super) id: u64,
    table: Table,
    journal: Mutex<Journal>,
}

impl Account {
    /// An account for so many keys.
    pub(super) fn new(keys: usize) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, table: Table::new(keys), journal: Mutex::default() }
    }

    /// Counts a request at `now`, in nanoseconds.
    pub(super) fn count(&self, key: u64, gcra: &Gcra, now: u64) -> Admission {
        // What is given up for a new key is the oldest time: one that has passed, unless there are too many keys.
        let counted = self.table.update(key, |_| true, |number| gcra.count(number, now));
        counted.unwrap_or(Admission::Admitted(Duration::ZERO))
    }

    /// Counts a request as long as its permit is held. `None` if there are `max` already, or no room for the key.
    pub(super) fn enter(self: &Arc<Self>, key: u64, max: u64) -> Option<Entered> {
        let count = |number: &mut u64| {
            let is_admitted = *number < max;
            *number += u64::from(is_admitted);
            is_admitted
        };
        // No key that has requests is given up.
        let is_admitted = self.table.update(key, |_| false, count).unwrap_or(false);
        is_admitted.then(|| Entered { account: Arc::clone(self), key })
    }

    /// Whether the error log gets a line about a key at `now`, in nanoseconds.
    pub(super) fn may_log(&self, key: u64, now: u64) -> bool {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).admit(key, now / 1_000_000_000)
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Account").field(&self.id).finish()
    }
}

/// A request that is being served; dropping it is its end.
pub(super) struct Entered {
    account: Arc<Account>,
    key: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.account.table.update(self.key, |_| false, |number| *number = number.saturating_sub(1));
    }
}

/// Lines of the error log about a limit within a second: fewer than a worker writes about all requests, so that a flood
/// does not hide other errors.
const LINES: usize = 4;

/// The keys about which there were lines in this second.
#[derive(Default)]
struct Journal {
    second: u64,
    keys: Vec<u64>,
}

impl Journal {
    /// One line for each key in a second, and few in all.
    fn admit(&mut self, key: u64, second: u64) -> bool {
        // Workers read their clocks at different times: an older second is still the same.
        if second > self.second {
            self.second = second;
            self.keys.clear();
        }
        let is_new = self.keys.len() < LINES && !self.keys.contains(&key);
        if is_new {
            self.keys.push(key);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_at_once_are_counted_until_they_end() {
        let account = Arc::new(Account::new(100));
        let held: Vec<_> = (0..3).map(|_| account.enter(7, 3).expect("admitted")).collect();
        assert!(account.enter(7, 3).is_none());
        let other = account.enter(8, 3).expect("another key");
        drop(held);
        assert!((0..3).map(|_| account.enter(7, 3)).all(|entered| entered.is_some()));
        drop(other);
        assert!(account.enter(7, 1).is_some(), "nothing is left");
    }

    #[test]
    fn threads_share_the_count() {
        let account = Arc::new(Account::new(100));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..10_000).for_each(|_| drop(account.enter(7, 2).expect("one of two"))));
            }
        });
        let held: Vec<_> = (0..2).map(|_| account.enter(7, 2)).collect();
        assert!(held.iter().all(Option::is_some) && account.enter(7, 2).is_none());
    }

    #[test]
    fn a_key_with_requests_is_not_given_up_for_another_one() {
        let account = Arc::new(Account::new(1));
        // All of one bucket.
        let held: Vec<_> = (1..=16).map(|key| account.enter(key * 16, 1).expect("room")).collect();
        assert!(account.enter(1600, 1).is_none(), "no room");
        drop(held);
        assert!(account.enter(1600, 1).is_some());
    }

    #[test]
    fn a_key_has_one_line_in_a_second_and_all_have_few() {
        let account = Account::new(100);
        let second = |number: u64| number * 1_000_000_000;
        assert!(account.may_log(1, second(5)) && !account.may_log(1, second(6) - 1));
        assert!(account.may_log(1, second(6)) && !account.may_log(1, second(5)));
        let lines = (0..100).filter(|key| account.may_log(*key, second(7))).count();
        assert_eq!(lines, LINES);
    }
}
