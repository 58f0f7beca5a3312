//! Targets of what a request names: its path and its authority.

use hayami_http::{encode_path, normalize, split_authority};
use std::net::Ipv6Addr;

/// A normalized path starts with `/`, holds no NUL, no dot segment and no empty segment but the last;
/// encoded it fits a URI, and normalizing that gives the same path.
pub fn path(bytes: &[u8]) {
    let mut scratch = b"left over".to_vec();
    let Ok(once) = normalize(bytes, &mut scratch) else { return };
    check_path(once);
    let mut encoded = Vec::new();
    encode_path(once, &mut encoded);
    assert!(encoded.iter().all(|byte| byte.is_ascii_graphic() && !b"?#\"<>\\^`{|}".contains(byte)));
    let mut scratch = Vec::new();
    assert_eq!(normalize(&encoded, &mut scratch), Ok(once));
}

fn check_path(path: &[u8]) {
    let rest = path.strip_prefix(b"/").expect("a normalized path starts with a slash");
    assert!(!path.contains(&0));
    let segments: Vec<_> = rest.split(|byte| *byte == b'/').collect();
    assert!(!segments.iter().any(|segment| matches!(*segment, b"." | b"..")));
    assert!(!segments[..segments.len() - 1].contains(&&b""[..]));
}

/// An authority is host and port put together; its host has the bytes that RFC 3986 §3.2.2 gives it, and
/// what stands in brackets is an IPv6 address.
pub fn authority(bytes: &[u8]) {
    let Some((host, port)) = split_authority(bytes) else { return };
    let rest = bytes.strip_prefix(host).expect("the host comes first");
    match port {
        Some(port) => assert_eq!(decimal(rest.strip_prefix(b":").expect("a port")), u64::from(port)),
        None => assert!(matches!(rest, b"" | b":")),
    }
    match host {
        [b'[', address @ .., b']'] => {
            assert!(str::from_utf8(address).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok()));
        }
        name => assert!(!name.is_empty() && name.iter().all(is_in_names)),
    }
    let whole = [host, format!(":{}", port.unwrap_or(80)).as_bytes()].concat();
    assert_eq!(split_authority(&whole), Some((host, Some(port.unwrap_or(80)))));
}

fn decimal(digits: &[u8]) -> u64 {
    assert!(digits.iter().all(u8::is_ascii_digit));
    digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
}

fn is_in_names(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(byte)
}
