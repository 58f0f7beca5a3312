//! Byte ranges of a representation (RFC 9110 §14).
//!
//! Not here: If-Range ([`crate::conditional`]) and `multipart/byteranges`, which the file handler writes.

use std::ops::Range;

/// Most ranges of one request that are answered. Viewers of long documents ask for a handful;
/// each part costs about a hundred bytes of headings and a separate read, which requests with thousands of
/// tiny ranges exploit (RFC 9110 §17.15).
pub const MAX_RANGES: usize = 16;

/// Most ranges that may overlap earlier ones: two overlapping ranges are one such overlap, and more
/// than two overlapping ranges need not be answered (RFC 9110 §14.2).
const MAX_OVERLAPS: usize = 1;

/// What a Range field asks for. Ranges are half-open, not empty, and lie within the representation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ranges {
    /// The whole representation, with 200: the field does not count.
    Whole,
    /// One range, with 206 and Content-Range.
    One(Range<u64>),
    /// Several, which neither overlap nor touch, with 206 as `multipart/byteranges`, in the requested order
    /// (RFC 9110 §15.3.7.2).
    Several(Vec<Range<u64>>),
    /// None of the ranges can be satisfied: 416 with [`write_unsatisfied`].
    Unsatisfiable,
}

/// What `value`, a Range field of a GET request, means for a representation of `len` bytes.
///
/// Other units and malformed values do not count (RFC 9110 §14.2), and neither do values with more than
/// [`MAX_RANGES`] ranges or more than two overlapping ones. Those are answered with the whole representation
/// rather than 416: an unusual but honest client still gets what it wants, and the whole costs no more than a
/// request without Range, which any client may send. Ranges that overlap or touch become one.
pub fn resolve(value: &[u8], len: u64) -> Ranges {
    resolve_set(value, len).unwrap_or(Ranges::Whole)
}

/// `None` if the field does not count.
fn resolve_set(value: &[u8], len: u64) -> Option<Ranges> {
    let mut ranges = Ranges::Unsatisfiable;
    let (mut specs, mut overlaps) = (0, 0);
    for text in range_set(value)?.split(|byte| *byte == b',') {
        let text = text.trim_ascii();
        // A list may have empty members (RFC 9110 §5.6.1.2).
        if text.is_empty() {
            continue;
        }
        let spec = Spec::parse(text)?;
        specs += 1;
        if specs > MAX_RANGES {
            return None;
        }
        let Some(range) = spec.within(len)? else { continue };
        overlaps += usize::from(ranges.overlap(&range));
        if overlaps > MAX_OVERLAPS {
            return None;
        }
        ranges = ranges.with(range);
    }
    (specs > 0).then_some(ranges)
}

/// What follows `bytes=`; names of units have no case (RFC 9110 §14.1).
fn range_set(value: &[u8]) -> Option<&[u8]> {
    let (unit, set) = value.split_at_checked(b"bytes=".len())?;
    unit.eq_ignore_ascii_case(b"bytes=").then_some(set)
}

/// A range as it is written (RFC 9110 §14.1.1).
enum Spec {
    /// `first-last`, both inclusive, or `first-`.
    From { first: u64, last: u64 },
    /// `-length`: the last bytes.
    Suffix(u64),
}

impl Spec {
    fn parse(text: &[u8]) -> Option<Self> {
        let dash = memchr::memchr(b'-', text)?;
        let (before, after) = (&text[..dash], &text[dash + 1..]);
        if before.is_empty() {
            return number(after).map(Self::Suffix);
        }
        let first = number(before)?;
        let last = if after.is_empty() { u64::MAX } else { number(after)? };
        // A last below the first makes the value invalid (RFC 9110 §14.1.1).
        (first <= last).then_some(Self::From { first, last })
    }

    /// The bytes that it means of `len`; `Some(None)` if there are none (RFC 9110 §14.1.2), `None` if
    /// the range cannot be expressed in a Content-Range.
    fn within(&self, len: u64) -> Option<Option<Range<u64>>> {
        match *self {
            Self::Suffix(0) => Some(None),
            // "The entire representation", which is empty and has no last byte.
            Self::Suffix(_) if len == 0 => None,
            Self::Suffix(length) => Some(Some(len.saturating_sub(length)..len)),
            Self::From { first, .. } if first >= len => Some(None),
            Self::From { first, last } => Some(Some(first..last.min(len - 1) + 1)),
        }
    }
}

/// A number of any length: a value beyond `u64` lies beyond every file (RFC 9110 §14.1.2 says to expect large
/// ones).
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |number: u64, digit: &u8| number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(digits.iter().fold(0, add))
}

