//! From settings to a [`Resumption`], and the start of its threads.

use super::alive::{Alive, Signal};
use super::clock::unix_now;
use super::remote::Store;
use super::sessions::InternalSessions;
use super::settings::{CacheStore, RemoteStore, Settings, TicketStore};
use super::shared::{Common, SharedSessions};
use super::tickets::{LONGEST, RemoteKeys, Ring, Source, Ticketer, keep};
use super::vault::Vault;
use super::{Parts, RemoteSessions, Report, Resumption, Sessions, Severity};
use crate::Error;
use arc_swap::ArcSwap;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the start waits for the ticket keys of other machines. Tickets made before that can be resumed on
/// this machine only.
const FIRST: Duration = Duration::from_secs(1);

/// The body of a thread, which runs until it is stopped.
type Task = Box<dyn FnOnce(&Signal) + Send>;

/// Threads that are still to be started, and the waiters for them.
#[derive(Default)]
pub(super) struct Background {
    tasks: Mutex<Vec<Task>>,
    first: Mutex<Option<Receiver<()>>>,
    alive: Arc<Alive>,
}

impl Resumption {
    /// Reads the files that `settings` name. Starts no thread and contacts no store, so it can be used to
    /// check a configuration. `report` receives later faults.
    ///
    /// # Errors
    /// A file of `settings` can't be used.
    pub fn new(settings: &Settings, report: Report) -> Result<Self, Error> {
        let mut plan = Plan::new(settings, report)?;
        let tickets = settings.tickets.as_ref().map(|store| plan.tickets(store)).transpose()?;
        let (sessions, remote) = settings.cache.as_ref().map(|store| plan.sessions(store)).unzip();
        let parts = Parts { sessions, tickets };
        Ok(Self::of(parts, remote.flatten(), Arc::new(plan.background)))
    }

    /// Starts the threads that renew keys and connect to stores; once, after the last fork and after
    /// privileges were dropped. They end when this and everything made from it is dropped. Waits a second at
    /// most for the first answer of a store that has ticket keys.
    pub fn start(&self) {
        let tasks = std::mem::take(&mut *lock(&self.background.tasks));
        for task in tasks {
            let signal = self.background.alive.signal();
            let thread = std::thread::Builder::new().name("tls-resumption".into());
            // Without the thread sessions stay local and keys are not renewed; a machine without free threads
            // has no better option.
            let _ = thread.spawn(move || task(&signal));
        }
        if let Some(first) = lock(&self.background.first).take() {
            let _ = first.recv_timeout(FIRST);
        }
    }
}

/// The parts being assembled.
struct Plan {
    lifetime: u32,
    report: Report,
    vault: Arc<Vault>,
    stores: Vec<Arc<Store>>,
    background: Background,
}

impl Plan {
    fn new(settings: &Settings, report: Report) -> Result<Self, Error> {
        let vault = settings.secret_file.as_deref().map(Vault::read).transpose()?.unwrap_or_default();
        let lifetime = settings.lifetime.clamp(1, LONGEST);
        let background = Background::default();
        Ok(Self { lifetime, report, vault: Arc::new(vault), stores: Vec::new(), background })
    }

    /// Cache and tickets share the connections to the same store, and its state.
    fn store(&mut self, settings: &RemoteStore) -> Arc<Store> {
        if let Some(store) = self.stores.iter().find(|store| store.settings() == settings) {
            return store.clone();
        }
        let store = Store::new(settings.clone(), self.report.clone());
        self.stores.push(store.clone());
        store
    }

    fn tickets(&mut self, from: &TicketStore) -> Result<Ticketer, Error> {
        let own = || Ring::default().renewed(unix_now(), self.lifetime.into()).unwrap_or_default();
        let (source, ring) = match from {
            TicketStore::Internal => (Source::Internal, own()),
            TicketStore::File(path) => Source::file(path)?,
            TicketStore::Remote { store, key } => {
                let ring = own();
                let (store, vault) = (self.store(store), self.vault.clone());
                (Source::Remote(RemoteKeys { store, key: key.clone(), vault, wrong: None }), ring)
            }
        };
        let ring = Arc::new(ArcSwap::from_pointee(ring));
        self.keep(source, ring.clone());
        Ok(Ticketer::new(ring, self.lifetime, self.background.alive.clone()))
    }

    fn keep(&mut self, source: Source, ring: Arc<ArcSwap<Ring>>) {
        let (report, lifetime, vault) = (self.report.clone(), self.lifetime, self.vault.clone());
        let (sender, first) = channel();
        if let Source::Remote(_) = source {
            *lock(&self.background.first) = Some(first);
        }
        self.task(move |signal| {
            warn_of_clear_keys(&source, &vault, &report);
            keep(source, &ring, lifetime, &report, signal, &sender);
        });
    }

    fn sessions(&mut self, from: &CacheStore) -> (Sessions, Option<Arc<dyn RemoteSessions>>) {
        let (store, prefix, threads) = match from {
            CacheStore::Internal => return (Sessions::Internal(InternalSessions::new(self.lifetime)), None),
            CacheStore::Remote { store, prefix, threads } => (self.store(store), prefix, *threads),
        };
        let (vault, report) = (self.vault.clone(), self.report.clone());
        let common = Common::new(store, vault, prefix, self.lifetime, report);
        for _ in 0..threads.max(1) {
            let common = common.clone();
            self.task(move |signal| common.write(signal));
        }
        let sessions = SharedSessions::new(common.clone(), self.background.alive.clone());
        (Sessions::Shared(sessions), Some(common))
    }

    fn task(&mut self, task: impl FnOnce(&Signal) + Send + 'static) {
        lock(&self.background.tasks).push(Box::new(task));
    }
}

fn warn_of_clear_keys(source: &Source, vault: &Vault, report: &Report) {
    if let Source::Remote(RemoteKeys { store, .. }) = source
        && !vault.has_secret()
    {
        let store = store.settings();
        let text = format!(
            "the session ticket keys are stored in cleartext in {store}: anyone who can read it can decrypt recorded TLS \
             sessions; set `store-secret-file` to seal them"
        );
        report(Severity::Warn, text);
    }
}

/// No code panics while holding one of these locks, and their data is never half updated.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Background {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Background")
    }
}
