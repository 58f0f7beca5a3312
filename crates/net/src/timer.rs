//! Deadlines of a worker's connections.
//!
//! Moving a deadline is two stores, since every request moves it and almost none ever passes. A sweep reads all
//! of them, ten times a second at most: four octets each, so 20,000 connections are 80 KB. Between sweeps the
//! loop may rest until the earliest of them; that one may have been moved on since, which costs a sweep in vain.

use std::time::Duration;

/// How often [`Deadlines::take_passed`] is asked at most, and so how late a deadline can be noticed.
pub const SWEEP: Duration = Duration::from_millis(100);

/// No deadline.
pub const NEVER: u32 = u32::MAX;

/// A deadline: `timeout` behind `millis`, never [`NEVER`].
pub(crate) fn after(millis: u32, timeout: Duration) -> u32 {
    let timeout = u32::try_from(timeout.as_millis()).unwrap_or(NEVER);
    millis.saturating_add(timeout).min(NEVER - 1)
}

/// A worker's deadlines by connection, in milliseconds of its clock.
#[derive(Debug)]
pub struct Deadlines {
    all: Vec<u32>,
    earliest: u32,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { all: Vec::new(), earliest: NEVER }
    }
}

impl Deadlines {
    /// Sets the deadline of connection `index`.
    #[inline]
    pub fn set(&mut self, index: usize, millis: u32) {
        if index >= self.all.len() {
            self.all.resize(index + 1, NEVER);
        }
        self.all[index] = millis;
        self.earliest = self.earliest.min(millis);
    }

    /// None passes before this.
    #[inline]
    pub fn earliest(&self) -> u32 {
        self.earliest
    }

    /// The connections whose deadline has passed at `now`, into `passed`; each is told once.
    pub fn take_passed(&mut self, now: u32, passed: &mut Vec<usize>) {
        self.earliest = NEVER;
        for (index, deadline) in self.all.iter_mut().enumerate() {
            if *deadline <= now {
                *deadline = NEVER;
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
        deadlines.set(3, 1000);
        deadlines.set(1, 2000);
        assert_eq!(passed(&mut deadlines, 999), []);
        assert_eq!(passed(&mut deadlines, 1000), [3]);
        assert_eq!(passed(&mut deadlines, 1999), []);
        deadlines.set(1, NEVER);
        assert_eq!(passed(&mut deadlines, 5000), []);
    }

    #[test]
    fn the_earliest_is_never_later_than_any_and_forgotten_with_the_last() {
        let mut deadlines = Deadlines::default();
        assert_eq!(deadlines.earliest(), NEVER);
        deadlines.set(0, 300);
        deadlines.set(1, 200);
        assert_eq!(deadlines.earliest(), 200);
        deadlines.set(1, 400);
        assert!(deadlines.earliest() <= 300);
        deadlines.take_passed(250, &mut Vec::new());
        assert_eq!(deadlines.earliest(), 300);
        deadlines.take_passed(400, &mut Vec::new());
        assert_eq!(deadlines.earliest(), NEVER);
    }
}
