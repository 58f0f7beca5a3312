//! Listeners for the same address, or for addresses of which one includes the other.
//!
//! An address that is written several times is bound once and serves the hosts of all places; so all places must agree
//! on the socket's protocols. An address in addition to `0.0.0.0` or `[::]` on the same port cannot be bound.

use super::{Address, Host, HostPort, Listener, Listeners, ssl};
use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings::Settings;
use crate::config::yaml::Position;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};
use std::path::PathBuf;

const ANY_V4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const ANY_V6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

/// How two listeners relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Apart,
    /// They share a socket.
    Same,
    /// They cannot both be bound.
    Overlap,
}

/// The listeners read so far, which later ones must agree with.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The first listener of every address.
    sockets: HashMap<Socket, Vec<Listener>>,
    /// Every `ssl`, by the position of its first certificate, which equal ones have in common.
    ssl: HashMap<Position, Vec<ssl::Settings>>,
}

/// What addresses must have in common to be related.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Socket {
    Tcp(u16),
    Udp(u16),
    Unix(PathBuf),
}

impl FeatureSetting for Seen {}

impl Seen {
    /// Whether an `ssl` is not an alias of an earlier one.
    pub(super) fn is_new(&mut self, ssl: &ssl::Settings) -> bool {
        let same = self.ssl.entry(ssl.identities[0].certificate.at).or_default();
        let is_new = !same.contains(ssl);
        if is_new {
            same.push(ssl.clone());
        }
        is_new
    }
}

/// Checks a new listener against all earlier ones.
///
/// # Errors
/// It cannot be bound in addition to another one, or contradicts one that it shares a socket with.
pub(super) fn check(scope: &mut Scope<'_>, new: &Listener) -> Result<(), ConfigError> {
    let socket = match &new.address {
        Address::Tcp(address) => Socket::Tcp(address.port),
        Address::Quic(address) => Socket::Udp(address.port),
        Address::Unix(socket) => Socket::Unix(socket.path.clone()),
    };
    let others = scope.global.reading.features.get_mut::<Seen>().sockets.entry(socket).or_default();
    others.iter().try_for_each(|other| check_pair(other, new))?;
    if others.iter().all(|other| other.address != new.address) {
        others.push(new.clone());
    }
    Ok(())
}

fn check_pair(other: &Listener, new: &Listener) -> Result<(), ConfigError> {
    let (message, help) = match relation(&other.address, &new.address) {
        Relation::Apart => return Ok(()),
        Relation::Same => match disagreement(other, new) {
            Some(disagreement) => disagreement,
            None => return Ok(()),
        },
        Relation::Overlap => overlap(&other.address, &new.address),
    };
    Err(ConfigError::new(new.at, message).help(help).also(other.at, "the other listener"))
}

fn overlap(other: &Address, new: &Address) -> (String, &'static str) {
    match new {
        Address::Unix(socket) => {
            let path = socket.path.display();
            let message =
                format!("the unix socket `{path}` has a different owner, group or permission elsewhere");
            (message, "use the same values in both, or another path")
        }
        _ => {
            let message = format!("`listen` on {new} overlaps with `listen` on {other}");
            (message, "remove one of the two, or use another port")
        }
    }
}

/// A contradiction between two listeners about their socket, with a remedy.
fn disagreement(other: &Listener, new: &Listener) -> Option<(String, &'static str)> {
    if other.proxy_protocol != new.proxy_protocol {
        let message = match other.proxy_protocol.is_some() && new.proxy_protocol.is_some() {
            true => "this address has a different `proxy-protocol` elsewhere",
            false => "this address has `proxy-protocol: ON` in one place and not in another",
        };
        return Some((message.to_owned(), "set it for both or for neither, or use another port"));
    }
    if new.options != other.options && new.options != <_>::default() {
        let message = "this address has different socket options elsewhere";
        return Some((message.to_owned(), "set them in the first `listen` with this address"));
    }
    let message = match (&other.ssl, &new.ssl) {
        (Some(_), None) => "this address has `ssl` elsewhere but not here",
        (None, Some(_)) => "this address has `ssl` here but not elsewhere",
        _ => return None,
    };
    let help = "set `ssl` for both (use an anchor) or for neither, or use another port";
    Some((message.to_owned(), help))
}

