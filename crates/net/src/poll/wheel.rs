//! A timing wheel: with 20,000 entries, each costs no more than with ten.

/// No entry.
const NONE: u32 = u32::MAX;

/// Entries ordered by due time, in nanoseconds. Adding and cancelling take constant time; entries of the same step
/// keep their order. An empty wheel has allocated no memory.
#[derive(Debug)]
pub struct Wheel<T> {
    /// The length of a step is 2^`step_bits` nanoseconds, which is also the most by which an entry can be late.
    step_bits: u32,
    /// Steps per rotation, a power of two. Entries due later than one rotation stay for another one.
    len: u64,
    steps: Vec<Step>,
    /// A bit for each step that has entries.
    occupied: Vec<u64>,
    entries: Vec<Entry<T>>,
    /// Head of the list of free entries, linked like those of a step.
    free: u32,
    /// The next step to examine, counted from the clock's zero.
    next: u64,
    count: usize,
}

/// The entries of a step, a linked list.
#[derive(Clone, Copy, Debug)]
struct Step {
    first: u32,
    last: u32,
}

#[derive(Debug)]
struct Entry<T> {
    due: u64,
    step: u32,
    before: u32,
    after: u32,
    /// How many entries used this memory before.
    generation: u32,
    value: Option<T>,
}

/// Identifies an entry as long as it is in the wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    at: u32,
    generation: u32,
}

impl<T> Wheel<T> {
    /// Creates a wheel with steps of 2^`step_bits` nanoseconds and `steps` steps per rotation.
    ///
    /// # Panics
    /// If `steps` is not a power of two or is less than 64.
    pub fn new(now: u64, step_bits: u32, steps: usize) -> Self {
        assert!(steps.is_power_of_two() && steps >= 64, "whole words of bits");
        Self {
            step_bits,
            len: steps as u64,
            steps: Vec::new(),
            occupied: Vec::new(),
            entries: Vec::new(),
            free: NONE,
            next: now >> step_bits,
            count: 0,
        }
    }

    /// Whether the wheel has no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an entry. If it is already due, it expires with the next step that is examined.
    pub fn add(&mut self, due: u64, value: T) -> Key {
        if self.steps.is_empty() {
            self.steps = vec![Step { first: NONE, last: NONE }; self.len as usize];
            self.occupied = vec![0; self.len as usize / 64];
        }
        let step = self.step_of(due);
        let last = self.steps[step].last;
        let at = self.store(Entry {
            due,
            step: step as u32,
            before: last,
            after: NONE,
            generation: 0,
            value: Some(value),
        });
        match last {
            NONE => self.steps[step].first = at,
            last => self.entries[last as usize].after = at,
        }
        self.steps[step].last = at;
        self.occupied[step / 64] |= 1 << (step % 64);
        self.count += 1;
        Key { at, generation: self.entries[at as usize].generation }
    }

