//! Decides which stream sends content next (RFC 9218 §10).
//!
//! Streams that can send are in queues. Each urgency has two: one for streams sent one after another, in the
//! order in which they were opened, and one for streams that share. A stream that waits for its window or its
//! content is in neither.

use crate::priority::Priority;
use crate::stream::{NONE, Streams};

/// A ring of slots; the value is the slot at the front.
type Ring = u32;

#[derive(Debug)]
pub(crate) struct Schedule {
    in_order: [Ring; 8],
    shared: [Ring; 8],
    /// Bit n: urgency n has streams.
    urgencies: u8,
    /// Which of the two rings had the last turn, for each urgency.
    shared_had_turn: u8,
    /// Streams in all queues.
    len: u32,
}

impl Default for Schedule {
    fn default() -> Self {
        Self { in_order: [NONE; 8], shared: [NONE; 8], urgencies: 0, shared_had_turn: 0, len: 0 }
    }
}

impl Schedule {
    /// Whether no stream can send.
    pub(crate) fn is_empty(&self) -> bool {
        self.urgencies == 0
    }

    /// Number of streams that can send.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Adds a stream, if it isn't in a queue.
    pub(crate) fn insert<T: Default>(&mut self, streams: &mut Streams<T>, slot: u32) {
        if std::mem::replace(&mut streams[slot].flags.queued, true) {
            return;
        }
        self.len += 1;
        let Priority { urgency, incremental } = streams[slot].priority;
        self.urgencies |= 1 << urgency;
        let front = *self.ring(urgency, incremental);
        if front == NONE {
            (streams[slot].next, streams[slot].previous) = (slot, slot);
            *self.ring(urgency, incremental) = slot;
            return;
        }
        let id = streams[slot].id;
        let becomes_front = !incremental && id < streams[front].id;
        let mut behind = streams[front].previous;
        // New streams go to the end, where the search starts; only a returning stream searches for its
        // position.
        while !incremental && !becomes_front && streams[behind].id > id {
            behind = streams[behind].previous;
        }
        let before = streams[behind].next;
        (streams[slot].previous, streams[slot].next) = (behind, before);
        streams[behind].next = slot;
        streams[before].previous = slot;
        if becomes_front {
            *self.ring(urgency, incremental) = slot;
        }
    }

    /// Removes a stream from its queue, if it is in one.
    pub(crate) fn remove<T: Default>(&mut self, streams: &mut Streams<T>, slot: u32) {
        if !std::mem::replace(&mut streams[slot].flags.queued, false) {
            return;
        }
        self.len -= 1;
        let Priority { urgency, incremental } = streams[slot].priority;
        let (next, previous) = (streams[slot].next, streams[slot].previous);
        streams[previous].next = next;
        streams[next].previous = previous;
        let ring = self.ring(urgency, incremental);
        if *ring == slot {
            *ring = if next == slot { NONE } else { next };
        }
        let at = usize::from(urgency);
        if self.in_order[at] == NONE && self.shared[at] == NONE {
            self.urgencies &= !(1 << urgency);
        }
    }

    /// Changes a stream's priority.
    pub(crate) fn change<T: Default>(&mut self, streams: &mut Streams<T>, slot: u32, priority: Priority) {
        let queued = streams[slot].flags.queued;
        self.remove(streams, slot);
        streams[slot].priority = priority;
        if queued {
            self.insert(streams, slot);
        }
    }

    /// The stream whose turn it is, of the most urgent ones. If some are sent one after another and some
    /// share, the first of the former and one of the latter alternate: neither starves (RFC 9218 §10 leaves
    /// this open).
    pub(crate) fn next<T: Default>(&mut self, streams: &Streams<T>) -> Option<u32> {
        if self.urgencies == 0 {
            return None;
        }
        let urgency = self.urgencies.trailing_zeros() as usize;
        let (first, sharing) = (self.in_order[urgency], self.shared[urgency]);
        let bit = 1 << urgency;
        let shares = first == NONE || (sharing != NONE && self.shared_had_turn & bit == 0);
        if !shares {
            self.shared_had_turn &= !bit;
            return Some(first);
        }
        self.shared_had_turn |= bit;
        self.shared[urgency] = streams[sharing].next;
        Some(sharing)
    }

