//! Targets of conditional requests: entity tags, and all conditions together.

use crate::Decisions;
use hayami_http::conditional::{Validators, Verdict, evaluate, range_applies};
use hayami_http::etag::{Comparison, EntityTag, list_matches};
use hayami_http::{Known, Method, RequestHead};

/// A tag written again is the same tag; a list in which a tag is found has its bytes; what matches
/// strongly matches weakly; and `*` matches alone.
pub fn etag(bytes: &[u8]) {
    let (first, lines) = bytes.split_at(bytes.iter().position(|o| *o == b'\n').unwrap_or(bytes.len()));
    let lines = || lines.split(|byte| *byte == b'\n').skip(1);
    let current = EntityTag::parse(first);
    let strong = list_matches(lines(), current, Comparison::Strong);
    let weak = list_matches(lines(), current, Comparison::Weak);
    assert!(weak || !strong);
    let mut with_star: Vec<&[u8]> = vec![b"*"];
    assert!(list_matches(with_star.iter().copied(), current, Comparison::Strong));
    with_star.extend(lines());
    assert!(with_star.len() == 1 || !list_matches(with_star.into_iter(), current, Comparison::Weak));
    let is_star = lines().count() == 1 && lines().all(|line| line.trim_ascii() == b"*");
    if is_star {
        assert!(strong);
    } else if weak {
        let tag = current.expect("without a tag only a star matches");
        assert!(lines().any(|line| has_tag(line, &tag)));
    }
    current.inspect(check_tag);
}

fn written(tag: &EntityTag<'_>) -> Vec<u8> {
    [if tag.weak { &b"W/\""[..] } else { b"\"" }, tag.opaque, b"\""].concat()
}

fn check_tag(tag: &EntityTag<'_>) {
    let text = written(tag);
    assert_eq!(EntityTag::parse(&text), Some(*tag));
    assert!(list_matches([&text[..]].into_iter(), Some(*tag), Comparison::Weak));
    assert_eq!(list_matches([&text[..]].into_iter(), Some(*tag), Comparison::Strong), !tag.weak);
}

fn has_tag(line: &[u8], tag: &EntityTag<'_>) -> bool {
    let quoted = [b"\"", tag.opaque, b"\""].concat();
    line.windows(quoted.len()).any(|window| window == quoted)
}

const FIELDS: [Known; 5] =
    [Known::IfMatch, Known::IfUnmodifiedSince, Known::IfNoneMatch, Known::IfModifiedSince, Known::IfRange];
const METHODS: [Method; 6] =
    [Method::Get, Method::Head, Method::Put, Method::Options, Method::Connect, Method::Other];
const ETAGS: [Option<&[u8]>; 4] = [None, Some(b"\"a\""), Some(b"W/\"a\""), Some(b"no tag")];
/// The second of the last change.
const MODIFIED: u64 = 784_111_777;

/// 304 is for GET and HEAD only; methods that select no representation have no conditions; without a
/// condition nothing changes; a range applies only to the state that If-Range names strongly.
pub fn conditional(bytes: &[u8]) {
    let (mut decisions, lines) = Decisions::and_rest(bytes);
    let method = METHODS[usize::from(decisions.next()) % METHODS.len()];
    let etag = ETAGS[usize::from(decisions.next()) % ETAGS.len()];
    let choice = decisions.next();
    let validators = Validators { etag, modified: (choice % 2 == 0).then_some(MODIFIED) };
    let now = MODIFIED + u64::from(choice / 2 % 3);
    let head = head_of(lines);
    let has = |field: &Known| head.get(*field).is_some();
    let verdict = evaluate(method, &head, &validators);
    if matches!(method, Method::Options | Method::Connect) || !FIELDS[..4].iter().any(has) {
        assert_eq!(verdict, Verdict::Proceed);
    }
    assert!(verdict != Verdict::NotModified || matches!(method, Method::Get | Method::Head));
    assert!(verdict != Verdict::NotModified || has(&Known::IfNoneMatch) || has(&Known::IfModifiedSince));
    let strong = etag == ETAGS[1] || validators.modified.is_some_and(|modified| modified < now);
    let applies = range_applies(&head, &validators, now);
    assert!(if has(&Known::IfRange) { strong || !applies } else { applies });
}

/// Lines, each a field: its first byte says which one. The engines let no CR and no NUL through.
fn head_of(lines: &[u8]) -> RequestHead {
    let mut head = RequestHead::default();
    for line in lines.split(|byte| *byte == b'\n') {
        if let [which, value @ ..] = line
            && !value.iter().any(|byte| matches!(byte, b'\r' | 0))
        {
            let field = FIELDS[usize::from(*which) % FIELDS.len()];
            head.fields_mut().append(field.name(), value);
        }
    }
    head
}
