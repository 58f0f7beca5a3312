//! Address ranges: `10.0.0.0/8`, `2001:db8::/32`, or a single address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An IP network in CIDR notation.
///
/// An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) counts as IPv4, in a network and in the addresses matched against
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    ip: IpAddr,
    bits: u8,
}

impl Network {
    /// Creates a network with a prefix of `bits` bits, or of all bits if that is `None`. Returns `None` if the
    /// address has fewer bits.
    pub fn new(ip: IpAddr, bits: Option<u8>) -> Option<Self> {
        let most = if ip.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        match (ip, ip.to_canonical()) {
            _ if bits > most => None,
            (IpAddr::V6(_), canonical @ IpAddr::V4(_)) if bits >= 96 => {
                Some(Self { ip: canonical, bits: bits - 96 })
            }
            _ => Some(Self { ip, bits }),
        }
    }

    /// The network address: all bits behind the prefix are zero.
    pub fn first(&self) -> IpAddr {
        match self.ip {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::from((u32::from(ip) & mask).to_be_bytes())
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::from((u128::from(ip) & mask).to_be_bytes())
            }
        }
    }

    /// Prefix length.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Whether the bits behind the prefix are zero; `10.0.0.1/8` should be `10.0.0.0/8`.
    pub fn is_canonical(&self) -> bool {
        self.first() == self.ip
    }

    /// Whether the network contains an address.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.ip, ip.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                let shift = 32 - u32::from(self.bits);
                u32::from(own).checked_shr(shift) == u32::from(ip).checked_shr(shift)
            }
            (IpAddr::V6(own), IpAddr::V6(ip)) => {
                let shift = 128 - u32::from(self.bits);
                u128::from(own).checked_shr(shift) == u128::from(ip).checked_shr(shift)
            }
            _ => false,
        }
    }
}

/// The text is not a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoNetwork;

impl FromStr for Network {
    type Err = NoNetwork;

    /// `10.0.0.0/8`, `10.0.0.1`, `2001:db8::/32`.
    fn from_str(text: &str) -> Result<Self, NoNetwork> {
        let (ip, bits) = match text.split_once('/') {
            None => (text, None),
            Some((ip, digits)) => {
                let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
                (ip, Some(digits.parse().ok().filter(|_| plain).ok_or(NoNetwork)?))
            }
        };
        Self::new(ip.parse().map_err(|_| NoNetwork)?, bits).ok_or(NoNetwork)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = if self.ip.is_ipv4() { 32 } else { 128 };
        match self.bits == most {
            true => self.ip.fmt(f),
            false => write!(f, "{}/{}", self.ip, self.bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_a_network_or_not() {
        let cases = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("0.0.0.0/0", "192.0.2.1", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::/32", "2001:db8:9::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
        ];
        for (network, ip, want) in cases {
            let network: Network = network.parse().expect(network);
            assert_eq!(network.contains(ip.parse().expect(ip)), want, "{network} {ip}");
        }
    }

    #[test]
    fn the_first_address_has_no_bits_behind_the_leading_ones() {
        let cases = [
            ("10.1.2.3/8", "10.0.0.0", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3/0", "0.0.0.0", false),
            ("0.0.0.0/0", "0.0.0.0", true),
            ("2001:db8::1/32", "2001:db8::", false),
            ("::/0", "::", true),
            ("::1", "::1", true),
            ("::ffff:10.1.0.0/112", "10.1.0.0", true),
        ];
        for (network, first, canonical) in cases {
            let network: Network = network.parse().expect(network);
            assert_eq!(network.first(), first.parse::<IpAddr>().expect(first), "{network}");
            assert_eq!(network.is_canonical(), canonical, "{network}");
        }
    }

    #[test]
    fn networks_are_written_as_they_are_read_and_nothing_else_is_one() {
        for text in ["10.0.0.0/8", "10.0.0.1", "2001:db8::/32", "::1", "0.0.0.0/0"] {
            assert_eq!(text.parse::<Network>().expect(text).to_string(), text);
        }
        for text in
            ["", "a", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0.0:80"]
        {
            assert_eq!(text.parse::<Network>(), Err(NoNetwork), "{text}");
        }
    }
}
