//! The rules for addresses that may be connected to.

use crate::config::error::ConfigError;
use crate::config::settings::HandlerSetting;
use crate::config::yaml::Node;
use hayami_net::Network;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The rules of `proxy.connect`, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

impl HandlerSetting for Rules {
    fn connects(&self) -> bool {
        true
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    allows: bool,
    /// `None`: any.
    network: Option<Network>,
    /// First and last port; `None`: any.
    ports: Option<(u16, u16)>,
}

impl Rules {
    /// Reads a rule, or a sequence of rules.
    pub(super) fn read(node: &Node) -> Result<Self, ConfigError> {
        let wanted = "`+` or `-` and `*` or an address, with `/bits` and `:port` or `:first-last` as needed, such \
                      as `+*:443`, `+*:8000-8999` or `-10.0.0.0/8`";
        let rule = |node: &Node| {
            let text = node.text().map_err(|_| node.expected(wanted))?;
            parse(text).ok_or_else(|| node.expected(wanted))
        };
        node.one_or_many().into_iter().map(rule).collect::<Result<_, _>>().map(Self)
    }

    /// Whether an address may be connected to: the first matching rule decides.
    pub(super) fn allow(&self, address: SocketAddr) -> bool {
        let ip = meant(address.ip());
        let fitting = self.0.iter().find(|rule| rule.fits(ip, address.port()));
        fitting.is_some_and(|rule| rule.allows)
    }
}

impl Rule {
    fn fits(self, ip: IpAddr, port: u16) -> bool {
        self.ports.is_none_or(|(first, last)| (first..=last).contains(&port))
            && self.network.is_none_or(|network| network.contains(ip))
    }
}

/// The address that the kernel actually connects to: 10.0.0.1 for ::ffff:10.0.0.1, this machine for 0.0.0.0.
fn meant(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// `+*:443`, `-10.0.0.0/8`, `+[2001:db8::]/32:8000-8999`; bits and ports in either order, as in h2o. An IPv6 address
/// without brackets has no ports.
fn parse(text: &str) -> Option<Rule> {
    let allows = text.starts_with('+');
    let rest = text.strip_prefix(['+', '-'])?;
    let (host, more) = match rest.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None if rest.matches(':').count() > 1 => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => rest.split_at(rest.find(['/', ':']).unwrap_or(rest.len())),
    };
    let (bits, ports) = suffixes(more)?;
    let network = match (host, bits) {
        ("*", None) => None,
        _ => Some(Network::new(host.parse().ok()?, bits)?),
    };
    Some(Rule { allows, network, ports })
}

/// The first port and the last.
type Ports = (u16, u16);

/// What follows an address: `/bits` and `:ports`, each at most once.
fn suffixes(mut text: &str) -> Option<(Option<u8>, Option<Ports>)> {
    let (mut bits, mut ports) = (None, None);
    while let Some(sign) = text.chars().next() {
        let end = text[1..].find(['/', ':']).map_or(text.len(), |at| at + 1);
        match sign {
            '/' if bits.is_none() => bits = Some(number(&text[1..end])?),
            ':' if ports.is_none() => ports = Some(self::ports(&text[1..end])?),
            _ => return None,
        }
        text = &text[end..];
    }
    Some((bits, ports))
}

/// `443`, or `8000-8999`.
fn ports(text: &str) -> Option<Ports> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some((first, last))
}

/// Parses digits only: no sign.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(lines: &[&str]) -> Rules {
        Rules(lines.iter().map(|line| parse(line).unwrap_or_else(|| panic!("{line}"))).collect())
    }

    #[test]
    fn the_first_rule_that_fits_decides_and_none_is_no() {
        let cases: &[(&[&str], &str, bool)] = &[
            (&[], "192.0.2.1:443", false),
            (&["+*"], "192.0.2.1:1", true),
            (&["+*"], "[2001:db8::1]:1", true),
            (&["+*:443"], "192.0.2.1:443", true),
            (&["+*:443"], "192.0.2.1:80", false),
            (&["-10.0.0.0/8", "+*"], "10.255.0.1:443", false),
            (&["-10.0.0.0/8", "+*"], "11.0.0.1:443", true),
            (&["+10.1.2.3", "-10.0.0.0/8", "+*:443"], "10.1.2.3:25", true),
            (&["+10.1.2.3", "-10.0.0.0/8", "+*:443"], "10.1.2.4:443", false),
            (&["-0.0.0.0/0", "+*"], "192.0.2.1:443", false),
            (&["-0.0.0.0/0", "+*"], "[2001:db8::1]:443", true),
            (&["-::/0", "+*"], "[2001:db8::1]:443", false),
            (&["+192.0.2.128/25:443"], "192.0.2.200:443", true),
            (&["+192.0.2.128/25:443"], "192.0.2.100:443", false),
            (&["+192.0.2.128:443/25"], "192.0.2.200:443", true),
            (&["+[2001:db8::]/32:443"], "[2001:db8:9::1]:443", true),
            (&["+[2001:db8::]/32:443"], "[2001:db9::1]:443", false),
            (&["+*:8000-8999"], "192.0.2.1:8000", true),
            (&["+*:8000-8999"], "192.0.2.1:8999", true),
            (&["+*:8000-8999"], "192.0.2.1:7999", false),
            (&["-10.0.0.0/8:0-1023", "+*"], "10.0.0.1:22", false),
            (&["-10.0.0.0/8:0-1023", "+*"], "10.0.0.1:1024", true),
            (&["+[2001:db8::]:80-81/32"], "[2001:db8:9::1]:81", true),
            (&["+2001:db8::/32"], "[2001:db8::9]:7", true),
            // An IPv4-mapped IPv6 address counts as IPv4.
            (&["-127.0.0.0/8", "+*"], "[::ffff:127.0.0.1]:443", false),
            (&["-[::ffff:127.0.0.0]/104", "+*"], "127.9.9.9:443", false),
            // The unspecified address connects to this machine.
            (&["-127.0.0.0/8", "+*"], "0.0.0.0:443", false),
            (&["-[::1]", "+*"], "[::]:443", false),
        ];
        for (lines, address, want) in cases {
            let address = address.parse().expect("an address");
            assert_eq!(rules(lines).allow(address), *want, "{lines:?} {address}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for line in [
            "",
            "+",
            "*",
            "10.0.0.1",
            "+10.0.0.0/33",
            "+::/129",
            "+*/8",
            "+a.example",
            "+10.0.0.1:",
            "+10.0.0.1:65536",
            "+10.0.0.1/8/8",
            "+10.0.0.1:1:2",
            "+[::1",
            "+[::1]x",
            "+10.0.0.1/ 8",
            "+10.0.0.1/-8",
            "++*",
            "+*:443x",
            "+*:443-",
            "+*:-443",
            "+*:444-443",
            "+*:1-2-3",
            "+*:1-65536",
        ] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
