//! The consistent hash balancer: a key stays on its upstream when other upstreams are added or removed.
//!
//! Weighted rendezvous hashing: every upstream draws a number for the key, and the highest wins. An upstream that
//! is removed gives away only its own keys, and a new one takes its share from all others; weights are exact, and
//! no ring has to be stored, or rebuilt when a weight or the list changes. The cost is a few multiplications per
//! upstream and request, which is negligible for the tens of upstreams of a group; for thousands a ring would be
//! faster.

use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use hayami_http::{Known, RequestHead};
use hayami_net::service::Address;
use std::net::IpAddr;

/// The part of a request that is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashKey {
    /// The client's address, without its port.
    Client,
    /// The request target, as received.
    Uri,
    /// The value of the field of this name, in lower case.
    Header(Vec<u8>),
    /// The value of the cookie of this name.
    Cookie(Vec<u8>),
}

impl HashKey {
    pub(super) fn read(node: &Node) -> Result<Self, ConfigError> {
        if let Value::Mapping(pairs) = &node.value {
            let [(kind, name)] = &pairs[..] else { return Err(node.expected(WANTED)) };
            let kind = kind.one_of(&["header", "cookie"])?;
            let name = name.text()?;
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(node.error(format!("`{name}` is not a valid header or cookie name")));
            }
            return Ok(match kind {
                0 => Self::Header(name.to_ascii_lowercase().into_bytes()),
                _ => Self::Cookie(name.as_bytes().to_vec()),
            });
        }
        match node.text() {
            Ok("client") => Ok(Self::Client),
            Ok("uri") => Ok(Self::Uri),
            _ => Err(node.expected(WANTED)),
        }
    }

    /// The hash key of a request; `None` if it lacks the hashed part: then the balancer falls back to round robin.
    pub(super) fn of(&self, head: &RequestHead, client: &Address) -> Option<u64> {
        match self {
            Self::Client => match client {
                Address::Ip(address) => Some(match address.ip().to_canonical() {
                    IpAddr::V4(ip) => number(&ip.octets()),
                    IpAddr::V6(ip) => number(&ip.octets()),
                }),
                Address::Unix => None,
            },
            Self::Uri => Some(number(head.target())),
            Self::Header(name) => head.fields().get_named(name).filter(|value| !value.is_empty()).map(number),
            Self::Cookie(name) => cookie(head, name).filter(|value| !value.is_empty()).map(number),
        }
    }
}

const WANTED: &str = "client, uri, {header: NAME} or {cookie: NAME}";

/// The value of a cookie (RFC 6265 §4.2.1).
fn cookie<'a>(head: &'a RequestHead, name: &[u8]) -> Option<&'a [u8]> {
    let lines = head.fields().get_all(Known::Cookie);
    let mut pairs = lines.flat_map(|line| line.split(|byte| *byte == b';')).map(<[u8]>::trim_ascii);
    pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix(b"="))
}

/// FNV-1a, mixed: the same bytes hash alike on every machine and in every version, so that several servers in front
/// of the same upstreams agree.
pub(super) fn number(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

/// Steele's splitmix64: every bit of the result depends on every bit.
pub(super) fn mix(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The draw of an upstream for a key; the highest wins. An upstream with twice the weight of another wins twice as
/// many keys (the exponential distribution's minimum).
pub(super) fn draw(key: u64, upstream: u64, weight: u32) -> f64 {
    // 53 bits, the precision of f64's fraction; never 0.
    let uniform = ((mix(key ^ upstream.rotate_left(17)) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    // The logarithm of a value up to 1 is at most -0; the draw for 1 is the highest possible.
    f64::from(weight) / -uniform.ln().min(-f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;

    /// The upstream that each of many keys goes to.
    fn winners(upstreams: &[(&str, u32)]) -> Vec<String> {
        let numbers: Vec<_> =
            upstreams.iter().map(|(name, weight)| (number(name.as_bytes()), *weight)).collect();
        let winner = |key: u64| {
            let draws = numbers.iter().map(|(own, weight)| draw(key, *own, *weight));
            draws.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(index, _)| index)
        };
        (0..20_000_u32).map(|key| upstreams[winner(number(&key.to_be_bytes()))].0.to_owned()).collect()
    }

    fn share(winners: &[String], name: &str) -> f64 {
        winners.iter().filter(|own| *own == name).count() as f64 / winners.len() as f64
    }

    #[test]
    fn a_leaving_member_gives_up_only_its_keys_and_a_new_one_takes_one_share() {
        let four = winners(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
        let three = winners(&[("d", 1), ("a", 1), ("c", 1)]);
        for name in ["a", "b", "c", "d"] {
            assert!((share(&four, name) - 0.25).abs() < 0.02, "{name}: {}", share(&four, name));
        }
        let moved = four.iter().zip(&three).filter(|(before, after)| before != after).count();
        let of_the_lost = four.iter().filter(|name| *name == "b").count();
        assert_eq!(moved, of_the_lost);
        for name in ["a", "c", "d"] {
            assert!((share(&three, name) - 1.0 / 3.0).abs() < 0.02, "{name}: {}", share(&three, name));
        }
    }

    #[test]
    fn weights_count_and_a_change_moves_keys_one_way_only() {
        let (before, after) = (winners(&[("a", 1), ("b", 1)]), winners(&[("a", 3), ("b", 1)]));
        assert!((share(&after, "a") - 0.75).abs() < 0.02, "{}", share(&after, "a"));
        assert!(before.iter().zip(&after).all(|(before, after)| before == after || after == "a"));
    }

    #[test]
    fn a_draw_is_a_number_above_zero_whatever_is_drawn() {
        for key in [0, 1, u64::MAX] {
            for weight in [1, 65_535 << 8] {
                let drawn = draw(key, key.rotate_right(17), weight);
                assert!(drawn > 0.0 && !drawn.is_nan(), "{drawn}");
            }
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        for field in ["cookie", "Cookie"] {
            let mut head = testing::get("/");
            let fields = head.fields_mut();
            fields.append(field.as_bytes(), b"xa=1; a=22;b=3");
            fields.append(field.as_bytes(), b"c=4");
            for (name, want) in [("a", Some("22")), ("b", Some("3")), ("c", Some("4")), ("d", None)] {
                assert_eq!(cookie(&head, name.as_bytes()), want.map(str::as_bytes), "{field}: {name}");
            }
        }
    }

    #[test]
    fn numbers_are_the_same_for_ever() {
        assert_eq!(number(b""), mix(0xcbf2_9ce4_8422_2325));
        assert_eq!(number(b"10.0.0.1"), number(&"10.0.0.1".bytes().collect::<Vec<_>>()));
    }
}
