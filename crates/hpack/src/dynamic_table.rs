//! The dynamic table (RFC 7541 §2.3.2 and §4) of one direction.
//!
//! The entries' bytes are stored contiguously in one buffer, oldest first; the space after the newest is used
//! to assemble the next one (the *tail*). Evicted bytes at the front are removed only once they are half of
//! the buffer, so that on average a byte is moved at most once. Entries carry metadata of their owner, `M`.
//! Nothing is allocated before the first entry.

/// What an entry counts besides its bytes (RFC 7541 §4.1).
const OVERHEAD: usize = 32;

/// Evicted bytes that may remain at the front of the buffer before it is compacted.
const SLACK: usize = 512;

/// Bytes of buffer that are kept for the tail of later blocks, entries aside.
const KEPT_TAIL: usize = 8192;

/// An entry: its name, directly followed by its value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry<M> {
    start: u32,
    name_len: u32,
    value_len: u32,
    pub(crate) meta: M,
}

impl<M> Entry<M> {
    fn size(&self) -> usize {
        self.name_len as usize + self.value_len as usize + OVERHEAD
    }
}

#[derive(Debug)]
pub(crate) struct DynamicTable<M> {
    bytes: Vec<u8>,
    /// Index after the bytes of the newest entry: where the tail begins.
    end: usize,
    /// Entries by the low bits of their number; its length is a power of two, or zero.
    ring: Vec<Entry<M>>,
    /// How many entries were ever inserted, modulo 2^32: the number of the newest.
    inserted: u32,
    len: u32,
    size: usize,
    max_size: usize,
    /// Counts insertions and evictions.
    changes: u64,
}

impl<M: Copy + Default> DynamicTable<M> {
    pub(crate) fn new(max_size: u32) -> Self {
        Self {
            bytes: Vec::new(),
            end: 0,
            ring: Vec::new(),
            inserted: 0,
            len: 0,
            size: 0,
            max_size: max_size as usize,
            changes: 0,
        }
    }

    pub(crate) fn max_size(&self) -> usize {
        self.max_size
    }

