//! The sockets: resolved and tried (`wanted`), then bound before the program drops its rights. The program keeps every accept
//! queue open and hands copies to the workers: a worker that leaves takes no queue with it.

use crate::access::check_creatable;
use crate::exit::{Failure, Failures};
use crate::explain::{CANNOT_CREATE, CONFIG, Explain, NO_PERMISSION, SYSTEM};
use crate::queues;
use crate::socket_file::{Owner, set_mode_and_owner};
use crate::user;
use hayami_net::listen::{Endpoint, Options, bind, bound_address, explain as explained, try_bind};
use hayami_net::proxy_protocol::Expectation;
use hayami_net::service::Address as BoundAddress;
use hayami_net::{ListenerUpdate, names};
use hayami_server::config::error::ConfigError;
use hayami_server::config::settings::Settings;
use hayami_server::modules::http1;
use hayami_server::modules::listen::{
    self, Acceptors, Address, Host, HostPort, Listener, UnixSocket, bindings,
};
use hayami_server::modules::process;
use hayami_server::modules::tcp;
use nix::unistd::{Gid, getegid, geteuid, getgroups};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

/// A bound address.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Its number, for as long as the process lives: connections know their listener by it.
    id: usize,
    endpoint: Endpoint,
    options: Options,
    /// Index of the binding, which determines the hosts that answer here.
    index: usize,
    address: BoundAddress,
    /// Whether it speaks TLS.
    tls: bool,
    /// Whether connections begin with a header of the PROXY protocol.
    proxy_protocol: Option<Expectation>,
    /// Its accept queues: sockets of one SO_REUSEPORT group, or one that all workers share. A UDP port is only reserved.
    queues: Vec<Arc<OwnedFd>>,
}

/// The accept queues that a worker has: numbers of queues by [`Bound::id`].
pub(crate) type Held = HashMap<usize, Vec<usize>>;

/// What is bound while the server runs.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    bound: Vec<Bound>,
    next_id: usize,
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

