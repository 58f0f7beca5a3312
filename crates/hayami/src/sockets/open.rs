//! Binding: the accept queues of one address.

use super::failure::failure;
use super::wanted::Wanted;
use crate::exit::Failure;
use crate::socket_file::set_mode_and_owner;
use hayami_net::listen::{Endpoint, Options, bind, bound_address};
use hayami_net::service::Address as BoundAddress;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Binds an accept queue for every worker, or one that they share; a UDP port is only reserved. `beside_own`: this server
/// listens on an overlapping address.
pub(super) fn open(
    wanted: &Wanted,
    workers: usize,
    beside_own: bool,
) -> Result<(BoundAddress, Vec<OwnedFd>), Failure> {
    let opened = bind_for_all(&wanted.endpoint, &wanted.options, workers, beside_own);
    let opened = opened.map_err(|error| failure(&wanted.endpoint, &error))?;
    if let Endpoint::Unix(path) = &wanted.endpoint {
        give_away(path, wanted)?;
    }
    Ok(opened)
}

/// A socket for every worker with SO_REUSEPORT, else one; and its address.
fn bind_for_all(
    endpoint: &Endpoint,
    options: &Options,
    workers: usize,
    beside_own: bool,
) -> io::Result<(BoundAddress, Vec<OwnedFd>)> {
    let own_queues = has_own_queues(endpoint, options);
    // If it were bound with SO_REUSEPORT right away, a second server of the same user would silently get
    // half of the connections. That of an overlapping address is this one.
    let address = match endpoint {
        Endpoint::Tcp(address) if own_queues && beside_own => BoundAddress::Ip(*address),
        _ => {
            let alone = bind(endpoint, &Options { reuse_port: false, ..options.clone() })?;
            let address = bound_address(&alone);
            if !own_queues {
                return Ok((address, vec![alone]));
            }
            address
        }
    };
    let chosen = chosen(endpoint, &address);
    let sockets: io::Result<_> = (0..workers).map(|_| bind(&chosen, options)).collect();
    Ok((address, sockets?))
}

/// Whether every worker has an accept queue of its own.
pub(super) fn has_own_queues(endpoint: &Endpoint, options: &Options) -> bool {
    options.reuse_port && matches!(endpoint, Endpoint::Tcp(_))
}

/// The endpoint with the port, if the kernel chose it.
pub(super) fn chosen(endpoint: &Endpoint, address: &BoundAddress) -> Endpoint {
    match (endpoint, address) {
        (Endpoint::Tcp(_), BoundAddress::Ip(address)) => Endpoint::Tcp(*address),
        _ => endpoint.clone(),
    }
}

fn give_away(path: &Path, wanted: &Wanted) -> Result<(), Failure> {
    set_mode_and_owner(path, wanted.permission, wanted.owner).map_err(|error| {
        let path = path.display();
        Failure::NoPermission(format!("cannot set owner or permissions of the unix socket {path}: {error}"))
    })
}
