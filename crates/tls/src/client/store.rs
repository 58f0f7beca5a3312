//! The sessions a connector may resume, in memory.
//!
//! Bounded by servers, by what all of them have, and by tickets of one. Many tickets of one server are needed
//! when many connections begin at once, since each can be used once (RFC 8446 §C.4).

use super::settings::Sessions;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Servers remembered. A client of more servers drops everything and starts again.
const MOST_SERVERS: usize = 64;
/// Tickets kept of one server: usually 2 KB each, half a megabyte in all.
const MOST_TICKETS: usize = 256;

pub(super) struct Store {
    bounds: Sessions,
    known: Mutex<Known>,
}

/// Everything remembered.
#[derive(Default)]
struct Known {
    servers: HashMap<ServerName<'static>, Server>,
    /// Sessions and tickets of all of them.
    count: usize,
}

/// The data remembered about one server.
#[derive(Default)]
struct Server {
    /// The group it chose last, whose key share the next ClientHello carries.
    group: Option<NamedGroup>,
    tls12: Option<(Tls12ClientSessionValue, Instant)>,
    /// The newest is last.
    tickets: VecDeque<(Tls13ClientSessionValue, Instant)>,
}

impl Known {
    /// The server of that name, with room for a session.
    fn server(&mut self, name: ServerName<'static>, capacity: usize) -> &mut Server {
        let is_new = !self.servers.contains_key(&name);
        if self.count >= capacity || is_new && self.servers.len() >= MOST_SERVERS {
            self.servers.clear();
            self.count = 0;
        }
        self.servers.entry(name).or_default()
    }

    /// Drops the server's oldest ticket if it has the maximum number.
    fn make_room(&mut self, name: &ServerName<'static>, most: usize) {
        let Some(server) = self.servers.get_mut(name) else { return };
        let is_full = server.tickets.len() >= MOST_TICKETS || self.count >= most;
        if is_full && server.tickets.pop_front().is_some() {
            self.count -= 1;
        }
    }
}

impl Store {
    pub(super) fn new(bounds: Sessions) -> Self {
        Self { bounds, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // A panic leaves a count that is wrong by one at worst.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_fresh(&self, since: Instant) -> bool {
        since.elapsed() < self.bounds.lifetime
    }
}

impl ClientSessionStore for Store {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.known().server(name, usize::MAX).group = Some(group);
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.known().servers.get(name)?.group
    }

    fn set_tls12_session(&self, name: ServerName<'static>, session: Tls12ClientSessionValue) {
        let mut known = self.known();
        let server = known.server(name, self.bounds.capacity);
        let is_more = server.tls12.replace((session, Instant::now())).is_none();
        known.count += usize::from(is_more);
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        let known = self.known();
        let (session, since) = known.servers.get(name)?.tls12.as_ref()?;
        self.is_fresh(*since).then(|| session.clone())
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        let mut known = self.known();
        let gone = known.servers.get_mut(name).and_then(|server| server.tls12.take());
        known.count -= usize::from(gone.is_some());
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut known = self.known();
        known.make_room(&name, self.bounds.capacity);
        known.server(name, self.bounds.capacity).tickets.push_back((ticket, Instant::now()));
        known.count += 1;
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let mut known = self.known();
        let (ticket, since) = known.servers.get_mut(name)?.tickets.pop_back()?;
        known.count -= 1;
        self.is_fresh(since).then_some(ticket)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store(..)") // no secrets in logs
    }
}
