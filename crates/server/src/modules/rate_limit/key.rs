//! By what requests are counted.

use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use hayami_http::{Known, RequestHead};
use hayami_net::service::Address;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

/// By what a limit counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) kind: KeyKind,
    /// Where clients are counted.
    pub(super) prefix: Prefix,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// The client's address.
    #[default]
    Client,
    /// The configured host.
    Host,
    /// The configured path.
    Path,
    /// The value of the field of this name, in lower case.
    Field(Box<str>),
    /// The value of the cookie of this name.
    Cookie(Box<str>),
}

/// How many bits of an address count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    v4: u8,
    v6: u8,
}

impl Default for Prefix {
    /// A client has a whole /64 of IPv6: what one network interface chooses its addresses from (RFC 4291 §2.5.4).
    fn default() -> Self {
        Self { v4: 32, v6: 64 }
    }
}

/// Unpredictable, so that no client can choose its place in a table, or another's. One for the process: tables are kept
/// over reloads.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The hash of a key; never 0.
pub(super) fn hash(key: &impl Hash) -> u64 {
    SEED.hash_one(key).max(1)
}

/// Where a key comes from: no value of a field is the address of a client.
#[derive(Hash)]
enum Origin {
    Client,
    Route,
    Value,
}

const WANTED: &str = "client, host, path, {field: NAME} or {cookie: NAME}";

impl KeyKind {
    pub(super) fn read(node: &Node) -> Result<Self, ConfigError> {
        if let Value::Mapping(pairs) = &node.value {
            let [(kind, name)] = &pairs[..] else {
                let error = node.error("`key` has one of field and cookie");
                return Err(error.help("write `key: {field: x-api-key}`, and other arguments beside `key`"));
            };
            if let (true, Ok(name)) = (kind.is("header"), name.text()) {
                return Err(kind.expected("field or cookie").help(format!("write `key: {{field: {name}}}`")));
            }
            return Ok(match kind.one_of(&["field", "cookie"])? {
                0 => Self::Field(
                    name.token("the name of a field, such as x-api-key")?.to_ascii_lowercase().into(),
                ),
                _ => Self::Cookie(name.token("the name of a cookie")?.into()),
            });
        }
        match node.text() {
            Ok("client") => Ok(Self::Client),
            Ok("host") => Ok(Self::Host),
            Ok("path") => Ok(Self::Path),
            Ok("field") => Err(node.expected(WANTED).help("write `key: {field: x-api-key}`")),
            Ok("cookie") => Err(node.expected(WANTED).help("write `key: {cookie: session}`")),
            Ok(text) if text.contains("remote_addr") => {
                Err(node.expected(WANTED).help("leave `key` out: the client's address is the default"))
            }
            Ok(text) if text.contains('-') => {
                Err(node.expected(WANTED).help(format!("write `key: {{field: {text}}}`")))
            }
            _ => Err(node.expected(WANTED)),
        }
    }
}

impl Prefix {
    pub(super) fn read(node: &Node) -> Result<Self, ConfigError> {
        let wanted = || node.expected("the prefix lengths of IPv4 and IPv6, such as [24, 56]");
        let Value::Sequence(nodes) = &node.value else { return Err(wanted()) };
        let [v4, v6] = &nodes[..] else { return Err(wanted()) };
        let bits = |node: &Node, most| Ok(u8::try_from(node.integer(1..=most)?).unwrap_or(u8::MAX));
        Ok(Self { v4: bits(v4, 32)?, v6: bits(v6, 128)? })
    }

    /// The network of a client that counts as one.
    fn network(self, ip: IpAddr) -> IpAddr {
        match ip.to_canonical() {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.v4.into())).unwrap_or(0);
                Ipv4Addr::from(u32::from(ip) & mask).into()
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(self.v6.into())).unwrap_or(0);
                Ipv6Addr::from(u128::from(ip) & mask).into()
            }
        }
    }
}

