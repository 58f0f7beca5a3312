//! Conditional requests: whether the client's cached state changes the response (RFC 9110 §13).
//!
//! Evaluate them only if the request would be answered with 2xx without its conditions (§13.2.1): a redirect,
//! a missing file and a refused method come first.

use crate::date;
use crate::etag::{Comparison, EntityTag, list_matches};
use crate::known::Known;
use crate::method::Method;
use crate::request::RequestHead;

/// What is known about the current state of the selected representation (RFC 9110 §8.8).
#[derive(Clone, Copy, Debug, Default)]
pub struct Validators<'a> {
    /// Its entity tag as sent, with quotes; `None` if it has none.
    pub etag: Option<&'a [u8]>,
    /// Its Last-Modified in seconds since 1970; `None` if it has none.
    pub modified: Option<u64>,
}

impl<'a> Validators<'a> {
    fn tag(&self) -> Option<EntityTag<'a>> {
        self.etag.and_then(EntityTag::parse)
    }
}

/// The effect of a request's conditions on its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Answer as if there were no conditions.
    Proceed,
    /// 304: the client has it already.
    NotModified,
    /// 412: the state is not the one that the client knows.
    PreconditionFailed,
}

/// Evaluates the conditions of `head` in the order of RFC 9110 §13.2.2, steps 1 to 4. Step 5 is
/// [`range_applies`].
pub fn evaluate(method: Method, head: &RequestHead, validators: &Validators<'_>) -> Verdict {
    const FIELDS: [Known; 4] =
        [Known::IfMatch, Known::IfUnmodifiedSince, Known::IfNoneMatch, Known::IfModifiedSince];
    if FIELDS.iter().all(|field| head.get(*field).is_none()) {
        return Verdict::Proceed;
    }
    evaluate_fields(method, head, validators)
}

fn evaluate_fields(method: Method, head: &RequestHead, validators: &Validators<'_>) -> Verdict {
    // These neither select nor change a representation (RFC 9110 §13.2.1).
    if matches!(method, Method::Connect | Method::Options | Method::Trace) {
        return Verdict::Proceed;
    }
    if !state_is_expected(head, validators) {
        return Verdict::PreconditionFailed;
    }
    match (state_is_known(method, head, validators), method) {
        (false, _) => Verdict::Proceed,
        (true, Method::Get | Method::Head) => Verdict::NotModified,
        (true, _) => Verdict::PreconditionFailed, // RFC 9110 §13.1.2
    }
}

/// Steps 1 and 2: If-Match, or else If-Unmodified-Since.
fn state_is_expected(head: &RequestHead, validators: &Validators<'_>) -> bool {
    if head.get(Known::IfMatch).is_some() {
        return tags_match(head, Known::IfMatch, validators, Comparison::Strong); // RFC 9110 §13.1.1
    }
    match (date_of(head, Known::IfUnmodifiedSince), validators.modified) {
        (Some(limit), Some(modified)) => modified <= limit,
        _ => true, // no date on one side: ignored (RFC 9110 §13.1.4)
    }
}

/// Steps 3 and 4: If-None-Match, or else, for GET and HEAD only, If-Modified-Since.
fn state_is_known(method: Method, head: &RequestHead, validators: &Validators<'_>) -> bool {
    if head.get(Known::IfNoneMatch).is_some() {
        return tags_match(head, Known::IfNoneMatch, validators, Comparison::Weak); // RFC 9110 §13.1.2
    }
    if !matches!(method, Method::Get | Method::Head) {
        return false; // RFC 9110 §13.1.3
    }
    match (date_of(head, Known::IfModifiedSince), validators.modified) {
        (Some(since), Some(modified)) => modified <= since,
        _ => false, // no date on one side: ignored (RFC 9110 §13.1.3)
    }
}

fn tags_match(head: &RequestHead, field: Known, validators: &Validators<'_>, how: Comparison) -> bool {
    list_matches(head.fields().get_all(field), validators.tag(), how)
}

/// The date in a field. Several lines are a list of dates, which is not a date (RFC 9110 §13.1.3).
fn date_of(head: &RequestHead, field: Known) -> Option<u64> {
    only_line(head, field).and_then(date::parse)
}

/// The value of a field that has exactly one line.
fn only_line(head: &RequestHead, field: Known) -> Option<&[u8]> {
    head.get(field)?; // mostly there is none, and this shows it without scanning the lines
    let mut lines = head.fields().get_all(field);
    let line = lines.next();
    if lines.next().is_some() { None } else { line }
}

