//! The sessions a connector may resume, in memory.
//!
//! Bounded twice: by servers, and by tickets of one. Many tickets of one server are wanted when many
//! connections begin at once, since each is good once (RFC 8446 §C.4).

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Servers remembered; whoever speaks to more loses all that there is, and begins anew.
const MOST_SERVERS: usize = 64;
/// Tickets kept of one server: 2 KB each at most times, half a megabyte in all.
const MOST_TICKETS: usize = 256;

#[derive(Default)]
pub(super) struct Store(Mutex<HashMap<ServerName<'static>, Server>>);

/// What is remembered of one server.
#[derive(Default)]
struct Server {
    /// The group it chose last, whose key the next ClientHello brings.
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    /// The newest is last.
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl Store {
    fn servers(&self) -> MutexGuard<'_, HashMap<ServerName<'static>, Server>> {
        // Whoever panicked left a map that is whole: nothing is changed in two steps.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, name: ServerName<'static>, change: impl FnOnce(&mut Server)) {
        let mut servers = self.servers();
        if servers.len() >= MOST_SERVERS && !servers.contains_key(&name) {
            servers.clear();
        }
        change(servers.entry(name).or_default());
    }
}

impl ClientSessionStore for Store {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.change(name, |server| server.group = Some(group));
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.servers().get(name)?.group
    }

    fn set_tls12_session(&self, name: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.change(name, |server| server.tls12 = Some(session));
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.servers().get(name)?.tls12.clone()
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        if let Some(server) = self.servers().get_mut(name) {
            server.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.change(name, |server| {
            if server.tickets.len() >= MOST_TICKETS {
                server.tickets.pop_front();
            }
            server.tickets.push_back(ticket);
        });
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.servers().get_mut(name)?.tickets.pop_back()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store(..)") // no secrets in logs
    }
}
