//! A histogram of durations with a bounded relative error, cheap enough to count every response.
//!
//! Buckets are linear inside each power of two of nanoseconds: 32 of them, so a quantile is at
//! most 1/32 (about 3 %) above the true value.

use std::time::Duration;

const LINEAR_BITS: u32 = 5;
const PER_POWER: usize = 1 << LINEAR_BITS;

/// Counts of durations.
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    /// An empty histogram for any duration that fits 64 bits of nanoseconds (584 years).
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; PER_POWER * (64 - LINEAR_BITS as usize + 1)], total: 0 }
    }

    /// Counts `times` responses that each took `duration`.
    pub(crate) fn record(&mut self, duration: Duration, times: u64) {
        self.counts[bucket(duration.as_nanos() as u64)] += times;
        self.total += times;
    }

    /// Adds what another one has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
    }

    /// How many responses were counted.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The duration within which the part `quantile` (0 to 1) of the responses came, in microseconds.
    /// `None` when nothing was counted.
    pub(crate) fn quantile_us(&self, quantile: f64) -> Option<f64> {
        let rank = ((self.total as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(upper_bound(found) as f64 / 1e3)
    }
}

/// Values below 32 have a bucket each; above, the power of two picks a row of 32.
fn bucket(nanos: u64) -> usize {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(LINEAR_BITS + 1);
    shift as usize * PER_POWER + (nanos >> shift) as usize
}

/// The largest value that falls into the bucket.
fn upper_bound(bucket: usize) -> u64 {
    let shift = (bucket / PER_POWER).saturating_sub(1);
    let within = (bucket - shift * PER_POWER) as u64;
    ((within + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_within_its_bucket_and_a_thirtysecond_below_its_bound() {
        for power in 0..50 {
            for nanos in [1_u64 << power, (1 << power) + (1 << power) / 3, (2 << power) - 1] {
                let bound = upper_bound(bucket(nanos));
                assert!(bound >= nanos && bound - nanos <= nanos / 32, "{nanos}: {bound}");
                assert!(bucket(bound + 1) == bucket(nanos) + 1, "{nanos}");
            }
        }
    }

    #[test]
    fn quantiles_count_responses_not_buckets() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantile_us(0.5), None);
        histogram.record(Duration::from_micros(10), 98);
        histogram.record(Duration::from_micros(1000), 2);
        let median = histogram.quantile_us(0.5).unwrap();
        let tail = histogram.quantile_us(0.99).unwrap();
        assert!((10.0..10.4).contains(&median), "{median}");
        assert!((1000.0..1032.0).contains(&tail), "{tail}");
    }
}
