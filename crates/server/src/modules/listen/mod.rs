//! `listen`: the addresses that accept connections.
//!
//! Binding sockets is up to the program; this module describes them as written, with the defaults filled in. `read`
//! parses the forms of the directive.

mod acceptors;
mod bindings;
mod overlap;
mod read;
pub mod ssl;
#[cfg(test)]
pub(crate) mod testing;

pub use acceptors::Acceptors;
pub(crate) use bindings::server_name;
pub use bindings::{Binding, Block, bindings, tls_files};
pub use overlap::Seen;
use overlap::split;

use crate::config::directive::{Directive, Levels, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings::{HostSettings, Reading, Settings};
use crate::config::yaml::{Node, Position};
use crate::feature::Feature;
use hayami_net::proxy_protocol::Expectation;
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::path::PathBuf;

/// One address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Position in the configuration.
    pub at: Position,
    /// The address.
    pub address: Address,
    /// Socket options.
    pub options: Options,
    /// `proxy-protocol`: connections begin with a header that names the client.
    pub proxy_protocol: Option<Expectation>,
    /// `ssl`: TLS settings.
    pub ssl: Option<Box<ssl::Settings>>,
}

/// The listeners at the top level of the file, for all hosts, or those of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listeners(pub Vec<Listener>);

impl FeatureSetting for Listeners {}

impl Deref for Listeners {
    type Target = Vec<Listener>;

    fn deref(&self) -> &Vec<Listener> {
        &self.0
    }
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP port.
    Tcp(HostPort),
    /// A UDP port for HTTP/3.
    Quic(HostPort),
    /// A unix socket.
    Unix(UnixSocket),
}

impl Address {
    /// The TCP port, if it has one.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(address) => Some(address.port),
            Self::Quic(_) | Self::Unix(_) => None,
        }
    }
}

/// Local addresses and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// The addresses.
    pub host: Host,
    /// The port; 0 lets the kernel choose.
    pub port: u16,
}

/// Local addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Host {
    /// All of IPv4 and all of IPv6: `0.0.0.0` and `[::]`.
    #[default]
    All,
    /// A single address.
    Address(IpAddr),
    /// The addresses of a name, to be resolved when binding.
    Name(String),
}

/// A unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UnixSocket {
    /// Its path.
    pub path: PathBuf,
    /// Name or ID of its owner.
    pub owner: Option<String>,
    /// Name or ID of its group.
    pub group: Option<String>,
    /// Its permissions; `None`: the default according to the umask.
    pub permission: Option<u32>,
}

/// Options of a listening socket; `None`: the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `cc`: name of the congestion control algorithm.
    pub congestion: Option<String>,
    /// `initcwnd`: packets sent before the first acknowledgement.
    pub initial_window: Option<u32>,
    /// `sndbuf`, bytes.
    pub send_buffer: Option<usize>,
    /// `rcvbuf`, bytes.
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
        option(f, "rcvbuf", &self.options.receive_buffer)?;
        if self.proxy_protocol.is_some() {
            f.write_str(", PROXY protocol")?;
        }
        if self.ssl.is_some() { f.write_str(", TLS") } else { Ok(()) }
    }
}

/// Checks that need all listeners and hosts.
fn complete(settings: &mut Settings, reading: &mut Reading, root: &Node) {
    reading.errors.extend(missing(settings, reading, root));
    split(settings);
}

/// Reports hosts that no listener reaches.
fn missing(settings: &Settings, reading: &Reading, root: &Node) -> Vec<ConfigError> {
    let has_none = |host: &HostSettings| host.features.get::<Listeners>().is_empty();
    if settings.hosts.is_empty() || !settings.global.get::<Listeners>().is_empty() {
        return Vec::new();
    }
    let help = "add `listen: 8080` at the top of the file, or a `listen` to every host";
    if settings.hosts.iter().all(has_none) {
        let top = Position { end: root.at.start, ..root.at };
        return vec![ConfigError::new(top, "the configuration has no `listen`").help(help)];
    }
    let unreachable = settings.hosts.iter().zip(&reading.host_places).filter(|(host, _)| has_none(host));
    unreachable
        .map(|(host, at)| {
            ConfigError::new(*at, format!("the host `{}` has no `listen`", host.name)).help(help)
        })
        .collect()
}

fn option(f: &mut fmt::Formatter<'_>, name: &str, value: &Option<impl fmt::Display>) -> fmt::Result {
    value.as_ref().map_or(Ok(()), |value| write!(f, ", {name} {value}"))
}

/// This feature.
pub const FEATURE: Feature =
    Feature { complete: Some(complete), ..Feature::new(&[group("Listening", DIRECTIVES)]) };

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "listen",
    levels: Levels::GLOBAL_HOST,
    argument: "a port, `host:port`, a mapping, or a sequence of these",
    default: "",
    help: "An address to listen on; required at the top or in every host, and the key may be repeated. A \
           bare port means all IPv4 and IPv6 addresses; for port 0 the kernel chooses a port. A mapping has \
           `port`, `host`, `type` (`tcp`, `unix` or `quic`), `cc`, `initcwnd`, `sndbuf`, `rcvbuf`, \
           `proxy-protocol`, `ssl`; with `type: unix`, `port` is the path of the socket, and `owner`, \
           `group` and `permission` (octal) are supported. With `proxy-protocol: ON` every connection must \
           start with a PROXY protocol header, version 1 or 2, which supplies the client's address: for a \
           port that only a load balancer can reach. With `proxy-protocol: {from: [10.0.0.0/8, …]}` only \
           connections from these addresses are accepted; with `optional: ON` in addition, all connections \
           are accepted, and those from these addresses may start with a header. Several hosts may share an \
           address: the server name (SNI) selects the certificate, and the request selects the host.",
    set: |scope, node| {
        for node in node.one_or_many() {
            let (listener, warnings) = read::listener(node)?;
            overlap::check(scope, &listener)?;
            if let Some(ssl) = &listener.ssl
                && scope.global.reading.features.get_mut::<Seen>().is_new(ssl)
            {
                ssl.load()?;
            }
            warnings.into_iter().for_each(|warning| scope.warn(warning));
            if matches!(listener.address, Address::Quic(_)) {
                scope.warn(node.error(
                    "HTTP/3 is not supported yet: this port is bound, but the server does not respond on it",
                ));
            }
            let level = scope.host.as_mut().map_or(&mut scope.global.features, |host| &mut host.features);
            level.get_mut::<Listeners>().0.push(listener);
        }
        Ok(())
    },
}];
