//! Several targets side by side: medians over rounds, and ratios to the first with their confidence intervals.
//!
//! Targets run interleaved, one after another in each round and each round in another order, so that a
//! temporarily busy machine affects all of them. The method is described at [`Ratio`]. The presentation of a
//! comparison is in `report`.

mod interval;

pub use interval::{Ratio, Verdict};

use crate::{Outcome, Plan};

/// A figure that targets are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Successful responses per second.
    Rate,
    /// Half of the answers came within this many microseconds.
    Median,
    /// 99 % of the answers came within this many microseconds.
    P99,
    /// CPU time of the server's processes per successful response, microseconds.
    Cost,
    /// The largest memory of the server's processes, bytes.
    Memory,
}

impl Measure {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Rate, Self::Median, Self::P99, Self::Cost, Self::Memory];

    /// Its display name, with its unit.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Rate => "requests/s",
            Self::Median => "p50 latency",
            Self::P99 => "p99 latency",
            Self::Cost => "server CPU per response",
            Self::Memory => "server memory",
        }
    }

    /// Its name in JSON and CSV, with its unit.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Rate => "requests_per_s",
            Self::Median => "p50_us",
            Self::P99 => "p99_us",
            Self::Cost => "server_cpu_us_per_response",
            Self::Memory => "server_memory_bytes",
        }
    }

    /// Whether more of it is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        self == Self::Rate
    }

    /// Its value in one round. `None` where it is unknown: there was no response, or no process was found.
    #[must_use]
    pub fn of(self, outcome: &Outcome) -> Option<f64> {
        let tally = &outcome.tally;
        let latency = |quantile| {
            (!tally.latency.is_empty()).then(|| tally.latency.quantile(quantile).as_nanos() as f64 / 1e3)
        };
        match self {
            Self::Rate => {
                Some(tally.successes() as f64 / outcome.elapsed.as_secs_f64()).filter(|rate| rate.is_finite())
            }
            Self::Median => latency(0.5),
            Self::P99 => latency(0.99),
            Self::Cost => outcome.cost_us(),
            Self::Memory => {
                outcome.server.as_ref().map(|server| server.memory as f64).filter(|&bytes| bytes > 0.0)
            }
        }
    }
}

impl Outcome {
    /// CPU time of the server's processes per successful response, in microseconds. `None` without processes
    /// or successful responses.
    #[must_use]
    pub fn cost_us(&self) -> Option<f64> {
        let server = self.server.as_ref()?;
        let cost = (server.user + server.system).as_secs_f64() * 1e6 / self.tally.successes() as f64;
        cost.is_finite().then_some(cost)
    }
}

/// One figure of one target over all rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The figure compared.
    pub measure: Measure,
    /// The value of each round, in order.
    pub rounds: Vec<Option<f64>>,
    /// The middle of the rounds' values; for an even number the mean of the two in the middle.
    pub median: Option<f64>,
    /// The ratio to the first target. `None` for the first itself, and where nothing can be compared.
    pub ratio: Option<Ratio>,
}

/// All figures of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Index of the target in the plan.
    pub target: usize,
    /// In the order of [`Measure::ALL`].
    pub figures: [Figure; 5],
}

/// The results of several targets; the first is the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// A row for each target of the plan, in its order.
    pub rows: Vec<Row>,
}

impl Comparison {
    /// Compares the rounds' results: the first outcome of each target belongs to the first round, and so on.
    /// `None` when the plan has one target only.
    #[must_use]
    pub fn of(plan: &Plan, outcomes: &[Outcome]) -> Option<Self> {
        if plan.targets.len() < 2 {
            return None;
        }
        let mut rows: Vec<Row> = (0..plan.targets.len())
            .map(|target| Row { target, figures: Measure::ALL.map(|m| figure(m, target, outcomes)) })
            .collect();
        let (first, others) = rows.split_first_mut()?;
        for row in others {
            for (figure, base) in row.figures.iter_mut().zip(&first.figures) {
                figure.ratio = ratio(&figure.rounds, &base.rounds);
            }
        }
        Some(Self { rows })
    }

    /// The measures that at least one target has a value of.
    #[must_use]
    pub fn measures(&self) -> Vec<Measure> {
        let known = |index: &usize| self.rows.iter().any(|row| row.figures[*index].median.is_some());
        (0..Measure::ALL.len()).filter(known).map(|index| Measure::ALL[index]).collect()
    }
}

impl Row {
    /// The figure for a measure.
    #[must_use]
    pub fn figure(&self, measure: Measure) -> &Figure {
        &self.figures[measure as usize]
    }
}

fn figure(measure: Measure, target: usize, outcomes: &[Outcome]) -> Figure {
    let rounds: Vec<_> =
        outcomes.iter().filter(|outcome| outcome.target == target).map(|o| measure.of(o)).collect();
    let median = median(rounds.iter().copied().flatten());
    Figure { measure, rounds, median, ratio: None }
}

fn ratio(rounds: &[Option<f64>], base: &[Option<f64>]) -> Option<Ratio> {
    Ratio::of_pairs(rounds.iter().zip(base).filter_map(|(own, base)| Some(((*own)?, (*base)?))))
}

/// The middle value; values that are not numbers are left out.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[sorted.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn medians_leave_out_what_is_no_number() {
        let cases: [(&[f64], Option<f64>); 5] = [
            (&[], None),
            (&[f64::NAN, f64::INFINITY], None),
            (&[4.0], Some(4.0)),
            (&[9.0, 1.0, 5.0], Some(5.0)),
            (&[4.0, 1.0, f64::NAN, 3.0, 2.0], Some(2.5)),
        ];
        for (values, expected) in cases {
            assert_eq!(median(values.iter().copied()), expected, "{values:?}");
        }
    }

    #[test]
    fn one_target_is_not_compared() {
        let (plan, outcomes) = samples::single();
        assert_eq!(Comparison::of(&plan, &outcomes), None);
    }

    #[test]
    fn each_target_is_compared_with_the_first() {
        let (plan, outcomes) = samples::compared();
        let comparison = Comparison::of(&plan, &outcomes).unwrap();
        let verdicts = |target: usize| {
            Measure::ALL
                .map(|measure| comparison.rows[target].figure(measure).ratio.map(|ratio| ratio.verdict()))
        };
        assert_eq!(verdicts(0), [None; 5]);
        assert_eq!(verdicts(1)[0], Some(Verdict::Lower));
        assert_eq!(verdicts(2)[0], Some(Verdict::NoDifference));
        assert_eq!(comparison.measures(), Measure::ALL);
    }

    #[test]
    fn rounds_without_answers_have_no_latency_and_no_cost() {
        let (mut plan, mut outcomes) = samples::nothing();
        outcomes[0].elapsed = std::time::Duration::ZERO;
        assert_eq!(Measure::ALL.map(|measure| measure.of(&outcomes[0])), [None; 5]);
        plan.targets.push(plan.targets[0].clone());
        let comparison = Comparison::of(&plan, &outcomes).unwrap();
        assert!(comparison.measures().is_empty());
    }
}
