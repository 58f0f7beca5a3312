//! What is due later: a timing wheel, so that 20,000 connections cost no more each than ten.

/// A step of the wheel is 2^16 ns: 66 µs, the most by which anything is late.
const STEP: u32 = 16;
/// Steps of a turn: 2.1 seconds. What is due later stays for another turn.
const STEPS: usize = 1 << 15;

/// What happens when the time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A connection is opened, after so many failures one after the other.
    Open(u32),
    /// The first segment of a connection reaches the server.
    Dial,
    /// The client learns that it is connected.
    Known,
    /// The client learns that it is not.
    Refused,
    /// So many octets reach the client.
    Arrived(u32),
    /// The server's end reaches the client.
    Ended,
    /// The client learns that the connection is broken.
    Broken,
    /// So many octets reach the server.
    Leave(u32),
    /// The client's end reaches the server.
    Close,
}

/// Something that is under way. Those of a connection that is gone are dropped by its generation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) due: u64,
    pub(crate) slot: u32,
    pub(crate) generation: u32,
    pub(crate) what: Due,
}

/// Entries by the time at which they are due. Those of the same step keep their order.
#[derive(Debug)]
pub(crate) struct Wheel {
    steps: Vec<Vec<Entry>>,
    /// A bit for each step that has entries.
    occupied: Vec<u64>,
    /// The next step to be looked at, counted from the clock's zero.
    next: u64,
    count: usize,
}

impl Wheel {
    pub(crate) fn new(now: u64) -> Self {
        Self {
            steps: (0..STEPS).map(|_| Vec::new()).collect(),
            occupied: vec![0; STEPS / 64],
            next: now >> STEP,
            count: 0,
        }
    }

    pub(crate) fn add(&mut self, entry: Entry) {
        // What is due already comes with the next step that is looked at.
        let step = ((entry.due >> STEP).max(self.next) % STEPS as u64) as usize;
        self.steps[step].push(entry);
        self.occupied[step / 64] |= 1 << (step % 64);
        self.count += 1;
    }

    /// When there is something to be taken, or to be looked at again.
    pub(crate) fn next_due(&self) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let at = (self.next % STEPS as u64) as usize;
        let first = self.occupied[at / 64] & (u64::MAX << (at % 64));
        let words = STEPS / 64;
        let step = (0..=words).find_map(|ahead| {
            let word = (at / 64 + ahead) % words;
            let bits = if ahead == 0 { first } else { self.occupied[word] };
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })?;
        let ahead = (step + STEPS - at) % STEPS;
        // A step is over when the next one begins: nothing comes early.
        Some((self.next + ahead as u64 + 1) << STEP)
    }

    /// Moves what is due to `taken`, in order, until there are `most` entries or a few more: steps are taken whole.
    /// What is left is due at once.
    pub(crate) fn take(&mut self, now: u64, most: usize, taken: &mut Vec<Entry>) {
        while taken.len() < most {
            let Some(due) = self.next_due().filter(|due| *due <= now) else {
                self.next = self.next.max(now >> STEP);
                return;
            };
            let step = (due >> STEP) - 1;
            self.next = step + 1;
            self.take_step((step % STEPS as u64) as usize, due, taken);
        }
    }

    fn take_step(&mut self, step: usize, end: u64, taken: &mut Vec<Entry>) {
        self.occupied[step / 64] &= !(1 << (step % 64));
        let before = taken.len();
        let entries = &mut self.steps[step];
        entries.retain(|entry| {
            if entry.due < end {
                taken.push(*entry);
            }
            entry.due >= end
        });
        if !entries.is_empty() {
            self.occupied[step / 64] |= 1 << (step % 64); // of a later turn
        }
        self.count -= taken.len() - before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(due: u64, slot: u32) -> Entry {
        Entry { due, slot, generation: 0, what: Due::Dial }
    }

    #[test]
    fn everything_comes_once_not_early_and_at_most_a_step_late() {
        let start = 123_456_789_012_u64;
        let mut wheel = Wheel::new(start);
        let dues: Vec<u64> = (0..2000_u64).map(|i| start + i * i * 7919 % 5_000_000_000).collect();
        for (slot, due) in dues.iter().enumerate() {
            wheel.add(entry(*due, slot as u32));
        }
        let (mut now, mut taken, mut seen) = (start, Vec::new(), 0);
        while let Some(next) = wheel.next_due() {
            assert!(next > now);
            now = next;
            taken.clear();
            wheel.take(now, usize::MAX, &mut taken);
            for entry in &taken {
                let due = dues[entry.slot as usize];
                assert!(due <= now && now - due <= 2 << STEP, "{due} at {now}");
                seen += 1;
            }
        }
        assert_eq!(seen, dues.len());
    }

    #[test]
    fn entries_of_one_step_and_late_ones_keep_their_order() {
        let mut wheel = Wheel::new(0);
        let mut taken = Vec::new();
        wheel.take(10 << STEP, 9, &mut taken);
        (0..5).for_each(|slot| wheel.add(entry(3, slot)));
        wheel.take(20 << STEP, 9, &mut taken);
        assert_eq!(taken.iter().map(|entry| entry.slot).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(wheel.next_due(), None);
    }

    #[test]
    fn what_is_left_of_many_is_due_at_once() {
        let mut wheel = Wheel::new(0);
        (0..10).for_each(|slot| wheel.add(entry(u64::from(slot / 2) << STEP, slot)));
        let now = 7 << STEP;
        let mut shares = Vec::new();
        while wheel.next_due().is_some_and(|due| due <= now) {
            let mut taken = Vec::new();
            wheel.take(now, 3, &mut taken);
            shares.push(taken.iter().map(|entry| entry.slot).collect::<Vec<_>>());
        }
        assert_eq!(shares, [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    }
}
