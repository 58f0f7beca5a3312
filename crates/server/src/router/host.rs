//! Finds the host of a request by its authority.
//!
//! A key with a port matches requests for that port. A key without one matches requests for any port, unless there is
//! also a key of the same name with that port.

use super::Name;
use super::names::{Entry, Names, Ports};

/// The port of requests without one (RFC 9110 §4.2.1, §4.2.2).
pub(super) fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// A key of `hosts`, as input of the table.
pub(super) struct Key<'a> {
    /// Index of the host.
    pub(super) host: usize,
    pub(super) name: Name<'a>,
    /// `strict-match`.
    pub(super) strict: bool,
    /// The ports of a key without one.
    pub(super) portless: Ports,
}

/// The hosts of one listener; lookups do not allocate.
#[derive(Debug, Default)]
pub(super) struct HostTable {
    /// Keys without a wildcard.
    exact: Names,
    /// `*.example.org` and `*`, by what follows the `*`.
    wildcards: Names,
    /// The first host that is not `strict-match`.
    fallback: Option<usize>,
    /// Whether the fallback is the only host, so that no lookup is needed.
    alone: bool,
    /// The port of requests without one.
    default_port: u16,
}

impl HostTable {
    /// The table of `keys`, in the order written. `tls`: for requests by `https`.
    pub(super) fn new<'a>(tls: bool, keys: impl Iterator<Item = Key<'a>>) -> Self {
        let mut table = Self { default_port: default_port(tls), ..Self::default() };
        let mut count = 0;
        for key in keys {
            if !key.strict && table.fallback.is_none() {
                table.fallback = Some(key.host);
            }
            table.insert(key);
            count += 1;
        }
        table.alone = count == 1 && table.fallback.is_some();
        table
    }

    fn insert(&mut self, key: Key<'_>) {
        let (names, text) = match key.name.host.strip_prefix(b"*") {
            Some(suffix) => (&mut self.wildcards, suffix),
            None => (&mut self.exact, key.name.host),
        };
        let ports = key.name.port.map_or(key.portless, |port| Ports::These([port].into()));
        names.insert(text, Entry { ports, has_port: key.name.port.is_some(), host: key.host });
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
        let exact = self.exact.get(name.host).and_then(|named| named.at(port));
        exact.or_else(|| self.wildcard(name.host, port)).or_else(|| self.any(name.host, port))
    }

    /// The host of the matching wildcard that was written first: one lookup per label, within the length of the
    /// longest wildcard.
    fn wildcard(&self, name: &[u8], port: u16) -> Option<usize> {
        // The `*` matches at least one byte.
        let first = name.len().saturating_sub(self.wildcards.longest()).max(1);
        let dots = (first..name.len()).filter(|at| name[*at] == b'.');
        let found = dots.filter_map(|dot| {
            let named = self.wildcards.get(&name[dot..])?;
            Some((named.order, named.at(port)?))
        });
        found.min().map(|(_, host)| host)
    }

    /// The host `*`.
    fn any(&self, name: &[u8], port: u16) -> Option<usize> {
        self.wildcards.get(b"").filter(|_| !name.is_empty())?.at(port)
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
            // A key without a port matches any.
            ("example.org:8080", 3),
            ("www.example.org", 2),
            ("a.b.example.org", 2),
            ("a.example.org:81", 2),
            (".example.org", 1),
            ("a.example.org:8080", 4),
            // The same wildcard with the port takes precedence, although it was written later.
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
    fn of_several_wildcards_that_match_the_one_written_first_wins_whatever_its_length() {
        let keys = ["x", "*.org", "*.example.org", "*.a.example.org:8080"];
        let cases = [
            ("www.example.org", 1),
            ("a.a.example.org:8080", 1),
            ("org", 0),
            (".org", 0),
            ("a.org.net", 0),
            ("a..org", 1),
        ];
        assert_found(&table(false, &keys), &cases);
        let keys = ["x", "*.org:81", "*.example.org", "*.a.example.org:8080", "*"];
        let cases = [
            ("www.example.org", 2),
            ("www.example.org:81", 1),
            ("a.a.example.org:8080", 2),
            ("a.org", 4),
            (&"a.".repeat(4000), 4),
            (&format!("{}example.org", "a.".repeat(4000)), 2),
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
