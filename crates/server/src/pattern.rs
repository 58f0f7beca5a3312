//! Regular expressions of a configuration: on bytes, without Unicode, in time linear in the text's length for every
//! pattern.
//!
//! A list of patterns is one automaton, so a text is read once, however many patterns there are. The first matching
//! pattern of the list counts, not the one whose match is first in the text.

use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use regex_automata::meta::{Cache, Regex};
use regex_automata::nfa::thompson::{NFA, WhichCaptures};
use regex_automata::{Anchored, Input, PatternID};
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::{Dot, Hir, Look, Repetition};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

/// Limit on a compiled pattern, in bytes. A long pattern takes a hundredth of it; nested counted repetitions take more.
const MOST: usize = 256 << 10;

/// A list of patterns, to find the first that matches.
#[derive(Debug)]
pub(crate) struct Patterns(Regex);

impl Patterns {
    /// A list of patterns that [`check`] has accepted.
    fn new(patterns: &[&str]) -> Result<Self, String> {
        let parsed =
            patterns.iter().map(|pattern| parse(pattern).map(anywhere).map_err(|fault| fault.message));
        let parsed = parsed.collect::<Result<Vec<_>, _>>()?;
        // Each of them is within the limit.
        let config = Regex::config().nfa_size_limit(None).which_captures(WhichCaptures::Implicit);
        let regex = Regex::builder().configure(config.utf8_empty(false)).build_many_from_hir(&parsed);
        regex.map(Self).map_err(|error| error.to_string())
    }

    /// The index of the first pattern that matches a part of `text`.
    fn first(&self, text: &[u8], cache: &mut Cache) -> Option<usize> {
        let found = self.0.search_half_with(cache, &Input::new(text).anchored(Anchored::Yes))?;
        Some(found.pattern().as_usize())
    }
}

/// Scratch memory for one worker's searches in the shared lists.
#[derive(Debug)]
pub(crate) struct PatternMemory(Box<[RefCell<Option<Cache>>]>);

impl PatternMemory {
    /// Memory for so many lists; allocated by their first search.
    pub(crate) fn new(lists: usize) -> Self {
        Self((0..lists).map(|_| RefCell::default()).collect())
    }

    /// The index of the first pattern of a list that matches a part of `text`.
    pub(crate) fn first(&self, list: usize, patterns: &Patterns, text: &[u8]) -> Option<usize> {
        let mut cache = self.0[list].borrow_mut();
        patterns.first(text, cache.get_or_insert_with(|| patterns.0.create_cache()))
    }
}

/// A pattern with capture groups.
#[derive(Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    /// A pattern that [`check`] has accepted.
    ///
    /// # Errors
    /// It is not a valid pattern; a message for the user.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let parsed = parse(pattern).map_err(|fault| fault.message)?;
        let config = Regex::config().nfa_size_limit(None).utf8_empty(false);
        let regex = Regex::builder().configure(config).build_from_hir(&parsed);
        regex.map(Self).map_err(|error| error.to_string())
    }

    /// The names of the groups; group 0 is the whole match.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Option<&str>> {
        self.0.group_info().pattern_names(PatternID::ZERO)
    }

    /// Whether a part of `text` matches.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        self.0.is_match(Input::new(text))
    }

    /// The first match in `text`, by groups; `None` for groups that did not participate.
    pub(crate) fn find(&self, text: &[u8]) -> Option<Vec<Option<Range<usize>>>> {
        let mut captures = self.0.create_captures();
        self.0.search_captures(&Input::new(text), &mut captures);
        let groups = || captures.iter().map(|group| group.map(|span| span.range())).collect();
        captures.is_match().then(groups)
    }
}

/// Distinct lists of patterns: thousands of hosts may share one.
#[derive(Default)]
pub(crate) struct PatternLists<'a> {
    known: HashMap<Vec<&'a str>, usize>,
}

