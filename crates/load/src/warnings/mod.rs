//! Warnings that prevent wrong conclusions: each is a function of the plan and the outcomes.
//!
//! A warning states the observation, its consequence, and the remedy. The outcomes are those of all targets
//! and rounds.

mod busy;
mod enough;
mod failed;
mod fair;

use crate::{Outcome, Plan};

/// A warning about these outcomes, if there is a reason for one.
type Warning = fn(&Plan, &[Outcome]) -> Option<String>;

/// All of them, the most important first.
const ALL: &[(&str, Warning)] = &[
    ("death", failed::deaths),
    ("errors", failed::errors),
    ("generator saturated", busy::saturated),
    ("machine full", busy::machine_full),
    ("machine busy", busy::others),
    ("rate not kept", enough::rate_missed),
    ("connections missing", enough::missing_connections),
    ("ports running out", enough::ports),
    ("too few connections", busy::idle),
    ("content differs", fair::content),
    ("heads differ", fair::heads),
    ("compressed on one side", fair::compressed),
    ("protocol differs", fair::protocols),
    ("few answers", enough::answers),
];

/// The warnings about these outcomes, the most important first.
pub fn warnings(plan: &Plan, outcomes: &[Outcome]) -> Vec<String> {
    // A run that was stopped before it measured has no result.
    let measured: Vec<_> = outcomes.iter().filter(|outcome| !outcome.elapsed.is_zero()).cloned().collect();
    if measured.is_empty() && !outcomes.is_empty() {
        return vec!["nothing was measured: the run was stopped during the warm-up (see --warm-up).".into()];
    }
    ALL.iter().filter_map(|(_, warning)| warning(plan, &measured)).collect()
}

/// The outcomes of each target that has some, with its name.
fn by_target<'a>(plan: &'a Plan, outcomes: &'a [Outcome]) -> Vec<(&'a str, Vec<&'a Outcome>)> {
    let named = plan.targets.iter().enumerate().map(|(index, target)| {
        let own: Vec<_> = outcomes.iter().filter(|outcome| outcome.target == index).collect();
        (target.name.as_str(), own)
    });
    named.filter(|(_, own)| !own.is_empty()).collect()
}

/// The sum of something over outcomes.
fn sum(outcomes: &[&Outcome], count: impl Fn(&Outcome) -> u64) -> u64 {
    outcomes.iter().map(|outcome| count(outcome)).sum()
}

#[cfg(test)]
mod testing {
    use crate::{CpuRoom, Ended, Outcome, ServerCost, Tally};
    use std::time::{Duration, SystemTime};

    /// A run of ten seconds without any warning.
    pub(super) fn fine(target: usize) -> Outcome {
        let mut tally = Tally {
            requests: 100_000,
            responses: 100_000,
            bytes_head: 20_000_000,
            bytes_content: 60_000_000,
            connections: 64,
            ..Tally::default()
        };
        tally.statuses.add(200, 100_000);
        Outcome {
            target,
            started: SystemTime::UNIX_EPOCH,
            elapsed: Duration::from_secs(10),
            tally,
            generator_cpu: Duration::from_secs(6),
            threads: 2,
            server: Some(ServerCost { user: Duration::from_secs(9), ..ServerCost::default() }),
            room: Some(CpuRoom {
                generator: vec![0, 1],
                server: vec![0, 1],
                busy: Duration::from_secs(15),
                idle: Duration::from_secs(5),
            }),
            ended: Ended::Complete,
            death: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{plan, target};

    #[test]
    fn what_is_fine_is_not_warned_about() {
        let mut plan = plan();
        plan.targets.push(target("http://b/"));
        assert_eq!(warnings(&plan, &[testing::fine(0), testing::fine(1)]), Vec::<String>::new());
        assert_eq!(warnings(&plan, &[]), Vec::<String>::new());
    }

    #[test]
    fn a_run_without_a_measurement_is_named_and_nothing_else() {
        let stopped = Outcome { elapsed: std::time::Duration::ZERO, ..testing::fine(0) };
        let said = warnings(&plan(), &[stopped]);
        assert!(said.len() == 1 && said[0].contains("nothing was measured"), "{said:?}");
    }
}
