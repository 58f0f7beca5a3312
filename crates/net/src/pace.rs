//! Minimum rates of peers: a deadline that is extended only by transferred bytes.
//!
//! A peer has credit, at most the timeout of what it has to do. While the peer is responsible for progress (it owes
//! content, or does not read what is pending), a second costs a second; each transferred byte earns the time it takes
//! at the minimum rate. So a stalled peer is late after the timeout, a trickling one soon after, and one that exceeds
//! the minimum rate never, whatever else it sends. While it is not responsible, because the server waits for an
//! upstream or has nothing to send, no credit is used.

use crate::clock::Millis;
use std::time::Duration;

/// The rule: how long a peer may stall, and its minimum rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) timeout: Duration,
    /// Bytes per second; 0: any byte restores the whole credit.
    pub(crate) min_rate: u32,
}

/// One direction of one peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Credit left, in milliseconds.
    credit: u64,
    /// Since when credit is being used; `None` while the peer is not responsible.
    since: Option<Millis>,
    /// Bytes transferred at the last update.
    moved: u64,
}

impl Pace {
    /// Starts with full credit and `moved` bytes so far; the peer is not yet responsible.
    pub(crate) fn new(moved: u64, patience: Patience) -> Self {
        Self { credit: millis(patience.timeout), since: None, moved }
    }

    /// Like [`note`](Self::note), but creates the pace on the first call. Returns the updated pace.
    pub(crate) fn noted(
        pace: &mut Option<Self>,
        now: Millis,
        moved: u64,
        owes: bool,
        patience: Patience,
    ) -> Self {
        let pace = pace.get_or_insert_with(|| Self::new(moved, patience));
        pace.note(now, moved, owes, patience);
        *pace
    }

    /// Accounts for the time up to `now` and the bytes transferred, `moved` in total; `owes`: from now on the peer is
    /// responsible for progress.
    pub(crate) fn note(&mut self, now: Millis, moved: u64, owes: bool, patience: Patience) {
        let bytes = moved.saturating_sub(self.moved);
        let spent = self.since.map_or(0, |since| now.since(since));
        let earned = match patience.min_rate {
            _ if bytes == 0 => 0,
            0 => u64::MAX,
            rate => bytes.saturating_mul(1000).div_ceil(u64::from(rate)),
        };
        let whole = millis(patience.timeout);
        self.credit = self.credit.saturating_add(earned).saturating_sub(spent).min(whole);
        self.moved = moved.max(self.moved);
        self.since = owes.then_some(now);
    }

    /// When the peer is late, unless bytes are transferred before.
    pub(crate) fn due(&self) -> Millis {
        self.since.map_or(Millis::NEVER, |since| since.after(Duration::from_millis(self.credit)))
    }

    /// Whether the peer is late.
    pub(crate) fn is_late(&self, now: Millis) -> bool {
        self.due() <= now
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { timeout: Duration::from_secs(10), min_rate: 100 };

    fn at(seconds: u64) -> Millis {
        Millis::at(seconds * 1000)
    }

    /// When a peer that transfers `bytes` every `every` seconds is late, in seconds.
    fn late_after(bytes: u64, every: u64, patience: Patience) -> Option<u64> {
        let (mut pace, mut moved) = (Pace::new(0, patience), 0);
        pace.note(at(0), 0, true, patience);
        (1..100_000).find(|second| {
            if second % every == 0 {
                moved += bytes;
                pace.note(at(*second), moved, true, patience);
            }
            pace.is_late(at(*second))
        })
    }

    #[test]
    fn a_peer_that_stands_still_is_late_after_the_timeout() {
        assert_eq!(late_after(0, 1, PATIENCE), Some(10));
    }

    #[test]
    fn a_peer_that_trickles_is_late_soon_after() {
        assert_eq!(late_after(1, 1, PATIENCE), Some(11));
        assert_eq!(late_after(1, 9, PATIENCE), Some(11));
        assert_eq!(late_after(50, 1, PATIENCE), Some(20));
    }

    #[test]
    fn a_peer_that_trickles_is_late_however_often_it_is_looked_at() {
        let (mut pace, mut now) = (Pace::new(0, PATIENCE), at(0));
        pace.note(now, 0, true, PATIENCE);
        for moved in 0..200 {
            now = now.after(Duration::from_millis(100));
            pace.note(now, moved, true, PATIENCE);
        }
        assert!(pace.is_late(now));
    }

    #[test]
    fn a_peer_that_is_fast_enough_is_never_late_even_if_it_pauses() {
        assert_eq!(late_after(100, 1, PATIENCE), None);
        assert_eq!(late_after(900, 9, PATIENCE), None);
        // Exceeding the rate earns no more credit than the timeout.
        assert_eq!(late_after(1_000_000, 11, PATIENCE), Some(10));
    }

    #[test]
    fn without_a_minimum_rate_any_byte_restores_the_credit() {
        let patience = Patience { min_rate: 0, ..PATIENCE };
        assert_eq!(late_after(1, 9, patience), None);
        assert_eq!(late_after(1, 11, patience), Some(10));
    }

    #[test]
    fn time_in_which_nothing_is_up_to_the_peer_is_not_counted() {
        let mut pace = Pace::new(0, PATIENCE);
        pace.note(at(0), 0, true, PATIENCE);
        pace.note(at(9), 0, false, PATIENCE);
        assert_eq!(pace.due(), Millis::NEVER);
        pace.note(at(1000), 0, true, PATIENCE);
        assert!(!pace.is_late(Millis::at(1_000_999)));
        assert!(pace.is_late(at(1001)), "a second was left");
    }
}
