//! The summary of one target over all rounds, as most reports show it.

use super::Report;
use super::figure::three;
use crate::{Ended, Outcome, ServerCost, Slot, Tally, Target};
use std::time::Duration;

/// The shortest CPU time from which a cost is computed: five ticks of 10 ms.
const SHORTEST_CPU: Duration = Duration::from_millis(50);

/// One target, all its rounds.
pub(crate) struct Summary<'a> {
    pub(crate) target: &'a Target,
    /// The runs, in order.
    pub(crate) rounds: Vec<&'a Outcome>,
    /// The counts of all of them. Its timeline is meaningless: all rounds begin at 0 in it.
    pub(crate) tally: Tally,
    pub(crate) elapsed: Duration,
    pub(crate) generator_cpu: Duration,
    pub(crate) threads: usize,
    /// Times added up, the largest memory.
    pub(crate) server: Option<ServerCost>,
    pub(crate) ended: Ended,
}

impl<'a> Summary<'a> {
    /// A summary for each target of the plan, in its order.
    pub(crate) fn all(report: &Report<'a>) -> Vec<Self> {
        let of = |index: usize| report.outcomes.iter().filter(move |outcome| outcome.target == index);
        report
            .plan
            .targets
            .iter()
            .enumerate()
            .map(|(index, target)| Self::of(target, of(index).collect()))
            .collect()
    }

    fn of(target: &'a Target, rounds: Vec<&'a Outcome>) -> Self {
        let mut tally = Tally::default();
        let mut server: Option<ServerCost> = None;
        for outcome in &rounds {
            tally.merge(&outcome.tally);
            server = joined(server, outcome.server.as_ref());
        }
        let interrupted = rounds.iter().any(|outcome| outcome.ended == Ended::Interrupted);
        Self {
            target,
            elapsed: rounds.iter().map(|outcome| outcome.elapsed).sum(),
            generator_cpu: rounds.iter().map(|outcome| outcome.generator_cpu).sum(),
            threads: rounds.iter().map(|outcome| outcome.threads).max().unwrap_or(0),
            ended: if interrupted { Ended::Interrupted } else { Ended::Complete },
            rounds,
            tally,
            server,
        }
    }

    /// Right answers a second; 0 when no time passed.
    pub(crate) fn rate(&self) -> f64 {
        a_second(self.tally.successes() as f64, self.elapsed)
    }

    /// Bytes received per second; 0 when no time passed.
    pub(crate) fn transfer(&self) -> f64 {
        a_second(self.tally.bytes_in as f64, self.elapsed)
    }

    /// The share of the CPU time that the generator's threads could have used. 0 when no time passed.
    pub(crate) fn generator_share(&self) -> f64 {
        a_second(self.generator_cpu.as_secs_f64() / self.threads.max(1) as f64, self.elapsed)
    }

    /// CPU time of the server per successful response: user, system, microseconds.
    pub(crate) fn cost_us(&self) -> Option<(f64, f64)> {
        let (server, answers) = (self.server.as_ref()?, self.tally.successes());
        let each = |time: Duration| time.as_secs_f64() * 1e6 / answers as f64;
        (answers > 0).then(|| (each(server.user), each(server.system)))
    }

    /// The same as text: `7.41µs CPU per response (2.10 user, 5.31 system)`. `None` without successful
    /// responses.
    pub(crate) fn cost_text(&self) -> Option<String> {
        let (user, system) = self.cost_us()?;
        if !self.is_cost_known() {
            return Some("too short to measure its CPU time".to_owned());
        }
        Some(format!(
            "{}µs CPU per response ({} user, {} system)",
            three(user + system),
            three(user),
            three(system)
        ))
    }

    /// Whether the server's CPU time is more than a few of the clock ticks that the kernel counts it in.
    pub(crate) fn is_cost_known(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.user + server.system >= SHORTEST_CPU)
    }

    /// Events over time: the rounds follow one another, without the time between them.
    pub(crate) fn points(&self) -> Vec<Point> {
        let widest =
            self.rounds.iter().map(|outcome| outcome.tally.timeline.width()).max().unwrap_or_default();
        let mut points = Vec::new();
        let mut start = Duration::ZERO;
        for outcome in &self.rounds {
            // At most 600 points in all: rounds share them.
            let width = widest.max(self.elapsed / 600);
            round_points(outcome, width, start, &mut points);
            start += outcome.elapsed;
        }
        points
    }
}

/// One point of a plot over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Seconds of measured time, the middle of the slot.
    pub(crate) at: f64,
    /// Answers a second.
    pub(crate) rate: f64,
    /// The events.
    pub(crate) slot: Slot,
}

fn round_points(outcome: &Outcome, width: Duration, start: Duration, points: &mut Vec<Point>) {
    let timeline = outcome.tally.timeline.in_slots_of(width);
    let (width, elapsed) = (timeline.width().as_secs_f64(), outcome.elapsed.as_secs_f64());
    // Slots without events are zeros and not missing.
    let slots = (elapsed / width).ceil().min(1e5) as usize;
    for index in 0..slots.max(timeline.slots().len()) {
        let slot = timeline.slots().get(index).copied().unwrap_or_default();
        let from = index as f64 * width;
        let length = (elapsed - from).min(width);
        // A short remainder at the end says little about the rate.
        if length < width / 2.0 && index > 0 {
            break;
        }
        let length = if length > 0.0 { length } else { width };
        points.push(Point {
            at: start.as_secs_f64() + from + length / 2.0,
            rate: slot.responses as f64 / length,
            slot,
        });
    }
}

fn joined(sum: Option<ServerCost>, more: Option<&ServerCost>) -> Option<ServerCost> {
    match (sum, more) {
        (Some(mut sum), Some(more)) => {
            sum.user += more.user;
            sum.system += more.system;
            sum.memory = sum.memory.max(more.memory);
            Some(sum)
        }
        (sum, more) => sum.or_else(|| more.cloned()),
    }
}

fn a_second(amount: f64, elapsed: Duration) -> f64 {
    let rate = amount / elapsed.as_secs_f64();
    if rate.is_finite() { rate } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn rounds_follow_one_another_in_time() {
        let (plan, outcomes) = samples::compared();
        let about = samples::about();
        let report = Report { plan: &plan, outcomes: &outcomes, warnings: &[], about: &about };
        let all = Summary::all(&report);
        let points = all[0].points();
        assert!(points.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(points.len() <= 700 && points.last().unwrap().at <= all[0].elapsed.as_secs_f64());
        assert_eq!(all[0].rounds.len(), 5);
    }

    #[test]
    fn no_time_and_no_answers_make_no_figure_that_is_no_number() {
        let (plan, mut outcomes) = samples::nothing();
        outcomes[0].elapsed = Duration::ZERO;
        let about = samples::about();
        let report = Report { plan: &plan, outcomes: &outcomes, warnings: &[], about: &about };
        let summary = &Summary::all(&report)[0];
        assert_eq!((summary.rate(), summary.transfer(), summary.generator_share()), (0.0, 0.0, 0.0));
        assert_eq!(summary.cost_us(), None);
        assert!(summary.points().iter().all(|point| point.rate == 0.0));
    }
}