impl<'a> PatternLists<'a> {
    /// The index of this list.
    pub(crate) fn add(&mut self, patterns: Vec<&'a str>) -> usize {
        let next = self.known.len();
        *self.known.entry(patterns).or_insert(next)
    }

    /// The compiled lists, by index.
    ///
    /// # Errors
    /// A pattern is not one that [`check`] accepts; a message for the user.
    pub(crate) fn compile(self) -> Result<Vec<Patterns>, String> {
        let mut lists: Vec<_> = self.known.into_iter().collect();
        lists.sort_unstable_by_key(|(_, index)| *index);
        lists.into_iter().map(|(patterns, _)| Patterns::new(&patterns)).collect()
    }
}

/// Checks a pattern written at `node`.
///
/// # Errors
/// It is not a valid regular expression, or too large.
pub(crate) fn check(node: &Node, pattern: &str) -> Result<(), ConfigError> {
    let checked = parse(pattern).and_then(|parsed| check_size(pattern, &parsed));
    checked.map_err(|fault| node.error(fault.message).help(fault.help))
}

/// Makes the pattern match anywhere in a text by an anchored search. Only that prefers the first of several patterns;
/// an unanchored search prefers the match that begins first.
fn anywhere(pattern: Hir) -> Hir {
    if pattern.properties().look_set_prefix().contains(Look::Start) {
        return pattern;
    }
    let any = Repetition { min: 0, max: None, greedy: false, sub: Box::new(Hir::dot(Dot::AnyByte)) };
    Hir::concat(vec![Hir::repetition(any), pattern])
}

/// The fault of a pattern, and a remedy.
struct Fault {
    message: String,
    help: &'static str,
}

fn parse(pattern: &str) -> Result<Hir, Fault> {
    // `.*` must also match line breaks in a path.
    let mut parser =
        regex_syntax::ParserBuilder::new().unicode(false).utf8(false).dot_matches_new_line(true).build();
    parser.parse(pattern).map_err(|error| {
        let (what, at, help) = match &error {
            regex_syntax::Error::Parse(error) => {
                (error.kind().to_string(), error.span().start, remedy(error.kind()))
            }
            regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span().start, BYTES),
            _ => return Fault { message: invalid(pattern), help: SYNTAX },
        };
        Fault { message: format!("{}: {what} at character {}", invalid(pattern), at.column), help }
    })
}

fn check_size(pattern: &str, parsed: &Hir) -> Result<(), Fault> {
    let config = NFA::config().utf8(false).nfa_size_limit(Some(MOST));
    NFA::compiler().configure(config).build_from_hir(parsed).map(drop).map_err(|_| Fault {
        message: format!("the regular expression `{pattern}` is too large"),
        help: "use smaller numbers in counted repetitions such as `{1,100}`, and do not nest them",
    })
}

fn invalid(pattern: &str) -> String {
    format!("invalid regular expression `{pattern}`")
}

const SYNTAX: &str = "the syntax is that of https://docs.rs/regex/latest/regex/#syntax";
const BYTES: &str = "patterns match bytes: `\\w` and `(?i)` know ASCII only, and a class has no other characters; write \
                     the alternatives as a group, such as `(?:ä|ö)`";

