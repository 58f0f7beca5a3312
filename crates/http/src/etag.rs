//! Entity tags and lists of them (RFC 9110 §8.8.3, §13.1.1, §13.1.2).
//!
//! A list is read in one pass and nothing is kept, so its cost is linear in its length, which the limits on a
//! head bound.

/// An entity tag: an opaque name of one state of a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityTag<'a> {
    /// Whether representations with this tag are only semantically equivalent, not identical byte by byte.
    pub weak: bool,
    /// The text between the quotes.
    pub opaque: &'a [u8],
}

/// How two tags are compared (RFC 9110 §8.8.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Equal and neither is weak.
    Strong,
    /// Equal.
    Weak,
}

impl<'a> EntityTag<'a> {
    /// The tag that `text` is, whole and without whitespace around it.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        Self::split_off(text).and_then(|(tag, rest)| rest.is_empty().then_some(tag))
    }

    /// The tag at the start of `text`, and what follows it.
    fn split_off(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        // "W/" is case-sensitive (RFC 9110 §8.8.3).
        let (weak, quoted) = match text.strip_prefix(b"W/") {
            Some(quoted) => (true, quoted),
            None => (false, text),
        };
        let inner = quoted.strip_prefix(b"\"")?;
        let len = memchr::memchr(b'"', inner)?;
        let opaque = &inner[..len];
        opaque.iter().all(|byte| is_etagc(*byte)).then_some((Self { weak, opaque }, &inner[len + 1..]))
    }

    /// Whether the two stand for the same state.
    pub fn equals(&self, other: &EntityTag<'_>, comparison: Comparison) -> bool {
        let strong_enough = comparison == Comparison::Weak || !(self.weak || other.weak);
        strong_enough && self.opaque == other.opaque
    }
}

/// RFC 9110 §8.8.3: visible bytes but the quote, and obs-text. There is no escaping.
fn is_etagc(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x7e | 0x80..)
}

/// Whether the list of tags in an If-Match or If-None-Match field contains the current representation. `*`
/// matches any, so call this only if there is one (RFC 9110 §13.1.1). The lines of a field that came several
/// times are one list (§5.3).
///
/// `current` is its tag, `None` if it has none. A malformed list matches nothing, whatever else it says: a
/// cached copy is sent again and a change is refused, which is safe.
pub fn list_matches<'v>(
    lines: impl Iterator<Item = &'v [u8]>,
    current: Option<EntityTag<'_>>,
    comparison: Comparison,
) -> bool {
    let mut lines = lines.map(<[u8]>::trim_ascii).peekable();
    if lines.next_if(|line| *line == b"*").is_some() {
        return lines.next().is_none(); // "*" stands alone
    }
    let mut found = false;
    for line in lines {
        match line_matches(line, current, comparison) {
            Some(here) => found |= here,
            None => return false,
        }
    }
    found
}

