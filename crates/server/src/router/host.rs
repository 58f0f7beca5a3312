//! Which host a request means, by the authority it asks for.
//!
//! A key with a port is meant by requests for that port. A key without one is meant by requests for any port, unless
//! the same name with that port is a key as well.

use super::Name;
use std::cmp::Ordering;

/// The port of a request that names none (RFC 9110 §4.2.1, §4.2.2).
pub(super) fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// A key of `hosts`, as the table wants it.
pub(super) struct Key<'a> {
    /// Index of the host.
    pub(super) host: usize,
    pub(super) name: Name<'a>,
    /// `strict-match`.
    pub(super) strict: bool,
    /// What a key without a port means.
    pub(super) portless: Ports,
}

/// Ports that a key means.
#[derive(Clone, Debug)]
pub(super) enum Ports {
    Any,
    These(Box<[u16]>),
}

impl Ports {
    fn has(&self, port: u16) -> bool {
        match self {
            Self::Any => true,
            Self::These(ports) => ports.contains(&port),
        }
    }
}

/// The hosts that one listener serves, ready to be looked up without allocating.
#[derive(Debug, Default)]
pub(super) struct HostTable {
    /// Keys without a wildcard, sorted by name; those with a port first.
    exact: Vec<Entry>,
    /// `*.suffix` in the order written, then `*`; of the same, those with a port first.
    wildcards: Vec<Entry>,
    /// The first host that is not `strict-match`.
    fallback: Option<usize>,
    /// Whether the fallback is the only host there is, so that nobody needs to look.
    alone: bool,
    /// The port of requests without one.
    default_port: u16,
}

/// A key of `hosts:`.
#[derive(Debug)]
struct Entry {
    /// The name in lower case; of a wildcard what stands behind the `*`.
    name: Box<[u8]>,
    ports: Ports,
    has_port: bool,
    host: usize,
}

impl HostTable {
    /// The table of `keys`, in the order written. With `tls` for requests of `https`.
    pub(super) fn new<'a>(tls: bool, keys: impl Iterator<Item = Key<'a>>) -> Self {
        let mut table = Self { default_port: default_port(tls), ..Self::default() };
        for key in keys {
            if !key.strict && table.fallback.is_none() {
                table.fallback = Some(key.host);
            }
            table.insert(key);
        }
        // Stable: of two equal keys the one written first wins.
        table.exact.sort_by(|a, b| (&a.name, !a.has_port).cmp(&(&b.name, !b.has_port)));
        let names: Vec<_> = table.wildcards.iter().map(|entry| entry.name.clone()).collect();
        let first = |name: &[u8]| names.iter().position(|other| **other == *name);
        table.wildcards.sort_by_key(|e| (e.name.is_empty(), first(&e.name), !e.has_port));
        table.alone = table.exact.len() + table.wildcards.len() == 1 && table.fallback.is_some();
        table
    }

    fn insert(&mut self, key: Key<'_>) {
        let (list, text) = match key.name.host.strip_prefix(b"*") {
            Some(suffix) => (&mut self.wildcards, suffix),
            None => (&mut self.exact, key.name.host),
        };
        let ports = key.name.port.map_or(key.portless, |port| Ports::These([port].into()));
        let (name, has_port) = (text.to_ascii_lowercase().into(), key.name.port.is_some());
        list.push(Entry { name, ports, has_port, host: key.host });
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
        let first = self.exact.partition_point(|e| e.compare(name.host).is_lt());
        let same = self.exact[first..].iter().take_while(|e| e.compare(name.host).is_eq());
        let mut fit = same.chain(self.wildcards.iter().filter(|e| e.ends(name.host)));
        fit.find(|e| e.ports.has(port)).map(|e| e.host)
    }
}

impl Entry {
    /// Compares with a name in any case (RFC 9110 §4.2.3).
    fn compare(&self, name: &[u8]) -> Ordering {
        self.name.iter().copied().cmp(name.iter().map(u8::to_ascii_lowercase))
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
        table_of(tls, keys, &Ports::Any)
    }

    fn table_of(tls: bool, keys: &[&'static str], portless: &Ports) -> HostTable {
        let keys = keys.iter().enumerate().map(|(host, key)| Key {
            host,
            name: Name::of(key.trim_start_matches('!').as_bytes()).expect("a key"),
            strict: key.starts_with('!'),
            portless: portless.clone(),
        });
        HostTable::new(tls, keys)
    }

    #[track_caller]
    fn assert_found(table: &HostTable, cases: &[(&str, usize)]) {
        for (authority, want) in cases {
            assert_eq!(table.find(authority.as_bytes()), Some(*want), "{authority}");
        }
    }

    #[test]
    fn whole_names_come_first_then_wildcards_then_the_first_host() {
        let keys = [
            "first.example",
            "*",
            "*.example.org",
            "example.org",
            "a.example.org:8080",
            "*.example.org:8080",
            "[::1]:8080",
        ];
        let cases = [
            ("example.org", 3),
            ("EXAMPLE.Org", 3),
            ("example.org.", 3),
            ("example.org.:80", 3),
            ("www.example.org.", 2),
            (".", 1),
            ("example.org:80", 3),
            ("example.org:", 3),
            // A key without a port stands for any.
            ("example.org:8080", 3),
            ("www.example.org", 2),
            ("a.b.example.org", 2),
            ("a.example.org:81", 2),
            (".example.org", 1),
            ("a.example.org:8080", 4),
            // The same wildcard with the port, although it was written behind.
            ("b.example.org:8080", 5),
            ("[::1]:8080", 6),
            ("[::1]", 1),
            ("elsewhere", 1),
            ("elsewhere:8080", 1),
            ("", 0),
            ("not an authority", 0),
        ];
        assert_found(&table(false, &keys), &cases);
    }

    #[test]
    fn a_name_with_the_port_of_the_request_goes_before_the_same_name_without_one() {
        for keys in [["x", "a", "a:8080", "a:80"], ["x", "a", "a:80", "a:8080"]] {
            let of = |key| keys.iter().position(|other| *other == key).expect("a key");
            let cases = [("a:8080", of("a:8080")), ("a", of("a:80")), ("a:81", of("a")), ("b:8080", 0)];
            assert_found(&table(false, &keys), &cases);
        }
        // Another wildcard with the port does not.
        assert_found(&table(false, &["x", "*.a", "*:8080"]), &[("b.a:8080", 1), ("b:8080", 2), ("b", 0)]);
    }

    #[test]
    fn where_ports_are_given_a_key_without_one_stands_for_these() {
        let table = table_of(false, &["x", "a", "a:8080"], &Ports::These([80, 81].into()));
        for (authority, want) in
            [("a", Some(1)), ("a:81", Some(1)), ("a:82", None), ("a:8080", Some(2)), ("b", None)]
        {
            assert_eq!(table.named(authority.as_bytes()), want, "{authority}");
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
        assert_found(&table(false, &["x", "b", "a", "b"]), &[("b", 1)]);
    }

    #[test]
    fn the_port_of_requests_without_one_is_that_of_the_scheme() {
        let keys = ["first.example", "a.example", "b.example:443", "c.example:80"];
        let cases = [
            ("a.example", 1),
            ("a.example:443", 1),
            ("a.example:80", 1),
            ("b.example", 2),
            ("b.example:443", 2),
            ("b.example:80", 0),
            ("c.example", 0),
            ("c.example:80", 3),
        ];
        assert_found(&table(true, &keys), &cases);
    }
}
