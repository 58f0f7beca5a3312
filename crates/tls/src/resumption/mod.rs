//! Resumption: what a server keeps so that a client's next handshake is short (RFC 8446 §2.2, RFC 5077).
//!
//! Here is what the acceptor needs of it; the stores and the ticket keys are in the modules below.

mod missed;

#[allow(unused_imports)] // until there is a store of that kind
pub(crate) use missed::note_missed;
pub(crate) use missed::watch_for_missed;

use rustls::server::{NoServerSessionStorage, ProducesTickets, StoresServerSessions};
use std::sync::Arc;

/// The resumption of a program: one for all its acceptors and workers.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// Sessions by id (TLS 1.2), and by ticket (TLS 1.3) where `tickets` makes none. Never blocks: a session
    /// that only a remote store may have is noted with `note_missed`, and said not to be there.
    pub(crate) sessions: Arc<dyn StoresServerSessions>,
    /// Makes and reads tickets.
    pub(crate) tickets: Arc<dyn ProducesTickets>,
    /// How many tickets follow a TLS 1.3 handshake. 0: no resumption in TLS 1.3.
    pub(crate) tickets_tls13: usize,
    /// Where sessions are asked for that `sessions` doesn't have.
    pub(crate) remote: Option<Arc<dyn RemoteSessions>>,
}

/// A store on other machines.
pub(crate) trait RemoteSessions: std::fmt::Debug + Send + Sync {
    /// Asks for the session of `key`, and keeps the answer (the session, or that there is none) locally,
    /// so that `sessions` notes `key` as missed no more for a while. Blocks.
    fn fetch(&self, key: &[u8]);
}

/// A session that a remote store may have: a handshake waits for the answer.
#[derive(Debug)]
pub struct Lookup {
    pub(crate) key: Vec<u8>,
    pub(crate) remote: Arc<dyn RemoteSessions>,
}

impl Lookup {
    /// Asks the remote store, and keeps its answer locally; `Session::resume` goes on from there. Blocks for
    /// up to the timeout of the store: for a thread that may block.
    pub fn run(self) {
        self.remote.fetch(&self.key);
    }
}

impl Resumption {
    /// Every handshake is a full one.
    pub fn off() -> Self {
        Self {
            sessions: Arc::new(NoServerSessionStorage {}),
            tickets: Arc::new(NoTickets),
            tickets_tls13: 0,
            remote: None,
        }
    }
}

#[derive(Debug)]
struct NoTickets;

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}
