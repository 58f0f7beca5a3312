//! Deadlines of a worker's connections, with a resolution of a tenth of a second.
//!
//! Moving a deadline is two stores, since every request moves it and almost none ever expires. A sweep reads all of
//! them, at most ten times a second: eight bytes each, so 160 KB for 20,000 connections. Between sweeps the loop may
//! sleep until the earliest deadline; if that one was moved in the meantime, the sweep finds nothing.

use crate::clock::Millis;
use std::time::Duration;

/// Minimum interval between calls of [`Deadlines::take_passed`], and so how late an expired deadline can be noticed.
pub const SWEEP: Duration = Duration::from_millis(100);

/// A worker's deadlines by connection index, on its clock.
#[derive(Debug)]
pub struct Deadlines {
    all: Vec<Millis>,
    earliest: Millis,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { all: Vec::new(), earliest: Millis::NEVER }
    }
}

impl Deadlines {
    /// Sets the deadline of connection `index`.
    #[inline]
    pub fn set(&mut self, index: usize, deadline: Millis) {
        if index >= self.all.len() {
            self.all.resize(index + 1, Millis::NEVER);
        }
        self.all[index] = deadline;
        self.earliest = self.earliest.min(deadline);
    }

    /// No deadline expires before this.
    #[inline]
    pub fn earliest(&self) -> Millis {
        self.earliest
    }

    /// Appends the connections whose deadline has expired at `now` to `passed`; each is reported once.
    pub fn take_passed(&mut self, now: Millis, passed: &mut Vec<usize>) {
        self.earliest = Millis::NEVER;
        for (index, deadline) in self.all.iter_mut().enumerate() {
            if *deadline <= now {
                *deadline = Millis::NEVER;
                passed.push(index);
            }
            self.earliest = self.earliest.min(*deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_has_passed_is_told_once() {
        let mut deadlines = Deadlines::default();
        let passed = |deadlines: &mut Deadlines, now| {
            let mut passed = Vec::new();
            deadlines.take_passed(now, &mut passed);
            passed
        };
        deadlines.set(3, Millis::at(1000));
        deadlines.set(1, Millis::at(2000));
        assert_eq!(passed(&mut deadlines, Millis::at(999)), []);
        assert_eq!(passed(&mut deadlines, Millis::at(1000)), [3]);
        assert_eq!(passed(&mut deadlines, Millis::at(1999)), []);
        deadlines.set(1, Millis::NEVER);
        assert_eq!(passed(&mut deadlines, Millis::at(5000)), []);
    }

    #[test]
    fn the_earliest_is_never_later_than_any_and_forgotten_with_the_last() {
        let mut deadlines = Deadlines::default();
        assert_eq!(deadlines.earliest(), Millis::NEVER);
        deadlines.set(0, Millis::at(300));
        deadlines.set(1, Millis::at(200));
        assert_eq!(deadlines.earliest(), Millis::at(200));
        deadlines.set(1, Millis::at(400));
        assert!(deadlines.earliest() <= Millis::at(300));
        deadlines.take_passed(Millis::at(250), &mut Vec::new());
        assert_eq!(deadlines.earliest(), Millis::at(300));
        deadlines.take_passed(Millis::at(400), &mut Vec::new());
        assert_eq!(deadlines.earliest(), Millis::NEVER);
    }
}
