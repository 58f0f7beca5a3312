//! Connections by index; free slots are reused.

/// A table of slots.
pub(crate) struct Table<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Stores an item and returns its index.
    pub(crate) fn insert(&mut self, item: T) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[index] = Some(item);
        index
    }

    pub(crate) fn get(&mut self, index: usize) -> Option<&mut T> {
        self.places[index].as_mut()
    }

    /// Drops the item: closing a descriptor removes it from epoll.
    pub(crate) fn remove(&mut self, index: usize) {
        if self.places[index].take().is_some() {
            self.free.push(index);
        }
    }
}