/// What a key says at a route.
pub(super) struct RouteKey {
    key: Key,
    /// The name that it stands for, if that is not the request's.
    name: String,
    hash: u64,
}

impl RouteKey {
    /// The key at a path of a host.
    pub(super) fn new(key: &Key, host: &str, path: &str) -> Self {
        let name = match key.kind {
            KeyKind::Host => format!("host {host}"),
            KeyKind::Path => format!("path {path} of host {host}"),
            _ => String::new(),
        };
        Self { key: key.clone(), hash: hash(&(Origin::Route, &name)), name }
    }

    /// The number by which a request is counted.
    #[inline]
    pub(super) fn of(&self, head: &RequestHead, client: &Address) -> u64 {
        match &self.key.kind {
            KeyKind::Client => self.of_client(client),
            KeyKind::Host | KeyKind::Path => self.hash,
            KeyKind::Field(name) => self.of_value(field(head, name), client),
            KeyKind::Cookie(name) => self.of_value(cookie(head, name), client),
        }
    }

    fn of_client(&self, client: &Address) -> u64 {
        match client {
            Address::Ip(client) => match self.key.prefix.network(client.ip()) {
                IpAddr::V4(ip) => hash(&(Origin::Client, u32::from(ip))),
                IpAddr::V6(ip) => hash(&(Origin::Client, u128::from(ip))),
            },
            Address::Unix => hash(&Origin::Client),
        }
    }

    fn of_value(&self, value: Option<&[u8]>, client: &Address) -> u64 {
        match value {
            Some(value) => hash(&(Origin::Value, value)),
            None => self.of_client(client),
        }
    }

    /// What is said of the key of a request. Values of fields and cookies are secrets.
    pub(super) fn shown(&self, head: &RequestHead, client: &Address) -> String {
        match &self.key.kind {
            KeyKind::Host | KeyKind::Path => self.name.clone(),
            KeyKind::Field(name) if field(head, name).is_some() => format!("a value of the field {name}"),
            KeyKind::Cookie(name) if cookie(head, name).is_some() => format!("a value of the cookie {name}"),
            _ => format!("client {}", self.shown_client(client)),
        }
    }

    fn shown_client(&self, client: &Address) -> String {
        let Address::Ip(client) = client else { return client.to_string() };
        let network = self.key.prefix.network(client.ip());
        let (bits, all) = match network {
            IpAddr::V4(_) => (self.key.prefix.v4, 32),
            IpAddr::V6(_) => (self.key.prefix.v6, 128),
        };
        if bits == all { network.to_string() } else { format!("{network}/{bits}") }
    }
}

/// The only value of a field. A client that sends several could choose which of them counts.
fn field<'a>(head: &'a RequestHead, name: &str) -> Option<&'a [u8]> {
    let lines = head.fields().iter().filter(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()));
    only(lines.map(|(_, value)| value))
}

/// The only value of a cookie (RFC 6265 §4.2.1), without the blanks and quotes that applications remove: one session must not
/// have several keys.
fn cookie<'a>(head: &'a RequestHead, name: &str) -> Option<&'a [u8]> {
    let lines = head.fields().get_all(Known::Cookie);
    let pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    only(pairs.filter_map(|pair| {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (own, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        let quoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
        (own == name.as_bytes()).then_some(quoted.unwrap_or(value))
    }))
}

