//! From a stream's number to its slot: open addressing over a power of two, at most half full.
//!
//! The peer chooses the numbers and could make them collide; a search then visits as many positions as there
//! are open streams, which SETTINGS_MAX_CONCURRENT_STREAMS bounds.

/// A number and its slot; number 0 is an empty entry.
type Entry = (u32, u32);

#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: Vec<Entry>,
    count: usize,
}

impl Index {
    pub(crate) fn get(&self, id: u32) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let at = self.position_of(id);
        (self.entries[at].0 == id).then_some(self.entries[at].1)
    }

    /// Adds a number that is not in the index.
    pub(crate) fn insert(&mut self, id: u32, slot: u32) {
        if (self.count + 1) * 2 > self.entries.len() {
            self.grow();
        }
        let at = self.position_of(id);
        self.entries[at] = (id, slot);
        self.count += 1;
    }

    /// Removes a number, if present, and moves displaced entries back into the gap.
    pub(crate) fn remove(&mut self, id: u32) {
        if self.get(id).is_none() {
            return;
        }
        let mask = self.entries.len() - 1;
        let (mut gap, mut at) = (self.position_of(id), self.position_of(id));
        loop {
            at = (at + 1) & mask;
            let (other, slot) = self.entries[at];
            if other == 0 {
                break;
            }
            let way_from_home = at.wrapping_sub(self.home_of(other)) & mask;
            if way_from_home >= (at.wrapping_sub(gap) & mask) {
                self.entries[gap] = (other, slot);
                gap = at;
            }
        }
        self.entries[gap] = (0, 0);
        self.count -= 1;
    }

    /// Removes everything and frees the memory.
    pub(crate) fn release(&mut self) {
        *self = Self::default();
    }

    /// The position of the number, or where it would be inserted.
    fn position_of(&self, id: u32) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = self.home_of(id);
        while self.entries[at].0 != id && self.entries[at].0 != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    /// Consecutive numbers have distinct positions: only the low bits count, without the one that tells
    /// client from server streams.
    fn home_of(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.entries.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (self.entries.len() * 2).max(16);
        let old = std::mem::replace(&mut self.entries, vec![(0, 0); larger]);
        for entry in old.into_iter().filter(|(id, _)| *id != 0) {
            let at = self.position_of(entry.0);
            self.entries[at] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn it_finds_what_a_map_finds(steps in prop::collection::vec((0..2_u8, 1..400_u32), 0..600)) {
            let (mut index, mut map) = (Index::default(), HashMap::new());
            for (slot, (insert, id)) in steps.into_iter().enumerate() {
                let id = id * 16 + 1; // numbers that collide
                match insert {
                    1 if !map.contains_key(&id) => {
                        index.insert(id, slot as u32);
                        map.insert(id, slot as u32);
                    }
                    _ => {
                        index.remove(id);
                        map.remove(&id);
                    }
                }
                prop_assert_eq!(index.get(id), map.get(&id).copied());
            }
            for (id, slot) in &map {
                prop_assert_eq!(index.get(*id), Some(*slot));
            }
            prop_assert_eq!(index.count, map.len());
        }
    }
}
