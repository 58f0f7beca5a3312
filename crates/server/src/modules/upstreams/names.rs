//! Resolves an upstream's location to the servers and addresses to connect to.

use super::settings::{Endpoint, Upstream};
use crate::modules::proxy::{Url, UrlLocation};
use hayami_net::dial::Peer;
use hayami_net::names::{self, Found, Service};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// TTL of addresses that come without one: a deployment that moves is found within half a minute.
const UNTOLD: Duration = Duration::from_secs(30);

/// Limits of the interval between two lookups of a name.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3600);

/// The current servers of an upstream. Resolves its name, which may take seconds.
///
/// # Errors
/// The name has no addresses, or cannot be resolved.
pub(super) fn resolve(upstream: &Upstream, resolver: &[SocketAddr]) -> io::Result<Vec<Endpoint>> {
    look_up(upstream, resolver).map(|(endpoints, _)| endpoints)
}

/// As [`resolve`], with the time until the next lookup.
pub(super) fn refreshed(
    upstream: &Upstream,
    resolver: &[SocketAddr],
) -> io::Result<(Vec<Endpoint>, Duration)> {
    let (endpoints, ttl) = look_up(upstream, resolver)?;
    let ttl = ttl.or_else(|| match &upstream.url.place {
        // The system resolver returns addresses without a TTL.
        UrlLocation::Tcp(host, _) if resolver.is_empty() && !upstream.srv => names::time_to_live(host),
        _ => None,
    });
    Ok((endpoints, ttl.unwrap_or(UNTOLD).clamp(SHORTEST, LONGEST)))
}

/// The addresses of a location outside any group. Like [`resolve`].
///
/// # Errors
/// As of [`resolve`].
pub(in crate::modules) fn addresses(place: &UrlLocation, resolver: &[SocketAddr]) -> io::Result<Vec<Peer>> {
    match place {
        UrlLocation::Unix(path) => Ok(vec![Peer::Unix(path.clone())]),
        UrlLocation::Tcp(host, port) => {
            Ok(names::addresses(host, *port, resolver)?.items.into_iter().map(Peer::Tcp).collect())
        }
    }
}

/// The address of a location that needs no name resolution.
pub(super) fn literal(place: &UrlLocation) -> Vec<Peer> {
    match place {
        UrlLocation::Unix(path) => vec![Peer::Unix(path.clone())],
        UrlLocation::Tcp(host, port) => {
            host.parse::<IpAddr>().map(|ip| Peer::Tcp(SocketAddr::new(ip, *port))).into_iter().collect()
        }
    }
}

/// Whether the servers of an upstream can change, because it is named.
pub(super) fn may_change(upstream: &Upstream) -> bool {
    upstream.srv
        || matches!(&upstream.url.place, UrlLocation::Tcp(host, _) if host.parse::<IpAddr>().is_err())
}

type Servers = (Vec<Endpoint>, Option<Duration>);

fn look_up(upstream: &Upstream, resolver: &[SocketAddr]) -> io::Result<Servers> {
    let peers =
        |host: &str, port| -> io::Result<Found<SocketAddr>> { names::addresses(host, port, resolver) };
    let tcp = |found: Vec<SocketAddr>| found.into_iter().map(Peer::Tcp).collect();
    match &upstream.url.place {
        UrlLocation::Unix(path) => Ok((upstream.endpoints_at(vec![Peer::Unix(path.clone())]), None)),
        UrlLocation::Tcp(name, _) if upstream.srv => {
            services(upstream, names::services(name, resolver)?, |own| {
                let found = peers(&own.target, own.port)?;
                Ok((tcp(found.items), found.ttl))
            })
        }
        UrlLocation::Tcp(host, port) => {
            let found = peers(host, *port)?;
            Ok((upstream.endpoints_at(tcp(found.items)), found.ttl))
        }
    }
}

