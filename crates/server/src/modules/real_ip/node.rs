//! Parses addresses as written by proxies.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Parses the address in an element of a list, or a node of RFC 7239 §6: with or without a port, IPv6 with or without
/// brackets. `unknown` and obfuscated nodes are not addresses.
pub(super) fn parse(text: &[u8]) -> Option<SocketAddr> {
    let text = str::from_utf8(text).ok()?;
    if let Some(bracketed) = text.strip_prefix('[') {
        let (ip, rest) = bracketed.split_once(']')?;
        let port = if rest.is_empty() { 0 } else { port(rest.strip_prefix(':')?)? };
        return Some(canonical(ip.parse::<Ipv6Addr>().ok()?.into(), port));
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(canonical(ip, 0));
    }
    let (ip, number) = text.split_once(':')?;
    Some(canonical(ip.parse::<Ipv4Addr>().ok()?.into(), port(number)?))
}

/// The port; 0 for an obfuscated one (§6.3).
fn port(text: &str) -> Option<u16> {
    let obfuscated =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    match text.strip_prefix('_') {
        Some(name) => (!name.is_empty() && obfuscated(name)).then_some(0),
        None => text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?,
    }
}

fn canonical(ip: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(ip.to_canonical(), port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        for (text, want) in [
            ("192.0.2.1", "192.0.2.1:0"),
            ("192.0.2.1:4711", "192.0.2.1:4711"),
            ("192.0.2.1:_x1", "192.0.2.1:0"),
            ("2001:db8::1", "[2001:db8::1]:0"),
            ("[2001:db8::1]", "[2001:db8::1]:0"),
            ("[2001:db8::1]:80", "[2001:db8::1]:80"),
            ("::ffff:192.0.2.1", "192.0.2.1:0"),
            ("[::ffff:192.0.2.1]:9", "192.0.2.1:9"),
        ] {
            assert_eq!(parse(text.as_bytes()).map(|found| found.to_string()).as_deref(), Some(want));
        }
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in [
            "",
            "unknown",
            "_hidden",
            "localhost",
            "192.0.2",
            "192.0.2.1:",
            "192.0.2.1:65536",
            "192.0.2.1:+1",
            "192.0.2.1:80:90",
            "[192.0.2.1]",
            "[2001:db8::1",
            "[2001:db8::1]80",
            "[::1]:",
            "192.0.2.1:_",
            "192.0.2.1:_a b",
            "é",
            "1",
            "fe80::1%eth0",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
