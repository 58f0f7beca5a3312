//! The thread of a worker.

use super::parameters;
use super::{Budgets, Update};
use crate::exit::Failure;
use crate::sockets::Held;
use hayami_net::{Config, Phase, Updates};
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
    /// Its end is to be reported: it serves, and was not told to leave.
    pub(super) is_adopted: Arc<AtomicBool>,
}

/// Parts of a worker that is started.
pub(super) struct Start {
    /// As of [`Worker`].
    pub(super) number: usize,
    pub(super) cpu: Option<usize>,
    /// Its first generation, and of how many workers it is one.
    pub(super) generation: Arc<Generation>,
    pub(super) workers: usize,
    pub(super) budgets: Budgets,
    pub(super) phase: watch::Receiver<Phase>,
    /// Gets a message when the worker runs, and another one at its end.
    pub(super) states: UnboundedSender<State>,
    /// Gets a message when an adopted worker ends; closed when all have ended.
    pub(super) ended: UnboundedSender<()>,
}

/// What the program learns of a worker that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its loop runs.
    Ready,
    /// The worker of that number has ended.
    Ended(usize),
}

/// Reports a worker's end, even after a panic. The receivers may have been dropped in the meantime.
struct End {
    number: usize,
    states: UnboundedSender<State>,
    ended: UnboundedSender<()>,
    is_adopted: Arc<AtomicBool>,
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.states.send(State::Ended(self.number));
        if self.is_adopted.load(Ordering::Acquire) {
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
        let (number, cpu) = (self.number, self.cpu);
        let (updates, receiver) = mpsc::unbounded_channel();
        let is_adopted = Arc::new(AtomicBool::new(false));
        let end = End {
            number,
            states: self.states.clone(),
            ended: self.ended.clone(),
            is_adopted: Arc::clone(&is_adopted),
        };
        let thread = std::thread::Builder::new().name(format!("worker {number}")).spawn(move || {
            let _end = end;
            self.run(receiver)
        });
        let thread = thread.map_err(|error| Failure::System(format!("cannot start a worker: {error}")))?;
        Ok(Worker { number, cpu, held: Held::default(), updates, thread, is_adopted })
    }

    fn run(self, updates: Updates<Site>) -> io::Result<()> {
        let Self { cpu, generation, workers, budgets, phase, states, .. } = self;
        let settings = generation.settings();
        let config = Config {
            cpu,
            listeners: Vec::new(),
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