fn remedy(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::GroupUnclosed | ErrorKind::GroupUnopened => {
            "write `\\(` and `\\)` for literal parentheses"
        }
        ErrorKind::ClassUnclosed => "write `\\[` for a literal bracket",
        ErrorKind::RepetitionMissing => "write `\\*`, `\\+` or `\\?` for a literal character",
        ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference => {
            "these can take exponential time; write an earlier entry that matches what you want to exclude"
        }
        _ => SYNTAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(patterns: &Patterns, text: &[u8]) -> Option<usize> {
        patterns.first(text, &mut patterns.0.create_cache())
    }

    #[test]
    fn the_first_pattern_of_the_list_counts_wherever_it_matches() {
        let patterns = Patterns::new(&["b", "a", "^/c$", r"\.php$", "^/d|e$", ""]).expect("patterns");
        for (text, want) in [
            ("/ab", 0),
            ("/a", 1),
            ("/c", 2),
            ("/cc", 5),
            ("/x.php", 3),
            ("/x.php/", 5),
            ("/d/x", 4),
            ("/xe", 4),
            ("/a.php", 1),
        ] {
            assert_eq!(first(&patterns, text.as_bytes()), Some(want), "{text}");
        }
        assert_eq!(first(&Patterns::new(&["x", "^y"]).expect("patterns"), b"/y"), None);
    }

    #[test]
    fn patterns_match_bytes() {
        for (pattern, text, want) in [
            ("^/.$", &b"/\xff"[..], true),
            ("^/.$", "/ü".as_bytes(), false),
            ("^/ü$", "/ü".as_bytes(), true),
            ("^/(?:ä|ü)+$", "/üä".as_bytes(), true),
            (r"^/\xff$", b"/\xff", true),
            (r"^/\w+$", "/ü".as_bytes(), false),
            ("(?i)^/A$", b"/a", true),
            ("^/a$", b"/a\n", false),
            ("^/a.b$", b"/a\nb", true),
            ("(?-s)^/a.b$", b"/a\nb", false),
        ] {
            let patterns = Patterns::new(&[pattern]).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(first(&patterns, text).is_some(), want, "{pattern} {text:?}");
        }
    }

    #[test]
    fn groups_are_found_by_number() {
        let pattern = Pattern::new("/(?<n>[0-9]+)(?:/(a)|/(b))").expect("a pattern");
        assert_eq!(pattern.groups().collect::<Vec<_>>(), [None, Some("n"), None, None]);
        assert_eq!(pattern.find(b"/x/12/b/c"), Some(vec![Some(2..7), Some(3..5), None, Some(6..7)]));
        assert_eq!(pattern.find(b"/x"), None);
    }

    #[test]
    fn equal_lists_are_compiled_once() {
        let mut lists = PatternLists::default();
        let indexes = [vec!["a", "b"], vec!["b", "a"], vec!["a", "b"]].map(|list| lists.add(list));
        assert_eq!(indexes, [0, 1, 0]);
        let lists = lists.compile().expect("patterns");
        let memory = PatternMemory::new(lists.len());
        let firsts: Vec<_> = (0..2).map(|list| memory.first(list, &lists[list], b"ba")).collect();
        assert_eq!(firsts, [Some(0), Some(0)]);
        assert_eq!(memory.first(1, &lists[1], b"a"), Some(1));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_in_the_pattern() {
        let error = |pattern: &str| check(&Node::scalar(pattern), pattern).expect_err(pattern);
        for (pattern, what, help) in [
            ("^/(a", "unclosed group at character 3", "write `\\(`"),
            ("^/a)", "unopened group at character 4", "write `\\(`"),
            ("^/[a", "unclosed character class at character 3", "write `\\[`"),
            ("*a", "repetition operator missing expression at character 1", "write `\\*`"),
            ("^/(?!a)", "look-around", "earlier entry"),
            (r"(a)\1", "backreferences are not supported at character 4", "earlier entry"),
            ("[ü]", "Unicode not allowed here at character 2", "(?:ä|ö)"),
            (r"\p{Greek}", "Unicode not allowed here at character 1", "ASCII"),
            ("a{2,1}", "invalid repetition count range", "docs.rs/regex"),
        ] {
            let error = error(pattern);
            assert!(
                error.message.starts_with(&format!("invalid regular expression `{pattern}`: ")),
                "{error:?}"
            );
            assert!(error.message.contains(what) && error.help.contains(help), "{error:?}");
        }
        let error = error("(?:a{1000}){1000}");
        assert_eq!(error.message, "the regular expression `(?:a{1000}){1000}` is too large");
    }
}
