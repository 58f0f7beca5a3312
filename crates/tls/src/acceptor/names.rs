//! Server names, with `*.` for any name below another.

use foldhash::fast::RandomState;
use std::collections::HashMap;

/// A map by server name. The exact name takes precedence over a wildcard, and a longer wildcard over a
/// shorter.
#[derive(Debug)]
pub(crate) struct Names<T> {
    exact: HashMap<Box<str>, T, RandomState>,
    /// By the suffix after the asterisk and its dot.
    below: HashMap<Box<str>, T, RandomState>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { exact: HashMap::default(), below: HashMap::default() }
    }
}

impl<T: Clone> Names<T> {
    /// The first entry for a name wins.
    pub(crate) fn insert(&mut self, names: &[String], value: T) {
        for name in names {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            match name.strip_prefix("*.") {
                Some(parent) => self.below.entry(parent.into()).or_insert_with(|| value.clone()),
                None => self.exact.entry(name.into()).or_insert_with(|| value.clone()),
            };
        }
    }

    /// The entry for `name`, which is in lower case.
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        if let Some(found) = self.exact.get(name) {
            return Some(found);
        }
        if self.below.is_empty() {
            return None;
        }
        name.match_indices('.').find_map(|(dot, _)| self.below.get(&name[dot + 1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_chosen() {
        let mut names = Names::default();
        for (name, value) in
            [("www.example.com", 1), ("*.Example.com", 2), ("*.a.example.com.", 3), ("*.example.com", 4)]
        {
            names.insert(&[name.to_owned()], value);
        }
        for (name, value) in [
            ("www.example.com", Some(1)),
            ("mail.example.com", Some(2)),
            ("x.a.example.com", Some(3)),
            ("x.y.example.com", Some(2)),
            ("a.example.com", Some(2)),
            ("example.com", None),
            ("", None),
        ] {
            assert_eq!(names.get(name).copied(), value, "{name}");
        }
    }
}
