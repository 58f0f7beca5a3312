//! Which path of a host a request means: the longest prefix.

/// The paths of a host, longest first.
#[derive(Debug)]
pub(super) struct PathTable<T> {
    paths: Vec<(Box<[u8]>, T)>,
}

impl<T> PathTable<T> {
    /// The table of these prefixes; of two equal ones the one written first wins.
    pub(super) fn new(mut paths: Vec<(Box<[u8]>, T)>) -> Self {
        paths.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Self { paths }
    }

    /// The longest prefix of `path`, which is normalized, and its length. `/a` is a prefix of `/a` and
    /// `/a/b`, not of `/ab`; `/a/` is none of `/a`.
    #[inline]
    pub(super) fn find(&self, path: &[u8]) -> Option<(&T, usize)> {
        let fits = |prefix: &[u8]| match path.strip_prefix(prefix) {
            Some(rest) => prefix.ends_with(b"/") || rest.is_empty() || rest[0] == b'/',
            None => false,
        };
        self.paths.iter().find(|(prefix, _)| fits(prefix)).map(|(prefix, found)| (found, prefix.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_ends_where_a_segment_ends() {
        let prefixes = ["/foo", "/foo/bar/", "/slash/", "/foo/bar/baz"];
        let rows = prefixes.iter().map(|p| (p.as_bytes().into(), *p)).collect();
        let table = PathTable::new(rows);
        let cases = [
            ("/foo", Some("/foo")),
            ("/foo/", Some("/foo")),
            ("/foo/x", Some("/foo")),
            ("/foobar", None),
            ("/foo/bar", Some("/foo")),
            ("/foo/bar/", Some("/foo/bar/")),
            ("/foo/bar/baz", Some("/foo/bar/baz")),
            ("/foo/bar/bazaar", Some("/foo/bar/")),
            ("/slash", None),
            ("/slash/x", Some("/slash/")),
            ("/", None),
        ];
        for (path, want) in cases {
            let found = table.find(path.as_bytes());
            assert_eq!(found.map(|(found, _)| *found), want, "{path}");
            assert_eq!(found.map(|(_, len)| len), want.map(str::len), "{path}");
        }
    }
}
