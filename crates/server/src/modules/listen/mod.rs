//! `listen`: where connections come from.
//!
//! Binding is the program's work; here is what it must bind, as written, with the defaults filled in.
//! `read` reads the forms in which it is written.

mod read;

use crate::config::directive::{Directive, Levels};
use crate::config::settings::Settings;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

/// One address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where.
    pub address: Address,
    /// What the socket is set to.
    pub options: Options,
}

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP port.
    Tcp(HostPort),
    /// A UDP port for HTTP/3.
    Quic(HostPort),
    /// A unix socket.
    Unix(UnixSocket),
}

/// Addresses of this machine and a port of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The addresses.
    pub host: Host,
    /// The port; 0 lets the kernel choose.
    pub port: u16,
}

/// Addresses of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// All of IPv4 and all of IPv6: `0.0.0.0` and `[::]`.
    #[default]
    All,
    /// One.
    Address(IpAddr),
    /// Those of a name, to be looked up when binding.
    Name(String),
}

/// A unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnixSocket {
    /// Its path.
    pub path: PathBuf,
    /// A name or number of the user that owns it.
    pub owner: Option<String>,
    /// A name or number of the group that owns it.
    pub group: Option<String>,
    /// Its permissions; without them, those that the process's umask leaves.
    pub permission: Option<u32>,
}

/// What a listening socket is set to; without a value, the kernel decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `cc`: name of the congestion control.
    pub congestion: Option<String>,
    /// `initcwnd`: packets sent before the first acknowledgement.
    pub initial_window: Option<u32>,
    /// `sndbuf`, octets.
    pub send_buffer: Option<usize>,
    /// `rcvbuf`, octets.
    pub receive_buffer: Option<usize>,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        match &self.host {
            Host::All => write!(f, "0.0.0.0:{port} and [::]:{port}"),
            Host::Address(address) => std::net::SocketAddr::new(*address, port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{port}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Quic(address) => write!(f, "{address} (UDP)"),
            Self::Unix(socket) => write!(f, "unix:{}", socket.path.display()),
        }
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)?;
        if let Address::Unix(socket) = &self.address {
            option(f, "owner", &socket.owner)?;
            option(f, "group", &socket.group)?;
            option(f, "permission", &socket.permission.map(|mode| format!("{mode:04o}")))?;
        }
        option(f, "cc", &self.options.congestion)?;
        option(f, "initcwnd", &self.options.initial_window)?;
        option(f, "sndbuf", &self.options.send_buffer)?;
        option(f, "rcvbuf", &self.options.receive_buffer)
    }
}

fn option(f: &mut fmt::Formatter<'_>, name: &str, value: &Option<impl fmt::Display>) -> fmt::Result {
    value.as_ref().map_or(Ok(()), |value| write!(f, ", {name} {value}"))
}

/// A listener and the hosts that answer on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The listener; where an address is written several times, the first.
    pub listener: &'a Listener,
    /// Indexes into the settings' hosts, in the order written.
    pub hosts: Vec<usize>,
}

/// Every address once, with the hosts that answer there: all of them on a listener of the top level, on
/// that of a host only the hosts that name it.
pub fn bindings(settings: &Settings) -> Vec<Binding<'_>> {
    let mut bindings: Vec<Binding<'_>> = Vec::new();
    let every: Vec<usize> = (0..settings.hosts.len()).collect();
    for listener in &settings.global.listen {
        if !bindings.iter().any(|binding| binding.listener.address == listener.address) {
            bindings.push(Binding { listener, hosts: every.clone() });
        }
    }
    for (index, listener) in settings
        .hosts
        .iter()
        .enumerate()
        .flat_map(|(index, host)| host.listen.iter().map(move |l| (index, l)))
    {
        match bindings.iter_mut().find(|binding| binding.listener.address == listener.address) {
            Some(binding) if binding.hosts.contains(&index) => {}
            Some(binding) => binding.hosts.push(index),
            None => bindings.push(Binding { listener, hosts: vec![index] }),
        }
    }
    bindings
}

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "listen",
    levels: Levels::GLOBAL_HOST,
    argument: "a port, `host:port`, a mapping, or a sequence of these",
    default: "",
    help: "An address to listen on; there must be one at the top or in every host, and the key may be \
           repeated. A port alone means all addresses of IPv4 and IPv6; port 0 lets the kernel choose. A \
           mapping has `port`, `host`, `type` (`tcp`, `unix` or `quic`), `cc`, `initcwnd`, `sndbuf`, `rcvbuf`; \
           with `type: unix`, `port` is the path of the socket, and there are `owner`, `group` and \
           `permission` (octal).",
    set: |scope, node| {
        for node in node.one_or_many() {
            let listener = read::listener(node)?;
            if matches!(listener.address, Address::Quic(_)) {
                scope.warn(
                    node.error("HTTP/3 is not there yet: this port is bound, but nothing answers on it"),
                );
            }
            match &mut scope.host {
                Some(host) => host.listen.push(listener),
                None => scope.global.listen.push(listener),
            }
        }
        Ok(())
    },
}];
