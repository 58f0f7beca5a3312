//! An emulated distance: the actions and observations of a distant client, delayed.
//!
//! Everything in transit takes half a round trip: the first segment of a connection, the bytes of a request,
//! the bytes of an answer, the ends. [`Delay`] computes the delay, [`Wheel`] schedules the arrival. The order
//! within a direction is kept, as TCP keeps it.

mod due;

pub(crate) use due::{Due, Entry, Wheel, wheel};

use crate::plan::Distance;

/// The delays, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    one_way: u64,
    jitter: u64,
    /// Of 2^32 connections, this many are lost.
    lost: u64,
}

impl Delay {
    pub(crate) fn new(distance: Distance) -> Self {
        let nanos = |time: std::time::Duration| time.as_nanos() as u64;
        Self {
            one_way: nanos(distance.rtt) / 2,
            // The jitter of a round trip, half of it each way.
            jitter: nanos(distance.jitter.min(distance.rtt)) / 2,
            lost: (distance.loss.clamp(0.0, 1.0) * 4_294_967_296.0) as u64,
        }
    }

    /// When something sent now arrives, after everything sent before in the same direction.
    pub(crate) fn arrival(&self, now: u64, random: &mut Random, before: &mut u64) -> u64 {
        let spread = if self.jitter == 0 { 0 } else { random.below(2 * self.jitter + 1) };
        let due = (now + self.one_way + spread).saturating_sub(self.jitter).max(*before);
        *before = due;
        due
    }

    /// Whether a connection is one of those that never get through.
    pub(crate) fn loses(&self, random: &mut Random) -> bool {
        self.lost > 0 && random.below(1 << 32) < self.lost
    }
}

/// Pseudo-random numbers (xorshift64*), the same in every run.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, which is above 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 to 1, without 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn delay(rtt: u64, jitter: u64, loss: f64) -> Delay {
        let ms = Duration::from_millis;
        Delay::new(Distance { rtt: ms(rtt), jitter: ms(jitter), loss })
    }

    #[test]
    fn half_a_round_trip_each_way_give_or_take_the_jitter_in_order() {
        let (mut random, mut before) = (Random::new(1), 0);
        assert_eq!(delay(100, 0, 0.0).arrival(7, &mut random, &mut before), 50_000_007);
        let (jittery, mut last, mut seen) = (delay(100, 20, 0.0), 0, [u64::MAX, 0]);
        for now in 0..1000 {
            let due = jittery.arrival(now, &mut random, &mut 0);
            seen = [seen[0].min(due), seen[1].max(due)];
            let kept = jittery.arrival(now, &mut random, &mut before);
            assert!(kept >= last);
            last = kept;
        }
        assert!((40_000_000..41_000_000).contains(&seen[0]), "{seen:?}");
        assert!((59_000_000..60_001_000).contains(&seen[1]), "{seen:?}");
    }

    #[test]
    fn as_many_connections_are_lost_as_were_asked_for() {
        let mut random = Random::new(2);
        let lost = (0..10_000).filter(|_| delay(1, 0, 0.1).loses(&mut random)).count();
        assert!((900..1100).contains(&lost), "{lost}");
        assert!((0..1000).all(|_| !delay(1, 0, 0.0).loses(&mut random)));
        assert!((0..1000).all(|_| delay(1, 0, 1.0).loses(&mut random)));
    }
}
