//! Which host a request means, by the authority it asks for.

use super::Name;
use std::cmp::Ordering;

/// The port of a host key or of a request that names none (RFC 9110 §4.2.1, §4.2.2).
pub(super) fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// The hosts that one listener serves, ready to be looked up without allocating.
#[derive(Debug, Default)]
pub(super) struct HostTable {
    /// Keys without a wildcard, sorted by name and port.
    exact: Vec<Entry>,
    /// `*.suffix` in the order written, then `*`.
    wildcards: Vec<Entry>,
    /// The first host that is not `strict-match`.
    fallback: Option<usize>,
    /// Whether the fallback is the only host there is, so that nobody needs to look.
    alone: bool,
    /// The port of names without one.
    default_port: u16,
}

/// A key of `hosts:`.
#[derive(Debug)]
struct Entry {
    /// The name in lower case; of a wildcard what stands behind the `*`.
    name: Box<[u8]>,
    port: u16,
    host: usize,
}

impl HostTable {
    /// The table of `hosts`: index, key and whether it is `strict-match`, in the order written. With `tls`
    /// for requests of `https`.
    pub(super) fn new<'a>(tls: bool, hosts: impl Iterator<Item = (usize, Name<'a>, bool)>) -> Self {
        let mut table = Self { default_port: default_port(tls), ..Self::default() };
        for (host, name, strict) in hosts {
            table.insert(host, name);
            if !strict && table.fallback.is_none() {
                table.fallback = Some(host);
            }
        }
        // Stable: of two equal keys the one written first wins.
        table.exact.sort_by(|a, b| (&a.name, a.port).cmp(&(&b.name, b.port)));
        table.wildcards.sort_by_key(|entry| entry.name.is_empty());
        table.alone = table.exact.len() + table.wildcards.len() == 1 && table.fallback.is_some();
        table
    }

    fn insert(&mut self, host: usize, name: Name<'_>) {
        let (list, text) = match name.host.strip_prefix(b"*") {
            Some(suffix) => (&mut self.wildcards, suffix),
            None => (&mut self.exact, name.host),
        };
        let port = name.port.unwrap_or(self.default_port);
        list.push(Entry { name: text.to_ascii_lowercase().into(), port, host });
    }

    /// The host that serves `authority`: exact keys first, then wildcards, then the fallback. `None` if
    /// every host is `strict-match` and none matches.
    #[inline]
    pub(super) fn find(&self, authority: &[u8]) -> Option<usize> {
        if self.alone {
            return self.fallback;
        }
        self.named(authority).or(self.fallback)
    }

    /// The host whose key matches `authority`.
    pub(super) fn named(&self, authority: &[u8]) -> Option<usize> {
        let name = Name::of(authority)?;
        let port = name.port.unwrap_or(self.default_port);
        let first = self.exact.partition_point(|e| e.compare(name.host, port).is_lt());
        match self.exact.get(first) {
            Some(entry) if entry.compare(name.host, port).is_eq() => Some(entry.host),
            _ => self.wildcards.iter().find(|e| e.port == port && e.ends(name.host)).map(|e| e.host),
        }
    }
}

impl Entry {
    /// Compares with a name in any case (RFC 9110 §4.2.3).
    fn compare(&self, name: &[u8], port: u16) -> Ordering {
        self.name.iter().copied().cmp(name.iter().map(u8::to_ascii_lowercase)).then(self.port.cmp(&port))
    }

    /// Whether `name` is longer than this suffix and ends with it.
    fn ends(&self, name: &[u8]) -> bool {
        name.len() > self.name.len() && name[name.len() - self.name.len()..].eq_ignore_ascii_case(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(tls: bool, keys: &[&'static str]) -> HostTable {
        let hosts = keys.iter().enumerate().map(|(index, key)| {
            let strict = key.starts_with('!');
            (index, Name::of(key.trim_start_matches('!').as_bytes()).expect("a key"), strict)
        });
        HostTable::new(tls, hosts)
    }

    #[test]
    fn hosts_are_found_as_h2o_finds_them() {
        let table = table(
            false,
            &[
                "first.example",
                "*",
                "*.example.org",
                "example.org",
                "a.example.org:8080",
                "*.example.org:8080",
                "[::1]:8080",
            ],
        );
        let cases = [
            ("example.org", 3),
            ("EXAMPLE.Org", 3),
            ("example.org:80", 3),
            ("example.org:", 3),
            // A key without a port stands for port 80, not for any port.
            ("example.org:8080", 0),
            ("www.example.org", 2),
            ("a.b.example.org", 2),
            (".example.org", 1),
            ("a.example.org:8080", 4),
            ("b.example.org:8080", 5),
            ("[::1]:8080", 6),
            ("elsewhere", 1),
            ("elsewhere:8080", 0),
            ("", 0),
            ("not an authority", 0),
        ];
        for (authority, want) in cases {
            assert_eq!(table.find(authority.as_bytes()), Some(want), "{authority}");
        }
    }

    #[test]
    fn strict_hosts_are_no_fallback() {
        let cases: [(&[&str], &str, Option<usize>); 4] = [
            (&["!a", "b"], "c", Some(1)),
            (&["!a", "b"], "a", Some(0)),
            (&["!a"], "c", None),
            (&["a"], "c", Some(0)),
        ];
        for (keys, authority, want) in cases {
            assert_eq!(table(false, keys).find(authority.as_bytes()), want, "{keys:?} {authority}");
        }
    }

    #[test]
    fn a_host_given_twice_is_found_where_it_was_written_first() {
        assert_eq!(table(false, &["x", "b", "a", "b:80"]).find(b"b"), Some(1));
    }

    #[test]
    fn the_port_of_names_without_one_is_that_of_the_scheme() {
        let table = table(true, &["first.example", "a.example", "b.example:443", "c.example:80"]);
        for (authority, want) in [
            ("a.example", 1),
            ("a.example:443", 1),
            ("b.example", 2),
            ("b.example:443", 2),
            ("a.example:80", 0),
            ("c.example", 0),
        ] {
            assert_eq!(table.find(authority.as_bytes()), Some(want), "{authority}");
        }
    }
}
