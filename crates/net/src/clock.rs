//! Clock readings that are cached for one turn of the loop.

pub use crate::local_time::local_offset;
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::ops::Add;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time on the monotonic clock, in nanoseconds of `CLOCK_MONOTONIC`. Like `std::time::Instant`, but a
/// single number, since every request compares several of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    /// The current time, exactly.
    pub fn now() -> Self {
        Self::read(ClockId::Monotonic)
    }

    /// The time since `earlier`; zero if that is later.
    #[inline]
    pub fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Nanoseconds of the monotonic clock.
    #[inline]
    pub fn as_nanos(self) -> u64 {
        self.0
    }

    #[inline]
    fn read(clock: ClockId) -> Self {
        let time = clock_gettime(clock);
        Self((time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    #[inline]
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// A point in time on a worker's clock, in milliseconds. 64 bits: 32 bits would wrap after 49.7 days, and a deadline
/// beyond the wrap would never expire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(u64);

/// The initial value of a clock: one second before 32 bits overflow, so that code that stores times in 32 bits fails
/// in tests one second after the start, not in production after 49 days.
const FIRST: Millis = Millis((1 << 32) - 1000);

impl Millis {
    /// No deadline.
    pub const NEVER: Self = Self(u64::MAX);

    /// The time `millis`, for tests.
    #[doc(hidden)]
    pub const fn at(millis: u64) -> Self {
        Self(millis)
    }

    /// This time plus `timeout`; never [`NEVER`](Self::NEVER).
    #[inline]
    pub fn after(self, timeout: Duration) -> Self {
        let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(timeout).min(u64::MAX - 1))
    }

    /// Milliseconds since `earlier`; zero if that is later.
    #[inline]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The lower 32 bits, for callers that only need differences.
    #[inline]
    pub fn low(self) -> u32 {
        self.0 as u32
    }
}

/// A worker's clock. It is read once per turn of a connection; all other code uses the cached value.
///
/// By default it reads the kernel's coarse clock, which lags by some milliseconds and costs a fifth of the exact one:
/// good enough for deadlines, caches and dates. Logs that print durations enable the exact one.
#[derive(Debug)]
pub struct Clock {
    exact: Cell<bool>,
    now: Cell<Instant>,
    epoch: Instant,
    /// The second of the wall clock, and the monotonic time at which it ends.
    unix: Cell<u64>,
    second_ends: Cell<Instant>,
}

impl Default for Clock {
    fn default() -> Self {
        let now = Instant::now();
        let clock = Self {
            exact: Cell::new(false),
            now: Cell::new(now),
            epoch: now,
            unix: Cell::new(0),
            second_ends: Cell::new(now),
        };
        clock.next_second();
        clock
    }
}

impl Clock {
    /// Makes all readings exact to the nanosecond.
    pub fn be_exact(&self) {
        self.exact.set(true);
    }

    /// Reads the kernel's clock. The wall clock is read only when its cached second has ended.
    #[inline]
    pub fn refresh(&self) -> Instant {
        let now = Instant::read(if self.exact.get() { ClockId::Monotonic } else { ClockId::MonotonicCoarse });
        self.now.set(now);
        if now >= self.second_ends.get() {
            self.next_second();
        }
        now
    }

    /// Reads the kernel's clock again within a turn, if exact readings are enabled.
    #[inline]
    pub fn refresh_if_exact(&self) -> Instant {
        if self.exact.get() { self.refresh() } else { self.now.get() }
    }

    #[cold]
    fn next_second(&self) {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.unix.set(wall.as_secs());
        let left = Duration::from_nanos(1_000_000_000 - u64::from(wall.subsec_nanos()));
        self.second_ends.set(self.now.get() + left);
    }

    /// The monotonic time at the last reading.
    #[inline]
    pub fn now(&self) -> Instant {
        self.now.get()
    }

    /// Milliseconds of this clock at the last reading: for deadlines.
    #[inline]
    pub fn millis(&self) -> Millis {
        Millis(FIRST.0 + self.now.get().0.saturating_sub(self.epoch.0) / 1_000_000)
    }

    /// Advances the monotonic time until the next reading without asking the kernel: for tests of timeouts.
    pub fn advance(&self, by: Duration) {
        self.now.set(self.now.get() + by);
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
        assert!(clock.unix() + 1 >= before && clock.unix() <= before + 1);
    }

    #[test]
    fn deadlines_are_in_order_across_the_end_of_32_bits() {
        let clock = Clock::default();
        let (start, timeout) = (clock.millis(), Duration::from_secs(2));
        assert!(start.0 < 1 << 32 && start.after(timeout).0 > 1 << 32, "{start:?}");
        let deadline = start.after(timeout);
        assert!(clock.millis() < deadline);
        clock.advance(timeout);
        assert!(clock.millis() >= deadline);
        assert!(clock.millis().since(start) >= 2000);
        assert_eq!(start.after(Duration::MAX).cmp(&Millis::NEVER), std::cmp::Ordering::Less);
    }

    #[test]
    fn the_coarse_clock_stays_within_milliseconds_of_the_exact_one() {
        let clock = Clock::default();
        let apart = |a: Instant, b: Instant| a.max(b).saturating_duration_since(a.min(b));
        assert!(apart(clock.refresh(), Instant::now()) < Duration::from_millis(200));
        clock.be_exact();
        let before = Instant::now();
        assert!(clock.refresh() >= before);
        assert_eq!(clock.now(), clock.now());
    }
}
