//! The sockets that the settings want: names resolved, and everything checked that can be without binding.

use super::Sockets;
use super::failure::failure;
use crate::access::check_creatable;
use crate::exit::{Failure, Failures};
use crate::explain::{CANNOT_CREATE, CONFIG, Explain, NO_PERMISSION, SYSTEM};
use crate::socket_file::Owner;
use crate::user;
use hayami_net::listen::{Endpoint, Options, explain as explained, try_bind, try_bind_beside};
use hayami_net::names;
use hayami_net::proxy_protocol::Expectation;
use hayami_server::config::error::ConfigError;
use hayami_server::config::settings::Settings;
use hayami_server::modules::http1;
use hayami_server::modules::listen::{self, Address, Host, HostPort, Listener, UnixSocket, bindings};
use hayami_server::modules::process;
use hayami_server::modules::tcp;
use nix::unistd::{Gid, getegid, geteuid, getgroups};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::FileTypeExt;

/// A socket that the settings want, before it is bound.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(super) endpoint: Endpoint,
    pub(super) options: Options,
    /// As in [`Bound`].
    pub(super) index: usize,
    pub(super) tls: bool,
    pub(super) proxy_protocol: Option<Expectation>,
    /// Of a unix socket: its user and group, and its permissions.
    pub(super) owner: Owner,
    pub(super) permission: Option<u32>,
}

/// Everything that the settings name, with all names resolved and checked without binding an address.
/// Addresses that are already bound are not checked.
///
/// # Errors
/// A name is unknown, an address is not local or not permitted, or a unix socket cannot be created.
pub(crate) fn wanted(
    settings: &Settings,
    before: Option<&Sockets>,
    explain: &Explain<'_>,
) -> Result<Vec<Wanted>, Failure> {
    let is_bound = |endpoint: &Endpoint| before.is_some_and(|before| before.has(endpoint));
    let (mut all, mut failures) = (Vec::new(), Failures::default());
    for (index, binding) in bindings(settings).iter().enumerate() {
        let listener = binding.listener;
        let own = match &listener.address {
            Address::Unix(socket) if is_bound(&Endpoint::Unix(socket.path.clone())) => {
                Ok(((None, None), None))
            }
            Address::Unix(socket) => {
                check_unix(listener, socket, explain).map(|owner| (owner, socket.permission))
            }
            _ => Ok(((None, None), None)),
        };
        let Some((owner, permission)) = failures.note(own) else { continue };
        for endpoint in failures.note(endpoints(listener, explain)).unwrap_or_default() {
            let options = options(settings, &listener.options);
            // This user may not be able to bind what the start could.
            let overlapped = before.and_then(|before| before.overlapped(&endpoint));
            let tried = match overlapped {
                _ if is_bound(&endpoint) => Ok(()),
                Some(_) => try_bind_beside(&endpoint, &options),
                None => try_bind(&endpoint, &options),
            };
            match tried {
                Err(error) if error.kind() == ErrorKind::AddrInUse && overlapped.is_some() => {
                    let own = overlapped.map(|own| own.endpoint.to_string()).unwrap_or_default();
                    failures.note::<()>(Err(explain.failure(
                        failure(&endpoint, &error).code(),
                        ConfigError::new(
                            listener.at,
                            format!("cannot listen on {endpoint}: this server listens on {own}"),
                        )
                        .help(
                            "restart the server to replace the one by the other: a reload can do it only with \
                             `tcp-reuseport`, and as the user that started the server",
                        ),
                    )));
                    continue;
                }
                // The program that uses it may be the server that is to be replaced.
                Err(error) if before.is_none() && error.kind() == ErrorKind::AddrInUse => {}
                // A machine without IPv6 serves IPv4.
                Err(error) if without_ipv6(&endpoint, &error) && !all.is_empty() => continue,
                Err(error) => {
                    failures.note::<()>(Err(refused(listener, &endpoint, &error, explain)));
                    continue;
                }
                Ok(()) => {}
            }
            let (tls, proxy_protocol) = (binding.is_tls(), listener.proxy_protocol.clone());
            all.push(Wanted { endpoint, options, index, tls, proxy_protocol, owner, permission });
        }
    }
    failures.conclude(Some(all))
}

