//! Queries to name servers, one after the other: addresses of both families, services, names behind aliases.

use super::config::Config;
use super::exchange;
use super::message::{Answer, Kind, Record};
use super::{Family, Found, Service, no_such_name, temporary};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How often each server is queried: a datagram may get lost.
const ROUNDS: usize = 2;

/// Aliases followed that the server did not resolve itself.
const MOST_ALIASES: usize = 8;

impl Config {
    /// The addresses of a host, alternating between families, IPv6 first (RFC 8305 §4).
    pub(super) fn addresses(&self, host: &str, port: u16) -> io::Result<Found<SocketAddr>> {
        for name in self.candidates(host) {
            let (mut six, six_ttl) = self.of_family(&name, Kind::Aaaa)?;
            let (mut four, four_ttl) = self.of_family(&name, Kind::A)?;
            let mut items = Vec::new();
            six.reverse();
            four.reverse();
            while let Some(ip) = six.pop() {
                items.push(SocketAddr::new(ip, port));
                items.extend(four.pop().map(|ip| SocketAddr::new(ip, port)));
            }
            items.extend(four.into_iter().rev().map(|ip| SocketAddr::new(ip, port)));
            if !items.is_empty() {
                return Ok(Found { items, ttl: shorter(six_ttl, four_ttl) });
            }
        }
        Err(no_such_name(host))
    }

    /// The addresses of one family.
    pub(super) fn addresses_of_family(
        &self,
        host: &str,
        port: u16,
        family: Family,
    ) -> io::Result<Vec<SocketAddr>> {
        let kind = match family {
            Family::V4 => Kind::A,
            Family::V6 => Kind::Aaaa,
        };
        for name in self.candidates(host) {
            let (found, _) = self.of_family(&name, kind)?;
            if !found.is_empty() {
                return Ok(found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect());
            }
        }
        Err(no_such_name(host))
    }

    /// The servers of a service.
    pub(super) fn services(&self, name: &str) -> io::Result<Found<Service>> {
        for name in self.candidates(name) {
            let Answer { records, ttl, .. } = self.ask(&name, Kind::Srv)?;
            let services = records.into_iter().filter_map(|record| match record {
                // "." means that there is no such service (RFC 2782).
                Record::Service(service) if !service.target.is_empty() => Some(service),
                _ => None,
            });
            let mut items: Vec<_> = services.collect();
            items.sort();
            if !items.is_empty() {
                return Ok(Found { items, ttl });
            }
        }
        Err(io::Error::new(ErrorKind::NotFound, format!("the service `{name}` does not exist")))
    }

    fn of_family(&self, name: &str, kind: Kind) -> io::Result<(Vec<IpAddr>, Option<Duration>)> {
        let Answer { records, ttl, .. } = self.ask(name, kind)?;
        let addresses = records.into_iter().filter_map(|record| match record {
            Record::Address(ip) => Some(ip),
            Record::Service(_) => None,
        });
        let addresses: Vec<_> = addresses.collect();
        let ttl = ttl.filter(|_| !addresses.is_empty());
        Ok((addresses, ttl))
    }

    /// Looks up a name, following its aliases. If there are no records, the answer is empty.
    fn ask(&self, name: &str, kind: Kind) -> io::Result<Answer> {
        let mut answer = self.ask_all(name, kind)?;
        for _ in 0..MOST_ALIASES {
            let Some(alias) = answer.alias.take() else { break };
            let next = self.ask_all(&alias, kind)?;
            answer = Answer { ttl: shorter(answer.ttl, next.ttl), ..next };
        }
        Ok(answer)
    }

    /// Queries one server after the other.
    fn ask_all(&self, name: &str, kind: Kind) -> io::Result<Answer> {
        let mut last = io::Error::from(ErrorKind::NotConnected);
        for server in (0..ROUNDS).flat_map(|_| &self.servers) {
            match exchange::ask(*server, name, kind) {
                Ok(answer) => return Ok(answer),
                Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(error),
                Err(error) => last = error,
            }
        }
        Err(temporary(format_args!("no name server responded: {last}")))
    }
}

fn shorter(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    a.into_iter().chain(b).min()
}
