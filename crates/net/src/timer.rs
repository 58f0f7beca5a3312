//! Deadlines of a worker's connections.
//!
//! Moving a deadline is one store, since every request moves it and almost none ever passes. A sweep ten
//! times a second reads all of them: four octets each, so 20,000 connections are 80 KB.

use std::time::Duration;

/// How often [`Deadlines::passed`] is asked, and so how late a deadline can be noticed.
pub const SWEEP: Duration = Duration::from_millis(100);

/// No deadline.
pub const NEVER: u32 = u32::MAX;

/// A deadline: `timeout` behind `millis`, never [`NEVER`].
pub(crate) fn after(millis: u32, timeout: Duration) -> u32 {
    let timeout = u32::try_from(timeout.as_millis()).unwrap_or(NEVER);
    millis.saturating_add(timeout).min(NEVER - 1)
}

/// A worker's deadlines by connection, in milliseconds of its clock.
#[derive(Debug, Default)]
pub struct Deadlines(Vec<u32>);

impl Deadlines {
    /// Sets the deadline of connection `index`.
    #[inline]
    pub fn set(&mut self, index: usize, millis: u32) {
        if index >= self.0.len() {
            self.0.resize(index + 1, NEVER);
        }
        self.0[index] = millis;
    }

    /// The connections whose deadline has passed at `now`, into `passed`; each is told once.
    pub fn take_passed(&mut self, now: u32, passed: &mut Vec<usize>) {
        for (index, deadline) in self.0.iter_mut().enumerate().filter(|(_, deadline)| **deadline <= now) {
            *deadline = NEVER;
            passed.push(index);
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
}