/// An address that cannot be bound, with its place.
fn refused(listener: &Listener, endpoint: &Endpoint, error: &io::Error, explain: &Explain<'_>) -> Failure {
    let text = explained(endpoint, error);
    let (fault, remedy) = text.split_once("; ").unwrap_or((&text, ""));
    explain.failure(failure(endpoint, error).code(), ConfigError::new(listener.at, fault).help(remedy))
}

/// Whether a socket can be created at that path, and its owner.
fn check_unix(listener: &Listener, socket: &UnixSocket, explain: &Explain<'_>) -> Result<Owner, Failure> {
    let path = socket.path.display();
    let wrong = |code, message: String, help: &str| {
        Err(explain.failure(code, ConfigError::new(listener.at, message).help(help)))
    };
    let there = std::fs::symlink_metadata(&socket.path).map(|own| own.file_type().is_socket());
    if matches!(there, Ok(false)) {
        let message =
            format!("cannot create the unix socket {path}: a file that is not a socket exists there");
        return wrong(CANNOT_CREATE, message, "remove the file, or choose another path");
    }
    if let Err(trouble) = check_creatable(&socket.path) {
        let message = format!("cannot create the unix socket {path}: {}", trouble.fault);
        return wrong(CANNOT_CREATE, message, &trouble.remedy);
    }
    let owner = user::owner(socket.owner.as_deref(), socket.group.as_deref());
    let (user, group) = owner.map_err(|problem| explain.user("listen", problem))?;
    let is_own = |group: Gid| group == getegid() || getgroups().is_ok_and(|own| own.contains(&group));
    let may = user.is_none_or(|user| user == geteuid()) && group.is_none_or(is_own);
    if !may && !geteuid().is_root() {
        let message = format!("only root can give the unix socket {path} to another user or group");
        return wrong(NO_PERMISSION, message, "start as root, or leave out `owner` and `group`");
    }
    Ok((user, group))
}

fn options(settings: &Settings, own: &listen::Options) -> Options {
    Options {
        reuse_port: settings.global.get::<process::Settings>().tcp_reuseport,
        fast_open: settings.global.get::<process::Settings>().tcp_fastopen,
        send_buffer: own.send_buffer,
        receive_buffer: own.receive_buffer,
        congestion: own.congestion.clone(),
        initial_window: own.initial_window,
        liveness: settings
            .global
            .get::<tcp::Settings>()
            .of_clients(settings.global.get::<http1::Settings>().response_io_timeout),
        only_v6: true,
    }
}

fn endpoints(listener: &Listener, explain: &Explain<'_>) -> Result<Vec<Endpoint>, Failure> {
    Ok(match &listener.address {
        Address::Tcp(tcp) => resolve(listener, tcp, explain)?.into_iter().map(Endpoint::Tcp).collect(),
        Address::Quic(udp) => resolve(listener, udp, explain)?.into_iter().map(Endpoint::Udp).collect(),
        Address::Unix(socket) => vec![Endpoint::Unix(socket.path.clone())],
    })
}

fn resolve(
    listener: &Listener,
    host_port: &HostPort,
    explain: &Explain<'_>,
) -> Result<Vec<SocketAddr>, Failure> {
    let port = host_port.port;
    let name = match &host_port.host {
        Host::All => {
            let all: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
            return Ok(all.map(|ip| SocketAddr::new(ip, port)).to_vec());
        }
        Host::Address(address) => return Ok(vec![SocketAddr::new(*address, port)]),
        Host::Name(name) => name,
    };
    match names::addresses(name, port, &[]) {
        Ok(found) => Ok(found.items.into_iter().take(1).collect()),
        Err(error) => {
            let message = format!("cannot listen on {name}:{port}: the name cannot be resolved: {error}");
            // The name may resolve later, so a supervisor should restart the server.
            let code = if names::is_temporary(&error) { SYSTEM } else { CONFIG };
            let error = ConfigError::new(listener.at, message);
            Err(explain.failure(code, error.help("write an address of this machine")))
        }
    }
}

fn without_ipv6(endpoint: &Endpoint, error: &io::Error) -> bool {
    let all = matches!(endpoint, Endpoint::Tcp(address) | Endpoint::Udp(address)
        if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    // EAFNOSUPPORT where the kernel has no IPv6, EADDRNOTAVAIL where it is disabled.
    let missing = error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error());
    all && (missing || error.kind() == ErrorKind::AddrNotAvailable)
}