impl Ranges {
    fn as_slice(&self) -> &[Range<u64>] {
        match self {
            Self::Whole | Self::Unsatisfiable => &[],
            Self::One(range) => std::slice::from_ref(range),
            Self::Several(ranges) => ranges,
        }
    }

    fn overlap(&self, range: &Range<u64>) -> bool {
        self.as_slice().iter().any(|other| other.start < range.end && range.start < other.end)
    }

    /// These and one more. Memory is allocated only from the second separate range on.
    fn with(self, range: Range<u64>) -> Self {
        match self {
            Self::Whole => Self::Whole,
            Self::Unsatisfiable => Self::One(range),
            Self::One(first) if touch(&first, &range) => Self::One(union(&first, &range)),
            Self::One(first) => Self::Several(vec![first, range]),
            Self::Several(mut ranges) => {
                coalesce(&mut ranges, range);
                if let [only] = &ranges[..] { Self::One(only.clone()) } else { Self::Several(ranges) }
            }
        }
    }
}

/// Adds a range at the end, or to the first of those that it touches; any others are merged into it too
/// (RFC 9110 §15.3.7.2).
fn coalesce(ranges: &mut Vec<Range<u64>>, mut range: Range<u64>) {
    let mut place = ranges.len();
    while let Some(at) = ranges.iter().position(|other| touch(other, &range)) {
        range = union(&ranges.remove(at), &range);
        place = place.min(at);
    }
    ranges.insert(place.min(ranges.len()), range);
}

/// Whether there is nothing between the two.
fn touch(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start <= other.end && other.start <= one.end
}

fn union(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    one.start.min(other.start)..one.end.max(other.end)
}

/// Appends the value of Content-Range for a part (RFC 9110 §14.4): `bytes 0-9/100` for `0..10` of 100.
pub fn write_content_range(range: &Range<u64>, len: u64, out: &mut Vec<u8>) {
    debug_assert!(range.start < range.end && range.end <= len, "a part has bytes and lies within the whole");
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(b"bytes ");
    out.extend_from_slice(digits.format(range.start).as_bytes());
    out.push(b'-');
    out.extend_from_slice(digits.format(range.end - 1).as_bytes());
    out.push(b'/');
    out.extend_from_slice(digits.format(len).as_bytes());
}

