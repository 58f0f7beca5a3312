//! From an upstream's place to the addresses that can be connected to.

use super::Place;
use hayami_net::dial::Peer;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};

/// The addresses of a place. A name is asked for from the system's resolver, which may take seconds.
///
/// # Errors
/// The name has none, or nobody can tell.
pub(super) fn resolve(place: &Place) -> io::Result<Vec<Peer>> {
    match place {
        Place::Unix(path) => Ok(vec![Peer::Unix(path.clone())]),
        Place::Tcp(host, port) => {
            let mut peers = Vec::new();
            for address in (host.as_str(), *port).to_socket_addrs()? {
                let peer = Peer::Tcp(address);
                if !peers.contains(&peer) {
                    peers.push(peer);
                }
            }
            if peers.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(peers) }
        }
    }
}

/// Whether the place is a name, whose addresses may change.
pub(super) fn is_name(place: &Place) -> bool {
    matches!(place, Place::Tcp(host, _) if host.parse::<IpAddr>().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_themselves_and_names_are_looked_up() {
        let tcp = |host: &str| Place::Tcp(host.to_owned(), 81);
        let cases = [("127.0.0.1", "127.0.0.1:81"), ("::1", "[::1]:81")];
        for (host, want) in cases {
            assert_eq!(resolve(&tcp(host)).unwrap(), [Peer::Tcp(want.parse().unwrap())]);
            assert!(!is_name(&tcp(host)));
        }
        assert!(is_name(&tcp("localhost")));
        assert!(!resolve(&tcp("localhost")).unwrap().is_empty());
        let socket = Place::Unix("/run/a".into());
        assert_eq!(resolve(&socket).unwrap(), [Peer::Unix("/run/a".into())]);
        assert!(!is_name(&socket));
    }
}