fn relation(one: &Address, other: &Address) -> Relation {
    match (one, other) {
        (Address::Tcp(one), Address::Tcp(other)) | (Address::Quic(one), Address::Quic(other)) => {
            relation_of_ports(one, other)
        }
        (Address::Unix(one), Address::Unix(other)) if one == other => Relation::Same,
        (Address::Unix(one), Address::Unix(other)) if one.path == other.path => Relation::Overlap,
        _ => Relation::Apart,
    }
}

fn relation_of_ports(one: &HostPort, other: &HostPort) -> Relation {
    if one == other {
        return Relation::Same;
    }
    // The kernel chooses a free port for each.
    if one.port != other.port || one.port == 0 {
        return Relation::Apart;
    }
    let (ours, theirs) = (addresses(one), addresses(other));
    let named = matches!(one.host, Host::Name(_)) || matches!(other.host, Host::Name(_));
    if ours.iter().any(|address| theirs.contains(address)) {
        // A name is bound by name: to share the socket, two places must spell the address alike.
        return if named { Relation::Overlap } else { Relation::Same };
    }
    let includes = |all: &[IpAddr], some: &[IpAddr]| {
        some.iter().any(|address| all.contains(if address.is_ipv4() { &ANY_V4 } else { &ANY_V6 }))
    };
    if includes(&ours, &theirs) || includes(&theirs, &ours) { Relation::Overlap } else { Relation::Apart }
}

/// The addresses to bind; empty for a name that cannot be resolved, which is reported at startup.
fn addresses(address: &HostPort) -> Vec<IpAddr> {
    match &address.host {
        Host::All => vec![ANY_V4, ANY_V6],
        Host::Address(address) => vec![*address],
        Host::Name(name) => {
            let found = (name.as_str(), address.port).to_socket_addrs();
            found.ok().and_then(|mut found| found.next()).map(|found| found.ip()).into_iter().collect()
        }
    }
}

/// Splits an address for all of IPv4 and IPv6 into `0.0.0.0` and `[::]` if one of them is also written by itself, so
/// that both places share its socket.
pub(super) fn split(settings: &mut Settings) {
    let all = settings
        .global
        .get::<Listeners>()
        .iter()
        .chain(settings.hosts.iter().flat_map(|host| host.features.get::<Listeners>().iter()));
    let alone: Vec<Address> = all.map(|listener| listener.address.clone()).filter(is_any).collect();
    if alone.is_empty() {
        return;
    }
    split_in(settings.global.get_mut(), &alone);
    settings.hosts.iter_mut().for_each(|host| split_in(host.features.get_mut(), &alone));
}

/// Whether it is `0.0.0.0` or `[::]`, and not both.
fn is_any(address: &Address) -> bool {
    let (Address::Tcp(port) | Address::Quic(port)) = address else { return false };
    port.port != 0 && (port.host == Host::Address(ANY_V4) || port.host == Host::Address(ANY_V6))
}

fn split_in(Listeners(listeners): &mut Listeners, alone: &[Address]) {
    let whole = std::mem::take(listeners);
    for listener in whole {
        match halves(&listener.address).filter(|halves| halves.iter().any(|half| alone.contains(half))) {
            Some(halves) => {
                listeners.extend(halves.map(|address| Listener { address, ..listener.clone() }));
            }
            None => listeners.push(listener),
        }
    }
}

