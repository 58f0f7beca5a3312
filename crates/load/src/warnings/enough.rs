//! Warnings about too few responses, connections or ports, or a missed rate.

use super::{by_target, sum};
use crate::limits::{more_ports, ports_of, renews};
use crate::plan::Address;
use crate::{Outcome, Plan};

/// With fewer answers than this, the tail of the latencies is noise: p99 depends on ten of them.
const ANSWERS: u64 = 1000;

/// A schedule is kept if this share of it was sent.
const KEPT: f64 = 0.98;

pub(super) fn answers(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let count = |own: &[&Outcome]| sum(own, |outcome| outcome.tally.responses);
    let (name, own) = by_target(plan, outcomes).into_iter().min_by_key(|(_, own)| count(own))?;
    let answers = count(&own);
    (1..ANSWERS).contains(&answers).then(|| {
        format!(
            "only {answers} responses from {name}: percentiles above p90 are not reliable. Run longer (-d) or send more \
             requests (-n)."
        )
    })
}

pub(super) fn rate_missed(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let wanted = plan.rate?;
    let achieved = |own: &[&Outcome]| {
        let elapsed: f64 = own.iter().map(|outcome| outcome.elapsed.as_secs_f64()).sum();
        sum(own, |outcome| outcome.tally.responses) as f64 / elapsed.max(1e-9)
    };
    let targets = by_target(plan, outcomes).into_iter().map(|(name, own)| (name, achieved(&own)));
    // At a low rate, the responses still in flight at the end are more than a fiftieth of all.
    let slack = |own: f64| own < KEPT * wanted && wanted - own > 2.0;
    let (name, rate) = targets.into_iter().find(|(_, rate)| slack(*rate))?;
    Some(format!(
        "{name} did not keep up: {rate:.0} responses per second of the {wanted:.0} that were due. Latencies count \
         from the time when requests were due, so they grow with the length of the run; find the highest rate \
         that the server sustains."
    ))
}

pub(super) fn missing_connections(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    // Kept connections are opened before measuring begins: this many failed attempts during it mean that some
    // never succeeded. Where connections come and go, a failed attempt is an error like any other.
    let short = |own: &Vec<&Outcome>| {
        let failed = sum(own, |outcome| outcome.tally.errors.connect + outcome.tally.errors.tls);
        !renews(plan) && failed >= plan.connections as u64 * own.len() as u64
    };
    let (name, _) = by_target(plan, outcomes).into_iter().find(|(_, own)| short(own))?;
    Some(format!(
        "{name} accepted fewer than the requested {} connections: check its limits of connections and open files, \
         and its backlog.",
        plan.connections
    ))
}

pub(super) fn ports(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    ran_out(plan, outcomes, crate::limits::ports())
}

fn ran_out(plan: &Plan, outcomes: &[Outcome], ports: u64) -> Option<String> {
    let tcp = |outcome: &&Outcome| {
        plan.targets.get(outcome.target).is_some_and(|target| matches!(target.address, Address::Tcp(_)))
    };
    let room = ports_of(plan, ports);
    // A closed connection keeps its port for a minute (TIME-WAIT), on the side that closed first.
    let out = |outcome: &&Outcome| {
        let opened = outcome.tally.connections + outcome.tally.errors.connect;
        renews(plan) && outcome.tally.errors.connect > 0 && opened > room * 9 / 10
    };
    let outcome = outcomes.iter().filter(tcp).find(out)?;
    Some(format!(
        "local ports were running out: {} connections were opened with {room} ports, and a closed connection may \
         hold its port for a minute: {}.",
        outcome.tally.connections,
        more_ports(2 * plan.sources.len().max(1) as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::fine;
    use super::*;
    use crate::plan::testing::plan;
    use crate::plan::{KeepAlive, Until};
    use std::time::Duration;

    fn one(change: impl Fn(&mut Outcome)) -> [Outcome; 1] {
        let mut outcome = fine(0);
        change(&mut outcome);
        [outcome]
    }

    #[test]
    fn few_answers_make_chance_percentiles() {
        let text = answers(&plan(), &one(|outcome| outcome.tally.responses = 999)).expect("warned");
        assert!(text.contains("only 999 responses") && text.contains("-d"), "{text}");
        assert_eq!(answers(&plan(), &one(|outcome| outcome.tally.responses = 1000)), None);
        let rounds = [one(|o| o.tally.responses = 600), one(|o| o.tally.responses = 600)].concat();
        assert_eq!(answers(&plan(), &rounds), None, "rounds add up");
    }

    #[test]
    fn a_rate_that_is_not_kept_is_named() {
        let plan = Plan { rate: Some(12_000.0), until: Until::Elapsed(Duration::from_secs(10)), ..plan() };
        let text = rate_missed(&plan, &one(|_| ())).expect("warned");
        assert!(text.contains("10000 responses per second of the 12000"), "{text}");
        assert_eq!(rate_missed(&Plan { rate: Some(10_100.0), ..plan.clone() }, &one(|_| ())), None);
        assert_eq!(rate_missed(&Plan { rate: None, ..plan }, &one(|_| ())), None);
        let slow = super::super::super::plan::testing::plan();
        let few = one(|outcome| outcome.tally.responses = 19);
        assert_eq!(rate_missed(&Plan { rate: Some(2.0), ..slow }, &few), None, "one under way at the end");
    }

    #[test]
    fn connections_that_never_came_are_named() {
        let text = missing_connections(&plan(), &one(|outcome| outcome.tally.errors.connect = 64));
        assert!(text.is_some_and(|text| text.contains("64 connections")));
        assert_eq!(missing_connections(&plan(), &one(|outcome| outcome.tally.errors.connect = 3)), None);
        let short = Plan { keep_alive: KeepAlive::Off, ..plan() };
        assert_eq!(missing_connections(&short, &one(|outcome| outcome.tally.errors.connect = 64)), None);
    }

    #[test]
    fn ports_run_out_where_connections_come_and_go() {
        let many = one(|outcome| {
            outcome.tally.connections = 28_000;
            outcome.tally.errors.connect = 10;
        });
        let short = Plan { keep_alive: KeepAlive::Off, ..plan() };
        assert!(ran_out(&short, &many, 28_232).is_some_and(|text| text.contains("--source")));
        assert_eq!(ran_out(&plan(), &many, 28_232), None, "connections are kept");
        assert_eq!(ran_out(&short, &many, 60_000), None, "there are more");
    }
}
