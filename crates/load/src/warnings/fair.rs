//! Warnings about targets that did different work.

use super::{by_target, sum};
use crate::report::figure::plural;
use crate::{Outcome, Plan, Sample};

/// Content may differ by this share: a date or a counter in it.
const CONTENT: f64 = 0.01;

/// Heads may differ by this many bytes per response: the server's name, a date, an entity tag.
const HEADS: f64 = 50.0;

/// The share of a target's responses that must be successful for their lengths to be comparable.
const RIGHT: f64 = 0.99;

/// A figure of each target per response. Targets with error pages are left out.
fn per_answer(plan: &Plan, outcomes: &[Outcome], bytes: fn(&Outcome) -> u64) -> Vec<(String, f64)> {
    let targets = by_target(plan, outcomes).into_iter();
    let answered = targets.filter_map(|(name, own)| {
        let answers = sum(&own, |outcome| outcome.tally.responses);
        let right = sum(&own, |outcome| outcome.tally.successes());
        (answers > 0 && right as f64 >= RIGHT * answers as f64)
            .then(|| (name.to_owned(), sum(&own, bytes) as f64 / answers as f64))
    });
    answered.collect()
}

/// `1 byte`, `612 bytes`.
fn bytes(count: f64) -> String {
    format!("{count:.0} byte{}", plural(count.round() as u64))
}

type Extremes = ((String, f64), (String, f64));

fn extremes(figures: Vec<(String, f64)>) -> Option<Extremes> {
    let least = figures.iter().min_by(|a, b| a.1.total_cmp(&b.1))?.clone();
    let most = figures.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.clone();
    Some((least, most))
}

pub(super) fn content(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let ((least, few), (most, many)) =
        extremes(per_answer(plan, outcomes, |outcome| outcome.tally.bytes_content))?;
    (many - few > CONTENT * many).then(|| {
        format!(
            "the targets do not send the same content: {} per response from {least}, {many:.0} from {most}. \
             They do different work; compare them with the same file.",
            bytes(few)
        )
    })
}

pub(super) fn heads(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let ((least, few), (most, many)) =
        extremes(per_answer(plan, outcomes, |outcome| outcome.tally.bytes_head))?;
    (many - few > HEADS && many > 1.2 * few).then(|| {
        format!(
            "the headers of the responses differ: {} per response from {least}, {many:.0} from {most}. With \
             small content this affects the comparison; make the servers send the same fields.",
            bytes(few)
        )
    })
}

pub(super) fn compressed(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let coding = |outcome: &Outcome| {
        let sample = outcome.tally.sample.as_ref()?;
        Some(sample.field("content-encoding").filter(|coding| *coding != "identity").map(str::to_owned))
    };
    let targets = by_target(plan, outcomes).into_iter();
    let codings: Vec<_> =
        targets.filter_map(|(name, own)| Some((name, own.iter().find_map(|one| coding(one))?))).collect();
    let (first, with) = codings.iter().find(|(_, coding)| coding.is_some())?;
    let (other, _) = codings.iter().find(|(_, coding)| coding != with)?;
    Some(format!(
        "only one side compresses: {first} sends content-encoding {}, {other} does not. Remove `Accept-Encoding`, or \
         let both compress.",
        with.as_deref().unwrap_or_default()
    ))
}

/// A property that the two ends of a connection negotiate.
type Agreed = fn(&Sample) -> Option<String>;

/// The properties in which targets may differ, the most important first, with the option that fixes each.
const SPOKEN: &[(Agreed, &str)] = &[
    (
        |sample| Some(format!("{}{}", sample.protocol, if sample.tls.is_some() { " over TLS" } else { "" })),
        "--http",
    ),
    (|sample| sample.tls.as_ref().map(|tls| tls.version.clone()), "--tls"),
    (|sample| sample.tls.as_ref().map(|tls| tls.suite.clone()), "--ciphers"),
    // Unknown for a resumed TLS 1.2 session.
    (|sample| sample.tls.as_ref().and_then(|tls| tls.group.clone()), "--groups"),
];