/// The same for one line; `None` if it is malformed.
fn line_matches(line: &[u8], current: Option<EntityTag<'_>>, comparison: Comparison) -> Option<bool> {
    let mut found = false;
    let mut rest = line.trim_ascii_start();
    while let Some(byte) = rest.first() {
        // A list may have empty members (RFC 9110 §5.6.1.2).
        if *byte == b',' {
            rest = rest[1..].trim_ascii_start();
            continue;
        }
        let (tag, after) = EntityTag::split_off(rest)?;
        found |= current.is_some_and(|current| current.equals(&tag, comparison));
        rest = after.trim_ascii_start();
        if !matches!(rest.first(), None | Some(b',')) {
            return None;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Comparison::{Strong, Weak};
    use proptest::prelude::*;

    fn tag(text: &[u8]) -> EntityTag<'_> {
        EntityTag::parse(text).expect("a good tag")
    }

    #[test]
    fn tags_are_parsed_whole_or_refused() {
        let strong = |opaque| Some(EntityTag { weak: false, opaque });
        let weak = |opaque| Some(EntityTag { weak: true, opaque });
        let cases: &[(&[u8], Option<EntityTag<'_>>)] = &[
            (b"\"xyzzy\"", strong(b"xyzzy")),
            (b"W/\"xyzzy\"", weak(b"xyzzy")),
            (b"\"\"", strong(b"")),
            (b"\"a,b!#~\\\"", strong(b"a,b!#~\\")),
            (b"\"\xe6\xb0\xb4\"", strong(b"\xe6\xb0\xb4")),
            (b"w/\"a\"", None),
            (b"W/ \"a\"", None),
            (b"\"a b\"", None),
            (b"\"a\x7f\"", None),
            (b"\"a\" ", None),
            (b"\"a\"b", None),
            (b"\"a", None),
            (b"a", None),
            (b"*", None),
            (b"W/", None),
            (b"", None),
        ];
        for (text, want) in cases {
            assert_eq!(EntityTag::parse(text), *want, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn comparison_is_that_of_the_table_in_the_rfc() {
        // RFC 9110 §8.8.3.2, its table of examples.
        let cases: &[(&[u8], &[u8], bool, bool)] = &[
            (b"W/\"1\"", b"W/\"1\"", false, true),
            (b"W/\"1\"", b"W/\"2\"", false, false),
            (b"W/\"1\"", b"\"1\"", false, true),
            (b"\"1\"", b"W/\"1\"", false, true),
            (b"\"1\"", b"\"1\"", true, true),
        ];
        for (one, other, strong, weak) in cases {
            assert_eq!(tag(one).equals(&tag(other), Strong), *strong, "{}", one.escape_ascii());
            assert_eq!(tag(one).equals(&tag(other), Weak), *weak, "{}", one.escape_ascii());
        }
    }

    #[test]
    fn lists_have_the_current_tag_in_them_or_not() {
        // Lines of the field, then whether "1" is found strongly and weakly.
        let cases: &[(&[&str], bool, bool)] = &[
            (&[], false, false),
            (&[""], false, false),
            (&["*"], true, true),
            (&[" * "], true, true),
            (&["\"1\""], true, true),
            (&["W/\"1\""], false, true),
            (&["\"2\""], false, false),
            (&["\"2\", \"1\""], true, true),
            (&["\"2\",W/\"1\",\"3\""], false, true),
            (&[", ,\"1\" ,,\t, "], true, true),
            (&["\"2\"", "\"1\""], true, true),
            (&["\"1\"", "\"2\""], true, true),
            (&["\"1,2\""], false, false),
            // Malformed ones match nothing.
            (&["\"1\" \"2\""], false, false),
            (&["\"1\"\"2\""], false, false),
            (&["\"1\", 2"], false, false),
            (&["\"1\", \"2"], false, false),
            (&["\"1\"", "\"2"], false, false),
            (&["1"], false, false),
            (&["*, \"1\""], false, false),
            (&["\"1\", *"], false, false),
            (&["*", "\"1\""], false, false),
            (&["\"1\"", "*"], false, false),
            (&["*", "*"], false, false),
            (&["**"], false, false),
        ];
        for (lines, strong, weak) in cases {
            let matches = |c| list_matches(lines.iter().map(|l| l.as_bytes()), Some(tag(b"\"1\"")), c);
            assert_eq!((matches(Strong), matches(Weak)), (*strong, *weak), "{lines:?}");
        }
    }

    #[test]
    fn without_a_current_tag_only_the_star_matches() {
        assert!(!list_matches([&b"\"\""[..]].into_iter(), None, Weak));
        assert!(list_matches([&b"*"[..]].into_iter(), None, Strong));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_list_or_malformed(line: Vec<u8>) {
            let _ = list_matches([&line[..]].into_iter(), Some(tag(b"\"1\"")), Weak);
        }

        #[test]
        fn a_tag_is_found_wherever_it_stands(
            names in prop::collection::vec("[!#-~]{0,3}", 1..9), at: prop::sample::Index, gap in "[ \t]*,[ \t,]*",
        ) {
            let tags: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            let current = tag(at.get(&tags).as_bytes());
            let line = tags.join(&gap);
            prop_assert!(list_matches([line.as_bytes()].into_iter(), Some(current), Strong));
            let other = Some(tag(b"\"longer\""));
            prop_assert!(!list_matches([line.as_bytes()].into_iter(), other, Weak));
        }
    }
}
