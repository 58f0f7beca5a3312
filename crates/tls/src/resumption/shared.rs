//! The session cache that is shared with other machines through a remote store.
//!
//! ```text
//! worker ── put ──▶ memory, outbox ──▶ writer threads ──▶ store
//! worker ── get ──▶ memory ── not there: note_missed; the handshake waits ──▶ fetch (a thread that may block)
//!                      ▲────────────────────────────────────────────────────────┘
//! ```
//!
//! No worker waits for the store. A handshake waits for `PATIENCE` at most, and not while the store is down.
//! In TLS 1.3 a session is resumed once: fetching it also removes it from the store, and of several machines
//! the one whose removal succeeds gets it. But a machine that has it in memory takes it from there and
//! removes it from the store a moment later; in between, another machine may accept a copy of the same
//! handshake. That matters only for early data.

use super::alive::{Alive, Signal};
use super::clock::unix_now;
use super::memory::Memory;
use super::outbox::{Change, Outbox};
use super::remote::Store;
use super::scope::Scope;
use super::vault::Vault;
use super::{RemoteSessions, Report, Severity, note_missed, sessions};
use rustls::server::StoresServerSessions;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a handshake waits for the store. A full handshake costs the client one more round trip, some
/// 50 ms: waiting much longer would be worse than not finding the session.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long a write may take.
const WRITE: Duration = Duration::from_secs(2);
/// Concurrent lookups. Beyond that, handshakes are full ones: attackers can make up identifiers.
const LOOKUPS: usize = 64;
/// How long a session's absence is cached, in seconds: the handshake asks once more.
const ABSENT: u64 = 2;
/// Bytes for such answers.
const ABSENT_ROOM: usize = 1 << 20;
/// Bytes of an identifier, as rustls makes them. Others were not issued here, and are not looked up.
const ID: usize = 32;
/// How often losses are reported.
const REPORT: Duration = Duration::from_secs(60);
/// The prefix of a noted key: how the session was requested.
const GET: u8 = b'g';
const TAKE: u8 = b't';

/// Sessions in memory and in a remote store.
#[derive(Clone, Debug)]
pub(super) struct SharedSessions {
    common: Arc<Common>,
    scope: Scope,
    _alive: Arc<Alive>,
}

/// What all scopes share.
pub(super) struct Common {
    memory: Memory,
    absent: Memory,
    outbox: Outbox,
    store: Arc<Store>,
    vault: Arc<Vault>,
    prefix: String,
    lifetime: u32,
    lookups: AtomicUsize,
    report: Report,
}

impl Common {
    /// Sessions with a lifetime in seconds, stored under names that begin with `prefix`.
    pub(super) fn new(
        store: Arc<Store>,
        vault: Arc<Vault>,
        prefix: &str,
        lifetime: u32,
        report: Report,
    ) -> Arc<Self> {
        Arc::new(Self {
            memory: Memory::new(sessions::ROOM),
            absent: Memory::new(ABSENT_ROOM),
            outbox: Outbox::default(),
            store,
            vault,
            prefix: prefix.to_owned(),
            lifetime,
            lookups: AtomicUsize::new(0),
            report,
        })
    }

    /// A writer thread: runs until the sessions are no longer needed.
    pub(super) fn write(&self, signal: &Signal) {
        // The name is looked up before the first lookup needs it.
        self.store.find();
        let mut reported = Instant::now();
        while !signal.is_over() {
            if let Some(change) = self.outbox.next(Duration::from_secs(1)) {
                self.write_one(change);
            }
            if reported.elapsed() > REPORT {
                reported = Instant::now();
                self.report_lost();
            }
        }
    }

    fn write_one(&self, change: Change) {
        if self.store.is_down() {
            return self.outbox.count_lost();
        }
        self.store.find();
        let written = match change {
            Change::Put { id, session, until } => self.write_session(&id, &session, until),
            Change::Remove { id } => self.store.remove(&self.name(&id), WRITE).map(|_| ()),
        };
        if written.is_err() {
            self.outbox.count_lost();
        }
    }

