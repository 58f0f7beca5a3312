//! The sockets: bound before the program gives its rights up, one set for every worker.

use crate::exit::Failure;
use crate::user;
use hayami_net::Listener;
use hayami_net::listen::{Endpoint, Options, bind, bound_address, explain};
use hayami_net::service::Address as BoundAddress;
use hayami_server::config::settings::Settings;
use hayami_server::modules::listen::{self, Acceptors, Address, Host, HostPort, UnixSocket, bindings};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A bound address with a socket for every worker.
#[derive(Debug)]
pub(crate) struct Bound {
    endpoint: Endpoint,
    /// Index of the binding, which tells the hosts that answer here.
    index: usize,
    address: BoundAddress,
    /// Whether it speaks TLS.
    tls: bool,
    /// Whether connections begin with a header of the PROXY protocol.
    proxy_protocol: bool,
    /// As many as there are workers; of a UDP port one, which is only kept.
    sockets: Vec<OwnedFd>,
}

impl fmt::Display for Bound {
    /// As a user would type it into a browser.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.endpoint, &self.address) {
            (Endpoint::Tcp(_), BoundAddress::Ip(address)) => {
                write!(f, "{}://{address}/", if self.tls { "https" } else { "http" })
            }
            (Endpoint::Udp(_), BoundAddress::Ip(address)) => {
                write!(f, "{address} (UDP; bound, but HTTP/3 is not served yet)")
            }
            (endpoint, _) => endpoint.fmt(f),
        }
    }
}

/// Binds everything that the settings name.
///
/// # Errors
/// An address is taken or not permitted, a name unknown; nothing is listened on then.
pub(crate) fn bind_all(settings: &Settings, workers: usize) -> Result<Vec<Bound>, Failure> {
    let mut bound = Vec::new();
    for (index, binding) in bindings(settings).iter().enumerate() {
        let options = options(settings, &binding.listener.options);
        for endpoint in endpoints(&binding.listener.address)? {
            match bind_for_all(&endpoint, index, &options, workers) {
                Ok(socket) => bound.push(Bound {
                    tls: binding.is_tls(),
                    proxy_protocol: binding.listener.proxy_protocol,
                    ..socket
                }),
                // A machine without IPv6 serves IPv4.
                Err(error) if without_ipv6(&endpoint, &error) && !bound.is_empty() => {}
                Err(error) => return Err(failure(&endpoint, &error)),
            }
        }
        if let Address::Unix(socket) = &binding.listener.address {
            give_away(socket)?;
        }
    }
    Ok(bound)
}

/// The socket files, which are removed at the end.
pub(crate) fn files(bound: &[Bound]) -> Vec<PathBuf> {
    let unix = bound.iter().filter_map(|bound| match &bound.endpoint {
        Endpoint::Unix(path) => Some(path.clone()),
        _ => None,
    });
    unix.collect()
}

/// Each worker's sockets, and the UDP ports that are only kept.
pub(crate) fn share_out(
    bound: Vec<Bound>,
    workers: usize,
    acceptors: &Acceptors,
) -> (Vec<Vec<Listener>>, Vec<OwnedFd>) {
    let mut shares: Vec<Vec<Listener>> = (0..workers).map(|_| Vec::new()).collect();
    let mut kept = Vec::new();
    for bound in bound {
        if matches!(bound.endpoint, Endpoint::Udp(_)) {
            kept.extend(bound.sockets);
            continue;
        }
        for (share, fd) in shares.iter_mut().zip(bound.sockets) {
            let tls = acceptors.get(bound.index).cloned();
            share.push(Listener {
                fd,
                index: bound.index,
                address: bound.address.clone(),
                tls,
                proxy_protocol: bound.proxy_protocol,
            });
        }
    }
    (shares, kept)
}

fn options(settings: &Settings, own: &listen::Options) -> Options {
    Options {
        reuse_port: settings.global.process.tcp_reuseport,
        fast_open: settings.global.process.tcp_fastopen,
        send_buffer: own.send_buffer,
        receive_buffer: own.receive_buffer,
        congestion: own.congestion.clone(),
        initial_window: own.initial_window,
        only_v6: true,
    }
}