    pub(crate) fn inserted(&self) -> u32 {
        self.inserted
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Number of entries that fit into the allocated ring.
    pub(crate) fn capacity(&self) -> usize {
        self.ring.len()
    }

    /// Whether an entry of such a name and value fits at all.
    pub(crate) fn takes(&self, name_len: usize, value_len: usize) -> bool {
        name_len + value_len + OVERHEAD <= self.max_size
    }

    /// Sets the maximum size, evicting what doesn't fit (RFC 7541 §4.3).
    pub(crate) fn set_max_size(&mut self, max_size: u32) {
        self.max_size = max_size as usize;
        self.changes += 1; // what fits has changed
        self.evict_for(0);
    }

    /// The entry with `age` younger entries, with its name and value.
    #[inline]
    pub(crate) fn get(&self, age: u32) -> Option<(&Entry<M>, &[u8], &[u8])> {
        if age >= self.len {
            return None;
        }
        let entry = self.ring.get(self.place(age))?;
        let both = self.bytes.get(entry.start as usize..)?;
        let (name, value) = both.split_at_checked(entry.name_len as usize)?;
        Some((entry, name, value.get(..entry.value_len as usize)?))
    }

    pub(crate) fn meta_mut(&mut self, age: u32) -> Option<&mut M> {
        let place = self.place(age);
        self.ring.get_mut(place).map(|entry| &mut entry.meta)
    }

    fn place(&self, age: u32) -> usize {
        self.inserted.wrapping_sub(age) as usize & self.ring.len().wrapping_sub(1)
    }

    /// Compacts the buffer. Call it before writing to the tail, whose content is lost.
    #[inline]
    pub(crate) fn open(&mut self) {
        let dead = match self.len {
            0 => self.end,
            len => self.ring[self.place(len - 1)].start as usize,
        };
        if dead >= SLACK && dead >= self.end - dead {
            self.tidy(dead);
        }
    }

    fn tidy(&mut self, dead: usize) {
        self.bytes.copy_within(dead..self.end, 0);
        self.end -= dead;
        for age in 0..self.len {
            let place = self.place(age);
            self.ring[place].start -= dead as u32;
        }
    }

    /// `room` bytes of the tail from its byte `at` on.
    #[inline]
    pub(crate) fn tail(&mut self, at: usize, room: usize) -> &mut [u8] {
        let start = self.end + at;
        if self.bytes.len() < start + room {
            self.grow(start + room);
        }
        &mut self.bytes[start..start + room]
    }

    #[cold]
    fn grow(&mut self, need: usize) {
        let len = need.next_power_of_two().max(256);
        self.bytes.reserve_exact(len - self.bytes.len());
        self.bytes.resize(len, 0);
    }

    /// Copies the name of an entry to the front of the tail and returns its length and metadata.
    pub(crate) fn copy_name(&mut self, age: u32) -> Option<(usize, M)> {
        let (entry, name, _) = self.get(age)?;
        let (start, len, meta) = (entry.start as usize, name.len(), entry.meta);
        self.tail(0, len);
        self.bytes.copy_within(start..start + len, self.end);
        Some((len, meta))
    }

    /// Name and value at the front of the tail, whether they were inserted or not: `start` is where the tail
    /// began.
    #[inline]
    pub(crate) fn made(&self, start: usize, name_len: usize, value_len: usize) -> (&[u8], &[u8]) {
        self.bytes[start..start + name_len + value_len].split_at(name_len)
    }

    /// Where the tail begins.
    pub(crate) fn tail_start(&self) -> usize {
        self.end
    }

    /// Inserts name and value at the front of the tail as an entry. One that is larger than the table leaves
    /// the table empty (RFC 7541 §4.4). Returns whether it was inserted.
    pub(crate) fn insert(&mut self, name_len: usize, value_len: usize, meta: M) -> bool {
        self.evict_for(name_len + value_len + OVERHEAD);
        if !self.takes(name_len, value_len) {
            return false;
        }
        if self.len as usize == self.ring.len() {
            self.grow_ring();
        }
        let start = self.end as u32;
        let entry = Entry { start, name_len: name_len as u32, value_len: value_len as u32, meta };
        self.inserted = self.inserted.wrapping_add(1);
        let place = self.place(0);
        self.ring[place] = entry;
        self.len += 1;
        self.size += entry.size();
        self.end += name_len + value_len;
        self.changes += 1;
        true
    }

    /// Evicts the oldest entries until `more` bytes fit, or all (RFC 7541 §4.4).
    fn evict_for(&mut self, more: usize) {
        while self.len > 0 && self.size + more > self.max_size {
            self.size -= self.ring[self.place(self.len - 1)].size();
            self.len -= 1;
            self.changes += 1;
        }
    }

    #[cold]
    fn grow_ring(&mut self) {
        let len = (2 * self.ring.len()).max(8);
        let mut ring = vec![Entry::default(); len];
        for age in 0..self.len {
            ring[self.inserted.wrapping_sub(age) as usize & (len - 1)] = self.ring[self.place(age)];
        }
        self.ring = ring;
    }

    /// Frees the memory of an unusually large tail.
    #[inline]
    pub(crate) fn close(&mut self) {
        if self.bytes.len() > 2 * self.end + KEPT_TAIL {
            self.shrink();
        }
    }

    #[cold]
    fn shrink(&mut self) {
        self.bytes.truncate(self.end + KEPT_TAIL);
        self.bytes.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(table: &mut DynamicTable<u8>, name: &[u8], value: &[u8], meta: u8) -> bool {
        table.open();
        table.tail(0, name.len()).copy_from_slice(name);
        table.tail(name.len(), value.len()).copy_from_slice(value);
        table.insert(name.len(), value.len(), meta)
    }

    fn all(table: &DynamicTable<u8>) -> Vec<(String, String, u8)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (0..table.len())
            .map(|age| table.get(age).map(|(e, name, value)| (text(name), text(value), e.meta)).unwrap())
            .collect()
    }

    #[test]
    fn entries_leave_in_the_order_in_which_they_came() {
        let mut table = DynamicTable::new(100);
        for at in 0..100u8 {
            assert!(insert(&mut table, b"n", format!("{at}").as_bytes(), at));
            let want: Vec<_> = (0..=at).rev().take(2).map(|n| ("n".into(), n.to_string(), n)).collect();
            assert_eq!(all(&table), want);
        }
        assert!(table.get(2).is_none());
    }

    #[test]
    fn an_entry_larger_than_the_table_empties_it() {
        let mut table = DynamicTable::new(64);
        assert!(insert(&mut table, b"name", b"value", 1));
        assert!(!insert(&mut table, &[b'n'; 33], b"", 2));
        assert_eq!((table.len(), table.size), (0, 0));
        assert!(insert(&mut table, &[b'n'; 32], b"", 3));
        assert_eq!((table.len(), table.size), (1, 64));
    }

    #[test]
    fn many_entries_stay_in_little_memory_and_numbers_may_wrap() {
        let mut table = DynamicTable::new(4096);
        table.inserted = u32::MAX - 500;
        for at in 0..5000u32 {
            let value = format!("{at}").repeat(1 + at as usize % 40);
            assert!(insert(&mut table, b"name", value.as_bytes(), at as u8));
            for age in 0..table.len() {
                let n = at - age;
                let (entry, _, found) = table.get(age).unwrap();
                assert_eq!(
                    (entry.meta, found),
                    (n as u8, format!("{n}").repeat(1 + n as usize % 40).as_bytes())
                );
            }
        }
        assert!(table.bytes.len() <= 8192, "{}", table.bytes.len());
    }

    #[test]
    fn a_new_table_owns_nothing() {
        let table = DynamicTable::<u8>::new(4096);
        assert_eq!((table.bytes.capacity(), table.ring.capacity()), (0, 0));
    }
}