/// Appends the value of Content-Range of a 416 response (RFC 9110 §15.5.17): `bytes */100`.
pub fn write_unsatisfied(len: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"bytes */");
    out.extend_from_slice(itoa::Buffer::new().format(len).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::Ranges::{Unsatisfiable, Whole};
    use super::*;
    use proptest::prelude::*;

    fn one(range: Range<u64>) -> Ranges {
        Ranges::One(range)
    }

    fn several<const N: usize>(ranges: [Range<u64>; N]) -> Ranges {
        Ranges::Several(ranges.to_vec())
    }

    #[test]
    fn ranges_of_ten_bytes_are_resolved() {
        let cases = [
            ("bytes=0-0", one(0..1)),
            ("bytes=0-9", one(0..10)),
            ("bytes=2-4", one(2..5)),
            ("bytes=2-", one(2..10)),
            ("bytes=9-", one(9..10)),
            ("bytes=5-99", one(5..10)),
            ("bytes=-1", one(9..10)),
            ("bytes=-10", one(0..10)),
            ("bytes=-99", one(0..10)),
            ("Bytes=0-0", one(0..1)),
            ("bytes=000-0001", one(0..2)),
            ("bytes=0-99999999999999999999999999", one(0..10)),
            ("bytes=-99999999999999999999999999", one(0..10)),
            ("bytes=0-18446744073709551615", one(0..10)),
            ("bytes=,, 0-0\t,", one(0..1)),
            // Several.
            ("bytes=0-1,4-5", several([0..2, 4..6])),
            ("bytes=4-5 , 0-1", several([4..6, 0..2])),
            ("bytes=0-0,-1", several([0..1, 9..10])),
            ("bytes=0-0,5-5,20-", several([0..1, 5..6])),
            ("bytes=0-0,20-,-0", one(0..1)),
            // Coalesced.
            ("bytes=0-4,5-9", one(0..10)),
            ("bytes=5-9,0-4", one(0..10)),
            ("bytes=0-5,3-7", one(0..8)),
            ("bytes=0-0,4-4,2-2,3-3", several([0..1, 2..5])),
            ("bytes=0-0,2-2,4-4,1-1,3-3", one(0..5)),
            // Nothing there.
            ("bytes=10-", Unsatisfiable),
            ("bytes=10-10", Unsatisfiable),
            ("bytes=-0", Unsatisfiable),
            ("bytes=10-,11-12,-0", Unsatisfiable),
            ("bytes=99999999999999999999999999-", Unsatisfiable),
            // Does not count.
            ("", Whole),
            ("bytes", Whole),
            ("bytes=", Whole),
            ("bytes=,", Whole),
            ("bytes=-", Whole),
            ("bytes=--1", Whole),
            ("bytes=1", Whole),
            ("bytes=4-2", Whole),
            ("bytes=0-1,4-2", Whole),
            ("bytes=20-,x", Whole),
            ("bytes=0-1;2-3", Whole),
            ("bytes=0 - 1", Whole),
            ("bytes=0-+1", Whole),
            ("bytes=a-b", Whole),
            ("bytes=0x1-2", Whole),
            ("bytes =0-1", Whole),
            ("bytes:0-1", Whole),
            ("octets=0-1", Whole),
            ("seconds=0-1", Whole),
            ("none", Whole),
        ];
        for (value, want) in cases {
            assert_eq!(resolve(value.as_bytes(), 10), want, "{value:?}");
        }
    }

    #[test]
    fn the_ends_of_numbers_are_safe() {
        let max = u64::MAX;
        let cases = [
            ("bytes=0-", 0, Unsatisfiable),
            ("bytes=0-0", 0, Unsatisfiable),
            ("bytes=-5", 0, Whole),
            ("bytes=-0", 0, Unsatisfiable),
            ("bytes=0-", max, one(0..max)),
            ("bytes=-1", max, one(max - 1..max)),
            ("bytes=18446744073709551614-", max, one(max - 1..max)),
            ("bytes=18446744073709551615-", max, Unsatisfiable),
            ("bytes=18446744073709551616-18446744073709551615", max, Unsatisfiable),
        ];
        for (value, len, want) in cases {
            assert_eq!(resolve(value.as_bytes(), len), want, "{value:?} of {len}");
        }
    }

    #[test]
    fn many_and_overlapping_ranges_get_the_whole() {
        let apart = |n: u64| {
            let specs: Vec<String> = (0..n).map(|i| format!("{0}-{0}", i * 2)).collect();
            resolve(format!("bytes={}", specs.join(",")).as_bytes(), 1000)
        };
        assert!(matches!(apart(16), Ranges::Several(ranges) if ranges.len() == 16));
        assert_eq!(apart(17), Whole);
        assert_eq!(resolve(b"bytes=0-3,2-5", 10), one(0..6));
        assert_eq!(resolve(b"bytes=0-3,2-5,4-7", 10), Whole);
        assert_eq!(resolve(b"bytes=0-,0-,0-", 10), Whole);
        assert_eq!(resolve(format!("bytes=0-{}", ",0-".repeat(20_000)).as_bytes(), 10), Whole);
    }

    #[test]
    fn content_range_has_both_ends_inclusive() {
        let cases: [(Range<u64>, u64, &str); 3] = [
            (0..10, 100, "bytes 0-9/100"),
            (99..100, 100, "bytes 99-99/100"),
            (0..u64::MAX, u64::MAX, "bytes 0-18446744073709551614/18446744073709551615"),
        ];
        for (range, len, want) in cases {
            let mut out = Vec::new();
            write_content_range(&range, len, &mut out);
            assert_eq!(out, want.as_bytes());
        }
        let mut out = Vec::new();
        write_unsatisfied(100, &mut out);
        assert_eq!(out, b"bytes */100");
    }

    proptest! {
        #[test]
        fn the_bytes_asked_for_are_those_sent(
            specs in prop::collection::vec((0..40_u64, 0..8_u64), 1..8), len in 1..40_u64,
        ) {
            let texts: Vec<_> = specs.iter().map(|(first, more)| format!("{first}-{}", first + more)).collect();
            let got = resolve(format!("bytes={}", texts.join(",")).as_bytes(), len);
            prop_assume!(got != Whole);
            let sent = got.as_slice();
            for byte in 0..len {
                let asked = specs.iter().any(|(first, more)| (*first..=first + more).contains(&byte));
                let times = sent.iter().filter(|range| range.contains(&byte)).count();
                prop_assert_eq!(times, usize::from(asked), "byte {} of {:?}", byte, &got);
            }
            prop_assert!(sent.iter().all(|range| range.start < range.end && range.end <= len));
            prop_assert_eq!(sent.len() == 1, matches!(got, Ranges::One(_)));
        }

        #[test]
        fn any_bytes_are_ranges_or_do_not_count(set: Vec<u8>, len: u64) {
            resolve(&set, len);
            resolve(&[b"bytes=", &set[..]].concat(), len);
        }

        #[test]
        fn any_numbers_give_ranges_within_the_length(set in "bytes=([0-9]{0,22}-[0-9]{0,22},?){1,4}", len: u64) {
            let got = resolve(set.as_bytes(), len);
            prop_assert!(got.as_slice().iter().all(|range| range.start < range.end && range.end <= len));
        }
    }
}
