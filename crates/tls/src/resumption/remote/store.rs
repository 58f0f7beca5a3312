//! The state of a store between calls: its address, idle connections, whether it answers.

use super::Client;
use super::memcached::Memcached;
use super::redis::Redis;
use super::wire::Wire;
use crate::resumption::{RemoteKind, RemoteStore, Report, Severity};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a failed store is not used. Handshakes don't wait for it during that time.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// The most connections kept for later.
const IDLE: usize = 8;

/// A memcached or Redis. Every call blocks until its deadline at most.
pub(in crate::resumption) struct Store {
    settings: RemoteStore,
    addresses: Mutex<Vec<SocketAddr>>,
    idle: Mutex<Vec<Client>>,
    /// Until when it is not used; `None`: it answered the last call.
    outage: Mutex<Option<Instant>>,
    report: Report,
}

impl Store {
    pub(in crate::resumption) fn new(settings: RemoteStore, report: Report) -> Arc<Self> {
        // An address needs no resolver. A name is resolved by the first thread that may block.
        let literal = settings.host.parse::<IpAddr>().ok();
        let addresses = literal.map(|ip| SocketAddr::new(ip, settings.port));
        Arc::new(Self {
            settings,
            addresses: Mutex::new(addresses.into_iter().collect()),
            idle: Mutex::default(),
            outage: Mutex::default(),
            report,
        })
    }

    /// The store's settings.
    pub(in crate::resumption) fn settings(&self) -> &RemoteStore {
        &self.settings
    }

    /// It failed recently, and is not to be used yet.
    pub(in crate::resumption) fn is_down(&self) -> bool {
        lock(&self.outage).is_some_and(|until| Instant::now() < until)
    }

    /// Resolves the name, if not yet done or if the store has failed since. Blocks as long as the resolver
    /// does: for background threads, not for lookups that a client waits for.
    pub(in crate::resumption) fn find(&self) {
        let is_literal = self.settings.host.parse::<IpAddr>().is_ok();
        if is_literal || (!lock(&self.addresses).is_empty() && lock(&self.outage).is_none()) {
            return;
        }
        // Without an answer the old addresses stay; if there are none, the next call reports that.
        if let Ok(found) = (self.settings.host.as_str(), self.settings.port).to_socket_addrs() {
            *lock(&self.addresses) = found.collect();
        }
    }

    /// The value of `key`.
    pub(in crate::resumption) fn get(&self, key: &str, time: Duration) -> io::Result<Option<Vec<u8>>> {
        self.call(time, |client| client.get(key))
    }

    /// Keeps `value` for `lifetime` seconds.
    pub(in crate::resumption) fn put(
        &self,
        key: &str,
        value: &[u8],
        lifetime: u32,
        time: Duration,
    ) -> io::Result<()> {
        self.call(time, |client| client.put(key, value, lifetime))
    }

    /// Removes `key`. Of several concurrent callers, one gets `true`.
    pub(in crate::resumption) fn remove(&self, key: &str, time: Duration) -> io::Result<bool> {
        self.call(time, |client| client.remove(key))
    }

    /// Puts `new` in the place of `old`; `false` if something else is there.
    pub(in crate::resumption) fn swap(
        &self,
        key: &str,
        old: Option<&[u8]>,
        new: &[u8],
        lifetime: u32,
        time: Duration,
    ) -> io::Result<bool> {
        self.call(time, |client| client.swap(key, old, new, lifetime))
    }

    fn call<T>(&self, time: Duration, ask: impl Fn(&mut Client) -> io::Result<T>) -> io::Result<T> {
        let result = self.attempt(Instant::now() + time, ask);
        self.note_result(result.as_ref().err());
        result
    }

    fn attempt<T>(&self, deadline: Instant, ask: impl Fn(&mut Client) -> io::Result<T>) -> io::Result<T> {
        let idle = lock(&self.idle).pop();
        if let Some(mut client) = idle {
            client.wire().until(deadline);
            match ask(&mut client) {
                Ok(answer) => return Ok(self.give_back(client, answer)),
                // The store closed its idle connections, or was restarted.
                Err(error) if is_closed(&error) => lock(&self.idle).clear(),
                Err(error) => return Err(error),
            }
        }
        let mut client = self.connect(deadline)?;
        let answer = ask(&mut client)?;
        Ok(self.give_back(client, answer))
    }

    fn connect(&self, deadline: Instant) -> io::Result<Client> {
        let addresses = lock(&self.addresses).clone();
        let wire = Wire::connect(&addresses, deadline)?;
        match self.settings.kind {
            RemoteKind::Memcached => Ok(Client::Memcached(Memcached { wire })),
            RemoteKind::Redis => {
                let mut redis = Redis { wire };
                if let Some(password) = &self.settings.password {
                    redis.authenticate(password)?;
                }
                Ok(Client::Redis(redis))
            }
        }
    }

    fn give_back<T>(&self, client: Client, answer: T) -> T {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE {
            idle.push(client);
        }
        answer
    }

    /// Records whether it answers, and reports changes.
    fn note_result(&self, error: Option<&io::Error>) {
        let until = error.map(|_| Instant::now() + RETRY_AFTER);
        let before = std::mem::replace(&mut *lock(&self.outage), until);
        match (before, error) {
            (None, Some(error)) => (self.report)(
                Severity::Warn,
                format!(
                    "session resumption: {} is unavailable: {error}; sessions in memory are still resumed, \
                     and the connection is retried",
                    self.settings
                ),
            ),
            (Some(_), None) => {
                (self.report)(
                    Severity::Notice,
                    format!("session resumption: {} is available again", self.settings),
                );
            }
            _ => {}
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.settings)
    }
}

/// No code panics while holding one of these locks, and their data is never half updated.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe)
}
