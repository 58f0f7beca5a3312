//! Durations counted in buckets whose width is under 1 % of their value.
//!
//! Memory does not grow with the run: one histogram is about 36 KB, regardless of its counts. This module
//! records, merges, and computes quantiles and the buckets for plots. Formatting with units is in
//! `report::figure`.

use std::time::Duration;

/// The longest distinguishable duration: an hour. No deadline of a request is that long.
const LONGEST: u64 = 3_600_000_000_000;

/// Two significant digits: 128 buckets to each power of two, so a bucket is 0.8 % wide at most.
/// A third digit would need eight times the memory, in the caches of the hot loop, too.
const DIGITS: u8 = 2;

/// Counts of durations, each known to 0.4 %; the smallest, the largest and the mean are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: hdrhistogram::Histogram<u64>,
    /// All durations added up, in nanoseconds. 64 bits would be full after ten days of 20,000 connections.
    sum: u128,
    min: u64,
    max: u64,
}

/// One bucket of [`Histogram::spread`]: durations from `low` up to but not including `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Lower bound, nanoseconds.
    pub low: f64,
    /// Upper bound, nanoseconds.
    pub high: f64,
    /// How many durations lie between them; a bucket of the histogram that spans a bound is split
    /// proportionally.
    pub count: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram for durations up to an hour; longer ones count as an hour.
    #[must_use]
    pub fn new() -> Self {
        let buckets = hdrhistogram::Histogram::new_with_bounds(1, LONGEST, DIGITS)
            .expect("the bounds and the digits are constants that the crate accepts");
        Self { buckets, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one duration, in nanoseconds. Does not allocate.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.record_many(nanos, 1);
    }

    /// Counts `times` durations of `nanos` nanoseconds each. Does not allocate.
    #[inline]
    pub fn record_many(&mut self, nanos: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.buckets.saturating_record_n(nanos, times);
        self.sum += u128::from(nanos) * u128::from(times);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
    }

    /// Counts one duration.
    #[inline]
    pub fn record_duration(&mut self, duration: Duration) {
        self.record(nanos(duration));
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("all histograms have the same bounds");
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.buckets.reset();
        (self.sum, self.min, self.max) = (0, u64::MAX, 0);
    }

    /// How many durations were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The smallest duration, exactly. Zero when nothing was counted.
    #[must_use]
    pub fn min(&self) -> Duration {
        Duration::from_nanos(if self.is_empty() { 0 } else { self.min })
    }

    /// The largest duration, exactly. Zero when nothing was counted.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// The mean, exactly. Zero when nothing was counted.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let mean = self.sum.checked_div(u128::from(self.count())).unwrap_or(0);
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// The standard deviation, from the buckets. Zero when nothing was counted.
    #[must_use]
    pub fn deviation(&self) -> Duration {
        Duration::from_nanos(if self.is_empty() { 0 } else { self.buckets.stdev() as u64 })
    }

    /// The duration within which the share `quantile` (0 to 1) of all came, right to 0.4 %.
    /// Zero when nothing was counted or `quantile` is not a number.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Duration {
        if self.is_empty() || quantile.is_nan() {
            return Duration::ZERO;
        }
        // The middle of the bucket halves the error of either end; the ends themselves are known exactly.
        let found = self.buckets.value_at_quantile(quantile.clamp(0.0, 1.0));
        let middle = self.buckets.median_equivalent(found);
        Duration::from_nanos(if quantile >= 1.0 { self.max } else { middle.clamp(self.min, self.max) })
    }

    /// The share (0 to 1) of durations at or below `duration`, to the width of a bucket. 0 when nothing was counted.
    #[must_use]
    pub fn share_within(&self, duration: Duration) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let counted: u64 = self.buckets.count_between(0, nanos(duration).min(LONGEST));
        counted as f64 / self.count() as f64
    }

    /// The counts in `parts` buckets of equal ratio between `low` and `high`, for a plot with a logarithmic axis.
    /// Durations outside are counted in the first or the last. Empty without durations, parts or a range.
    #[must_use]
    pub fn spread(&self, low: Duration, high: Duration, parts: usize) -> Vec<Bucket> {
        let (low, high) = (nanos(low).max(1) as f64, nanos(high) as f64);
        if self.is_empty() || parts == 0 || high <= low {
            return Vec::new();
        }
        let step = (high / low).ln() / parts as f64;
        let edge = |part: usize| low * (step * part as f64).exp();
        let mut spread: Vec<_> =
            (0..parts).map(|part| Bucket { low: edge(part), high: edge(part + 1), count: 0.0 }).collect();
        for (from, to, count) in self.recorded() {
            share_out(&mut spread, from, to, count);
        }
        spread
    }

    /// Bounds in nanoseconds and count of every bucket that counted something, in order.
    pub fn recorded(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        self.buckets.iter_recorded().map(|bucket| {
            let low = self.buckets.lowest_equivalent(bucket.value_iterated_to());
            let next = self.buckets.next_non_equivalent(low);
            (low as f64, next as f64, bucket.count_at_value())
        })
    }
}

