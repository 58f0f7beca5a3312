//! Names of servers: their addresses and services, and for how long those hold (RFC 1035, RFC 2782).
//!
//! Addresses come from the system (`getaddrinfo`: /etc/hosts and the order of /etc/nsswitch.conf are heeded, the
//! addresses are sorted by RFC 6724), which does not say for how long. So DNS is asked for that, and for services,
//! which the system does not know. Name servers that the user has named are asked for everything.
//!
//! ```text
//! ask ─ config (which servers, which names) ─ exchange (UDP, TCP) ─ message (what goes over the wire)
//!  └ system (getaddrinfo)
//! ```
//!
//! Every function here waits for others and belongs on a thread that may. Nothing is kept: whoever needs a name
//! again asks again when its time is over.

mod ask;
mod config;
mod exchange;
pub mod message;
mod system;
#[cfg(test)]
mod tests;

use config::{Config, is_in_hosts};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// What a name stands for, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// At least one.
    pub items: Vec<T>,
    /// For how long; `None` if nobody has said.
    pub ttl: Option<Duration>,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// A server of a service (RFC 2782).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Service {
    /// The lowest are asked, the others only if they cannot be.
    pub priority: u16,
    /// Its share among those of the same priority.
    pub weight: u16,
    /// Its port.
    pub port: u16,
    /// Its name.
    pub target: String,
}

/// The addresses of a host. `servers` are asked; with none of them the system is.
///
/// # Errors
/// It has none, or nobody can tell.
pub fn addresses(host: &str, port: u16, servers: &[SocketAddr]) -> io::Result<Found<SocketAddr>> {
    if let Ok(ip) = host.parse() {
        return Ok(Found { items: vec![SocketAddr::new(ip, port)], ttl: None });
    }
    if !servers.is_empty() {
        return Config::of(servers).addresses(host, port);
    }
    Ok(Found { items: system::addresses(host, port, None)?, ttl: None })
}

/// The addresses of one family that a host has. `servers` are asked; with none of them the system is.
///
/// # Errors
/// As of [`addresses`].
pub fn of_family(
    host: &str,
    port: u16,
    family: Family,
    servers: &[SocketAddr],
) -> io::Result<Vec<SocketAddr>> {
    match servers {
        [] => system::addresses(host, port, Some(family)),
        servers => Config::of(servers).addresses_of_family(host, port, family),
    }
}

/// Whether a name that could not be looked up may be found a little later: no server could tell.
pub fn is_temporary(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}

fn no_such_name(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("`{name}` does not exist or has no address"))
}

fn temporary(why: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("temporary failure: {why}"))
}

/// For how long the addresses hold that the system gives for a host; `None` if it has them from somewhere else
/// than DNS, or nobody can tell.
pub fn time_to_live(host: &str) -> Option<Duration> {
    if host.parse::<std::net::IpAddr>().is_ok() || is_in_hosts(host) {
        return None;
    }
    Config::of_system().addresses(host, 0).ok()?.ttl
}

/// The servers of a service, `_http._tcp.example.org`. `servers` are asked; with none of them those that the
/// system asks.
///
/// # Errors
/// There is no such service, or nobody can tell.
pub fn services(name: &str, servers: &[SocketAddr]) -> io::Result<Found<Service>> {
    let config = if servers.is_empty() { Config::of_system() } else { Config::of(servers) };
    config.services(name)
}