fn only<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    let value = values.next().filter(|value| !value.is_empty())?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;

    fn client(ip: &str) -> Address {
        Address::Ip((ip.parse::<IpAddr>().expect(ip), 4000).into())
    }

    fn route_key(kind: KeyKind, prefix: Prefix) -> RouteKey {
        RouteKey::new(&Key { kind, prefix }, "example.org", "/a")
    }

    fn with(lines: &[(&str, &str)]) -> RequestHead {
        let mut head = testing::head("GET", "/");
        lines.iter().for_each(|(name, value)| head.fields_mut().append(name.as_bytes(), value.as_bytes()));
        head
    }

    #[test]
    fn clients_of_a_prefix_count_as_one() {
        let head = testing::head("GET", "/");
        let (fine, coarse) = (Prefix::default(), Prefix { v4: 24, v6: 48 });
        for (prefix, one, other, same) in [
            (fine, "192.0.2.1", "192.0.2.2", false),
            (fine, "192.0.2.1", "::ffff:192.0.2.1", true),
            (fine, "2001:db8::1", "2001:db8::ffff:1", true),
            (fine, "2001:db8::1", "2001:db8:0:1::1", false),
            (coarse, "192.0.2.1", "192.0.2.2", true),
            (coarse, "192.0.2.1", "192.0.3.1", false),
            (coarse, "2001:db8::1", "2001:db8:0:1::1", true),
        ] {
            let key = route_key(KeyKind::Client, prefix);
            let keys = (key.of(&head, &client(one)), key.of(&head, &client(other)));
            assert_eq!(keys.0 == keys.1, same, "{one} {other}");
        }
        let key = route_key(KeyKind::Client, fine);
        assert_eq!(key.shown(&head, &client("2001:db8::1")), "client 2001:db8::/64");
        assert_eq!(key.shown(&head, &client("::ffff:192.0.2.1")), "client 192.0.2.1");
        assert_eq!(key.shown(&head, &Address::Unix), "client unix:");
    }

    #[test]
    fn requests_without_the_only_value_are_counted_by_client() {
        let one = client("192.0.2.1");
        let by_client = route_key(KeyKind::Client, Prefix::default()).of(&with(&[]), &one);
        let field = route_key(KeyKind::Field("x-key".into()), Prefix::default());
        let cookie = route_key(KeyKind::Cookie("id".into()), Prefix::default());
        for (key, lines, is_value) in [
            (&field, &[("X-Key", "a")][..], true),
            (&field, &[("x-key", "")], false),
            (&field, &[("x-key", "a"), ("X-KEY", "b")], false),
            (&cookie, &[("cookie", "x=1; id=7")], true),
            (&cookie, &[("cookie", "id=7"), ("cookie", "id=8")], false),
            (&cookie, &[("cookie", "idx=7")], false),
        ] {
            let head = with(lines);
            assert_eq!(key.of(&head, &one) != by_client, is_value, "{lines:?}");
            let is_same = key.of(&head, &one) == key.of(&head, &client("192.0.2.9"));
            assert_eq!(is_same, is_value, "{lines:?}");
            assert_eq!(key.shown(&head, &one).starts_with("a value"), is_value, "{lines:?}");
        }
    }

    #[test]
    fn a_cookie_has_one_key_however_it_is_written() {
        let (key, one) = (route_key(KeyKind::Cookie("id".into()), Prefix::default()), client("192.0.2.1"));
        let of = |line| key.of(&with(&[("cookie", line)]), &one);
        for line in ["id= 7", "x=1;  id =7 ; y", "id=\"7\"", "id=\t\"7\""] {
            assert_eq!(of(line), of("id=7"), "{line}");
        }
        assert_ne!(of("id=7=8"), of("id=7"));
    }

    #[test]
    fn hosts_and_paths_are_those_of_the_configuration() {
        let head = testing::head("GET", "/a/b");
        let path = route_key(KeyKind::Path, Prefix::default());
        assert_eq!(path.of(&head, &client("192.0.2.1")), path.of(&head, &client("192.0.2.2")));
        assert_eq!(path.shown(&head, &Address::Unix), "path /a of host example.org");
        let host = route_key(KeyKind::Host, Prefix::default());
        assert_eq!(host.shown(&head, &Address::Unix), "host example.org");
        assert_ne!(path.of(&head, &Address::Unix), host.of(&head, &Address::Unix));
    }
}
