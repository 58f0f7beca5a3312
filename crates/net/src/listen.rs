//! Listening sockets: bound by the program before it gives up its rights, handed to the workers.

use crate::liveness::Liveness;
use crate::service::Address;
use crate::socket_option;
use rustix::fd::OwnedFd;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Seconds the kernel keeps a connection to itself while the client has sent nothing (tcp(7),
/// `TCP_DEFER_ACCEPT`). The worker is woken once, with the request already there. One second is enough
/// for a request that follows the handshake; a connection that stays silent is accepted then.
const DEFER_ACCEPT: u32 = 1;

/// What to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// TCP.
    Tcp(SocketAddr),
    /// A unix socket; a socket file at that path on which nobody listens is replaced.
    Unix(PathBuf),
    /// UDP, for HTTP/3.
    Udp(SocketAddr),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Udp(address) => write!(f, "{address} (UDP)"),
        }
    }
}

/// Options of a listening socket. The defaults are the kernel's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// One queue per worker (`SO_REUSEPORT`).
    pub reuse_port: bool,
    /// Length of the TCP Fast Open queue; 0 for none.
    pub fast_open: u32,
    /// `SO_SNDBUF`, bytes.
    pub send_buffer: Option<usize>,
    /// `SO_RCVBUF`, bytes.
    pub receive_buffer: Option<usize>,
    /// `TCP_CONGESTION`: name of the congestion control.
    pub congestion: Option<String>,
    /// Packets sent before the first acknowledgement. Linux takes it from the route only (`ip route …
    /// initcwnd`), so it is kept for other systems and has no effect here.
    pub initial_window: Option<u32>,
    /// How it is noticed that a client is gone; accepted sockets inherit it.
    pub liveness: Liveness,
    /// IPv6 only (`IPV6_V6ONLY`), so that the IPv4 address can be bound beside it.
    pub only_v6: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            reuse_port: false,
            fast_open: 0,
            send_buffer: None,
            receive_buffer: None,
            congestion: None,
            initial_window: None,
            liveness: Liveness::NONE,
            only_v6: false,
        }
    }
}

/// Binds and listens.
///
/// # Errors
/// Those of socket(2), bind(2), listen(2) and setsockopt(2); see [`explain`] for the words.
pub fn bind(endpoint: &Endpoint, options: &Options) -> io::Result<OwnedFd> {
    let fd = reserve(endpoint, options)?;
    if !matches!(endpoint, Endpoint::Udp(_)) {
        listen(&fd)?;
    }
    Ok(fd)
}

/// Binds without listening: the kernel gives the socket no connections before [`listen`].
///
/// # Errors
/// As of [`bind`].
pub fn reserve(endpoint: &Endpoint, options: &Options) -> io::Result<OwnedFd> {
    let socket = match endpoint {
        Endpoint::Tcp(address) => bind_tcp(*address, options)?,
        Endpoint::Udp(address) => bind_inet(*address, Type::DGRAM, Protocol::UDP, options)?,
        Endpoint::Unix(path) => bind_unix(path)?,
    };
    Ok(socket.into())
}

/// Listens on a bound TCP or unix socket; repeated calls have no effect.
///
/// # Errors
/// Those of listen(2).
pub fn listen(fd: &OwnedFd) -> io::Result<()> {
    // The kernel limits it to net.core.somaxconn.
    Ok(rustix::net::listen(fd, 65_535)?)
}

/// Whether [`bind`] would work: a TCP or UDP address is bound and given back at once. Of unix sockets only is tried whether a
/// program listens there.
///
/// # Errors
/// As of [`bind`].
pub fn try_bind(endpoint: &Endpoint, options: &Options) -> io::Result<()> {
    // With SO_REUSEPORT, other servers of the same user would not show.
    try_bind_beside(endpoint, &Options { reuse_port: false, ..options.clone() })
}

/// Like [`try_bind`], for an address that overlaps with one this process listens on: that works if both have
/// `SO_REUSEPORT`, and the process has not changed its user.
///
/// # Errors
/// As of [`bind`].
pub fn try_bind_beside(endpoint: &Endpoint, options: &Options) -> io::Result<()> {
    match endpoint {
        Endpoint::Tcp(address) => bind_tcp(*address, options).map(drop),
        Endpoint::Udp(address) => bind_inet(*address, Type::DGRAM, Protocol::UDP, options).map(drop),
        Endpoint::Unix(path) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
            Err(io::ErrorKind::AddrInUse.into())
        }
        Endpoint::Unix(_) => Ok(()),
    }
}

fn bind_tcp(address: SocketAddr, options: &Options) -> io::Result<Socket> {
    let socket = bind_inet(address, Type::STREAM, Protocol::TCP, options)?;
    // Accepted sockets inherit it: no system call per connection.
    socket.set_tcp_nodelay(true)?;
    options.liveness.apply(&socket)?;
    socket_option::set(&socket, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, DEFER_ACCEPT);
    if let Some(name) = &options.congestion {
        socket.set_tcp_congestion(name.as_bytes())?;
    }
    if options.fast_open > 0 {
        socket_option::set(&socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, options.fast_open);
    }
    Ok(socket)
}

