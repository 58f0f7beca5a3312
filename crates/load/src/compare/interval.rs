//! The confidence of a ratio: Student's interval for the mean logarithm of paired ratios.

use std::fmt;

/// The ratio of a figure of one target to the same figure of the first, over the rounds both took part in.
///
/// In each round the two ran right after one another, so whatever slowed the machine in that round slowed both,
/// and cancels in the round's ratio `x / base`. Ratios multiply, so their logarithms are averaged: `value` is
/// `exp(mean)`, the geometric mean. For `n` rounds with the standard deviation `s` of the logarithms, the interval is
/// `exp(mean ± t · s / √n)`, where `t` is the 97.5 % point of Student's distribution with `n − 1` degrees of
/// freedom. If noise of rounds is about log-normal and rounds do not depend on one another, 95 of 100 such
/// intervals hold the true ratio; so of twenty comparisons of equal servers, one may still show a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The geometric mean of the rounds' ratios.
    pub value: f64,
    /// The 95 % confidence interval. `None` with fewer than two usable rounds.
    pub interval: Option<(f64, f64)>,
    /// The number of usable rounds: those where both figures are above zero.
    pub rounds: usize,
}

impl Ratio {
    /// The ratio over pairs of (figure, base figure), one pair a round. `None` without a usable pair.
    #[must_use]
    pub fn of_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let logs: Vec<f64> = pairs
            .into_iter()
            .filter(|&(x, base)| usable(x) && usable(base))
            .map(|(x, base)| (x / base).ln())
            .collect();
        let rounds = logs.len();
        if rounds == 0 {
            return None;
        }
        let mean = logs.iter().sum::<f64>() / rounds as f64;
        let interval = (rounds > 1).then(|| {
            let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
            let error = (squares / (rounds - 1) as f64 / rounds as f64).sqrt();
            let reach = student_975(rounds - 1) * error;
            ((mean - reach).exp(), (mean + reach).exp())
        });
        Some(Self { value: mean.exp(), interval, rounds })
    }

    /// The verdict. The interval decides, not the value.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.interval {
            None => Verdict::TooFewRounds,
            Some((low, _)) if low > 1.0 => Verdict::Higher,
            Some((_, high)) if high < 1.0 => Verdict::Lower,
            Some(_) => Verdict::NoDifference,
        }
    }
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The interval lies above 1.
    Higher,
    /// The interval lies below 1.
    Lower,
    /// The interval contains 1.
    NoDifference,
    /// One round has no spread to judge by.
    TooFewRounds,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::NoDifference => "no difference shown",
            Self::TooFewRounds => "too few rounds to tell",
        })
    }
}

/// A figure that has a logarithm.
fn usable(figure: f64) -> bool {
    figure.is_finite() && figure > 0.0
}

/// The 97.5 % points of Student's distribution for 1 to 30 degrees of freedom, as every table has them.
const STUDENT_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The 97.5 % point of Student's distribution; beyond the table two terms of the expansion at the normal
/// distribution's, which are right to three decimals there. Without a degree of freedom it is infinite.
fn student_975(freedom: usize) -> f64 {
    const NORMAL: f64 = 1.959_964;
    match freedom {
        0 => f64::INFINITY,
        1..=30 => STUDENT_975[freedom - 1],
        _ => {
            let (z, n) = (NORMAL, freedom as f64);
            z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_rounds_and_what_they_show() {
        type Case = (&'static [(f64, f64)], Option<(f64, Verdict)>);
        let cases: [Case; 8] = [
            (&[], None),
            (&[(0.0, 1.0), (f64::NAN, 1.0), (1.0, 0.0), (f64::INFINITY, 2.0)], None),
            (&[(3.0, 2.0)], Some((1.5, Verdict::TooFewRounds))),
            (&[(3.0, 2.0), (0.0, 2.0)], Some((1.5, Verdict::TooFewRounds))),
            (&[(2.0, 1.0), (2.02, 1.0), (1.98, 1.0)], Some((2.0, Verdict::Higher))),
            (&[(1.0, 2.0), (1.0, 2.02), (1.0, 1.98)], Some((0.5, Verdict::Lower))),
            (&[(2.0, 1.0), (1.0, 2.0)], Some((1.0, Verdict::NoDifference))),
            (&[(5.0, 5.0), (7.0, 7.0)], Some((1.0, Verdict::NoDifference))),
        ];
        for (pairs, expected) in cases {
            let ratio = Ratio::of_pairs(pairs.iter().copied());
            assert_eq!(ratio.map(|ratio| ratio.verdict()), expected.map(|(_, verdict)| verdict), "{pairs:?}");
            let (told, truth) =
                (ratio.map_or(0.0, |ratio| ratio.value), expected.map_or(0.0, |(value, _)| value));
            assert!((told - truth).abs() < 0.001, "{pairs:?}: {told}");
        }
    }

    #[test]
    fn drift_that_hits_both_cancels() {
        let rounds = (1..=6).map(|round| (1.1 * f64::from(round), f64::from(round)));
        let (low, high) = Ratio::of_pairs(rounds).unwrap().interval.unwrap();
        assert!((low - 1.1).abs() < 1e-9 && (high - 1.1).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn students_points_fall_towards_the_normal_ones() {
        let points: Vec<f64> = (1..200).map(student_975).collect();
        assert!(points.windows(2).all(|pair| pair[0] >= pair[1]));
        for (freedom, point) in [(31, 2.0395), (40, 2.0211), (60, 2.0003), (120, 1.9799)] {
            assert!((student_975(freedom) - point).abs() < 0.0005, "{freedom}");
        }
        assert!(student_975(0).is_infinite());
    }

    /// Numbers that look random, the same in each run of the tests.
    struct Seeded(u64);

    impl Seeded {
        /// Evenly between 0 and 1, never 0 (the mixing function of SplitMix64).
        fn even(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11).max(1) as f64 / (1_u64 << 53) as f64
        }

        /// With mean 0 and deviation 1 (Box and Muller).
        fn normal(&mut self) -> f64 {
            (-2.0 * self.even().ln()).sqrt() * (std::f64::consts::TAU * self.even()).cos()
        }
    }

    /// The share of intervals that hold the truth, for servers whose rounds differ by `noise`, while the machine
    /// as a whole drifts by 30 %.
    fn coverage(rounds: usize, truth: f64, noise: f64) -> f64 {
        const TIMES: usize = 4000;
        let mut seeded = Seeded(rounds as u64);
        let held = (0..TIMES).filter(|_| {
            let pairs: Vec<_> = (0..rounds)
                .map(|_| {
                    let machine = (0.3 * seeded.normal()).exp();
                    let base = 1000.0 * machine * (noise * seeded.normal()).exp();
                    (1000.0 * truth * machine * (noise * seeded.normal()).exp(), base)
                })
                .collect();
            let (low, high) = Ratio::of_pairs(pairs).unwrap().interval.unwrap();
            low <= truth && truth <= high
        });
        held.count() as f64 / TIMES as f64
    }

    #[test]
    fn nineteen_of_twenty_intervals_hold_the_truth() {
        for (rounds, truth, noise) in
            [(2, 1.0, 0.02), (3, 1.2, 0.05), (5, 1.0, 0.1), (5, 0.8, 0.01), (20, 1.05, 0.2)]
        {
            let share = coverage(rounds, truth, noise);
            // Four deviations of a share of 4000 around 95 %.
            assert!((share - 0.95).abs() < 0.014, "{rounds} rounds: {share}");
        }
    }
}