/// Distributes a count evenly between `from` and `to` over the buckets there; anything outside goes to the
/// nearest. Without this, buckets that hold two or three of the histogram's would look like a comb.
fn share_out(spread: &mut [Bucket], from: f64, to: f64, count: u64) {
    let last = spread.len() - 1;
    let first = spread.partition_point(|bucket| bucket.high <= from).min(last);
    let beyond = spread.partition_point(|bucket| bucket.low < to).clamp(first + 1, last + 1);
    for (part, bucket) in spread.iter_mut().enumerate().take(beyond).skip(first) {
        let low = if part == first { from } else { bucket.low };
        let high = if part + 1 == beyond { to } else { bucket.high };
        bucket.count += count as f64 * (high - low) / (to - from);
    }
}

/// Nanoseconds of a duration; more than 584 years is as much as fits.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    /// By the definition: the smallest value with at least the share at or below it.
    fn exact(sorted: &[u64], quantile: f64) -> u64 {
        let rank = ((sorted.len() as f64 * quantile).ceil() as usize).max(1);
        sorted[rank - 1]
    }

    #[test]
    fn nothing_counted_is_zero_everywhere() {
        let empty = Histogram::new();
        let figures = [empty.min(), empty.max(), empty.mean(), empty.deviation(), empty.quantile(0.5)];
        assert_eq!(figures, [Duration::ZERO; 5]);
        assert_eq!(empty.share_within(Duration::from_secs(1)), 0.0);
        assert!(empty.spread(Duration::from_nanos(1), Duration::from_secs(1), 10).is_empty());
    }

    #[test]
    fn the_ends_and_the_mean_are_exact() {
        let histogram = of(&[123_457, 999_999_937, 5]);
        assert_eq!(histogram.min(), Duration::from_nanos(5));
        assert_eq!(histogram.max(), Duration::from_nanos(999_999_937));
        assert_eq!(histogram.mean(), Duration::from_nanos((123_457 + 999_999_937 + 5) / 3));
        assert_eq!(histogram.quantile(1.0), histogram.max());
    }

    #[test]
    fn odd_quantiles_and_durations_are_taken_as_they_come() {
        let mut histogram = of(&[0, u64::MAX]);
        histogram.record_many(7, 0);
        assert_eq!(histogram.count(), 2);
        assert_eq!(histogram.quantile(f64::NAN), Duration::ZERO);
        assert_eq!(histogram.quantile(-1.0), Duration::ZERO);
        assert_eq!(histogram.quantile(7.0), Duration::from_nanos(u64::MAX));
        assert_eq!(histogram.share_within(Duration::MAX), 1.0);
    }

    #[test]
    fn memory_is_bounded() {
        let before = Histogram::new();
        let counts = before.buckets.distinct_values();
        assert!(counts * size_of::<u64>() < 40_000, "{counts} counts");
        let mut after = of(&[1, 10, 1000, u64::MAX]);
        after.merge(&of(&[77]));
        assert_eq!(after.buckets.distinct_values(), counts);
    }

    #[test]
    fn a_cleared_histogram_is_a_new_one() {
        let mut histogram = of(&[3, 4]);
        histogram.clear();
        assert!(histogram.is_empty() && histogram.min().is_zero() && histogram.mean().is_zero());
    }

    proptest! {
        #[test]
        fn quantiles_are_right_to_one_percent(
            mut values in prop::collection::vec(1_u64..LONGEST, 1..400), quantile in 0.0_f64..=1.0
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            for quantile in [quantile, 0.5, 0.9, 0.99, 0.9999] {
                let truth = exact(&values, quantile) as f64;
                let measured = histogram.quantile(quantile).as_nanos() as f64;
                prop_assert!((measured - truth).abs() <= truth * 0.01 + 1.0, "{quantile}: {measured} for {truth}");
            }
        }

        #[test]
        fn merging_is_counting_together(
            left in prop::collection::vec(1_u64..LONGEST, 0..50),
            right in prop::collection::vec(1_u64..LONGEST, 0..50),
        ) {
            let mut merged = of(&left);
            merged.merge(&of(&right));
            let together = of(&[left, right].concat());
            prop_assert_eq!(merged.count(), together.count());
            prop_assert_eq!(merged.mean(), together.mean());
            prop_assert_eq!((merged.min(), merged.max()), (together.min(), together.max()));
            prop_assert_eq!(merged.quantile(0.75), together.quantile(0.75));
        }

        #[test]
        fn a_spread_loses_nothing(values in prop::collection::vec(0_u64..LONGEST, 1..100), parts in 1_usize..60) {
            let histogram = of(&values);
            let buckets = histogram.spread(Duration::from_micros(1), Duration::from_secs(1), parts);
            prop_assert_eq!(buckets.len(), parts);
            let sum = buckets.iter().map(|bucket| bucket.count).sum::<f64>();
            prop_assert!((sum - histogram.count() as f64).abs() < 1e-6, "{sum}");
            prop_assert!(buckets.iter().all(|bucket| bucket.count >= 0.0));
        }
    }
}