    /// Returns the value of a pending entry.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let entry =
            self.entries.get_mut(key.at as usize).filter(|entry| entry.generation == key.generation)?;
        entry.value.as_mut()
    }

    /// Removes a pending entry.
    pub fn cancel(&mut self, key: Key) -> Option<T> {
        self.get_mut(key)?;
        self.unlink(key.at)
    }

    /// When entries expire or have to be examined again.
    pub fn next_due(&self) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let at = (self.next % self.len) as usize;
        let first = self.occupied[at / 64] & (u64::MAX << (at % 64));
        let words = self.occupied.len();
        let step = (0..=words).find_map(|ahead| {
            let word = (at / 64 + ahead) % words;
            let bits = if ahead == 0 { first } else { self.occupied[word] };
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })?;
        let ahead = (step as u64 + self.len - at as u64) % self.len;
        // A step is examined once it has ended, so nothing expires early.
        Some((self.next + ahead + 1) << self.step_bits)
    }

    /// Moves expired values to `taken`, in order, until it holds `most` values or a few more: steps are taken whole.
    /// What remains is due at once.
    pub fn take(&mut self, now: u64, most: usize, taken: &mut Vec<T>) {
        while taken.len() < most {
            let Some(due) = self.next_due().filter(|due| *due <= now) else {
                self.next = self.next.max(now >> self.step_bits);
                return;
            };
            let step = (due >> self.step_bits) - 1;
            self.next = step + 1;
            self.take_step((step % self.len) as usize, due, taken);
        }
    }

    fn take_step(&mut self, step: usize, end: u64, taken: &mut Vec<T>) {
        let mut at = self.steps[step].first;
        while at != NONE {
            let Entry { due, after, .. } = self.entries[at as usize];
            // The other entries belong to a later rotation.
            if due < end {
                taken.extend(self.unlink(at));
            }
            at = after;
        }
    }

    fn step_of(&self, due: u64) -> usize {
        ((due >> self.step_bits).max(self.next) % self.len) as usize
    }

    fn store(&mut self, entry: Entry<T>) -> u32 {
        let at = self.free;
        if at == NONE {
            self.entries.push(entry);
            return (self.entries.len() - 1) as u32;
        }
        let old = &mut self.entries[at as usize];
        self.free = old.after;
        let generation = old.generation;
        *old = Entry { generation, ..entry };
        at
    }

    fn unlink(&mut self, at: u32) -> Option<T> {
        let Entry { step, before, after, .. } = self.entries[at as usize];
        let links = &mut self.steps[step as usize];
        match before {
            NONE => links.first = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => links.last = before,
            after => self.entries[after as usize].before = before,
        }
        if self.steps[step as usize].first == NONE {
            self.occupied[step as usize / 64] &= !(1 << (step % 64));
        }
        self.count -= 1;
        let entry = &mut self.entries[at as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.after = std::mem::replace(&mut self.free, at);
        entry.value.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: u32 = 16;

    fn wheel(now: u64) -> Wheel<u32> {
        Wheel::new(now, STEP, 1 << 15)
    }

    #[test]
    fn everything_comes_once_not_early_and_at_most_a_step_late() {
        let start = 123_456_789_012_u64;
        let mut wheel = wheel(start);
        let dues: Vec<u64> = (0..2000_u64).map(|i| start + i * i * 7919 % 5_000_000_000).collect();
        for (index, due) in dues.iter().enumerate() {
            wheel.add(*due, index as u32);
        }
        let (mut now, mut taken, mut seen) = (start, Vec::new(), 0);
        while let Some(next) = wheel.next_due() {
            assert!(next > now);
            now = next;
            taken.clear();
            wheel.take(now, usize::MAX, &mut taken);
            for index in &taken {
                let due = dues[*index as usize];
                assert!(due <= now && now - due <= 2 << STEP, "{due} at {now}");
                seen += 1;
            }
        }
        assert_eq!(seen, dues.len());
        assert!(wheel.is_empty());
    }

    #[test]
    fn entries_of_one_step_and_late_ones_keep_their_order() {
        let mut wheel = wheel(0);
        let mut taken = Vec::new();
        wheel.take(10 << STEP, 9, &mut taken);
        for index in 0..5 {
            wheel.add(3, index);
        }
        wheel.take(20 << STEP, 9, &mut taken);
        assert_eq!(taken, [0, 1, 2, 3, 4]);
        assert_eq!(wheel.next_due(), None);
    }

    #[test]
    fn what_is_left_of_many_is_due_at_once() {
        let mut wheel = wheel(0);
        for index in 0..10 {
            wheel.add(u64::from(index / 2) << STEP, index);
        }
        let now = 7 << STEP;
        let mut shares = Vec::new();
        while wheel.next_due().is_some_and(|due| due <= now) {
            let mut taken = Vec::new();
            wheel.take(now, 3, &mut taken);
            shares.push(taken);
        }
        assert_eq!(shares, [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    }

    #[test]
    fn an_entry_that_is_cancelled_leaves_the_others_and_its_memory_to_the_next() {
        let mut wheel = wheel(0);
        let keys: Vec<Key> = (0..4).map(|index| wheel.add(5, index)).collect();
        for (at, cancelled) in [(1, 1), (0, 0), (3, 3)] {
            assert_eq!(wheel.cancel(keys[at]), Some(cancelled));
            assert_eq!(wheel.cancel(keys[at]), None, "once");
        }
        let again = wheel.add(6, 9);
        assert_eq!((again.at, wheel.entries.len()), (keys[3].at, 4));
        assert_eq!(wheel.get_mut(keys[3]), None);
        assert_eq!(wheel.get_mut(again), Some(&mut 9));
        let mut taken = Vec::new();
        wheel.take(1 << STEP, 9, &mut taken);
        assert_eq!(taken, [2, 9]);
        assert_eq!((wheel.next_due(), wheel.cancel(again)), (None, None));
    }

    #[test]
    fn what_was_due_already_can_be_cancelled() {
        let mut wheel = wheel(0);
        wheel.take(9 << STEP, 9, &mut Vec::new());
        let key = wheel.add(1, 7);
        wheel.take(9 << STEP, 9, &mut Vec::new());
        assert_eq!(wheel.cancel(key), Some(7));
        assert!(wheel.is_empty() && wheel.next_due().is_none());
    }
}