/// The protocols of the responses, which may differ from the requested one.
pub(super) fn protocols(plan: &Plan, outcomes: &[Outcome]) -> Option<String> {
    let targets = by_target(plan, outcomes);
    let differ = |&(agreed, option): &(Agreed, &str)| {
        let of = |own: &[&Outcome]| own.iter().find_map(|one| agreed(one.tally.sample.as_ref()?));
        let spoken: Vec<_> = targets.iter().filter_map(|(name, own)| Some((*name, of(own)?))).collect();
        let (first, own) = spoken.first()?;
        let (other, others) = spoken.iter().find(|(_, spoken)| spoken != own)?;
        Some(format!("{own} at {first}, {others} at {other} (see {option})"))
    };
    let differences: Vec<_> = SPOKEN.iter().filter_map(differ).collect();
    (!differences.is_empty()).then(|| {
        format!(
            "the targets use different protocols: {}. Their cost is part of the difference.",
            differences.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::fine;
    use super::*;
    use crate::plan::testing::{plan, target};
    use crate::{Tally, TlsSpoken};

    fn two(change: impl Fn(&mut Tally)) -> (Plan, Vec<Outcome>) {
        let mut plan = plan();
        plan.targets.push(target("http://b/"));
        let mut other = fine(1);
        change(&mut other.tally);
        (plan, vec![fine(0), other])
    }

    #[test]
    fn content_of_another_length_is_other_work() {
        let (plan, outcomes) = two(|tally| tally.bytes_content = 61_200_000);
        let text = content(&plan, &outcomes).expect("warned");
        assert!(text.contains("600 bytes per response from http://a/, 612 from http://b/"), "{text}");
        let (plan, outcomes) = two(|tally| tally.bytes_content = 60_100_000);
        assert_eq!(content(&plan, &outcomes), None, "a digit more or less");
    }

    #[test]
    fn error_pages_are_no_content_to_compare() {
        let (plan, outcomes) = two(|tally| {
            tally.bytes_content = 61_200_000;
            tally.errors.status = 34_000;
        });
        assert_eq!(content(&plan, &outcomes), None);
        let (plan, outcomes) = two(|tally| tally.bytes_content = 100_000);
        let text = content(&plan, &outcomes).expect("warned");
        assert!(text.contains("1 byte per response from http://b/, 600"), "{text}");
    }

    #[test]
    fn longer_heads_are_named_when_they_matter() {
        let (plan, outcomes) = two(|tally| tally.bytes_head = 30_000_000);
        assert!(
            heads(&plan, &outcomes).is_some_and(|text| text.contains("200 bytes") && text.contains("300"))
        );
        let (plan, outcomes) = two(|tally| tally.bytes_head = 23_000_000);
        assert_eq!(heads(&plan, &outcomes), None);
    }

    #[test]
    fn compression_on_one_side_only_is_named() {
        let sample = |coding: &str| {
            let fields = match coding {
                "" => Vec::new(),
                coding => vec![("content-encoding".to_owned(), coding.to_owned())],
            };
            Some(Sample { fields, ..Sample::default() })
        };
        for (a, b, warned) in [("gzip", "", true), ("", "br", true), ("gzip", "gzip", false), ("", "", false)]
        {
            let (plan, mut outcomes) = two(|tally| tally.sample = sample(b));
            outcomes[0].tally.sample = sample(a);
            assert_eq!(compressed(&plan, &outcomes).is_some(), warned, "{a} {b}");
        }
    }

    #[test]
    fn different_protocols_are_named() {
        let sample = |protocol: &str| Some(Sample { protocol: protocol.into(), ..Sample::default() });
        let (plan, mut outcomes) = two(|tally| tally.sample = sample("HTTP/2"));
        outcomes[0].tally.sample = sample("HTTP/1.1");
        assert!(protocols(&plan, &outcomes).is_some_and(|text| text.contains("HTTP/1.1 at http://a/")));
    }

    #[test]
    fn different_ways_of_tls_are_named_with_the_option_that_settles_them() {
        let sample = |version: &str, suite: &str, group: Option<&str>| {
            let group = group.map(str::to_owned);
            let tls = TlsSpoken { version: version.into(), suite: suite.into(), group, alpn: None };
            Some(Sample { protocol: "HTTP/2".into(), tls: Some(tls), ..Sample::default() })
        };
        let first = ("1.3", "A", Some("x25519"));
        let cases: [(_, &[&str]); 5] = [
            (first, &[]),
            (("1.3", "A", None), &[]),
            (("1.3", "B", Some("x25519")), &["A at http://a/, B at http://b/ (see --ciphers)"]),
            (("1.3", "A", Some("y")), &["x25519 at http://a/, y at http://b/ (see --groups)"]),
            (("1.2", "B", Some("x25519")), &["(see --tls)", "(see --ciphers)"]),
        ];
        for ((version, suite, group), said) in cases {
            let (plan, mut outcomes) = two(|tally| tally.sample = sample(version, suite, group));
            outcomes[0].tally.sample = sample(first.0, first.1, first.2);
            let text = protocols(&plan, &outcomes);
            assert_eq!(text.is_some(), !said.is_empty(), "{version} {suite} {group:?}");
            assert!(
                said.iter().all(|words| text.as_ref().is_some_and(|text| text.contains(words))),
                "{text:?}"
            );
        }
    }
}
