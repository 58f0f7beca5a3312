//! Finds the bottleneck: the generator, the server, the machine that both share, or none.

use super::by_target;
use crate::{Outcome, Plan};
use std::time::Duration;

/// From this share of its time on, a thread has no room left: the rest is waiting between wake-ups.
const FULL: f64 = 0.9;

/// Other programs that take this share of the machine, or more, disturb …
const OTHERS: f64 = 0.1;

/// … if less than this share of it is idle.
const SPARE: f64 = 0.25;

/// Below this share of one CPU, a program is considered idle.
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

/// The number of CPUs that the generator's threads can fill, at most the number available to them.
fn generator_room(outcome: &Outcome) -> f64 {
    let cpus = outcome.room.as_ref().map_or(usize::MAX, |room| room.generator.len());
    outcome.threads.min(cpus).max(1) as f64
}

pub(super) fn saturated(_: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let full = |outcome: &&Outcome| {
        // A burst of a few milliseconds is all work.
        let long = outcome.elapsed >= Duration::from_millis(100);
        let own = cpus(outcome.generator_cpu, outcome);
        long && own >= FULL * generator_room(outcome) && !server_full(outcome)
    };
    let outcome = outcomes.iter().find(full)?;
    let share = 100.0 * cpus(outcome.generator_cpu, outcome) / generator_room(outcome);
    Some(format!(
        "the load generator was the bottleneck: its {} used {share:.0} % of their CPU time, so the server may be \
         faster than measured. Use more threads (-t) if CPUs are free, run it on another machine, or compare \
         the server's CPU time per response instead of the rate.",
        threads(outcome.threads)
    ))
}

fn threads(count: usize) -> String {
    if count == 1 { "one thread".into() } else { format!("{count} threads") }
}

/// CPUs that both may use, and that are full.
pub(super) fn machine_full(_: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let shared = |outcome: &Outcome| {
        let room = outcome.room.as_ref().filter(|room| room.is_shared())?;
        let machine = room.cpus() as f64;
        let (own, server) = (cpus(outcome.generator_cpu, outcome), server_cpus(outcome)?);
        (own + server >= FULL * machine && own >= 0.05 * machine).then_some((own, server, machine))
    };
    let (own, server, machine) = outcomes.iter().find_map(shared)?;
    Some(format!(
        "server and load generator together used all CPUs: {server:.1} and {own:.1} of {machine}. The rate depends \
         on what the generator left; compare the server's CPU time per response. To compare rates, pin both to \
         different CPUs (taskset), or use a second machine."
    ))
}

/// CPUs used by other programs, the number of CPUs, and only if little was left idle.
fn taken(outcome: &Outcome) -> Option<(f64, f64)> {
    let room = outcome.room.as_ref()?;
    let machine = room.cpus() as f64;
    let (others, idle) = (cpus(outcome.others_cpu()?, outcome), cpus(room.idle, outcome));
    // CPU time is counted in hundredths of a second: a short run is too inaccurate.
    let long = outcome.elapsed >= Duration::from_secs(1);
    (long && others >= OTHERS * machine && idle < SPARE * machine).then_some((others, machine))
}

pub(super) fn others(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let (others, machine) = outcomes.iter().find_map(taken)?;
    let many = outcomes.iter().filter(|outcome| taken(outcome).is_some()).count();
    let when = if plan.rounds * plan.targets.len() > 1 {
        format!("{many} of {} runs", outcomes.len())
    } else {
        "the run".into()
    };
    Some(format!(
        "the machine was busy: in {when}, other programs (or other virtual machines on the host) used {others:.1} of \
         {machine} CPUs, and almost none was idle. That load distorts rates and latencies; stop those programs, \
         or compare the server's CPU time per response."
    ))
}

