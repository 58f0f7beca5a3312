//! What happened when, in slots of equal width whose number is bounded.
//!
//! A run begins with slots of a tenth of a second. When there are more than [`MOST`], neighbours are
//! added up and a slot is twice as wide, so a minute and a month cost the same memory.

use std::time::Duration;

/// Width of a slot at the beginning of a run, in nanoseconds: fine enough for the plot of a run of seconds.
const FIRST_WIDTH: u64 = 100_000_000;

/// More slots than this are halved: as many as a plot has room for.
const MOST: usize = 600;

/// What happened in one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Complete responses.
    pub responses: u64,
    /// Requests that failed, for whatever reason.
    pub errors: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Latencies of the responses added up, nanoseconds.
    pub latency: u64,
    /// The longest of them, nanoseconds.
    pub longest: u64,
}

impl Slot {
    fn add(&mut self, other: &Self) {
        self.responses += other.responses;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.latency = self.latency.saturating_add(other.latency);
        self.longest = self.longest.max(other.longest);
    }

    /// Subtracts a part.
    fn take(&mut self, part: &Self) {
        self.responses -= part.responses;
        self.errors -= part.errors;
        self.bytes -= part.bytes;
        self.latency -= part.latency;
    }

    /// The mean latency of the responses of this slot. `None` without any.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.latency.checked_div(self.responses).map(Duration::from_nanos)
    }
}

/// Slots from the start of the measurement.
#[derive(Clone, Debug)]
pub struct Timeline {
    slots: Vec<Slot>,
    /// Nanoseconds.
    width: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new()
    }
}

impl Timeline {
    /// A timeline with nothing on it. All its memory, 24 KB, is taken at once.
    #[must_use]
    pub fn new() -> Self {
        Self { slots: Vec::with_capacity(MOST), width: FIRST_WIDTH }
    }

    /// The slot of the moment `since` nanoseconds after the start of the measurement.
    #[inline]
    pub fn at(&mut self, since: u64) -> &mut Slot {
        let mut index = (since / self.width) as usize;
        if index >= self.slots.len() {
            index = self.extend(since);
        }
        &mut self.slots[index]
    }

    /// Adds what happened between two moments, in nanoseconds since the start, to the slots there, each its share;
    /// nothing gets lost by rounding. Counting in steps of a slot or less would show a beat of the two otherwise.
    pub fn add_over(&mut self, from: u64, to: u64, what: &Slot) {
        // The last slot first: after that, slots do not get wider.
        self.at(to.saturating_sub(1).max(from));
        let mut rest = *what;
        let mut start = from;
        loop {
            let end = (start / self.width + 1).saturating_mul(self.width);
            if end >= to {
                return self.at(start).add(&rest);
            }
            let (part, whole) = (u128::from(end - start), u128::from(to - start));
            let share = |amount: u64| (u128::from(amount) * part / whole) as u64;
            let slot = Slot {
                responses: share(rest.responses),
                errors: share(rest.errors),
                bytes: share(rest.bytes),
                latency: share(rest.latency),
                longest: rest.longest,
            };
            self.at(start).add(&slot);
            rest.take(&slot);
            start = end;
        }
    }

    #[cold]
    fn extend(&mut self, since: u64) -> usize {
        while since / self.width >= MOST as u64 {
            self.coarsen();
        }
        let index = (since / self.width) as usize;
        self.slots.resize(index + 1, Slot::default());
        index
    }

    /// Makes slots twice as wide.
    fn coarsen(&mut self) {
        self.width = self.width.saturating_mul(2);
        let pairs = self.slots.len().div_ceil(2);
        for pair in 0..pairs {
            let mut sum = self.slots[2 * pair];
            if let Some(second) = self.slots.get(2 * pair + 1) {
                sum.add(second);
            }
            self.slots[pair] = sum;
        }
        self.slots.truncate(pairs);
    }

    /// Adds what another timeline with the same start has counted.
    pub fn merge(&mut self, other: &Self) {
        while self.width < other.width {
            self.coarsen();
        }
        for (index, slot) in other.slots.iter().enumerate() {
            self.at(index as u64 * other.width).add(slot);
        }
    }

