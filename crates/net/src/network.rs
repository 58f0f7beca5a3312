//! Ranges of addresses: `10.0.0.0/8`, `2001:db8::/32`, or one address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address, and how many of its leading bits count.
///
/// An address of IPv4 in the clothes of IPv6 (`::ffff:10.0.0.1`) is one of IPv4, here and where it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    ip: IpAddr,
    bits: u8,
}

impl Network {
    /// The network in which that many leading bits are those of the address; all of them without a number. `None`: the
    /// address has fewer.
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

    /// Its first address: all bits behind the leading ones are zero.
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

    /// How many leading bits count.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Whether the address in its text is the first one; `10.0.0.1/8` is written for `10.0.0.0/8`.
    pub fn is_canonical(&self) -> bool {
        self.first() == self.ip
    }

    /// Whether an address belongs to it.
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

/// A text that is no network.
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
