//! The Forwarded field (RFC 7239): which client requested which host, by which protocol.

use hayami_http::field::is_token;
use hayami_net::service::{Address, ConnectionInfo};
use std::io::Write;
use std::net::IpAddr;

/// The value: the client's own, if it is well-formed, followed by this server's element. A malformed value is left
/// out: an unclosed quotation mark in it could swallow what follows.
pub(super) fn value(told: &[u8], host: &[u8], connection: &ConnectionInfo, client: &Address) -> Vec<u8> {
    let mut value = Vec::with_capacity(told.len() + 96);
    if is_well_formed(told) {
        value.extend_from_slice(told);
        value.extend_from_slice(b", ");
    }
    // Writing to a vector cannot fail. §6: an IPv6 address stands in brackets and quotation marks.
    let _ = match client {
        Address::Ip(peer) => match peer.ip().to_canonical() {
            IpAddr::V4(ip) => write!(value, "for={ip}"),
            IpAddr::V6(ip) => write!(value, "for=\"[{ip}]\""),
        },
        Address::Unix => write!(value, "for=unknown"),
    };
    if !host.is_empty() {
        value.extend_from_slice(b";host=");
        push_quoted(host, &mut value);
    }
    value.extend_from_slice(if connection.tls.is_some() { b";proto=https" } else { b";proto=http" });
    value
}

/// A token, or a quoted string (§4).
fn push_quoted(bytes: &[u8], out: &mut Vec<u8>) {
    if is_token(bytes) {
        return out.extend_from_slice(bytes);
    }
    out.push(b'"');
    for byte in bytes {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// Whether all of it is a list of elements (§4). An element may be empty, as in any list (RFC 9110 §5.6.1).
fn is_well_formed(mut rest: &[u8]) -> bool {
    let mut pairs = 0;
    loop {
        rest = rest.trim_ascii_start();
        match rest {
            [] => return pairs > 0,
            [b',' | b';', after @ ..] => rest = after,
            _ => match pair(rest) {
                Some(after) if matches!(after.trim_ascii_start().first(), None | Some(b',' | b';')) => {
                    (rest, pairs) = (after, pairs + 1);
                }
                _ => return false,
            },
        }
    }
}

/// What follows `token=token` or `token="…"`.
fn pair(bytes: &[u8]) -> Option<&[u8]> {
    let equals = bytes.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&bytes[..equals], &bytes[equals + 1..]);
    if !is_token(name) {
        return None;
    }
    let Some(mut quoted) = value.strip_prefix(b"\"") else {
        let end = value.iter().position(|byte| !is_token(&[*byte])).unwrap_or(value.len());
        return (end > 0).then(|| &value[end..]);
    };
    loop {
        match quoted {
            [b'"', after @ ..] => return Some(after),
            [b'\\', _, after @ ..] | [_, after @ ..] => quoted = after,
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;

    #[test]
    fn an_element_is_appended_to_well_formed_fields() {
        let (connection, own) = (testing::connection(), "for=192.0.2.1;host=app;proto=http");
        let cases = [
            ("", own.to_owned()),
            ("for=198.51.100.17", format!("for=198.51.100.17, {own}")),
            (
                "For=\"[2001:db8::1]:80\" ; proto=http,for=_hidden",
                format!("For=\"[2001:db8::1]:80\" ; proto=http,for=_hidden, {own}"),
            ),
            ("for=unknown;, for=\"a\\\"b\"", format!("for=unknown;, for=\"a\\\"b\", {own}")),
            ("for=\"open", own.to_owned()),
            ("for=\"open\\\"", own.to_owned()),
            ("for", own.to_owned()),
            ("for=", own.to_owned()),
            ("for =x", own.to_owned()),
            ("for=[::1]", own.to_owned()),
            ("for=a b=c", own.to_owned()),
            (" , ;", own.to_owned()),
        ];
        for (told, want) in cases {
            let value = value(told.as_bytes(), b"app", &connection, &connection.peer);
            assert_eq!(String::from_utf8_lossy(&value), want, "{told}");
        }
    }

    #[test]
    fn what_is_no_token_is_quoted() {
        let connection = testing::connection();
        for (peer, host, want) in [
            (
                Address::Ip("[2001:db8::1]:4000".parse().unwrap()),
                "a:80",
                "for=\"[2001:db8::1]\";host=\"a:80\";proto=http",
            ),
            (
                Address::Ip("[::ffff:192.0.2.7]:1".parse().unwrap()),
                "[::1]",
                "for=192.0.2.7;host=\"[::1]\";proto=http",
            ),
            (Address::Unix, "", "for=unknown;proto=http"),
        ] {
            let value = value(b"", host.as_bytes(), &connection, &peer);
            assert_eq!(String::from_utf8_lossy(&value), want);
        }
    }
}
