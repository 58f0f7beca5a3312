//! Resumption: what a server keeps so that a client's next handshake is short (RFC 8446 §2.2, RFC 5077).
//!
//! Here is the [`Resumption`] that acceptors use, and how it is made from its [`Settings`]. Its parts:
//!
//! - `sessions`, `memory`: the cache of sessions, in memory. `shared`, `outbox`: the same with a remote store.
//! - `tickets`: sessions that the clients keep, and the keys they are sealed with.
//! - `remote`: memcached and Redis. `vault`: what they can see. `missed`: how a handshake learns that a
//!   session may be there.
//! - `scope`: which handshakes may resume which sessions (`acceptor::scope` says why). `secret`: derived
//!   keys.
//! - `alive`, `clock`: ending threads, and the wall clock; OCSP uses them too.
//!
//! No worker ever waits for a store: writes go through a queue, reads are [`Lookup`]s on other threads.

pub(crate) mod alive;
pub(crate) mod clock;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod memory;
mod missed;
mod outbox;
mod remote;
mod scope;
mod secret;
mod sessions;
mod settings;
mod shared;
mod start;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tickets;
mod vault;

use missed::note_missed;
pub(crate) use missed::watch_for_missed;
pub use settings::{
    CACHE_PREFIX, CacheStore, MEMCACHED_PORT, REDIS_PORT, RemoteKind, RemoteStore, Settings, TICKET_KEY,
    TicketStore,
};

use rustls::server::{NoServerSessionStorage, ProducesTickets, StoresServerSessions};
use scope::Scope;
use sessions::InternalSessions;
use shared::SharedSessions;
use start::Background;
use std::sync::Arc;
use tickets::{NoTickets, Ticketer};

/// Receives lines for the error log. It may be called from any thread.
pub type Report = Arc<dyn Fn(Severity, String) + Send + Sync>;

/// The severity of a line for the error log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something does not work; the server continues without it.
    Warn,
    /// Something has changed, or works again.
    Notice,
}

/// The resumption of a program: one for all its acceptors and workers.
///
/// Made by `Resumption::new` from settings, and started by `start`.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// Sessions by id (TLS 1.2), and by ticket (TLS 1.3) where `tickets` makes none. Never blocks: a session
    /// that only a remote store may have is noted with `note_missed`, and reported as missing.
    pub(crate) sessions: Arc<dyn StoresServerSessions>,
    /// Makes and reads tickets.
    pub(crate) tickets: Arc<dyn ProducesTickets>,
    /// How many tickets follow a TLS 1.3 handshake. 0: no resumption in TLS 1.3.
    pub(crate) tickets_tls13: usize,
    /// Where sessions are looked up that `sessions` doesn't have.
    pub(crate) remote: Option<Arc<dyn RemoteSessions>>,
    parts: Parts,
    background: Arc<Background>,
}

/// The parts of `sessions` and `tickets`, to make others for another scope.
#[derive(Clone, Debug, Default)]
struct Parts {
    sessions: Option<Sessions>,
    tickets: Option<Ticketer>,
}

#[derive(Clone, Debug)]
enum Sessions {
    Internal(InternalSessions),
    Shared(SharedSessions),
}

/// A store on other machines.
pub(crate) trait RemoteSessions: std::fmt::Debug + Send + Sync {
    /// Fetches the session of `key`, and keeps the answer (the session, or its absence) locally, so that for
    /// a while `sessions` no longer notes `key` as missed. Blocks.
    fn fetch(&self, key: &[u8]);
}

/// A session that a remote store may have: a handshake waits for the answer.
#[derive(Debug)]
pub struct Lookup {
    pub(crate) key: Vec<u8>,
    pub(crate) remote: Arc<dyn RemoteSessions>,
}

impl Lookup {
    /// Queries the remote store, and keeps its answer locally; `Session::receive` continues from there.
    /// Blocks for up to the timeout of the store: for a thread that may block.
    pub fn run(self) {
        self.remote.fetch(&self.key);
    }
}

impl Resumption {
    /// Every handshake is a full one.
    pub fn off() -> Self {
        Self::of(Parts::default(), None, Arc::default())
    }

    /// The same keys and stores, but sessions that are resumed only under the same `scope`: see `acceptor::scope`.
    pub(crate) fn scoped(&self, scope: &[u8]) -> Self {
        let scope = Scope::of(scope);
        let sessions = self.parts.sessions.as_ref().map(|sessions| match sessions {
            Sessions::Internal(sessions) => Sessions::Internal(sessions.scoped(scope)),
            Sessions::Shared(sessions) => Sessions::Shared(sessions.scoped(scope)),
        });
        let tickets = self.parts.tickets.as_ref().map(|tickets| tickets.scoped(scope.bytes()));
        Self::of(Parts { sessions, tickets }, self.remote.clone(), self.background.clone())
    }

    fn of(parts: Parts, remote: Option<Arc<dyn RemoteSessions>>, background: Arc<Background>) -> Self {
        let sessions: Arc<dyn StoresServerSessions> = match parts.sessions.clone() {
            Some(Sessions::Internal(sessions)) => Arc::new(sessions),
            Some(Sessions::Shared(sessions)) => Arc::new(sessions),
            None => Arc::new(NoServerSessionStorage {}),
        };
        let tickets: Arc<dyn ProducesTickets> = match parts.tickets.clone() {
            Some(tickets) => Arc::new(tickets),
            None => Arc::new(NoTickets),
        };
        // Two, as OpenSSL sends: browsers open a second connection at once, and each ticket is good for one
        // connection (RFC 8446 §C.4).
        let tickets_tls13 = if parts.sessions.is_some() || parts.tickets.is_some() { 2 } else { 0 };
        Self { sessions, tickets, tickets_tls13, remote, parts, background }
    }
}
