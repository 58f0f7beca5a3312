//! The connections of a worker, each at an index that the kernel's events carry.

/// A table with holes; holes are filled again, the last made first, while its memory is still warm.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Option<Box<T>>>,
    free: Vec<u32>,
    taken: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), taken: 0 }
    }
}

impl<T> Slots<T> {
    /// The index that the next [`insert`](Self::insert) uses.
    pub(crate) fn next(&self) -> usize {
        self.free.last().map_or(self.slots.len(), |index| *index as usize)
    }

    pub(crate) fn insert(&mut self, value: T) {
        let value = Some(Box::new(value));
        match self.free.pop() {
            Some(index) => self.slots[index as usize] = value,
            None => self.slots.push(value),
        }
        self.taken += 1;
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.slots.get_mut(index)?.as_deref_mut()
    }

    /// Takes a value out. It is dropped by the caller, when its slot is free already.
    pub(crate) fn remove(&mut self, index: usize) -> Option<Box<T>> {
        let value = self.slots.get_mut(index)?.take()?;
        self.free.push(index as u32);
        self.taken -= 1;
        Some(value)
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.taken
    }

    /// The values with their indexes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, slot)| slot.as_deref().map(|value| (index, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_is_filled_before_the_table_grows() {
        let mut slots = Slots::default();
        slots.insert('a');
        slots.insert('b');
        slots.remove(0);
        slots.remove(0);
        assert_eq!((slots.len(), slots.next()), (1, 0));
        slots.insert('c');
        assert_eq!(slots.get_mut(0), Some(&mut 'c'));
        assert_eq!((slots.len(), slots.next()), (2, 2));
        assert_eq!(slots.get_mut(5), None);
        assert_eq!(slots.iter().collect::<Vec<_>>(), [(0, &'c'), (1, &'b')]);
    }
}