fn endpoints(address: &Address) -> Result<Vec<Endpoint>, Failure> {
    Ok(match address {
        Address::Tcp(tcp) => resolve(tcp)?.into_iter().map(Endpoint::Tcp).collect(),
        Address::Quic(udp) => resolve(udp)?.into_iter().map(Endpoint::Udp).collect(),
        Address::Unix(socket) => vec![Endpoint::Unix(socket.path.clone())],
    })
}

fn resolve(host_port: &HostPort) -> Result<Vec<SocketAddr>, Failure> {
    let port = host_port.port;
    let name = match &host_port.host {
        Host::All => {
            let all: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
            return Ok(all.map(|ip| SocketAddr::new(ip, port)).to_vec());
        }
        Host::Address(address) => return Ok(vec![SocketAddr::new(*address, port)]),
        Host::Name(name) => name,
    };
    match (name.as_str(), port).to_socket_addrs() {
        Ok(mut addresses) => Ok(addresses.next().into_iter().collect()),
        Err(error) => Err(Failure::Config(format!(
            "hayami: cannot listen on {name}:{port}: the name is unknown ({error}); write an address of this machine"
        ))),
    }
}

/// One socket for every worker: of its own with SO_REUSEPORT, else copies of one.
fn bind_for_all(endpoint: &Endpoint, index: usize, options: &Options, workers: usize) -> io::Result<Bound> {
    let own_queues = options.reuse_port && matches!(endpoint, Endpoint::Tcp(_));
    let alone = bind(endpoint, &Options { reuse_port: false, ..options.clone() })?;
    let address = bound_address(&alone);
    let mut sockets = Vec::new();
    if own_queues {
        // Had it been bound with SO_REUSEPORT at once, a second server of the same user would have
        // taken half of the connections in silence.
        drop(alone);
        let chosen = chosen(endpoint, &address);
        for _ in 0..workers {
            sockets.push(bind(&chosen, options)?);
        }
    } else {
        for _ in 1..workers {
            sockets.push(alone.try_clone()?);
        }
        sockets.push(alone);
    }
    Ok(Bound { endpoint: endpoint.clone(), index, address, tls: false, proxy_protocol: false, sockets })
}

/// The endpoint with the port that the kernel chose, if it was left to it.
fn chosen(endpoint: &Endpoint, address: &BoundAddress) -> Endpoint {
    match (endpoint, address) {
        (Endpoint::Tcp(_), BoundAddress::Ip(address)) => Endpoint::Tcp(*address),
        _ => endpoint.clone(),
    }
}

fn without_ipv6(endpoint: &Endpoint, error: &io::Error) -> bool {
    let all = matches!(endpoint, Endpoint::Tcp(address) | Endpoint::Udp(address)
        if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    // EAFNOSUPPORT where the kernel has no IPv6, EADDRNOTAVAIL where it is switched off.
    let missing = error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error());
    all && (missing || error.kind() == ErrorKind::AddrNotAvailable)
}

fn give_away(socket: &UnixSocket) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        let path = socket.path.display();
        Failure::NoPermission(format!("cannot set owner or permissions of the socket {path}: {error}"))
    };
    if let Some(mode) = socket.permission {
        std::fs::set_permissions(&socket.path, std::fs::Permissions::from_mode(mode)).map_err(failed)?;
    }
    let (owner, group) = user::owner(socket.owner.as_deref(), socket.group.as_deref())?;
    std::os::unix::fs::chown(&socket.path, owner.map(Into::into), group.map(Into::into)).map_err(failed)
}

fn failure(endpoint: &Endpoint, error: &io::Error) -> Failure {
    let text = explain(endpoint, error);
    match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable => Failure::Unavailable(text),
        ErrorKind::PermissionDenied => Failure::NoPermission(text),
        _ => Failure::System(text),
    }
}
