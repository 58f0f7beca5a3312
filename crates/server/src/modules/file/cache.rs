//! The file cache of a worker: entries by handler and path, limited in bytes and descriptors.
//!
//! A hit hashes the path, compares it and clones an `Rc`: no allocation, no system call. Rarely requested entries are
//! evicted first; a scan of paths that are requested once does not evict the others.

use super::entry::Entry;
use super::roots::RootSlot;
use crate::config::feature_settings::FeatureSetting;
use hayami_http::Shared;
use hayami_net::Clock;
use hayami_net::Instant;
use quick_cache::unsync::{Cache, DefaultLifecycle};
use quick_cache::{Equivalent, OptionsBuilder, Weighter};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::{self, Rc};
use std::sync::Weak;
use std::time::Duration;

/// Below this a worker's cache would be practically useless.
const LEAST_BYTES: u64 = 4 << 20;
/// The same for descriptors.
const LEAST_DESCRIPTORS: u64 = 16;
/// Longer paths are not cached: Linux does not accept them (PATH_MAX).
const LONGEST_PATH: usize = 4096;
/// A file that is not requested for this long is closed.
const IDLE: Duration = Duration::from_secs(60);

/// `file.cache.size` and `file.cache.descriptors`: limits for the whole process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Bytes.
    pub size: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

impl FeatureSetting for CacheSettings {}

impl Default for CacheSettings {
    fn default() -> Self {
        Self { size: 64 << 20, descriptors: 1024 }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    handler: u32,
    path: Box<[u8]>,
}

/// A [`Key`] that borrows its path; the two hash alike, as `Box<[u8]>` and `&[u8]` do.
#[derive(Hash)]
struct KeyRef<'a> {
    handler: u32,
    path: &'a [u8],
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.handler == key.handler && *self.path == *key.path
    }
}

/// Counts descriptors as bytes, so that one limit covers both.
#[derive(Clone, Debug)]
struct Weigh {
    bytes_per_descriptor: u64,
}

impl Weighter<Key, Rc<Entry>> for Weigh {
    fn weight(&self, key: &Key, entry: &Rc<Entry>) -> u64 {
        (key.path.len() + entry.bytes()) as u64 + entry.descriptors() as u64 * self.bytes_per_descriptor
    }
}

type Entries = Cache<Key, Rc<Entry>, Weigh, foldhash::fast::RandomState, DefaultLifecycle<Key, Rc<Entry>>>;

/// The entries of all file handlers of a worker.
pub struct FileCache {
    entries: RefCell<Entries>,
    /// In-memory copies of open files, including those evicted from the cache but still being sent.
    copies: RefCell<Vec<Weak<[u8]>>>,
    most_copied: u64,
    next_handler: Cell<u32>,
    /// Handlers that were dropped, whose entries are no longer used: those of generations before a reload.
    gone: RefCell<HashSet<u32>>,
    closes_idle_files: Cell<bool>,
    /// Directories to close when they are idle.
    roots: RefCell<Vec<rc::Weak<RootSlot>>>,
}

impl Default for FileCache {
    fn default() -> Self {
        Self::new(&CacheSettings::default(), 1)
    }
}

impl FileCache {
    /// Creates a worker's share of the process's cache.
    pub fn new(settings: &CacheSettings, workers: usize) -> Self {
        let workers = workers.max(1) as u64;
        let size = (settings.size / workers).max(LEAST_BYTES.min(settings.size));
        let descriptors = (descriptor_bound(settings) / workers).max(LEAST_DESCRIPTORS);
        let options = OptionsBuilder::new()
            .estimated_items_capacity((size / 16384) as usize + 16)
            .weight_capacity(size)
            .build()
            .expect("both capacities are given");
        let weigh = Weigh { bytes_per_descriptor: size / descriptors };
        let hasher = foldhash::fast::RandomState::default();
        let entries = Cache::with_options(options, weigh, hasher, DefaultLifecycle::default());
        Self {
            entries: RefCell::new(entries),
            copies: RefCell::default(),
            most_copied: size,
            next_handler: Cell::new(0),
            gone: RefCell::default(),
            closes_idle_files: Cell::new(false),
            roots: RefCell::default(),
        }
    }

    /// Returns a number that no other handler of this worker has ever had.
    pub fn new_handler(&self) -> u32 {
        let number = self.next_handler.get();
        self.next_handler.set(number.wrapping_add(1));
        number
    }

    /// Marks the entries of a handler to be removed by the next idle check.
    pub(super) fn forget_handler(&self, handler: u32) {
        self.gone.borrow_mut().insert(handler);
    }

    /// The entry of that path, fresh or not.
    #[inline]
    pub fn get(&self, handler: u32, path: &[u8]) -> Option<Rc<Entry>> {
        self.entries.borrow().get(&KeyRef { handler, path }).cloned()
    }

    /// Inserts an entry, replacing the previous one, if there is room.
    pub fn insert(&self, handler: u32, path: &[u8], entry: Rc<Entry>) {
        if path.len() <= LONGEST_PATH {
            self.entries.borrow_mut().insert(Key { handler, path: path.into() }, entry);
        }
    }

    /// Whether one more copy of an open file of this length may be made. Slow clients keep copies alive that the cache
    /// has evicted: these count as well.
    pub fn has_room_for_copy(&self, len: u64) -> bool {
        let mut copies = self.copies.borrow_mut();
        copies.retain(|copy| copy.strong_count() > 0);
        let held: u64 = copies.iter().filter_map(Weak::upgrade).map(|copy| copy.len() as u64).sum();
        held + len <= self.most_copied
    }

    /// Counts a copy for as long as it is referenced.
    pub fn count_copy(&self, copy: &Shared) {
        self.copies.borrow_mut().push(copy.downgrade());
    }

