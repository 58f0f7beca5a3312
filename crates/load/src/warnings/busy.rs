//! Who was the limit: the generator, the server, the machine that both share, or nobody.

use super::by_target;
use crate::{Outcome, Plan};
use std::time::Duration;

/// From this share of its time on, a thread has no room left: the rest is waiting between wake-ups.
const FULL: f64 = 0.9;

/// Below this share of one CPU, a program has nothing to do.
const BORED: f64 = 0.5;

/// CPUs' worth of work over the measured time.
fn cpus(time: Duration, outcome: &Outcome) -> f64 {
    time.as_secs_f64() / outcome.elapsed.as_secs_f64().max(1e-9)
}

fn server_cpus(outcome: &Outcome) -> Option<f64> {
    outcome.server.as_ref().map(|server| cpus(server.user + server.system, outcome))
}

/// A server that fills its CPUs: work close to a whole number of them.
fn server_full(outcome: &Outcome) -> bool {
    server_cpus(outcome).is_some_and(|used| used >= FULL && used / used.ceil() >= FULL)
}

pub(super) fn saturated(_: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let full = |outcome: &&Outcome| {
        // A burst of a few milliseconds is all work.
        let long = outcome.elapsed >= Duration::from_millis(100);
        let own = cpus(outcome.generator_cpu, outcome);
        long && own >= FULL * outcome.threads.max(1) as f64 && !server_full(outcome)
    };
    let outcome = outcomes.iter().find(full)?;
    let share = 100.0 * cpus(outcome.generator_cpu, outcome) / outcome.threads.max(1) as f64;
    Some(format!(
        "the generator was the limit: its {} worked {share:.0} % of the time, so the server may be able to do \
         more. Give it more threads (-t) if there are free CPUs, run it on another machine, or compare the \
         server's CPU time for each answer instead of the rate.",
        threads(outcome.threads)
    ))
}

fn threads(count: usize) -> String {
    if count == 1 { "one thread".into() } else { format!("{count} threads") }
}

pub(super) fn machine_full(_: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let machine = std::thread::available_parallelism().map_or(1, usize::from);
    full_of(machine, outcomes)
}

fn full_of(machine: usize, outcomes: &[Outcome]) -> Option<String> {
    let machine = machine as f64;
    let used = |outcome: &Outcome| Some((cpus(outcome.generator_cpu, outcome), server_cpus(outcome)?));
    let full = |&(own, server): &(f64, f64)| own + server >= FULL * machine && own >= 0.05 * machine;
    let (own, server) = outcomes.iter().filter_map(used).find(full)?;
    Some(format!(
        "server and generator shared a full machine: {server:.1} and {own:.1} of {machine} CPUs. The rate is \
         what the generator left over; the server's CPU time for each answer is the figure to compare. Pin them \
         to different CPUs (taskset) or use a second machine for rates."
    ))
}

pub(super) fn idle(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    if plan.rate.is_some() || plan.distance.is_some() {
        return None; // the user said how much
    }
    let bored = |outcome: &Outcome| {
        let own = cpus(outcome.generator_cpu, outcome) / outcome.threads.max(1) as f64;
        // CPU time comes in hundredths of a second: a short run looks bored.
        let long = outcome.elapsed >= Duration::from_secs(1) && outcome.tally.responses > 0;
        long && own < BORED && server_cpus(outcome).is_some_and(|used| used < BORED)
    };
    let (name, _) =
        by_target(plan, outcomes).into_iter().find(|(_, own)| own.iter().all(|one| bored(one)))?;
    Some(format!(
        "{name}: neither server nor generator had much to do with {}: more connections (-c), or streams of \
         HTTP/2 (-m), would show what the server can do.",
        if plan.connections == 1 {
            "one connection".into()
        } else {
            format!("{} connections", plan.connections)
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::fine;
    use super::*;
    use crate::ServerCost;
    use crate::plan::testing::plan;

    fn with(generator: f64, server: Option<f64>) -> Vec<Outcome> {
        let mut outcome = fine(0);
        outcome.generator_cpu = Duration::from_secs_f64(generator * 10.0);
        outcome.server = server
            .map(|cpus| ServerCost { user: Duration::from_secs_f64(cpus * 10.0), ..ServerCost::default() });
        vec![outcome]
    }

    #[test]
    fn a_full_generator_is_the_limit_unless_the_server_is_full_too() {
        for (generator, server, warned) in [
            (1.9, None, true),
            (1.9, Some(0.5), true),
            (1.9, Some(1.5), true),
            (1.9, Some(0.95), false),
            (1.9, Some(3.8), false),
            (1.7, Some(0.5), false),
        ] {
            let text = saturated(&plan(), &with(generator, server));
            assert_eq!(text.is_some(), warned, "{generator} {server:?}");
            assert!(text.is_none_or(|text| text.contains("-t") && text.contains("95 %")));
        }
    }

    #[test]
    fn a_machine_that_both_fill_is_named() {
        for (generator, server, warned) in
            [(1.0, Some(0.95), true), (0.5, Some(0.5), false), (1.9, None, false), (0.05, Some(1.9), false)]
        {
            let text = full_of(2, &with(generator, server));
            assert_eq!(text.is_some(), warned, "{generator} {server:?}");
            assert!(text.is_none_or(|text| text.contains("taskset")));
        }
    }

    #[test]
    fn two_that_wait_for_each_other_want_more_connections() {
        for (generator, server, warned) in
            [(0.2, Some(0.2), true), (0.2, Some(0.8), false), (1.2, Some(0.2), false), (0.2, None, false)]
        {
            let text = idle(&plan(), &with(generator, server));
            assert_eq!(text.is_some(), warned, "{generator} {server:?}");
            assert!(text.is_none_or(|text| text.contains("-c") && text.contains("64 connections")));
        }
        assert_eq!(idle(&Plan { rate: Some(10.0), ..plan() }, &with(0.2, Some(0.2))), None, "asked for");
    }
}
