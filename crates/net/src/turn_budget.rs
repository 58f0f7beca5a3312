//! Limits of a connection's turn, so that a peer that keeps a worker busy does not delay the worker's other
//! connections.

use crate::clock::Instant;
use std::cell::Cell;
use std::time::Duration;

/// CPU time of a turn. A round of the loop gives each connection a turn, so each busy connection adds this much to
/// the latency of the others.
const TIME: Duration = Duration::from_millis(2);

/// Reads per turn. A read returns 16 KiB or a little more, so this limits the bytes as well.
const READS: u32 = 64;

/// Units of work between clock readings. A unit is about a tenth of a microsecond, so reading the exact clock costs
/// little in comparison; ordinary turns end before the first reading.
const BATCH: u32 = 64;

/// Costs of work, in units.
pub(crate) mod cost {
    /// A frame, a chunk, or a step between request and response.
    pub(crate) const FRAME: u32 = 1;
    /// Answering a request.
    pub(crate) const REQUEST: u32 = 8;
    /// A read or write: a system call and, with TLS, the cryptography of up to 64 KiB.
    pub(crate) const SYSTEM_CALL: u32 = 16;
}

/// The budget of the current turn; a worker has one, since it runs one turn at a time.
#[derive(Debug, Default)]
pub struct TurnBudget {
    reads: Cell<u32>,
    /// Units left until the clock is read.
    units: Cell<u32>,
    /// When the time is up; set by the first clock reading.
    ends: Cell<Option<Instant>>,
    used_up: Cell<bool>,
}

impl TurnBudget {
    /// Starts a turn.
    #[inline]
    pub(crate) fn begin(&self) {
        self.reads.set(READS);
        self.units.set(BATCH);
        self.ends.set(None);
        self.used_up.set(false);
    }

    /// Spends units. Returns false if the budget is used up and other connections have a turn first.
    #[inline]
    pub(crate) fn spend(&self, units: u32) -> bool {
        match self.units.get().checked_sub(units) {
            Some(left) => self.units.set(left),
            None => self.read_clock(),
        }
        !self.used_up.get()
    }

    /// Spends a read. Returns false if the budget is used up.
    #[inline]
    pub(crate) fn spend_read(&self) -> bool {
        match self.reads.get().checked_sub(1) {
            Some(left) => self.reads.set(left),
            None => self.used_up.set(true),
        }
        self.spend(cost::SYSTEM_CALL)
    }

    /// Whether the turn has to end.
    #[inline]
    pub(crate) fn is_used_up(&self) -> bool {
        self.used_up.get()
    }

    #[cold]
    fn read_clock(&self) {
        self.units.set(BATCH);
        let now = Instant::now();
        match self.ends.get() {
            None => self.ends.set(Some(now + TIME)),
            Some(ends) => self.used_up.set(self.used_up.get() || now >= ends),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_bounded_whatever_they_cost() {
        let budget = TurnBudget::default();
        budget.begin();
        assert_eq!((0..2 * READS).take_while(|_| budget.spend_read()).count(), READS as usize);
        assert!(budget.is_used_up());
        budget.begin();
        assert!(!budget.is_used_up() && budget.spend_read());
    }

    #[test]
    fn work_ends_with_its_time_however_little_a_unit_is() {
        let budget = TurnBudget::default();
        let begun = Instant::now();
        budget.begin();
        while budget.spend(cost::FRAME) {}
        assert!(Instant::now().saturating_duration_since(begun) >= TIME);
        assert!(!budget.spend(cost::FRAME), "it stays used up until the next turn");
    }

    #[test]
    fn an_ordinary_turn_reads_no_clock() {
        let budget = TurnBudget::default();
        budget.begin();
        assert!(budget.spend_read() && budget.spend(cost::REQUEST) && budget.spend(cost::SYSTEM_CALL));
        assert_eq!(budget.ends.get(), None);
    }
}