    fn write_session(&self, id: &[u8], session: &[u8], until: u64) -> io::Result<()> {
        let Some(sealed) = self.vault.seal_session(id, session, until) else { return Ok(()) };
        self.store.put(&self.name(id), &sealed, self.lifetime, WRITE)
    }

    fn report_lost(&self) {
        let lost = self.outbox.take_lost();
        if lost > 0 {
            let store = self.store.settings();
            (self.report)(
                Severity::Warn,
                format!("session resumption: {lost} sessions could not be written to {store}"),
            );
        }
    }

    fn name(&self, id: &[u8]) -> String {
        self.vault.name(&self.prefix, id)
    }

    fn put(&self, id: Vec<u8>, session: Vec<u8>) -> bool {
        let until = unix_now() + u64::from(self.lifetime);
        let kept = self.memory.put(&id, session.clone(), until);
        self.outbox.push(Change::Put { id, session, until });
        kept
    }

    fn get(&self, id: &[u8]) -> Option<Vec<u8>> {
        self.memory.get(id, unix_now()).or_else(|| self.miss(GET, id))
    }

    fn take(&self, id: &[u8]) -> Option<Vec<u8>> {
        let Some(session) = self.memory.take(id, unix_now()) else { return self.miss(TAKE, id) };
        self.outbox.push(Change::Remove { id: id.to_vec() });
        Some(session)
    }

    /// Notes that the store may have it, unless a lookup is pointless.
    fn miss(&self, how: u8, id: &[u8]) -> Option<Vec<u8>> {
        let is_issued = id.len() == Scope::default().bytes().len() + ID;
        if is_issued && self.absent.get(id, unix_now()).is_none() && !self.store.is_down() {
            note_missed(&[&[how], id].concat());
        }
        None
    }

    /// Queries the store: the session, and until when it is valid.
    fn ask(&self, how: u8, id: &[u8]) -> Option<(Vec<u8>, u64)> {
        let name = self.name(id);
        let start = Instant::now();
        let sealed = self.store.get(&name, PATIENCE).ok()??;
        let found = self.vault.open_session(id, &sealed)?;
        let left = PATIENCE.saturating_sub(start.elapsed());
        let is_taken = how == GET || self.store.remove(&name, left).ok()?;
        is_taken.then_some(found)
    }

    /// `ask`, unless too many lookups are running.
    fn ask_within_limit(&self, how: u8, id: &[u8]) -> Option<(Vec<u8>, u64)> {
        let others = self.lookups.fetch_add(1, Ordering::Relaxed);
        let found = if others < LOOKUPS { self.ask(how, id) } else { None };
        self.lookups.fetch_sub(1, Ordering::Relaxed);
        found
    }
}

impl RemoteSessions for Common {
    fn fetch(&self, key: &[u8]) {
        let Some((how, id)) = key.split_first() else { return };
        match self.ask_within_limit(*how, id) {
            Some((session, until)) => self.memory.put(id, session, until),
            None => self.absent.put(id, Vec::new(), unix_now() + ABSENT),
        };
    }
}

impl std::fmt::Debug for Common {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Common").field("store", &self.store).finish_non_exhaustive()
    }
}

impl SharedSessions {
    /// With threads that write as long as `alive` is held.
    pub(super) fn new(common: Arc<Common>, alive: Arc<Alive>) -> Self {
        Self { common, scope: Scope::default(), _alive: alive }
    }

    /// The same store and memory, but sessions of `scope` only.
    pub(super) fn scoped(&self, scope: Scope) -> Self {
        Self { scope, ..self.clone() }
    }
}

impl StoresServerSessions for SharedSessions {
    fn put(&self, id: Vec<u8>, session: Vec<u8>) -> bool {
        self.common.put(self.scope.within(&id), session)
    }

    fn get(&self, id: &[u8]) -> Option<Vec<u8>> {
        self.common.get(&self.scope.within(id))
    }

    fn take(&self, id: &[u8]) -> Option<Vec<u8>> {
        self.common.take(&self.scope.within(id))
    }

    fn can_cache(&self) -> bool {
        true
    }
}