    /// Runs `change`, which adds to a cached entry and so increases its weight. Returns the result of `change`.
    pub fn grow<T>(&self, handler: u32, path: &[u8], entry: &Rc<Entry>, change: impl FnOnce() -> T) -> T {
        // The cache requires that the weight of an entry is constant while it is cached.
        self.entries.borrow_mut().remove(&KeyRef { handler, path });
        let result = change();
        self.insert(handler, path, Rc::clone(entry));
        result
    }

    /// Evicts all entries that hold descriptors. Those in use are closed when their transfers end.
    pub fn release_descriptors(&self) {
        self.entries.borrow_mut().retain(|_, entry| entry.descriptors() == 0);
    }

    /// Closes the descriptors that no request has used lately: a removed file occupies its disk as long as it is open,
    /// an open directory prevents its disk from being unmounted.
    fn close_idle(&self, now: Instant) {
        let in_use = |entry: &Entry| entry.descriptors() == 0 || entry.is_fresh(now, IDLE);
        let gone = self.gone.take();
        self.entries.borrow_mut().retain(|key, entry| in_use(entry) && !gone.contains(&key.handler));
        self.roots
            .borrow_mut()
            .retain(|root| root.upgrade().map(|root| root.close_idle(now, IDLE)).is_some());
    }

    /// Registers a directory to be closed when it is idle.
    pub(super) fn close_when_idle(&self, root: &Rc<RootSlot>) {
        self.roots.borrow_mut().push(Rc::downgrade(root));
    }

    /// Starts the periodic idle check; within a worker's runtime only.
    pub fn close_idle_files(self: &Rc<Self>, clock: &Rc<Clock>) {
        if tokio::runtime::Handle::try_current().is_err() || self.closes_idle_files.replace(true) {
            return;
        }
        let (files, clock) = (Rc::downgrade(self), Rc::clone(clock));
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(IDLE / 2).await;
                let Some(files) = files.upgrade() else { return };
                files.close_idle(clock.now());
            }
        });
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Connections need descriptors too: the cache takes at most a quarter of the process's limit.
fn descriptor_bound(settings: &CacheSettings) -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    settings.descriptors.min(limit / 4)
}

#[cfg(test)]
mod tests {
    use super::super::entry::{Body, Found, OpenFile, Representation};
    use super::super::root::Timestamp;
    use super::*;
    use hayami_http::FieldSection;
    use hayami_http::negotiate::Coding;
    use std::fs::File;
    use std::sync::Arc;

    fn entry() -> Rc<Entry> {
        let now = Timestamp { seconds: 0, nanoseconds: 0 };
        Rc::new(Entry::new(Found::Absent, Vec::new(), now, Instant::now()))
    }

    fn holding_a_descriptor(validated: Instant) -> Entry {
        let fields = Arc::new(FieldSection::default());
        let file = File::open("/dev/null").unwrap();
        let representation = Representation {
            coding: Coding::Identity,
            not_modified: Arc::clone(&fields),
            fields,
            modified: None,
            body: Body::File(OpenFile::new(Arc::new(file), 0)),
        };
        let now = Timestamp { seconds: 0, nanoseconds: 0 };
        Entry::new(Found::Listing(representation), Vec::new(), now, validated)
    }

    #[test]
    fn handlers_do_not_see_each_others_entries() {
        let cache = FileCache::new(&CacheSettings::default(), 1);
        let (one, two) = (cache.new_handler(), cache.new_handler());
        cache.insert(one, b"a", entry());
        assert!(cache.get(one, b"a").is_some());
        assert!(cache.get(two, b"a").is_none());
        assert!(cache.get(one, b"b").is_none());
    }

    #[test]
    fn the_number_of_entries_is_bounded_and_what_is_asked_for_often_stays() {
        let cache = FileCache::new(&CacheSettings { size: 1 << 20, descriptors: 64 }, 1);
        cache.insert(0, b"hot", entry());
        for number in 0..100_000_u32 {
            assert!(cache.get(0, b"hot").is_some(), "pushed out after {number}");
            cache.insert(0, &number.to_le_bytes(), entry());
        }
        assert!(cache.len() < 5000, "{}", cache.len());
    }

    #[test]
    fn a_path_longer_than_any_file_has_is_not_kept() {
        let cache = FileCache::new(&CacheSettings::default(), 1);
        cache.insert(0, &[b'a'; LONGEST_PATH + 1], entry());
        assert!(cache.is_empty());
    }

    #[test]
    fn unused_files_are_closed() {
        let cache = FileCache::new(&CacheSettings::default(), 1);
        let start = Instant::now();
        cache.insert(0, b"open", Rc::new(holding_a_descriptor(start)));
        cache.insert(0, b"closed", entry());
        cache.close_idle(start + (IDLE - Duration::from_secs(1)));
        assert_eq!(cache.len(), 2);
        cache.close_idle(start + IDLE);
        assert!(cache.get(0, b"open").is_none() && cache.get(0, b"closed").is_some());
        cache.insert(1, b"closed", entry());
        cache.forget_handler(0);
        cache.close_idle(start + IDLE);
        assert!(cache.get(0, b"closed").is_none(), "its handler is gone");
        assert!(cache.get(1, b"closed").is_some());
    }

    #[test]
    fn open_files_are_bounded_too() {
        let cache = FileCache::new(&CacheSettings { size: 64 << 20, descriptors: 20 }, 1);
        for number in 0..100_u32 {
            cache.insert(0, &number.to_le_bytes(), Rc::new(holding_a_descriptor(Instant::now())));
        }
        assert!(cache.len() <= 20 && cache.len() > 10, "{}", cache.len());
        cache.release_descriptors();
        assert!(cache.is_empty());
    }
}
