//! Warnings about failed work.

use super::{by_target, sum};
use crate::report::failures::{causes, death, remedy};
use crate::report::figure::{grouped, percent};
use crate::{Cause, Outcome, Plan, Tally};

/// The number of causes in a warning; the reports have all of them.
const CAUSES: usize = 3;

/// Servers that stopped answering.
pub(super) fn deaths(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let dead = outcomes.iter().filter_map(|outcome| Some((outcome, outcome.death.as_ref()?)));
    let sentences: Vec<_> = dead
        .map(|(outcome, dead)| format!("{}: {}", plan.targets[outcome.target].name, death(outcome, dead)))
        .collect();
    (!sentences.is_empty()).then(|| {
        format!(
            "{}. The figures include the time without a server. Check the server's error log and measure again.",
            sentences.join("; ")
        )
    })
}

/// Requests that failed, and why.
pub(super) fn errors(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let targets = by_target(plan, outcomes);
    let mut remedies = Vec::new();
    let failed = targets.iter().filter_map(|(name, own)| {
        let mut tally = Tally::default();
        own.iter().for_each(|outcome| tally.merge(&outcome.tally));
        let (failed, all) = (tally.errors.total(), sum(own, |outcome| outcome.tally.successes()));
        let causes = causes(plan, &tally);
        for remedy in causes.iter().take(CAUSES).filter_map(remedy) {
            if !remedies.contains(&remedy) {
                remedies.push(remedy);
            }
        }
        if all == 0 && failed > 0 {
            // The report lists the causes anyway: there is nothing else in it.
            return Some(format!("{name}: all {} requests failed", grouped(failed)));
        }
        let share = failed as f64 / (failed + all).max(1) as f64;
        (failed > 0).then(|| {
            format!(
                "{name}: {} of {} requests failed ({}): {}",
                grouped(failed),
                grouped(failed + all),
                percent(share),
                listed(&causes)
            )
        })
    });
    let failed: Vec<_> = failed.collect();
    (!failed.is_empty()).then(|| {
        let remedies: String = remedies.iter().map(|remedy| format!(" To solve it, {remedy}.")).collect();
        let nothing = outcomes.iter().all(|outcome| outcome.tally.successes() == 0);
        let flattery = " A failure is often cheaper than a response: rates and latencies of such a run flatter the server.";
        format!("{}.{remedies}{}", failed.join("; "), if nothing { "" } else { flattery })
    })
}

/// The first causes with their counts.
fn listed(causes: &[Cause]) -> String {
    let sentences =
        causes.iter().take(CAUSES).map(|cause| format!("{} × {}", grouped(cause.count), cause.text));
    let rest: u64 = causes.iter().skip(CAUSES).map(|cause| cause.count).sum();
    let rest = (rest > 0).then(|| format!("{} × other causes", grouped(rest)));
    sentences.chain(rest).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::testing::fine;
    use super::*;
    use crate::Death;
    use crate::plan::testing::plan;
    use std::time::Duration;

    #[test]
    fn failures_are_told_with_their_causes_and_what_helps() {
        let mut outcome = fine(0);
        for (kind, text, count) in [
            ("timeout", "no response within 10s", 25),
            ("tls", "the server's certificate has expired", 9),
            ("reset", "a", 4),
            ("short", "b", 2),
        ] {
            outcome.tally.causes.add(kind, text, count);
        }
        (outcome.tally.errors.timeout, outcome.tally.errors.tls) = (25, 9);
        (outcome.tally.errors.reset, outcome.tally.errors.short) = (4, 2);
        let text = errors(&plan(), &[outcome]).expect("warned");
        let want = "http://a/: 40 of 100,040 requests failed (0.04 %): 25 × no response within 10s, 9 × the server's \
                    certificate has expired, 4 × a, 2 × other causes. To solve it, add -k";
        assert!(text.starts_with(want), "{text}");
    }

    #[test]
    fn where_all_requests_failed_no_figure_flatters_the_server() {
        let mut outcome = fine(0);
        outcome.tally = Tally::default();
        outcome.tally.causes.add("tls", "the server's certificate has expired", 64);
        outcome.tally.errors.tls = 64;
        let text = errors(&plan(), &[outcome]).expect("warned");
        let want = "http://a/: all 64 requests failed. To solve it, add -k";
        assert!(text.starts_with(want) && !text.contains("flatter") && !text.contains("expired"), "{text}");
    }

    #[test]
    fn losses_that_were_asked_for_are_no_failures() {
        let mut outcome = fine(0);
        outcome.tally.errors.lost = 25;
        assert_eq!(errors(&plan(), &[outcome]), None);
    }

    #[test]
    fn a_server_that_stopped_answering_is_named() {
        let cause = Some("connection refused".to_owned());
        let dead = Outcome { death: Some(Death { at: Duration::from_millis(3_200), cause }), ..fine(0) };
        let text = deaths(&plan(), &[fine(0), dead]).expect("warned");
        assert!(
            text.starts_with("http://a/: the server stopped answering at 3.2 s: connection refused. "),
            "{text}"
        );
        assert_eq!(deaths(&plan(), &[fine(0)]), None);
    }
}
