//! One reading of the clocks for everything that happens in a turn of the loop.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A worker's clock. It is read from the kernel once per turn of a connection; everybody else asks here.
#[derive(Debug)]
pub struct Clock {
    now: Cell<Instant>,
    /// The wall clock's second, and the steady time at which it ends.
    unix: Cell<u64>,
    second_ends: Cell<Instant>,
}

impl Default for Clock {
    fn default() -> Self {
        let now = Instant::now();
        let clock = Self { now: Cell::new(now), unix: Cell::new(0), second_ends: Cell::new(now) };
        clock.refresh();
        clock
    }
}

impl Clock {
    /// Reads the kernel's clock. The wall clock is read only when its second is over.
    #[inline]
    pub fn refresh(&self) -> Instant {
        let now = Instant::now();
        self.now.set(now);
        if now >= self.second_ends.get() {
            self.next_second(now);
        }
        now
    }

    #[cold]
    fn next_second(&self, now: Instant) {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.unix.set(wall.as_secs());
        self.second_ends.set(now + Duration::from_nanos(1_000_000_000 - u64::from(wall.subsec_nanos())));
    }

    /// The steady clock at the last reading.
    #[inline]
    pub fn now(&self) -> Instant {
        self.now.get()
    }

    /// Seconds since 1970 at the last reading.
    #[inline]
    pub fn unix(&self) -> u64 {
        self.unix.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_second_is_the_kernels() {
        let clock = Clock::default();
        let before = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        clock.refresh();
        assert!(clock.unix() >= before && clock.unix() <= before + 1);
        assert!(clock.now() <= Instant::now());
    }
}
