//! Finds the path of a host for a request: the exact one, or else the first regular expression that matches, or else
//! the longest prefix.
//!
//! Prefixes end at segment boundaries, as in h2o: `/a` matches `/a` and `/a/b`, not `/ab`; `/a/` does not match `/a`.
//! So they form a tree of segments. A lookup takes a step for each segment that the path shares with a prefix,
//! regardless of the number of prefixes. nginx's prefixes may also end within a segment; no configuration can express
//! that yet. Such a prefix would belong to the [`Node`] of its last whole segment, as the beginning of another one.

use crate::config::path_key::PathKey;
use crate::pattern::PatternLists;
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// The paths of a host.
#[derive(Debug)]
pub(super) struct PathTable<T> {
    root: Node<T>,
    /// The index of the list of regular expressions, and the values by position in it.
    patterns: Option<(usize, Vec<T>)>,
}

/// The keys that share their first segments.
#[derive(Debug)]
struct Node<T> {
    /// Keys that end with the last segment: `/a`.
    bare: Keys<T>,
    /// Keys that end with the slash after it: `/a/`.
    slashed: Keys<T>,
    /// By the next segment.
    children: HashMap<Box<[u8]>, Self, FixedState>,
}

/// Keys of the same text.
#[derive(Debug)]
struct Keys<T> {
    prefix: Option<T>,
    exact: Option<T>,
}

/// A matching key that is not a regular expression.
struct Found<T> {
    value: T,
    len: usize,
    exact: bool,
}

/// The length of the prefix for handlers if a regular expression matches: the first slash.
const PATTERN_PREFIX: usize = 1;

impl<T: Copy> PathTable<T> {
    /// The table of these keys, in the order written; of two equal ones the first counts. The regular expressions are
    /// added to `lists`.
    pub(super) fn new<'a>(paths: Vec<(&'a PathKey, T)>, lists: &mut PatternLists<'a>) -> Self {
        let mut root = Node::default();
        let (mut patterns, mut values) = (Vec::new(), Vec::new());
        for (key, value) in paths {
            match key {
                PathKey::Prefix(path) => _ = root.keys(path).prefix.get_or_insert(value),
                PathKey::Exact(path) => _ = root.keys(path).exact.get_or_insert(value),
                PathKey::Pattern(pattern) => {
                    patterns.push(pattern.as_str());
                    values.push(value);
                }
            }
        }
        let patterns = (!patterns.is_empty()).then(|| (lists.add(patterns), values));
        Self { root, patterns }
    }

    /// The value for a normalized path, and the length of the prefix for handlers. `first` returns the index of the
    /// first regular expression of a list that matches the path.
    #[inline]
    pub(super) fn find(&self, path: &[u8], first: impl Fn(usize) -> Option<usize>) -> Option<(T, usize)> {
        let found = self.root.find(path);
        if let Some((list, values)) = &self.patterns
            && found.as_ref().is_none_or(|found| !found.exact)
            && let Some(index) = first(*list)
        {
            return Some((values[index], PATTERN_PREFIX));
        }
        found.map(|found| (found.value, found.len))
    }

    /// The value of the prefix `/`.
    pub(super) fn root(&self) -> Option<T> {
        self.root.slashed.prefix
    }
}

impl<T: Copy> Node<T> {
    /// The keys of this text, at their position below this node, which must be the root.
    fn keys(&mut self, path: &str) -> &mut Keys<T> {
        let (segments, slash) = match path.strip_suffix('/') {
            Some(segments) => (segments, true),
            None => (path, false),
        };
        let mut node = self;
        for segment in segments.split('/').skip(1) {
            node = node.children.entry(segment.as_bytes().into()).or_default();
        }
        if slash { &mut node.slashed } else { &mut node.bare }
    }

    /// The exact key, or else the longest prefix.
    #[inline]
    fn find(&self, path: &[u8]) -> Option<Found<T>> {
        let (mut node, mut rest) = (self, path.strip_prefix(b"/")?);
        let mut found = node.slashed.at(1, rest.is_empty());
        while !node.children.is_empty() {
            let end = memchr::memchr(b'/', rest).unwrap_or(rest.len());
            let Some(child) = node.children.get(&rest[..end]) else { break };
            let (len, is_last) = (path.len() - rest.len() + end, end == rest.len());
            found = child.bare.at(len, is_last).or(found);
            if is_last {
                break;
            }
            (node, rest) = (child, &rest[end + 1..]);
            found = node.slashed.at(len + 1, rest.is_empty()).or(found);
        }
        found
    }
}

impl<T> Default for Node<T> {
    fn default() -> Self {
        Self { bare: Keys::default(), slashed: Keys::default(), children: HashMap::default() }
    }
}

