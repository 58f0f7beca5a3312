//! The open streams of a connection: a slab of slots that are used again.
//!
//! The newest stream is found without the index and enters it only when another one is opened while it's
//! still open: a request that is answered at once costs no map operation.

use super::index::Index;
use super::{Flags, Halves, NONE, Stream, UNKNOWN_LENGTH};
use crate::event::Key;
use crate::priority::Priority;
use crate::window::{ReceiveWindow, SendWindow};
use std::ops::{Index as At, IndexMut as AtMut};

#[derive(Debug)]
pub(crate) struct Streams<T> {
    slots: Vec<Stream<T>>,
    /// First free slot.
    free: u32,
    open: u32,
    /// The stream opened last, if it's still open.
    newest: Option<Key>,
    index: Index,
}

impl<T> Default for Streams<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE, open: 0, newest: None, index: Index::default() }
    }
}

impl<T> At<u32> for Streams<T> {
    type Output = Stream<T>;

    fn index(&self, slot: u32) -> &Stream<T> {
        &self.slots[slot as usize]
    }
}

impl<T> AtMut<u32> for Streams<T> {
    fn index_mut(&mut self, slot: u32) -> &mut Stream<T> {
        &mut self.slots[slot as usize]
    }
}

impl<T: Default> Streams<T> {
    /// Number of open streams.
    pub(crate) fn open_count(&self) -> usize {
        self.open as usize
    }

    /// Opens a stream that is not open; returns its slot.
    pub(crate) fn open(&mut self, id: u32, send_window: SendWindow, receive_window: ReceiveWindow) -> u32 {
        if let Some(newest) = self.newest {
            self.index.insert(newest.id, newest.slot);
        }
        let slot = self.free_slot();
        self.newest = Some(Key { id, slot });
        self.open += 1;
        let stream = &mut self.slots[slot as usize];
        self.free = stream.next;
        *stream = Stream { id, send_window, receive_window, ..closed(NONE) };
        slot
    }

    fn free_slot(&mut self) -> u32 {
        if self.free == NONE {
            self.free = self.slots.len() as u32;
            self.slots.push(closed(NONE));
        }
        self.free
    }

    /// Slot of an open stream.
    #[inline]
    pub(crate) fn find(&self, id: u32) -> Option<u32> {
        match self.newest {
            Some(newest) if newest.id == id => Some(newest.slot),
            _ => self.index.get(id),
        }
    }

    /// Slot of a key, if it isn't stale.
    #[inline]
    pub(crate) fn slot(&self, key: Key) -> Option<u32> {
        self.slots.get(key.slot as usize).filter(|stream| stream.id == key.id).map(|_| key.slot)
    }

    /// Key of an open stream.
    pub(crate) fn key(&self, slot: u32) -> Key {
        Key { id: self[slot].id, slot }
    }

    /// Closes a stream and returns the caller's data. It must have left the schedule.
    pub(crate) fn close(&mut self, slot: u32) -> T {
        let stream = &mut self.slots[slot as usize];
        debug_assert!(stream.id != 0 && !stream.flags.queued);
        match self.newest {
            Some(newest) if newest.slot == slot => self.newest = None,
            _ => self.index.remove(stream.id),
        }
        stream.id = 0;
        stream.next = self.free;
        self.free = slot;
        self.open -= 1;
        std::mem::take(&mut stream.data)
    }

    /// All slots, of open streams or free.
    pub(crate) fn slots(&self) -> std::ops::Range<u32> {
        0..self.slots.len() as u32
    }

    /// Frees memory if no stream is open.
    pub(crate) fn release(&mut self) {
        if self.open == 0 {
            *self = Self::default();
            self.index.release();
        }
    }

    /// Closes all streams.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        let all = std::mem::take(self);
        all.slots.into_iter().filter(|stream| stream.id != 0).map(|stream| stream.data)
    }
}

fn closed<T: Default>(next: u32) -> Stream<T> {
    Stream {
        id: 0,
        halves: Halves::Open,
        priority: Priority::default(),
        flags: Flags::default(),
        next,
        previous: NONE,
        send_window: SendWindow::default(),
        receive_window: ReceiveWindow::new(0, 0, 0),
        grown: 0,
        unconsumed: 0,
        expected: UNKNOWN_LENGTH,
        data: T::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(streams: &mut Streams<u32>, id: u32) -> u32 {
        let slot = streams.open(id, SendWindow::default(), ReceiveWindow::new(0, 0, 0));
        streams[slot].data = id;
        slot
    }

    #[test]
    fn slots_are_used_again_and_old_keys_are_stale() {
        let mut streams = Streams::default();
        let slots = [1, 3, 5].map(|id| open(&mut streams, id));
        let key = streams.key(slots[1]);
        assert_eq!(streams.close(slots[1]), 3);
        assert_eq!((streams.find(3), streams.slot(key)), (None, None));
        assert_eq!(open(&mut streams, 7), slots[1]);
        assert_eq!(streams.slot(key), None);
        assert_eq!([1, 5, 7].map(|id| streams.find(id).map(|slot| streams[slot].data)), [1, 5, 7].map(Some));
        assert_eq!(streams.open_count(), 3);
        assert_eq!(streams.drain().sum::<u32>(), 13);
        assert_eq!(streams.open_count(), 0);
    }

    #[test]
    fn a_stream_that_ends_before_the_next_begins_never_enters_the_index() {
        let mut streams = Streams::default();
        for id in (1..100).step_by(2) {
            let slot = open(&mut streams, id);
            streams.close(slot);
        }
        assert!(streams.index.get(99).is_none());
        assert_eq!(streams.slots.len(), 1);
    }

    #[test]
    fn a_slot_is_small() {
        assert!(size_of::<Stream<()>>() <= 72, "{}", size_of::<Stream<()>>());
    }
}