    fn ring(&mut self, urgency: u8, incremental: bool) -> &mut Ring {
        let rings = if incremental { &mut self.shared } else { &mut self.in_order };
        &mut rings[usize::from(urgency)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::{ReceiveWindow, SendWindow};

    /// Streams with these priorities, all of which can send.
    fn scheduled(priorities: &[(u32, u8, bool)]) -> (Streams<()>, Schedule) {
        let (mut streams, mut schedule) = (Streams::default(), Schedule::default());
        for (id, urgency, incremental) in priorities {
            let slot = streams.open(*id, SendWindow::default(), ReceiveWindow::new(0, 0, 0));
            streams[slot].priority = Priority { urgency: *urgency, incremental: *incremental };
            schedule.insert(&mut streams, slot);
        }
        (streams, schedule)
    }

    fn turns(streams: &Streams<()>, schedule: &mut Schedule, count: usize) -> Vec<u32> {
        (0..count).filter_map(|_| schedule.next(streams)).map(|slot| streams[slot].id).collect()
    }

    fn remove(streams: &mut Streams<()>, schedule: &mut Schedule, id: u32) {
        let slot = streams.find(id).expect("open");
        schedule.remove(streams, slot);
    }

    #[test]
    fn the_more_urgent_go_first_and_equals_in_their_order() {
        let (mut streams, mut schedule) =
            scheduled(&[(1, 3, false), (3, 0, false), (5, 3, false), (7, 7, true)]);
        let mut order = Vec::new();
        while let Some(slot) = schedule.next(&streams) {
            order.push(streams[slot].id);
            schedule.remove(&mut streams, slot);
        }
        assert_eq!(order, [3, 1, 5, 7]);
        assert!(schedule.is_empty());
    }

    #[test]
    fn incremental_streams_share_and_others_are_served_whole() {
        let (streams, mut schedule) = scheduled(&[(1, 3, true), (3, 3, true), (5, 3, true)]);
        assert_eq!(turns(&streams, &mut schedule, 6), [1, 3, 5, 1, 3, 5]);
        let (streams, mut schedule) = scheduled(&[(1, 3, false), (3, 3, false)]);
        assert_eq!(turns(&streams, &mut schedule, 3), [1, 1, 1]);
        let (streams, mut schedule) = scheduled(&[(1, 3, false), (3, 3, true), (5, 3, false), (7, 3, true)]);
        assert_eq!(turns(&streams, &mut schedule, 6), [3, 1, 7, 1, 3, 1]);
    }

    #[test]
    fn a_stream_that_was_away_comes_back_to_its_place() {
        let (mut streams, mut schedule) =
            scheduled(&[(1, 3, false), (3, 3, false), (5, 3, false), (7, 3, false)]);
        for away in [1, 3, 5, 7] {
            remove(&mut streams, &mut schedule, away);
            let slot = streams.find(away).expect("open");
            schedule.insert(&mut streams, slot);
            let mut at = schedule.next(&streams).expect("not empty");
            let ring: Vec<_> = (0..4)
                .map(|_| {
                    let id = streams[at].id;
                    at = streams[at].next;
                    id
                })
                .collect();
            assert_eq!(ring, [1, 3, 5, 7], "after {away}");
        }
    }

    #[test]
    fn a_priority_changes_in_the_queue_and_outside() {
        let (mut streams, mut schedule) = scheduled(&[(1, 3, false), (3, 3, false)]);
        let slot = streams.find(3).expect("open");
        schedule.change(&mut streams, slot, Priority { urgency: 1, incremental: true });
        assert_eq!(turns(&streams, &mut schedule, 1), [3]);
        schedule.remove(&mut streams, slot);
        schedule.change(&mut streams, slot, Priority::default());
        assert_eq!(turns(&streams, &mut schedule, 2), [1, 1]);
    }
}
