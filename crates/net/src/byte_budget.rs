//! Bytes that all connections of the process may use together, of memory or of a disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number of bytes for the whole process, and how many of them are used.
#[derive(Debug, Default)]
pub struct ByteBudget {
    most: u64,
    used: AtomicU64,
}

impl ByteBudget {
    /// So many bytes.
    pub fn new(most: u64) -> Self {
        Self { most, used: AtomicU64::new(0) }
    }

    /// Whether nothing is left.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.most
    }

    /// A share of it, which is nothing so far.
    pub fn share(self: &Arc<Self>) -> ByteShare {
        ByteShare { budget: Arc::clone(self), bytes: 0 }
    }
}

/// What one user has of a budget; given back when it is dropped.
#[derive(Debug)]
pub struct ByteShare {
    budget: Arc<ByteBudget>,
    bytes: u64,
}

impl ByteShare {
    /// Whether nothing of the budget is left.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// How many it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// From now on the share is so many bytes. Whether the budget has that many; if not, it stays as it was.
    #[must_use]
    pub fn resize(&mut self, bytes: u64) -> bool {
        let ByteBudget { most, used } = &*self.budget;
        let fits = match bytes.checked_sub(self.bytes) {
            None => {
                used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
                true
            }
            Some(0) => true,
            Some(more) => {
                let sum = |used: u64| used.checked_add(more).filter(|sum| sum <= most);
                used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok()
            }
        };
        if fits {
            self.bytes = bytes;
        }
        fits
    }
}

impl Drop for ByteShare {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_more_than_the_budget_together_and_are_given_back() {
        let budget = Arc::new(ByteBudget::new(100));
        let (mut first, mut second) = (budget.share(), budget.share());
        assert!(first.resize(60) && second.resize(40) && budget.is_spent());
        assert!(!second.resize(41), "there is no more");
        assert!(first.resize(10) && second.resize(90));
        drop(second);
        assert!(!first.resize(u64::MAX));
        assert!(first.resize(100));
        drop(first);
        assert!(!budget.is_spent());
    }

    #[test]
    fn shares_are_never_more_than_the_budget_whatever_threads_ask() {
        let budget = Arc::new(ByteBudget::new(3));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let mut share = budget.share();
                        if share.resize(2) {
                            assert!(budget.used.load(Ordering::Relaxed) <= 3);
                        }
                    }
                });
            }
        });
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }
}