fn halves(address: &Address) -> Option<[Address; 2]> {
    let half = |port: u16, ip| HostPort { host: Host::Address(ip), port };
    match address {
        Address::Tcp(HostPort { host: Host::All, port }) => {
            Some([ANY_V4, ANY_V6].map(|ip| Address::Tcp(half(*port, ip))))
        }
        Address::Quic(HostPort { host: Host::All, port }) => {
            Some([ANY_V4, ANY_V6].map(|ip| Address::Quic(half(*port, ip))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::features::load_text;
    use crate::modules::listen::bindings;

    /// The error for these listeners at the top of the file and in a host, with the lines of both places.
    fn fault(global: &str, own: &str) -> Option<(String, usize, usize)> {
        let text = format!("listen: {global}\nhosts:\n  a:\n    listen: {own}\n    paths: {{}}\n");
        let errors = load_text("test", &text).err()?;
        let error = &errors.errors[0];
        let line = |at: u32| text[..at as usize].matches('\n').count() + 1;
        let (also, _) = error.also.expect("the other place");
        Some((error.message.clone(), line(error.at.start), line(also.start)))
    }

    #[test]
    fn overlapping_listeners_name_both_places() {
        let overlap = |new: &str, old: &str| format!("`listen` on {new} overlaps with `listen` on {old}");
        for (global, own, want) in [
            ("8080", "127.0.0.1:8080", overlap("127.0.0.1:8080", "0.0.0.0:8080 and [::]:8080")),
            ("127.0.0.1:8080", "8080", overlap("0.0.0.0:8080 and [::]:8080", "127.0.0.1:8080")),
            ("'[::]:8080'", "'[::1]:8080'", overlap("[::1]:8080", "[::]:8080")),
            ("0.0.0.0:8080", "192.0.2.1:8080", overlap("192.0.2.1:8080", "0.0.0.0:8080")),
            ("{port: 8443, type: quic}", "{port: 8443, type: quic, host: 127.0.0.1}", {
                overlap("127.0.0.1:8443 (UDP)", "0.0.0.0:8443 and [::]:8443 (UDP)")
            }),
            ("127.0.0.1:8080", "localhost:8080", overlap("localhost:8080", "127.0.0.1:8080")),
            (
                "{type: unix, port: /a}",
                "{type: unix, port: /a, permission: 600}",
                "`listen`: the unix socket `/a` has a different owner, group or permission elsewhere"
                    .to_owned(),
            ),
            (
                "8080",
                "{port: 8080, sndbuf: 64k}",
                "`listen`: this address has different socket options elsewhere".to_owned(),
            ),
            (
                "8080",
                "{port: 8080, host: 0.0.0.0, proxy-protocol: ON}",
                "`listen`: this address has `proxy-protocol: ON` in one place and not in another".to_owned(),
            ),
        ] {
            assert_eq!(fault(global, own), Some((want, 4, 1)), "{global} {own}");
        }
    }

    #[test]
    fn an_address_that_stands_in_several_places_is_bound_once() {
        type Case<'a> = (&'a str, &'a str, &'a [(&'a str, usize)]);
        let cases: [Case<'_>; 6] = [
            ("8080", "8080", &[("0.0.0.0:8080 and [::]:8080", 2)]),
            ("8080", "0.0.0.0:8080", &[("0.0.0.0:8080", 2), ("[::]:8080", 2)]),
            ("'[::]:8080'", "8080", &[("[::]:8080", 2), ("0.0.0.0:8080", 1)]),
            ("'[::]:8080'", "0.0.0.0:8080", &[("[::]:8080", 2), ("0.0.0.0:8080", 1)]),
            ("8080", "{type: unix, port: /a}", &[("0.0.0.0:8080 and [::]:8080", 2), ("unix:/a", 1)]),
            (
                "[8080, {port: 8080, type: quic}]",
                "8081",
                &[
                    ("0.0.0.0:8080 and [::]:8080", 2),
                    ("0.0.0.0:8080 and [::]:8080 (UDP)", 2),
                    ("0.0.0.0:8081 and [::]:8081", 1),
                ],
            ),
        ];
        for (global, own, want) in cases {
            let text = format!(
                "listen: {global}\nhosts:\n  a: {{listen: {own}, paths: {{}}}}\n  b: {{paths: {{}}}}\n"
            );
            let loaded = load_text("test", &text).unwrap_or_else(|errors| panic!("{errors}"));
            let shown: Vec<_> = bindings(&loaded.settings)
                .iter()
                .map(|binding| (binding.listener.to_string(), binding.hosts.len()))
                .collect();
            let shown: Vec<_> = shown.iter().map(|(address, hosts)| (address.as_str(), *hosts)).collect();
            assert_eq!(shown, want, "{global} {own}");
        }
    }
}
