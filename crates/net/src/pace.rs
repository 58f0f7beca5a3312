//! How slow a peer may be: a deadline that moves as bytes do, and with nothing else.
//!
//! A peer has credit, at most as much time as the timeout of what it is to do. While something is up to it (it owes
//! content, or does not take what waits for it) a second costs a second; each byte that moves earns the time that
//! it takes at the minimum rate. So a peer that stands still is late after the timeout, one that trickles soon
//! after, and one that is faster than the minimum rate never, whatever else it sends. While nothing is up to it,
//! because we are waiting for an upstream or have nothing to send, it costs nothing.

use crate::clock::Millis;
use std::time::Duration;

/// The rule: how long a peer may stand still, and how fast it has to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) timeout: Duration,
    /// Bytes per second; 0: any byte restores the whole credit.
    pub(crate) min_rate: u32,
}

/// One direction of one peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Milliseconds that it may still take.
    credit: u64,
    /// Since when it spends them; `None` while nothing is up to it.
    since: Option<Millis>,
    /// Bytes that had moved when that was last looked at.
    moved: u64,
}

impl Pace {
    /// With the whole credit, `moved` bytes so far. Nothing is up to the peer yet.
    pub(crate) fn new(moved: u64, patience: Patience) -> Self {
        Self { credit: millis(patience.timeout), since: None, moved }
    }

    /// As [`note`](Self::note), with a pace that begins at the first call. The pace as it is now.
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

    /// Takes account of the time up to `now` and of the bytes that have moved, `moved` in all; `owes`: from now on it is
    /// up to the peer that more do.
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

    /// When the peer is late, unless bytes move before.
    pub(crate) fn due(&self) -> Millis {
        self.since.map_or(Millis::NEVER, |since| since.after(Duration::from_millis(self.credit)))
    }

    /// Whether it is late.
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

    /// A peer that moves so many bytes every so many seconds; when it is late, in seconds.
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
        // What it was faster before gives no more credit than the timeout.
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
