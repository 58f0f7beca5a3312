//! The thread of a worker.

use super::parameters;
use super::{Budgets, Update};
use crate::exit::Failure;
use crate::sockets::{Held, Share};
use hayami_net::{Config, ListenerUpdate, Phase, Updates};
use hayami_server::Generation;
use hayami_server::modules::tcp;
use hayami_server::service::{Site, objects};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::watch;

/// A running worker.
pub(super) struct Worker {
    /// Of all workers that have been started so far.
    pub(super) number: usize,
    /// The CPU that it is pinned to, if any.
    pub(super) cpu: Option<usize>,
    /// The accept queues that it has.
    pub(super) held: Held,
    /// Dropping it ends the worker with its last connection.
    pub(super) updates: UnboundedSender<Update>,
    pub(super) thread: JoinHandle<io::Result<()>>,
    pub(super) is_leaving: Arc<AtomicBool>,
}

/// Parts of a worker that is started.
pub(super) struct Start {
    /// As of [`Worker`].
    pub(super) number: usize,
    pub(super) cpu: Option<usize>,
    pub(super) share: Share,
    /// Its first generation, and of how many workers it is one.
    pub(super) generation: Arc<Generation>,
    pub(super) workers: usize,
    pub(super) budgets: Budgets,
    pub(super) phase: watch::Receiver<Phase>,
    /// Gets a message when the worker begins to serve, and another one at its end.
    pub(super) states: UnboundedSender<State>,
    /// Gets a message when the worker ends without having been told to leave; closed when all have ended.
    pub(super) ended: UnboundedSender<()>,
}

/// What the program learns of a worker that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It serves.
    Ready,
    /// The worker of that number has ended.
    Ended(usize),
}

/// Reports a worker's end, even after a panic. The receivers may have been dropped in the meantime.
struct End {
    number: usize,
    states: UnboundedSender<State>,
    ended: UnboundedSender<()>,
    is_leaving: Arc<AtomicBool>,
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.states.send(State::Ended(self.number));
        if !self.is_leaving.load(Ordering::Acquire) || std::thread::panicking() {
            let _ = self.ended.send(());
        }
    }
}

impl Start {
    /// Starts it.
    ///
    /// # Errors
    /// A thread could not be started.
    pub(super) fn start(self) -> Result<Worker, Failure> {
        let (number, cpu, held) = (self.number, self.cpu, self.share.held.clone());
        let (updates, receiver) = mpsc::unbounded_channel();
        let is_leaving = Arc::new(AtomicBool::new(false));
        let end = End {
            number,
            states: self.states.clone(),
            ended: self.ended.clone(),
            is_leaving: Arc::clone(&is_leaving),
        };
        let thread = std::thread::Builder::new().name(format!("worker {number}")).spawn(move || {
            let _end = end;
            self.run(receiver)
        });
        let thread = thread.map_err(|error| Failure::System(format!("cannot start a worker: {error}")))?;
        Ok(Worker { number, cpu, held, updates, thread, is_leaving })
    }

    fn run(self, updates: Updates<Site>) -> io::Result<()> {
        let Self { cpu, share, generation, workers, budgets, phase, states, .. } = self;
        let settings = generation.settings();
        let opened = share.listeners.into_iter().filter_map(|listener| match listener {
            ListenerUpdate::Open(listener) => Some(listener),
            ListenerUpdate::Keep { .. } => None,
        });
        let config = Config {
            cpu,
            listeners: opened.collect(),
            limits: parameters::limits(settings),
            http2: parameters::http2(settings),
            timeouts: parameters::timeouts(settings),
            upstreams: settings.global.get::<tcp::Settings>().of_upstreams(),
            quota: budgets.quota,
            content: budgets.content,
            // The receiver may have been dropped in the meantime.
            ready: Box::new(move || _ = states.send(State::Ready)),
        };
        // The closure takes the generation along; a later one replaces it.
        hayami_net::run_with_updates(config, phase, updates, move |clock, outbound| {
            let worker = objects::first(&generation, clock, Some(outbound.clone()), workers);
            Ok(Site::new(&generation, worker))
        })
    }
}
