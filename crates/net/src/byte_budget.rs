//! A budget of bytes, of memory or disk, shared by all connections of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number of bytes for the whole process, and how many of them are in use.
#[derive(Debug, Default)]
pub struct ByteBudget {
    most: u64,
    used: AtomicU64,
}

impl ByteBudget {
    /// Creates a budget of `most` bytes.
    pub fn new(most: u64) -> Self {
        Self { most, used: AtomicU64::new(0) }
    }

    /// Whether the budget is exhausted.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.most
    }

    /// Creates an empty share.
    pub fn share(self: &Arc<Self>) -> ByteShare {
        ByteShare { budget: Arc::clone(self), bytes: 0 }
    }
}

/// The part of a budget held by one user; returned on drop.
#[derive(Debug)]
pub struct ByteShare {
    budget: Arc<ByteBudget>,
    bytes: u64,
}

impl ByteShare {
    /// Whether the budget is exhausted.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// Size of the share.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Resizes the share to `bytes`. Returns false, and leaves it unchanged, if the budget does not allow that.
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