/// Whether a Range field of `head` applies: its If-Range names exactly the current state, or there is no
/// If-Range (RFC 9110 §13.1.5). Only GET has ranges (§14.2), which the caller checks.
///
/// `now` is the time in seconds since 1970. A client may send a date only if it is a strong validator,
/// that is, if it got its copy after the second of the last change (§8.8.2.2). While that second lasts no
/// client can have one, so the date is not trusted.
pub fn range_applies(head: &RequestHead, validators: &Validators<'_>, now: u64) -> bool {
    if head.get(Known::IfRange).is_none() {
        return true;
    }
    let Some(value) = only_line(head, Known::IfRange) else { return false };
    // A date has no quote among its first three bytes (RFC 9110 §13.1.5).
    if value.iter().take(3).any(|byte| *byte == b'"') {
        let tags = EntityTag::parse(value).zip(validators.tag());
        return tags.is_some_and(|(known, current)| known.equals(&current, Comparison::Strong));
    }
    // Equal, not just later: a later date does not identify this state.
    date::parse(value).is_some_and(|date| validators.modified == Some(date) && date < now)
}

#[cfg(test)]
mod tests {
    use super::Verdict::{NotModified, PreconditionFailed, Proceed};
    use super::*;
    use proptest::prelude::*;

    /// When the representation of these tests was modified, and the seconds around it.
    const MODIFIED: u64 = 784_111_777;
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    const STRONG: Validators<'static> = Validators { etag: Some(b"\"1\""), modified: Some(MODIFIED) };
    const WEAK: Validators<'static> = Validators { etag: Some(b"W/\"1\""), modified: Some(MODIFIED) };
    const NONE: Validators<'static> = Validators { etag: None, modified: None };

    fn head(lines: &[(&str, &str)]) -> RequestHead {
        let mut head = RequestHead::default();
        for (name, value) in lines {
            head.fields_mut().append(name.as_bytes(), value.as_bytes());
        }
        head
    }

    #[test]
    fn one_condition_alone_decides() {
        // Field, value, verdict for GET, verdict for PUT.
        let cases: &[(&str, &str, Verdict, Verdict)] = &[
            ("if-match", "\"1\"", Proceed, Proceed),
            ("if-match", "\"0\", \"1\"", Proceed, Proceed),
            ("if-match", "*", Proceed, Proceed),
            ("if-match", "\"2\"", PreconditionFailed, PreconditionFailed),
            ("if-match", "W/\"1\"", PreconditionFailed, PreconditionFailed),
            ("if-match", "nonsense", PreconditionFailed, PreconditionFailed),
            ("if-unmodified-since", BEFORE, PreconditionFailed, PreconditionFailed),
            ("if-unmodified-since", SAME, Proceed, Proceed),
            ("if-unmodified-since", AFTER, Proceed, Proceed),
            ("if-unmodified-since", "nonsense", Proceed, Proceed),
            ("if-none-match", "\"1\"", NotModified, PreconditionFailed),
            ("if-none-match", "W/\"1\"", NotModified, PreconditionFailed),
            ("if-none-match", "\"0\", \"1\"", NotModified, PreconditionFailed),
            ("if-none-match", "*", NotModified, PreconditionFailed),
            ("if-none-match", "\"2\"", Proceed, Proceed),
            ("if-none-match", "1", Proceed, Proceed),
            ("if-modified-since", BEFORE, Proceed, Proceed),
            ("if-modified-since", SAME, NotModified, Proceed),
            ("if-modified-since", AFTER, NotModified, Proceed),
            ("if-modified-since", "Sunday, 06-Nov-94 08:49:37 GMT", NotModified, Proceed),
            ("if-modified-since", "nonsense", Proceed, Proceed),
            ("range", "bytes=0-", Proceed, Proceed),
        ];
        for (field, value, get, put) in cases {
            let head = head(&[(field, value)]);
            assert_eq!(evaluate(Method::Get, &head, &STRONG), *get, "GET {field}: {value}");
            assert_eq!(evaluate(Method::Head, &head, &STRONG), *get, "HEAD {field}: {value}");
            assert_eq!(evaluate(Method::Put, &head, &STRONG), *put, "PUT {field}: {value}");
            assert_eq!(evaluate(Method::Options, &head, &STRONG), Proceed, "OPTIONS {field}: {value}");
        }
    }