pub(super) fn idle(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    if plan.rate.is_some() || plan.distance.is_some() {
        return None; // the user set the load
    }
    let bored = |outcome: &Outcome| {
        let own = cpus(outcome.generator_cpu, outcome) / generator_room(outcome);
        // CPU time is counted in hundredths of a second: a short run looks idle.
        let long = outcome.elapsed >= Duration::from_secs(1) && outcome.tally.responses > 0;
        let kept_from_work = taken(outcome).is_some();
        long && !kept_from_work && own < BORED && server_cpus(outcome).is_some_and(|used| used < BORED)
    };
    let (name, _) =
        by_target(plan, outcomes).into_iter().find(|(_, own)| own.iter().all(|one| bored(one)))?;
    Some(format!(
        "{name}: server and load generator were mostly idle with {}: use more connections (-c), or HTTP/2 streams \
         (-m), to see what the server can do.",
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
    use crate::plan::testing::plan;
    use crate::{CpuRoom, ServerCost};

    fn with(generator: f64, server: Option<f64>) -> Vec<Outcome> {
        let mut outcome = fine(0);
        outcome.generator_cpu = Duration::from_secs_f64(generator * 10.0);
        outcome.server = server
            .map(|cpus| ServerCost { user: Duration::from_secs_f64(cpus * 10.0), ..ServerCost::default() });
        vec![outcome]
    }

    /// The same, on other CPUs, with other programs that leave nothing idle or use nothing.
    fn on(generator: &[usize], server: &[usize], used: (f64, f64), idle: f64) -> Vec<Outcome> {
        let mut outcomes = with(used.0, Some(used.1));
        let mut room = CpuRoom { generator: generator.into(), server: server.into(), ..CpuRoom::default() };
        room.idle = Duration::from_secs_f64(10.0 * idle);
        room.busy = Duration::from_secs_f64(10.0 * (room.cpus() as f64 - idle));
        outcomes[0].room = Some(room);
        outcomes
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
    fn a_generator_is_full_when_the_cpus_that_it_may_use_are() {
        let outcomes = on(&[1], &[0], (0.95, 0.2), 0.8);
        assert_eq!(outcomes[0].threads, 2, "of which one CPU can run one");
        assert!(saturated(&plan(), &outcomes).is_some_and(|text| text.contains("95 %")));
    }

    #[test]
    fn a_machine_that_both_fill_is_named() {
        for (generator, server, warned) in
            [(1.0, Some(0.95), true), (0.5, Some(0.5), false), (1.9, None, false), (0.05, Some(1.9), false)]
        {
            let text = machine_full(&plan(), &with(generator, server));
            assert_eq!(text.is_some(), warned, "{generator} {server:?}");
            assert!(text.is_none_or(|text| text.contains("taskset")));
        }
    }

    #[test]
    fn only_cpus_that_both_may_use_are_shared() {
        type Case = (&'static [usize], &'static [usize], (f64, f64), bool);
        let cases: [Case; 5] = [
            (&[1], &[0], (0.9, 1.0), false),
            (&[1], &[0, 1], (0.9, 1.0), true),
            (&[1], &[1], (0.5, 0.45), true),
            (&[0, 1, 2, 3], &[0], (0.9, 1.0), false),
            (&[0], &[], (0.9, 0.0), false),
        ];
        for (generator, server, used, warned) in cases {
            let text = machine_full(&plan(), &on(generator, server, used, 0.0));
            assert_eq!(text.is_some(), warned, "{generator:?} {server:?}: {text:?}");
        }
    }

    #[test]
    fn a_machine_that_is_busy_with_other_things_is_named_and_excuses_who_has_little_to_do() {
        for (used, idle, warned) in [
            ((0.4, 0.4), 0.1, true),
            ((0.4, 0.4), 0.6, false),
            ((0.9, 1.0), 0.0, false),
            ((0.2, 0.2), 1.6, false),
        ] {
            let outcomes = on(&[0, 1], &[0, 1], used, idle);
            let text = others(&plan(), &outcomes);
            assert_eq!(text.is_some(), warned, "{used:?} {idle}");
            assert!(text.is_none_or(|text| text.contains("1.1 of 2 CPUs")));
            assert!(!warned || super::idle(&plan(), &outcomes).is_none(), "not both");
        }
        let unknown = Outcome { room: None, ..with(0.4, Some(0.4)).remove(0) };
        assert_eq!(others(&plan(), &[unknown]), None);
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