/// A server for each service: those of the best priority, and the others as backups. A service whose host name cannot
/// be resolved is left out, unless all fail.
fn services(
    upstream: &Upstream,
    found: Found<Service>,
    peers: impl Fn(&Service) -> io::Result<(Vec<Peer>, Option<Duration>)>,
) -> io::Result<Servers> {
    let best = found.items.iter().map(|own| own.priority).min();
    let (mut endpoints, mut ttl, mut last) = (Vec::new(), found.ttl, None);
    for own in &found.items {
        match peers(own) {
            Ok((peers, own_ttl)) => {
                ttl = ttl.into_iter().chain(own_ttl).min();
                let place = UrlLocation::Tcp(own.target.clone(), own.port);
                let scheme = upstream.url.shown.split("://").next().unwrap_or("http");
                let shown = format!("{scheme}://{}:{}", own.target, own.port);
                endpoints.push(Endpoint {
                    url: Url { place, shown, ..upstream.url.clone() },
                    // "A very small chance" (RFC 2782) of weight 0: here the same as of weight 1.
                    weight: u32::from(own.weight).max(1),
                    backup: upstream.backup || Some(own.priority) != best,
                    peers,
                });
            }
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) if endpoints.is_empty() => Err(error),
        _ => Ok((endpoints, ttl)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml::Node;

    fn upstream(url: &str) -> Upstream {
        Upstream::new(Url::read(&Node::scalar(url)).expect("a URL"), Vec::new())
    }

    fn peers(url: &str) -> Vec<Peer> {
        let found = resolve(&upstream(url), &[]).expect(url);
        found.into_iter().flat_map(|own| own.peers).collect()
    }

    #[test]
    fn addresses_are_themselves_and_names_are_looked_up() {
        let cases = [("http://127.0.0.1:81", "127.0.0.1:81"), ("http://[::1]:81", "[::1]:81")];
        for (url, want) in cases {
            assert_eq!(peers(url), [Peer::Tcp(want.parse().expect("an address"))]);
            assert!(!may_change(&upstream(url)));
        }
        assert!(may_change(&upstream("http://localhost")));
        assert!(!peers("http://localhost").is_empty());
        assert_eq!(peers("http://[unix:/run/a]"), [Peer::Unix("/run/a".into())]);
        assert!(!may_change(&upstream("http://[unix:/run/a]")));
    }

    #[test]
    fn services_become_servers_with_their_own_ports_and_weights_and_the_others_are_backups() {
        let own = upstream("http://_http._tcp.app.test");
        let service = |priority, weight, port, target: &str| Service {
            priority,
            weight,
            port,
            target: target.to_owned(),
        };
        let items = vec![
            service(10, 0, 80, "a.test"),
            service(10, 60, 81, "b.test"),
            service(10, 60, 81, "gone.test"),
            service(20, 5, 82, "a.test"),
        ];
        let found = Found { items, ttl: Some(Duration::from_secs(60)) };
        let peers = |own: &Service| match own.target.as_str() {
            "gone.test" => Err(io::ErrorKind::NotFound.into()),
            _ => Ok((vec![Peer::Tcp(([10, 0, 0, 1], own.port).into())], Some(Duration::from_secs(20)))),
        };
        let (endpoints, ttl) = services(&own, found, peers).expect("found");
        let told: Vec<_> = endpoints.iter().map(|own| (&own.url.shown[..], own.weight, own.backup)).collect();
        let want =
            [("http://a.test:80", 1, false), ("http://b.test:81", 60, false), ("http://a.test:82", 5, true)];
        assert_eq!(told, want);
        assert_eq!(ttl, Some(Duration::from_secs(20)));
        assert_eq!(endpoints[1].peers, [Peer::Tcp(([10, 0, 0, 1], 81).into())]);
        assert!(endpoints.iter().all(|one| one.url.authority == own.url.authority));

        let lost = Found { items: vec![service(1, 1, 1, "gone.test")], ttl: None };
        assert!(services(&own, lost, peers).is_err());
    }
}