    #[test]
    fn several_conditions_are_evaluated_in_the_order_of_the_rfc() {
        let cases: &[(&[(&str, &str)], Verdict)] = &[
            // If-Unmodified-Since is ignored when If-Match is present.
            (&[("if-match", "\"1\""), ("if-unmodified-since", BEFORE)], Proceed),
            (&[("if-match", "\"2\""), ("if-unmodified-since", AFTER)], PreconditionFailed),
            // If-Modified-Since is ignored when If-None-Match is present, even a malformed one.
            (&[("if-none-match", "\"2\""), ("if-modified-since", AFTER)], Proceed),
            (&[("if-none-match", "oops"), ("if-modified-since", AFTER)], Proceed),
            (&[("if-modified-since", BEFORE), ("if-none-match", "\"1\"")], NotModified),
            // The first pair comes before the second.
            (&[("if-none-match", "\"1\""), ("if-match", "\"2\"")], PreconditionFailed),
            (&[("if-none-match", "\"1\""), ("if-match", "\"1\"")], NotModified),
            (&[("if-modified-since", SAME), ("if-unmodified-since", SAME)], NotModified),
            (&[("if-modified-since", SAME), ("if-unmodified-since", BEFORE)], PreconditionFailed),
            // Lines of one list.
            (&[("if-none-match", "\"2\""), ("If-None-Match", "\"1\"")], NotModified),
            (&[("if-match", "\"2\", \"3\""), ("x", "y"), ("if-match", "\"1\"")], Proceed),
            // Two dates are not a date.
            (&[("if-modified-since", SAME), ("if-modified-since", SAME)], Proceed),
            (&[("if-unmodified-since", BEFORE), ("if-unmodified-since", BEFORE)], Proceed),
        ];
        for (lines, want) in cases {
            assert_eq!(evaluate(Method::Get, &head(lines), &STRONG), *want, "{lines:?}");
        }
    }

    #[test]
    fn missing_and_weak_validators_match_less() {
        let cases: &[(&str, &str, Validators<'_>, Verdict)] = &[
            ("if-match", "W/\"1\"", WEAK, PreconditionFailed),
            ("if-match", "\"1\"", WEAK, PreconditionFailed),
            ("if-none-match", "\"1\"", WEAK, NotModified),
            ("if-match", "\"1\"", NONE, PreconditionFailed),
            ("if-match", "*", NONE, Proceed),
            ("if-none-match", "\"1\"", NONE, Proceed),
            ("if-none-match", "*", NONE, NotModified),
            ("if-modified-since", AFTER, NONE, Proceed),
            ("if-unmodified-since", BEFORE, NONE, Proceed),
        ];
        for (field, value, validators, want) in cases {
            let got = evaluate(Method::Get, &head(&[(field, value)]), validators);
            assert_eq!(got, *want, "{field}: {value} {validators:?}");
        }
    }

    #[test]
    fn a_range_applies_to_exactly_the_state_that_if_range_names() {
        let cases: &[(&[&str], Validators<'_>, bool)] = &[
            (&[], STRONG, true),
            (&["\"1\""], STRONG, true),
            (&["\"2\""], STRONG, false),
            (&["W/\"1\""], STRONG, false),
            (&["\"1\""], WEAK, false),
            (&["W/\"1\""], WEAK, false),
            (&["\"1\""], NONE, false),
            (&["\"1\", \"2\""], STRONG, false),
            (&["*"], STRONG, false),
            (&[SAME], STRONG, true),
            (&[SAME], WEAK, true),
            (&[BEFORE], STRONG, false),
            (&[AFTER], STRONG, false),
            (&[SAME], NONE, false),
            (&["nonsense"], STRONG, false),
            (&[""], STRONG, false),
            (&["\"1\"", "\"1\""], STRONG, false),
        ];
        for (values, validators, want) in cases {
            let lines: Vec<_> = values.iter().map(|value| ("if-range", *value)).collect();
            let got = range_applies(&head(&lines), validators, MODIFIED + 100);
            assert_eq!(got, *want, "{values:?} {validators:?}");
        }
    }

    #[test]
    fn a_date_is_no_strong_validator_in_the_second_of_the_change() {
        let head = head(&[("if-range", SAME)]);
        for (now, want) in [(MODIFIED - 1, false), (MODIFIED, false), (MODIFIED + 1, true)] {
            assert_eq!(range_applies(&head, &STRONG, now), want, "{now}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_fields_hold_there_is_a_verdict(
            lines in prop::collection::vec((0..5_usize, "[\\x21-\\x7e ]{0,12}|W/\"1\"|\"1\"|\\*"), 0..6),
        ) {
            let names =
                ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"];
            let lines: Vec<_> = lines.iter().map(|(name, value)| (names[*name], value.as_str())).collect();
            let head = head(&lines);
            let got = evaluate(Method::Get, &head, &STRONG);
            let matched = |field| tags_match(&head, field, &STRONG, Comparison::Weak);
            prop_assert_eq!(got == NotModified, got != PreconditionFailed && matched(Known::IfNoneMatch));
            range_applies(&head, &STRONG, u64::MAX);
        }
    }
}
