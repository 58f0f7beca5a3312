//! Sessions in memory, shared by the workers.
//!
//! Bounded in bytes; the oldest are evicted first, since all have the same lifetime. There are sixteen locks,
//! each held for one table access, so that workers don't wait for each other. `sessions` knows what the
//! entries mean, and handles other machines.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

const SHARDS: usize = 16;
/// The overhead of an entry besides its bytes: both tables, the allocations.
const OVERHEAD: usize = 160;

/// Values by key, each until it expires.
#[derive(Debug)]
pub(super) struct Memory {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
}

#[derive(Debug)]
struct Shard {
    entries: HashMap<Box<[u8]>, Entry>,
    /// Keys in insertion order, with the number of the entry each refers to.
    order: VecDeque<(Box<[u8]>, u64)>,
    bytes: usize,
    limit: usize,
    count: u64,
}

#[derive(Debug)]
struct Entry {
    value: Vec<u8>,
    until: u64,
    number: u64,
}

impl Memory {
    /// Room for this many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let limit = bytes / SHARDS;
        Self { shards: std::array::from_fn(|_| Mutex::new(Shard::new(limit))), hasher: RandomState::new() }
    }

    /// Keeps `value` through the second `until`. `false`: it is too large.
    pub(super) fn put(&self, key: &[u8], value: Vec<u8>, until: u64) -> bool {
        self.shard(key, |shard| shard.put(key, value, until))
    }

    /// A copy of the value.
    pub(super) fn get(&self, key: &[u8], now: u64) -> Option<Vec<u8>> {
        self.shard(key, |shard| shard.entries.get(key).filter(|e| now <= e.until).map(|e| e.value.clone()))
    }

    /// Removes and returns the value: of several concurrent callers, one gets it.
    pub(super) fn take(&self, key: &[u8], now: u64) -> Option<Vec<u8>> {
        self.shard(key, |shard| shard.remove(key).filter(|e| now <= e.until).map(|e| e.value))
    }

    fn shard<T>(&self, key: &[u8], look: impl FnOnce(&mut Shard) -> T) -> T {
        let index = self.hasher.hash_one(key) as usize % SHARDS;
        // A panicked thread leaves a usable cache, at worst with a wrong count.
        look(&mut self.shards[index].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shard {
    fn new(limit: usize) -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), bytes: 0, limit, count: 0 }
    }

    fn put(&mut self, key: &[u8], value: Vec<u8>, until: u64) -> bool {
        let bytes = cost(key, &value);
        if bytes > self.limit {
            return false;
        }
        self.remove(key);
        self.make_room(bytes);
        self.count += 1;
        self.bytes += bytes;
        self.order.push_back((key.into(), self.count));
        self.entries.insert(key.into(), Entry { value, until, number: self.count });
        true
    }

    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > self.limit || self.order.len() > self.limit / OVERHEAD {
            let Some((key, number)) = self.order.pop_front() else { return };
            // An entry that was taken or stored again left a stale position in the order.
            if self.entries.get(&key).is_some_and(|entry| entry.number == number) {
                self.remove(&key);
            }
        }
    }

    fn remove(&mut self, key: &[u8]) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        self.bytes -= cost(key, &entry.value);
        Some(entry)
    }
}

fn cost(key: &[u8], value: &[u8]) -> usize {
    OVERHEAD + 2 * key.len() + value.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_value_is_there_until_its_second_is_over() {
        let memory = Memory::new(1 << 20);
        assert!(memory.put(b"key", b"value".to_vec(), 10));
        assert_eq!(memory.get(b"key", 10), Some(b"value".to_vec()));
        assert_eq!(memory.get(b"key", 11), None);
        assert_eq!(memory.take(b"key", 11), None);
        assert_eq!(memory.get(b"other", 0), None);
    }

    #[test]
    fn a_taken_value_is_gone() {
        let memory = Memory::new(1 << 20);
        memory.put(b"key", b"value".to_vec(), 10);
        assert_eq!(memory.take(b"key", 0), Some(b"value".to_vec()));
        assert_eq!(memory.take(b"key", 0), None);
    }

    #[test]
    fn the_oldest_make_room() {
        let mut shard = Shard::new(10 * (OVERHEAD + 2 * 4 + 100));
        for number in 0_u32..25 {
            assert!(shard.put(&number.to_be_bytes(), vec![0; 100], 1));
        }
        assert_eq!(shard.entries.len(), 10);
        assert!(shard.entries.contains_key(&24_u32.to_be_bytes()[..]));
        assert!(!shard.entries.contains_key(&14_u32.to_be_bytes()[..]));
        assert!(!shard.put(b"large", vec![0; 5000], 1));
    }

    #[test]
    fn putting_and_taking_forever_needs_no_more_memory() {
        let mut shard = Shard::new(100_000);
        for number in 0_u32..100_000 {
            shard.put(&number.to_be_bytes(), vec![0; 10], 1);
            shard.remove(&number.to_be_bytes());
        }
        assert_eq!((shard.bytes, shard.entries.len()), (0, 0));
        assert!(shard.order.len() <= 100_000 / OVERHEAD + 1);
    }

    #[test]
    fn a_key_put_again_is_as_young_as_its_last_value() {
        let mut shard = Shard::new(2 * (OVERHEAD + 2 + 1));
        for key in [b"a", b"b", b"a", b"c"] {
            shard.put(key, vec![0], 1);
        }
        assert!(shard.entries.contains_key(&b"a"[..]) && !shard.entries.contains_key(&b"b"[..]));
    }

    #[test]
    fn of_threads_that_take_the_same_value_one_gets_it() {
        let memory = Arc::new(Memory::new(1 << 20));
        for number in 0_u32..200 {
            memory.put(&number.to_be_bytes(), vec![1], 1);
        }
        let taker = |memory: Arc<Memory>| {
            move || (0_u32..200).filter(|n| memory.take(&n.to_be_bytes(), 0).is_some()).count()
        };
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(taker(memory.clone()))).collect();
        let taken: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(taken, 200);
    }
}
