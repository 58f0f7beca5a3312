//! Keys, each with a number: how much of a limit it has used. Bounded, shared by all workers.
//!
//! ```text
//! key ─▶ shard: one lock, 16 buckets, made for its first key ─▶ bucket: 16 entries of a key and its number, 256 bytes
//! ```
//!
//! A request looks at one bucket only. With two entries for each key that is to fit, 0.4 % of the buckets are full when all
//! keys are there (Poisson, mean 8); a key for which there is no room takes the place of the one with the lowest number.

use std::sync::{Mutex, PoisonError};

/// Entries of a bucket: four cache lines.
const WAYS: usize = 16;

/// Buckets of a shard, which is a page of memory.
const BUCKETS: usize = 16;

/// Entries for each key that is to fit. An entry has 16 bytes, so a key costs 32.
const SPARE: usize = 2;

/// A table of keys.
pub(super) struct Table {
    shards: Box<[Mutex<Shard>]>,
}

/// Empty until its first key comes.
type Shard = Box<[Bucket]>;

type Bucket = [Entry; WAYS];

#[derive(Clone, Copy, Default)]
struct Entry {
    /// The hash of a key, which an attacker cannot predict; never 0 for one that is there.
    key: u64,
    /// 0 is as good as none.
    number: u64,
}

impl Table {
    /// A table for so many keys.
    pub(super) fn new(keys: usize) -> Self {
        let shards = keys.saturating_mul(SPARE).div_ceil(WAYS * BUCKETS).max(1);
        Self { shards: (0..shards).map(|_| Mutex::default()).collect() }
    }

    /// Shows the number of a key to `change`, which may change it; 0 for a new key. `None` if there is no room for it:
    /// only entries whose number `may_evict` agrees to are given up.
    pub(super) fn update<R>(
        &self,
        key: u64,
        may_evict: impl Fn(u64) -> bool,
        change: impl FnOnce(&mut u64) -> R,
    ) -> Option<R> {
        let mut shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        if shard.is_empty() {
            *shard = vec![Bucket::default(); BUCKETS].into_boxed_slice();
        }
        // Other bits than those that choose the shard.
        let bucket = &mut shard[key as usize % BUCKETS];
        let entry = match bucket.iter().position(|own| own.key == key) {
            Some(known) => &mut bucket[known],
            None => {
                let lowest = bucket.iter_mut().min_by_key(|own| own.number)?;
                if lowest.number != 0 && !may_evict(lowest.number) {
                    return None;
                }
                *lowest = Entry { key, number: 0 };
                lowest
            }
        };
        Some(change(&mut entry.number))
    }

    fn shard(&self, key: u64) -> &Mutex<Shard> {
        let shards = self.shards.len() as u64;
        // Below the number of shards: the upper half of the bits, scaled (Lemire).
        &self.shards[(((key >> 32) * shards) >> 32) as usize]
    }

    /// Bytes that it has now.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let used = self.shards.iter().map(|own| own.lock().expect("no panic within").len());
        std::mem::size_of_val(&*self.shards) + used.sum::<usize>() * size_of::<Bucket>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::rate_limit::key::hash;

    fn get(table: &Table, key: u64) -> u64 {
        table.update(key, |_| true, |number| *number).expect("room")
    }

    fn set(table: &Table, key: u64, to: u64) {
        table.update(key, |_| true, |number| *number = to).expect("room");
    }

    #[test]
    fn a_key_keeps_its_number() {
        let table = Table::new(100_000);
        let keys: Vec<_> = (0..50_000_u32).map(|key| hash(&key)).collect();
        keys.iter().zip(1..).for_each(|(key, number)| set(&table, *key, number));
        assert!(keys.iter().zip(1..).all(|(key, number)| get(&table, *key) == number));
    }

    #[test]
    fn memory_comes_with_keys_and_is_bounded() {
        let table = Table::new(100_000);
        assert!(table.bytes() < 32_000, "{}", table.bytes());
        set(&table, hash(&1), 1);
        assert!(table.bytes() < 40_000, "{}", table.bytes());
        (0..300_000_u32).for_each(|key| set(&table, hash(&key), 1));
        assert!(table.bytes() < 100_000 * 34, "{}", table.bytes());
    }

    #[test]
    fn nearly_all_keys_fit_into_a_full_table() {
        let table = Table::new(100_000);
        let keys: Vec<_> = (0..100_000_u32).map(|key| hash(&key)).collect();
        keys.iter().for_each(|key| set(&table, *key, 7));
        let kept = keys.iter().filter(|key| get(&table, **key) == 7).count();
        assert!(kept > 99_000, "{kept}");
    }

    #[test]
    fn the_lowest_number_is_given_up_first() {
        let table = Table::new(1);
        // All in one bucket.
        let keys: Vec<_> = (1..=WAYS as u64).map(|key| key * BUCKETS as u64).collect();
        keys.iter().for_each(|key| set(&table, *key, 1000 + key));
        let new = 1000 * BUCKETS as u64;
        assert_eq!(table.update(new, |number| number < 1016, |_| ()), None, "no entry may be given up");
        assert_eq!(table.update(new, |number| number <= 1016, |number| *number = 5000), Some(()));
        assert_eq!(get(&table, new), 5000);
        assert!(keys[1..].iter().all(|key| get(&table, *key) == 1000 + key), "only the first is gone");
    }

    #[test]
    fn threads_share_it() {
        let table = Table::new(10);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    (0..10_000_u64).for_each(|round| {
                        table.update(hash(&(round % 8)), |_| true, |number| *number += 1).expect("room");
                    });
                });
            }
        });
        assert!((0..8_u64).all(|key| get(&table, hash(&key)) == 2500));
    }
}
