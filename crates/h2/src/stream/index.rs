//! From a stream's number to its slot: open addressing over a power of two, at most half full.
//!
//! The peer chooses the numbers and could make them meet; a search then passes over as many places as there
//! are open streams, which SETTINGS_MAX_CONCURRENT_STREAMS bounds.

/// A number and its slot; number 0 is an empty place.
type Place = (u32, u32);

#[derive(Debug, Default)]
pub(crate) struct Index {
    places: Vec<Place>,
    count: usize,
}

impl Index {
    pub(crate) fn get(&self, id: u32) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let at = self.place_of(id);
        (self.places[at].0 == id).then_some(self.places[at].1)
    }

    /// Adds a number that isn't there.
    pub(crate) fn insert(&mut self, id: u32, slot: u32) {
        if (self.count + 1) * 2 > self.places.len() {
            self.grow();
        }
        let at = self.place_of(id);
        self.places[at] = (id, slot);
        self.count += 1;
    }

    /// Removes a number, if it's there, and moves those behind it into the gap that may have been pushed on.
    pub(crate) fn remove(&mut self, id: u32) {
        if self.get(id).is_none() {
            return;
        }
        let mask = self.places.len() - 1;
        let (mut gap, mut at) = (self.place_of(id), self.place_of(id));
        loop {
            at = (at + 1) & mask;
            let (other, slot) = self.places[at];
            if other == 0 {
                break;
            }
            let way_from_home = at.wrapping_sub(self.home_of(other)) & mask;
            if way_from_home >= (at.wrapping_sub(gap) & mask) {
                self.places[gap] = (other, slot);
                gap = at;
            }
        }
        self.places[gap] = (0, 0);
        self.count -= 1;
    }

    /// Forgets all, memory too.
    pub(crate) fn release(&mut self) {
        *self = Self::default();
    }

    /// Where the number stands, or would.
    fn place_of(&self, id: u32) -> usize {
        let mask = self.places.len() - 1;
        let mut at = self.home_of(id);
        while self.places[at].0 != id && self.places[at].0 != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    /// Numbers that follow one another have places of their own: only the low bits count, without the one
    /// that tells whose the stream is.
    fn home_of(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.places.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (self.places.len() * 2).max(16);
        let old = std::mem::replace(&mut self.places, vec![(0, 0); larger]);
        for place in old.into_iter().filter(|(id, _)| *id != 0) {
            let at = self.place_of(place.0);
            self.places[at] = place;
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
                let id = id * 16 + 1; // numbers that meet
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
