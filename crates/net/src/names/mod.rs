//! Name resolution: addresses of hosts and servers of services, with their TTLs (RFC 1035, RFC 2782).
//!
//! Addresses come from the system's resolver (`getaddrinfo`, which uses /etc/hosts and /etc/nsswitch.conf and sorts
//! addresses by RFC 6724). It returns no TTL and knows no services; for both, DNS is queried. Name servers set by the
//! operator are used for everything.
//!
//! ```text
//! ask ─ config (which servers, which names) ─ exchange (UDP, TCP) ─ message (wire format)
//!  └ system (getaddrinfo)
//! ```
//!
//! All functions here block. Results are not cached: callers look a name up again when its TTL expires.

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

/// The result of a lookup and its TTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// At least one.
    pub items: Vec<T>,
    /// How long it is valid; `None` if unknown.
    pub ttl: Option<Duration>,
}

/// An address family.
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
    /// Servers with the lowest number are used first, others only if those are unreachable.
    pub priority: u16,
    /// Its share among those of the same priority.
    pub weight: u16,
    /// Its port.
    pub port: u16,
    /// Its name.
    pub target: String,
}

/// The addresses of a host, from `servers`, or from the system's resolver if that is empty.
///
/// # Errors
/// The host has no address, or the lookup failed.
pub fn addresses(host: &str, port: u16, servers: &[SocketAddr]) -> io::Result<Found<SocketAddr>> {
    if let Ok(ip) = host.parse() {
        return Ok(Found { items: vec![SocketAddr::new(ip, port)], ttl: None });
    }
    if !servers.is_empty() {
        return Config::of(servers).addresses(host, port);
    }
    Ok(Found { items: system::addresses(host, port, None)?, ttl: None })
}

/// The addresses of a host in one family, from `servers`, or from the system's resolver if that is empty.
///
/// # Errors
/// As for [`addresses`].
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

/// Whether a failed lookup may succeed a little later: no server could answer.
pub fn is_temporary(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}

fn no_such_name(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("`{name}` does not exist or has no address"))
}

fn temporary(why: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("temporary failure: {why}"))
}

/// The TTL of the addresses that the system's resolver returns for a host; `None` if they do not come from DNS, or it
/// is unknown.
pub fn time_to_live(host: &str) -> Option<Duration> {
    if host.parse::<std::net::IpAddr>().is_ok() || is_in_hosts(host) {
        return None;
    }
    Config::of_system().addresses(host, 0).ok()?.ttl
}

/// The servers of a service, `_http._tcp.example.org`, from `servers`, or from the system's name servers if that is
/// empty.
///
/// # Errors
/// There is no such service, or the lookup failed.
pub fn services(name: &str, servers: &[SocketAddr]) -> io::Result<Found<Service>> {
    let config = if servers.is_empty() { Config::of_system() } else { Config::of(servers) };
    config.services(name)
}