impl<T: Copy> Keys<T> {
    /// The key that matches a path beginning with these `len` bytes; `whole` if there are no more.
    #[inline]
    fn at(&self, len: usize, whole: bool) -> Option<Found<T>> {
        let exact = self.exact.filter(|_| whole);
        let value = exact.or(self.prefix)?;
        Some(Found { value, len, exact: exact.is_some() })
    }
}

impl<T> Default for Keys<T> {
    fn default() -> Self {
        Self { prefix: None, exact: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::PatternMemory;

    /// A table whose values are the keys.
    fn check(keys: &[&'static str], cases: &[(&str, Option<(&'static str, usize)>)]) {
        let read = |key: &&str| PathKey::read(&crate::config::yaml::Node::scalar(key)).expect("a key");
        let read: Vec<_> = keys.iter().map(read).collect();
        let mut lists = PatternLists::default();
        let table = PathTable::new(read.iter().zip(keys.iter().copied()).collect(), &mut lists);
        let lists = lists.compile().expect("patterns");
        let memory = PatternMemory::new(lists.len());
        for (path, want) in cases {
            let path = path.as_bytes();
            let found = table.find(path, |list| memory.first(list, &lists[list], path));
            assert_eq!(found, *want, "{path:?}");
        }
    }

    #[test]
    fn the_longest_prefix_ends_where_a_segment_ends() {
        let found = |key: &'static str| Some((key, key.len()));
        let cases = [
            ("/foo", found("/foo")),
            ("/foo/", found("/foo")),
            ("/foo/x", found("/foo")),
            ("/foobar", None),
            ("/foo/bar", found("/foo")),
            ("/foo/bar/", found("/foo/bar/")),
            ("/foo/bar/baz", found("/foo/bar/baz")),
            ("/foo/bar/bazaar", found("/foo/bar/")),
            ("/foo/bar/baz/x/y", found("/foo/bar/baz")),
            ("/slash", None),
            ("/slash/", found("/slash/")),
            ("/slash/x", found("/slash/")),
            ("/", None),
            ("", None),
        ];
        check(&["/foo", "/foo/bar/", "/slash/", "/foo/bar/baz"], &cases);
        check(
            &["/", "/a"],
            &[("/", found("/")), ("/b", found("/")), ("/a", found("/a")), ("/ab", found("/"))],
        );
        check(&["/a", "/a/"], &[("/a", found("/a")), ("/a/", found("/a/")), ("/a/b", found("/a/"))]);
    }

    #[test]
    fn an_exact_path_means_nothing_below_it() {
        let keys = ["/", "= /a", "= /b/", "= /", "/a/c", "= /d", "/d"];
        let cases = [
            ("/a", Some(("= /a", 2))),
            ("/a/", Some(("/", 1))),
            ("/a/b", Some(("/", 1))),
            ("/a/c", Some(("/a/c", 4))),
            ("/b", Some(("/", 1))),
            ("/b/", Some(("= /b/", 3))),
            ("/b/c", Some(("/", 1))),
            ("/", Some(("= /", 1))),
            ("/d", Some(("= /d", 2))),
            ("/d/e", Some(("/d", 2))),
        ];
        check(&keys, &cases);
        check(&["= /a"], &[("/a", Some(("= /a", 2))), ("/", None), ("/a/b", None)]);
    }

    #[test]
    fn exact_paths_come_first_then_regular_expressions_in_the_order_written_then_prefixes() {
        let keys = ["/a/b", "~ b$", "/", "~ ^/a/", "= /a/b"];
        let cases = [
            ("/a/b", Some(("= /a/b", 4))),
            ("/a/bb", Some(("~ b$", 1))),
            ("/a/c", Some(("~ ^/a/", 1))),
            ("/a/b/c", Some(("~ ^/a/", 1))),
            ("/c", Some(("/", 1))),
            ("/", Some(("/", 1))),
        ];
        check(&keys, &cases);
    }

    #[test]
    fn a_thousand_prefixes_are_told_apart() {
        let keys: Vec<PathKey> = (0..1000).map(|n| PathKey::Prefix(format!("/a/{n}/b{n}"))).collect();
        let paths = keys.iter().enumerate().map(|(n, key)| (key, n)).collect();
        let table = PathTable::new(paths, &mut PatternLists::default());
        for n in 0..1000 {
            let find = |path: String| table.find(path.as_bytes(), |_| None).map(|(value, _)| value);
            assert_eq!(find(format!("/a/{n}/b{n}/c")), Some(n));
            assert_eq!(find(format!("/a/{n}/b")), None);
        }
    }
}
