//! The authority of a target or of a Host field, split into host and port (RFC 3986 §3.2).

use crate::target::{hex, is_sub_delim, is_unreserved};
use std::net::Ipv6Addr;

/// The host as received, with the brackets of an IPv6 address, and the port. Hosts are compared
/// case-insensitively (RFC 9110 §4.2.3).
///
/// `None` if it is not an authority of HTTP: no host (RFC 9110 §4.2.1), userinfo (§4.2.4 there), a port
/// beyond 65535, bytes that are not allowed in a host. An empty port counts as none (RFC 3986 §3.2.3).
pub fn split_authority(authority: &[u8]) -> Option<(&[u8], Option<u16>)> {
    let host_len = match authority.first()? {
        b'[' => memchr::memchr(b']', authority)? + 1,
        // Names are short: a plain loop ends before a vector search has started.
        _ => authority.iter().position(|byte| *byte == b':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at(host_len);
    let port = match rest {
        [] | [b':'] => None,
        [b':', digits @ ..] => Some(port(digits)?),
        _ => return None,
    };
    is_host(host).then_some((host, port))
}

/// Whether two authorities name the same server: hosts are compared case-insensitively and without a trailing
/// dot, and a missing port is the scheme's default port (RFC 3986 §6.2.3, RFC 9110 §4.2.3).
pub fn is_same_authority(one: &[u8], other: &[u8], default_port: Option<u16>) -> bool {
    one.eq_ignore_ascii_case(other) || is_same_server(one, other, default_port)
}

#[cold]
fn is_same_server(one: &[u8], other: &[u8], default_port: Option<u16>) -> bool {
    let (Some((host, port)), Some((other_host, other_port))) = (split_authority(one), split_authority(other))
    else {
        return false;
    };
    let without_root = |host| <[u8]>::strip_suffix(host, b".").unwrap_or(host);
    without_root(host).eq_ignore_ascii_case(without_root(other_host))
        && port.or(default_port) == other_port.or(default_port)
}

fn port(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0_u16, |port, digit| {
        let value = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
        port.checked_mul(10)?.checked_add(value)
    })
}

fn is_host(host: &[u8]) -> bool {
    match host {
        [b'[', address @ .., b']'] => is_ipv6(address),
        name => is_reg_name(name),
    }
}

/// IPvFuture is refused: no version of it is defined (RFC 3986 §3.2.2). So are zones, which mean
/// something only to the node that wrote them (RFC 4007 §6).
fn is_ipv6(address: &[u8]) -> bool {
    str::from_utf8(address).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

/// The bytes that stand for themselves in a name; nearly all names have only these.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = is_unreserved(byte as u8) || is_sub_delim(byte as u8);
        byte += 1;
    }
    plain
};

/// A registered name or an IPv4 address (RFC 3986 §3.2.2), not empty.
fn is_reg_name(name: &[u8]) -> bool {
    !name.is_empty() && (name.iter().all(|byte| PLAIN[usize::from(*byte)]) || is_escaped_name(name))
}

/// A name with percent-encoded bytes in it.
fn is_escaped_name(name: &[u8]) -> bool {
    let mut rest = name;
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (b'%', [high, low, after @ ..]) if hex(*high).is_some() && hex(*low).is_some() => after,
            (byte, _) if PLAIN[usize::from(*byte)] => after,
            _ => return false,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn host_and_port_are_told_apart() {
        let cases: &[(&str, &str, Option<u16>)] = &[
            ("example.com", "example.com", None),
            ("Example.COM:8080", "Example.COM", Some(8080)),
            ("example.com.:80", "example.com.", Some(80)),
            ("a:", "a", None),
            ("a:0", "a", Some(0)),
            ("a:00443", "a", Some(443)),
            ("a:65535", "a", Some(65535)),
            ("192.0.2.1:80", "192.0.2.1", Some(80)),
            ("my_host-1", "my_host-1", None),
            ("[::1]", "[::1]", None),
            ("[2001:DB8::1]:443", "[2001:DB8::1]", Some(443)),
            ("[::ffff:192.0.2.1]:", "[::ffff:192.0.2.1]", None),
            ("%e6%b0%b4.example", "%e6%b0%b4.example", None),
        ];
        for (authority, host, port) in cases {
            assert_eq!(split_authority(authority.as_bytes()), Some((host.as_bytes(), *port)), "{authority}");
        }
    }

    #[test]
    fn malformed_authorities_are_refused() {
        let cases = [
            "",
            ":",
            ":80",
            "a:65536",
            "a:99999999999999999999",
            "a:8o",
            "a:+80",
            "a:-1",
            "a: 80",
            "a:80:80",
            "::1",
            "user@a",
            "user:pass@a:80",
            "a/b",
            "a?b",
            "a#b",
            "a b",
            "a\\b",
            "a\0b",
            "a\rb",
            "水",
            "a%",
            "a%2",
            "a%zz",
            "[",
            "[]",
            "]",
            "[::1",
            "::1]",
            "[::1]80",
            "[::1]:x",
            "[::1]a",
            "[::g]",
            "[1.2.3.4]",
            "[fe80::1%25eth0]",
            "[v1.a]",
            "a[::1]",
            "[[::1]]",
            "a,b\"c",
            "<a>",
        ];
        for authority in cases {
            assert_eq!(split_authority(authority.as_bytes()), None, "{authority:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_split_or_refused(authority: Vec<u8>) {
            if let Some((host, _)) = split_authority(&authority) {
                prop_assert!(!host.is_empty() && authority.starts_with(host));
            }
        }

        #[test]
        fn a_joined_authority_is_split_again(host in "[a-zA-Z0-9.-]{1,20}", port: Option<u16>) {
            let authority = port.map_or(host.clone(), |port| format!("{host}:{port}"));
            prop_assert_eq!(split_authority(authority.as_bytes()), Some((host.as_bytes(), port)));
        }
    }
}