/// A socket that the settings want, before it is bound.
#[derive(Debug)]
pub(crate) struct Wanted {
    endpoint: Endpoint,
    options: Options,
    /// As in [`Bound`].
    index: usize,
    tls: bool,
    proxy_protocol: Option<Expectation>,
    /// Of a unix socket: its user and group, and its permissions.
    owner: Owner,
    permission: Option<u32>,
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
            let tried = if is_bound(&endpoint) { Ok(()) } else { try_bind(&endpoint, &options) };
            match tried {
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

impl Sockets {
    /// The sockets that are wanted now: sockets that are already bound stay, others are bound, for this many
    /// workers.
    ///
    /// # Errors
    /// An address is in use; then the listeners do not change.
    pub(crate) fn next(&self, wanted: &[Wanted], workers: usize) -> Result<Self, Failure> {
        let mut next = Self { bound: Vec::new(), next_id: self.next_id };
        match self.bind_new(wanted, workers, &mut next) {
            Ok(()) => Ok(next),
            Err(failure) => {
                next.remove_files_unless_of(self);
                Err(failure)
            }
        }
    }

    /// Removes the socket files that other sockets do not have.
    pub(crate) fn remove_files_unless_of(&self, other: &Self) {
        for file in self.files().filter(|file| !other.files().any(|own| own == *file)) {
            // Without the rights of the start it may be impossible to remove; the next start replaces it.
            let _ = std::fs::remove_file(file);
        }
    }

    fn bind_new(&self, wanted: &[Wanted], workers: usize, next: &mut Self) -> Result<(), Failure> {
        for wanted in wanted {
            let known = self.bound.iter().find(|own| own.endpoint == wanted.endpoint);
            let (id, address, queues) = match known {
                Some(own) => (own.id, own.address.clone(), own.queues_for(workers)),
                None => {
                    let (address, queues) = open(wanted, workers)?;
                    let id = next.next_id;
                    next.next_id += 1;
                    (id, address, queues.into_iter().map(Arc::new).collect())
                }
            };
            next.bound.push(Bound {
                id,
                endpoint: wanted.endpoint.clone(),
                // A socket keeps the options it was created with.
                options: known.map_or_else(|| wanted.options.clone(), |own| own.options.clone()),
                index: wanted.index,
                address,
                tls: wanted.tls,
                proxy_protocol: wanted.proxy_protocol.clone(),
                queues,
            });
        }
        Ok(())
    }

    /// Whether it is bound.
    fn has(&self, endpoint: &Endpoint) -> bool {
        self.bound.iter().any(|own| own.endpoint == *endpoint)
    }

    /// Everything that is bound.
    pub(crate) fn bound(&self) -> &[Bound] {
        &self.bound
    }

    /// Numbers of the listeners, each with the index of its binding.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = (usize, usize)> {
        self.bound.iter().map(|bound| (bound.id, bound.index))
    }

    /// Bound sockets whose options have changed.
    pub(crate) fn outdated<'a>(&'a self, wanted: &'a [Wanted]) -> impl Iterator<Item = &'a Endpoint> {
        let differs = |own: &&Bound| {
            wanted.iter().any(|wanted| wanted.endpoint == own.endpoint && wanted.options != own.options)
        };
        self.bound.iter().filter(differs).map(|own| &own.endpoint)
    }

    /// The socket files, which are removed at the end.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.bound.iter().filter_map(|bound| match &bound.endpoint {
            Endpoint::Unix(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// The listeners of each worker, beside the queues that it has already, and the queues that it has then.
    ///
    /// # Errors
    /// No descriptors are left.
    pub(crate) fn share_out(&self, held: &[Held], acceptors: &Acceptors) -> Result<Vec<Share>, Failure> {
        let mut shares: Vec<Share> = held.iter().map(|_| Share::default()).collect();
        for bound in self.bound.iter().filter(|bound| !matches!(bound.endpoint, Endpoint::Udp(_))) {
            let held: Vec<_> =
                held.iter().map(|held| held.get(&bound.id).map_or(&[][..], |own| own)).collect();
            let opened = queues::assign(&held, bound.queues.len());
            for ((share, held), opened) in shares.iter_mut().zip(held).zip(opened) {
                share.listeners.extend((!held.is_empty()).then(|| bound.keep(acceptors)));
                for queue in &opened {
                    share.listeners.push(bound.open(*queue, acceptors)?);
                }
                share.held.insert(bound.id, [held, &opened].concat());
            }
        }
        Ok(shares)
    }

    /// The listeners of a worker that keeps the queues that it has.
    pub(crate) fn keep(&self, held: &Held, acceptors: &Acceptors) -> Share {
        let bound = self.bound.iter().filter(|bound| held.contains_key(&bound.id));
        Share { listeners: bound.map(|bound| bound.keep(acceptors)).collect(), held: held.clone() }
    }

    /// Leaves the accept queues to the workers, which close them when they drain.
    pub(crate) fn release(&mut self) {
        self.bound.iter_mut().for_each(|bound| bound.queues.clear());
    }
}

/// The listeners of a worker.
#[derive(Debug, Default)]
pub(crate) struct Share {
    pub(crate) listeners: Vec<ListenerUpdate>,
    /// The queues that it has with these.
    pub(crate) held: Held,
}

impl Bound {
    /// Its queues, and new ones for additional workers where possible: of a privileged port, or after a change of user, only
    /// the process as it was started could open them. Workers share queues then.
    fn queues_for(&self, workers: usize) -> Vec<Arc<OwnedFd>> {
        let mut queues = self.queues.clone();
        let chosen = chosen(&self.endpoint, &self.address);
        while has_own_queues(&self.endpoint, &self.options) && queues.len() < workers {
            match bind(&chosen, &self.options) {
                Ok(queue) => queues.push(Arc::new(queue)),
                Err(_) => break,
            }
        }
        queues
    }

    /// A worker keeps its queues.
    fn keep(&self, acceptors: &Acceptors) -> ListenerUpdate {
        ListenerUpdate::Keep {
            index: self.id,
            tls: acceptors.get(self.index).cloned(),
            proxy_protocol: self.proxy_protocol.clone(),
        }
    }

    /// A worker opens this queue.
    fn open(&self, queue: usize, acceptors: &Acceptors) -> Result<ListenerUpdate, Failure> {
        let fd = self.queues[queue].try_clone().map_err(|error| {
            let endpoint = &self.endpoint;
            Failure::System(format!(
                "cannot share {endpoint} among the workers: {error}; raise the limit of open files (`ulimit -n`)"
            ))
        })?;
        Ok(ListenerUpdate::Open(hayami_net::Listener {
            fd,
            index: self.id,
            address: self.address.clone(),
            tls: acceptors.get(self.index).cloned(),
            proxy_protocol: self.proxy_protocol.clone(),
        }))
    }
}

/// Binds an accept queue for every worker, or one that they share; a UDP port is only reserved.
fn open(wanted: &Wanted, workers: usize) -> Result<(BoundAddress, Vec<OwnedFd>), Failure> {
    let opened = bind_for_all(&wanted.endpoint, &wanted.options, workers);
    let opened = opened.map_err(|error| failure(&wanted.endpoint, &error))?;
    if let Endpoint::Unix(path) = &wanted.endpoint {
        give_away(path, wanted)?;
    }
    Ok(opened)
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

/// A socket for every worker with SO_REUSEPORT, else one; and its address.
fn bind_for_all(
    endpoint: &Endpoint,
    options: &Options,
    workers: usize,
) -> io::Result<(BoundAddress, Vec<OwnedFd>)> {
    let alone = bind(endpoint, &Options { reuse_port: false, ..options.clone() })?;
    let address = bound_address(&alone);
    if !has_own_queues(endpoint, options) {
        return Ok((address, vec![alone]));
    }
    // If it were bound with SO_REUSEPORT right away, a second server of the same user would silently get
    // half of the connections.
    drop(alone);
    let chosen = chosen(endpoint, &address);
    let sockets: io::Result<_> = (0..workers).map(|_| bind(&chosen, options)).collect();
    Ok((address, sockets?))
}

/// Whether every worker has an accept queue of its own.
fn has_own_queues(endpoint: &Endpoint, options: &Options) -> bool {
    options.reuse_port && matches!(endpoint, Endpoint::Tcp(_))
}

/// The endpoint with the port, if the kernel chose it.
fn chosen(endpoint: &Endpoint, address: &BoundAddress) -> Endpoint {
    match (endpoint, address) {
        (Endpoint::Tcp(_), BoundAddress::Ip(address)) => Endpoint::Tcp(*address),
        _ => endpoint.clone(),
    }
}

fn without_ipv6(endpoint: &Endpoint, error: &io::Error) -> bool {
    let all = matches!(endpoint, Endpoint::Tcp(address) | Endpoint::Udp(address)
        if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    // EAFNOSUPPORT where the kernel has no IPv6, EADDRNOTAVAIL where it is disabled.
    let missing = error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error());
    all && (missing || error.kind() == ErrorKind::AddrNotAvailable)
}

fn give_away(path: &Path, wanted: &Wanted) -> Result<(), Failure> {
    set_mode_and_owner(path, wanted.permission, wanted.owner).map_err(|error| {
        let path = path.display();
        Failure::NoPermission(format!("cannot set owner or permissions of the unix socket {path}: {error}"))
    })
}

fn failure(endpoint: &Endpoint, error: &io::Error) -> Failure {
    let text = explained(endpoint, error);
    match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable => Failure::Unavailable(text),
        ErrorKind::PermissionDenied => Failure::NoPermission(text),
        _ => Failure::System(text),
    }
}
