//! Targets of the values of single fields: ranges, codings, dates.

use crate::Decisions;
use hayami_http::date;
use hayami_http::negotiate::{Accepted, Coding, accepted};
use hayami_http::range::{MAX_RANGES, Ranges, resolve, write_content_range};
use std::ops::Range;

/// Ranges are not empty and lie within the representation, are [`MAX_RANGES`] at most and do not touch;
/// together they are the bytes that the field asks for.
pub fn range(bytes: &[u8]) {
    let (mut decisions, value) = Decisions::and_rest(bytes);
    for len in [decisions.number(), 0, 1, 10, u64::MAX] {
        let ranges = match resolve(value, len) {
            Ranges::Whole => continue,
            Ranges::Unsatisfiable => Vec::new(),
            Ranges::One(range) => vec![range],
            Ranges::Several(ranges) => {
                assert!((2..=MAX_RANGES).contains(&ranges.len()));
                ranges
            }
        };
        ranges.iter().for_each(|range| check_range(range, len));
        let joined = union(ranges.clone());
        assert_eq!(joined.len(), ranges.len(), "two ranges touch");
        assert_eq!(joined, union(asked_for(value, len)));
    }
}

fn check_range(range: &Range<u64>, len: u64) {
    assert!(range.start < range.end && range.end <= len);
    let mut out = Vec::new();
    write_content_range(range, len, &mut out);
    assert_eq!(out, format!("bytes {}-{}/{len}", range.start, range.end - 1).into_bytes());
}

/// The ranges of a value that was taken, read without regard to speed.
fn asked_for(value: &[u8], len: u64) -> Vec<Range<u64>> {
    let text = str::from_utf8(&value[b"bytes=".len()..]).expect("what was taken is ASCII");
    let number = |digits: &str| digits.parse::<u128>().unwrap_or(u128::MAX);
    let within = |number: u128| number.min(u128::from(len)) as u64;
    let specs = text.split(',').map(|spec| spec.trim_ascii()).filter(|spec| !spec.is_empty());
    let ranges = specs.map(|spec| match spec.split_once('-').expect("a range has a dash") {
        ("", suffix) => len - within(number(suffix))..len,
        (first, "") => within(number(first))..len,
        (first, last) => within(number(first))..within(number(last).saturating_add(1)),
    });
    ranges.filter(|range| !range.is_empty()).collect()
}

/// Ranges in the order of their bytes; those that touch are one.
fn union(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// A coding that is chosen is available and accepted, or identity; what is chosen of many is chosen alone
/// too; lines are one list.
pub fn negotiate(bytes: &[u8]) {
    let lines = || bytes.split(|byte| *byte == b'\n');
    let accepts = accepted(lines());
    let list = lines().collect::<Vec<_>>().join(&b',');
    assert_eq!(accepted([&list[..]]), accepts);
    const CODINGS: [Coding; 3] = [Coding::Gzip, Coding::Brotli, Coding::Zstd];
    for subset in 0..8 {
        let available: Vec<_> =
            (0..3).filter(|at| subset >> at & 1 == 1).map(|at: usize| CODINGS[at]).collect();
        check_choice(&accepts, &available);
    }
}

fn check_choice(accepts: &Accepted, available: &[Coding]) {
    let chosen = accepts.prefers(available);
    if chosen == Coding::Identity {
        // Unless identity is excluded, whatever else is accepted must be wanted less than it.
        let others = available.iter().any(|coding| accepts.accepts(*coding));
        assert!(!others || accepts.accepts(Coding::Identity));
        return;
    }
    assert!(available.contains(&chosen) && accepts.accepts(chosen));
    assert_eq!(accepts.prefers(&[chosen]), chosen);
}

/// A date that is read is one that can be written, and reading that gives the same second.
pub fn date(bytes: &[u8]) {
    let Some(seconds) = date::parse(bytes) else { return };
    let text = date::format(seconds);
    assert_eq!(date::parse(&text), Some(seconds));
    assert!(text.ends_with(b" GMT"));
}