fn bind_inet(address: SocketAddr, kind: Type, protocol: Protocol, options: &Options) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind.nonblocking(), Some(protocol))?;
    socket.set_reuse_address(kind == Type::STREAM)?;
    if address.is_ipv6() {
        socket.set_only_v6(options.only_v6)?;
    }
    socket.set_reuse_port(options.reuse_port)?;
    if let Some(bytes) = options.send_buffer {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = options.receive_buffer {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.bind(&SockAddr::from(address))?;
    Ok(socket)
}

fn bind_unix(path: &PathBuf) -> io::Result<Socket> {
    use std::os::unix::fs::FileTypeExt;
    if std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket()) {
        // Whoever listens there would go on, and never be asked again.
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        std::fs::remove_file(path)?;
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    Ok(socket)
}

/// The address that a socket was really bound to (port 0 asks the kernel for a free one).
pub fn bound_address(fd: &OwnedFd) -> Address {
    match rustix::net::getsockname(fd).ok().and_then(|a| SocketAddr::try_from(a).ok()) {
        Some(address) => Address::Ip(address),
        None => Address::Unix,
    }
}

/// An error of [`bind`] in words, with what to do.
pub fn explain(endpoint: &Endpoint, error: &io::Error) -> String {
    let advice = match (error.kind(), endpoint) {
        (io::ErrorKind::AddrInUse, Endpoint::Unix(_)) => {
            "the address is in use: stop the program that uses it (`ss -lxp` shows it), or choose another \
             path"
        }
        (io::ErrorKind::AddrInUse, _) => {
            "the address is in use: stop the program that uses it (`ss -ltnp` shows it), or choose another \
             port"
        }
        (io::ErrorKind::PermissionDenied, Endpoint::Unix(_)) => {
            "the directory of the socket must be writable for this user"
        }
        (io::ErrorKind::PermissionDenied, _) => {
            "ports below 1024 require root or the capability CAP_NET_BIND_SERVICE: start as root (hayami \
             then drops its privileges), or choose a port of 1024 or above"
        }
        (io::ErrorKind::AddrNotAvailable, _) => {
            "this machine does not have this address: `ip address` lists its addresses"
        }
        (io::ErrorKind::NotFound, Endpoint::Unix(_)) => {
            "the directory of the socket does not exist: create it, or choose another path"
        }
        _ => return format!("cannot listen on {endpoint}: {error}"),
    };
    format!("cannot listen on {endpoint}: {error}; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liveness::Probes;

    fn local(port: u16) -> Endpoint {
        Endpoint::Tcp(SocketAddr::from(([127, 0, 0, 1], port)))
    }

    #[test]
    fn a_taken_port_is_explained() {
        let first = bind(&local(0), &Options::default()).expect("a free port");
        let taken = local(bound_address(&first).port());
        let error = bind(&taken, &Options::default()).expect_err("taken");
        let text = explain(&taken, &error);
        assert!(text.contains("the address is in use"), "{text}");
        assert!(text.contains(&taken.to_string()), "{text}");
    }

    #[test]
    fn with_reuse_port_every_worker_gets_a_socket_of_its_own() {
        let options = Options { reuse_port: true, fast_open: 16, ..Options::default() };
        let first = bind(&local(0), &options).expect("a free port");
        bind(&local(bound_address(&first).port()), &options).expect("a second socket");
    }

    #[test]
    fn accepted_sockets_inherit_how_it_is_noticed_that_a_client_is_gone() {
        use crate::liveness::testing::of;
        let seconds = std::time::Duration::from_secs;
        let probes = Probes { idle: seconds(41), interval: seconds(7), count: 5 };
        for liveness in [
            Liveness::NONE,
            Liveness::default(),
            Liveness { probes: Some(probes), user_timeout: Some(seconds(77)) },
            Liveness { probes: None, user_timeout: Some(seconds(77)) },
        ] {
            let fd = bind(&local(0), &Options { liveness, ..Options::default() }).expect("a free port");
            let port = bound_address(&fd).port();
            let mut client = std::net::TcpStream::connect(("127.0.0.1", port)).expect("connected");
            // The kernel keeps a connection to itself until something comes.
            std::io::Write::write_all(&mut client, b"x").expect("sent");
            let accepted = loop {
                match rustix::net::accept(&fd) {
                    Ok(accepted) => break accepted,
                    Err(error) => assert_eq!(error, rustix::io::Errno::AGAIN),
                }
            };
            assert_eq!(of(&accepted), liveness);
        }
    }

    #[test]
    fn an_old_unix_socket_is_replaced_and_another_file_is_not() {
        let path = std::env::temp_dir().join(format!("hayami-listen-{}", std::process::id()));
        let endpoint = Endpoint::Unix(path.clone());
        drop(bind(&endpoint, &Options::default()).expect("bound"));
        let bound = bind(&endpoint, &Options::default()).expect("bound again");
        let taken = bind(&endpoint, &Options::default()).expect_err("somebody listens");
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(bound);
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, "precious").expect("written");
        bind(&endpoint, &Options::default()).expect_err("a file stands there");
        assert_eq!(std::fs::read(&path).expect("still there"), b"precious");
        std::fs::remove_file(&path).expect("removed");
    }
}