    /// The width of a slot.
    #[must_use]
    pub fn width(&self) -> Duration {
        Duration::from_nanos(self.width)
    }

    /// The slots in order; a quiet one is all zeros.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The same in slots of at least `width`, by adding up neighbours, for figures that are quieter.
    #[must_use]
    pub fn in_slots_of(&self, width: Duration) -> Self {
        let mut wider = self.clone();
        while wider.width() < width {
            wider.coarsen();
        }
        wider
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(timeline: &Timeline) -> u64 {
        timeline.slots().iter().map(|slot| slot.responses).sum()
    }

    fn every(millis: u64, times: u64) -> Timeline {
        let mut timeline = Timeline::new();
        for turn in 0..times {
            let slot = timeline.at(turn * millis * 1_000_000);
            slot.responses += 1;
            slot.latency += 10;
            slot.longest = slot.longest.max(turn);
        }
        timeline
    }

    #[test]
    fn a_run_of_any_length_has_a_bounded_number_of_slots_and_loses_nothing() {
        for (millis, times) in
            [(1, 1), (1, 1000), (100, 600), (100, 601), (60_000, 50_000), (u64::MAX / 1_000_000_000, 3)]
        {
            let timeline = every(millis, times);
            assert!(timeline.slots().len() <= MOST && timeline.slots.capacity() == MOST, "{millis} {times}");
            assert_eq!(counted(&timeline), times, "{millis} {times}");
        }
    }

    #[test]
    fn slots_keep_their_moment_when_they_get_wider() {
        let mut timeline = Timeline::new();
        timeline.at(0).responses = 1;
        timeline.at(59_950_000_000).responses = 2;
        assert_eq!(timeline.width(), Duration::from_millis(100));
        timeline.at(60_000_000_000).errors = 3;
        assert_eq!(timeline.width(), Duration::from_millis(200));
        let slots = timeline.slots();
        assert_eq!((slots[0].responses, slots[299].responses, slots[300].errors), (1, 2, 3));
    }

    #[test]
    fn what_happened_over_a_while_is_shared_out_and_nothing_lost() {
        let what = Slot { responses: 10, errors: 3, bytes: 1000, latency: 70, longest: 9 };
        let cases: [(u64, u64, &[u64]); 6] = [
            (0, 100, &[10]),
            (50, 150, &[5, 5]),
            (90, 290, &[0, 5, 5]),
            (150, 150, &[0, 10]),
            (150, 50, &[0, 10]),
            (0, 1000, &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        ];
        for (from, to, expected) in cases {
            let mut timeline = Timeline::new();
            timeline.add_over(from * 1_000_000, to * 1_000_000, &what);
            let responses: Vec<_> = timeline.slots().iter().map(|slot| slot.responses).collect();
            assert_eq!(responses, expected, "{from} to {to}");
            let bytes: u64 = timeline.slots().iter().map(|slot| slot.bytes).sum();
            assert_eq!(bytes, 1000, "{from} to {to}");
        }
        let mut long = Timeline::new();
        long.add_over(0, 3_600_000_000_000, &what);
        assert_eq!((counted(&long), long.slots().len()), (10, 563));
    }

    #[test]
    fn timelines_of_different_widths_merge_either_way() {
        let (short, long) = (every(10, 100), every(1000, 200));
        let (mut left, mut right) = (short.clone(), long.clone());
        left.merge(&long);
        right.merge(&short);
        assert_eq!((left.width, &left.slots), (right.width, &right.slots));
        assert_eq!(counted(&left), 300);
    }

    #[test]
    fn a_slot_has_a_mean_only_with_responses() {
        assert_eq!(Slot::default().mean(), None);
        let slot = Slot { responses: 4, latency: 10, ..Slot::default() };
        assert_eq!(slot.mean(), Some(Duration::from_nanos(2)));
    }

    #[test]
    fn wider_slots_hold_the_same() {
        let timeline = every(50, 100).in_slots_of(Duration::from_secs(1));
        assert_eq!(timeline.width(), Duration::from_millis(1600));
        assert_eq!(counted(&timeline), 100);
    }
}
