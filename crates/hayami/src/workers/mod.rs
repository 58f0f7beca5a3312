//! The workers: a thread each, with its own service, accept queues and loop. A reload may add and remove some.

mod build;
mod parameters;
mod thread;

pub(crate) use build::{acceptors, cpus, generation, report};

use crate::exit::Failure;
use crate::sockets::{Held, Share, Sockets};
use hayami_net::{ByteBudget, ListenerUpdate, MakeService, Phase, Quota};
use hayami_server::Generation;
use hayami_server::modules::listen::Acceptors;
use hayami_server::service::Site;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use thread::{Start, State, Worker};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;

type Update = hayami_net::Update<Site>;

/// What all workers share.
#[derive(Clone)]
pub(crate) struct Budgets {
    /// The quota of connections.
    pub quota: Arc<Quota>,
    /// Memory in which content of requests may wait.
    pub content: Arc<ByteBudget>,
}

/// What the workers are to serve.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) generation: &'a Arc<Generation>,
    pub(crate) sockets: &'a Sockets,
    pub(crate) acceptors: &'a Acceptors,
    /// The CPU of each worker.
    pub(crate) cpus: &'a [Option<usize>],
}

/// The running workers.
pub(crate) struct Workers {
    budgets: Budgets,
    serving: Vec<Worker>,
    /// Threads of workers that have left, or will with their last connection.
    left: Vec<JoinHandle<io::Result<()>>>,
    /// How many have been started so far.
    started: usize,
    phase: watch::Receiver<Phase>,
    ended: UnboundedSender<()>,
}

/// A change that is ready to be made: its new workers run, without listeners.
pub(crate) struct Change {
    generation: Arc<Generation>,
    leavers: Vec<Worker>,
    newcomers: Vec<Worker>,
    /// The accept queues of the workers that stay, then of the new ones.
    shares: Vec<Share>,
}

impl Workers {
    /// None yet. `ended` gets a message when one ends before `phase` requests it, and is closed when all have ended.
    pub(crate) fn new(budgets: Budgets, phase: watch::Receiver<Phase>, ended: UnboundedSender<()>) -> Self {
        Self { budgets, serving: Vec::new(), left: Vec::new(), started: 0, phase, ended }
    }

    /// Starts the workers that are missing, on CPUs that have none, and waits until they run.
    ///
    /// # Errors
    /// One could not start, or no descriptors are left; the others serve as before.
    pub(crate) async fn prepare(&mut self, wanted: Wanted<'_>) -> Result<Change, Failure> {
        let mut cpus = wanted.cpus.to_vec();
        let stays = |worker: &Worker| {
            let at = cpus.iter().position(|cpu| *cpu == worker.cpu);
            at.map(|at| cpus.swap_remove(at)).is_some()
        };
        let stays: Vec<bool> = self.serving.iter().map(stays).collect();
        let staying = || self.serving.iter().zip(&stays).filter_map(|(own, stays)| stays.then_some(own));
        let held: Vec<Held> = staying().map(|own| own.held.clone()).collect();
        let held = [held, vec![Held::default(); cpus.len()]].concat();
        let newcomers = self.start(wanted, cpus).await?;
        let shares = match wanted.sockets.share_out(&held, wanted.acceptors) {
            Ok(shares) => shares,
            Err(failure) => {
                self.dismiss(newcomers);
                return Err(failure);
            }
        };
        let mut stays = stays.into_iter();
        let leavers = self.serving.extract_if(.., |_| stays.next() == Some(false)).collect();
        Ok(Change { generation: Arc::clone(wanted.generation), leavers, newcomers, shares })
    }

    /// Starts workers on these CPUs, and waits until all run.
    async fn start(&mut self, wanted: Wanted<'_>, cpus: Vec<Option<usize>>) -> Result<Vec<Worker>, Failure> {
        let (states, mut changes) = mpsc::unbounded_channel();
        let start = |cpu| {
            self.started += 1;
            let start = Start {
                number: self.started - 1,
                cpu,
                generation: Arc::clone(wanted.generation),
                workers: wanted.cpus.len(),
                budgets: self.budgets.clone(),
                phase: self.phase.clone(),
                states: states.clone(),
                ended: self.ended.clone(),
            };
            start.start()
        };
        let (mut started, mut failure) = (Vec::new(), None);
        for result in cpus.into_iter().map(start) {
            match result {
                Ok(worker) => started.push(worker),
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        drop(states);
        let ended = match &failure {
            None => first_ended(&mut changes, started.len()).await,
            Some(_) => None,
        };
        if failure.is_none() && ended.is_none() {
            return Ok(started);
        }
        if let Some(at) = started.iter().position(|worker| Some(worker.number) == ended) {
            failure = failure.or(outcome(started.swap_remove(at).leave()).err());
        }
        self.dismiss(started);
        Err(failure.unwrap_or_else(|| Failure::System("a worker ended at its start".to_owned())))
    }

    /// Lets workers go that have served nothing.
    fn dismiss(&mut self, workers: Vec<Worker>) {
        self.left.extend(workers.into_iter().map(Worker::leave));
    }

    /// Completes a change: workers that are not wanted leave, the others switch to the new generation and its listeners.
    ///
    /// # Errors
    /// The kernel refuses to watch a new listener. All else has been done.
    pub(crate) async fn complete(&mut self, change: Change) -> io::Result<()> {
        let Change { generation, leavers, newcomers, shares } = change;
        for worker in newcomers {
            worker.adopt(&self.ended);
            self.serving.push(worker);
        }
        let workers = self.serving.len();
        let (done, mut results) = mpsc::unbounded_channel();
        for worker in &leavers {
            // It may end before the update is reported.
            worker.is_adopted.store(false, Ordering::Release);
            let make: MakeService<Site> = Box::new(|_, _, before| before.leaving());
            worker.update(&generation, None, make, &done);
        }
        drop(done);
        // They leave their upstream groups to the workers that switch afterwards, new ones among them.
        while results.recv().await.is_some() {}
        self.left.retain(|thread| !thread.is_finished());
        self.left.extend(leavers.into_iter().map(Worker::leave));
        let (done, mut results) = mpsc::unbounded_channel();
        for (worker, share) in self.serving.iter_mut().zip(shares) {
            let next = Arc::clone(&generation);
            let make: MakeService<Site> = Box::new(move |_, _, before| before.next(&next, workers));
            worker.held = share.held;
            worker.update(&generation, Some(share.listeners), make, &done);
        }
        drop(done);
        let mut all = Ok(());
        while let Some((number, result)) = results.recv().await {
            if let Err(error) = result {
                // The next reload opens its queues again.
                let failed = self.serving.iter_mut().find(|worker| worker.number == number);
                failed.into_iter().for_each(|worker| worker.held.clear());
                all = Err(error);
            }
        }
        all
    }

    /// The threads of the workers that serve; no more can be started. How others have ended does not matter.
    pub(crate) fn into_threads(self) -> Vec<JoinHandle<io::Result<()>>> {
        self.serving.into_iter().map(|worker| worker.thread).collect()
    }
}

impl Worker {
    /// Switches to a service and listeners, or leaves if there are none; `done` gets the result. A worker that has ended needs
    /// no update.
    fn update(
        &self,
        generation: &Generation,
        listeners: Option<Vec<ListenerUpdate>>,
        make: MakeService<Site>,
        done: &UnboundedSender<(usize, io::Result<()>)>,
    ) {
        let (settings, done, number) = (generation.settings(), done.clone(), self.number);
        let _ = self.updates.send(Update {
            limits: parameters::limits(settings),
            http2: parameters::http2(settings),
            timeouts: parameters::timeouts(settings),
            leaves: listeners.is_none(),
            listeners: listeners.unwrap_or_default(),
            make,
            // The waiting task may have been dropped.
            done: Box::new(move |result| _ = done.send((number, result))),
        });
    }

    /// Its end is reported from now on.
    fn adopt(&self, ended: &UnboundedSender<()>) {
        self.is_adopted.store(true, Ordering::Release);
        if self.thread.is_finished() {
            // The receiver may have been dropped in the meantime.
            let _ = ended.send(());
        }
    }

    /// Has it end with its last connection.
    fn leave(self) -> JoinHandle<io::Result<()>> {
        self.is_adopted.store(false, Ordering::Release);
        self.thread
    }
}

/// Waits until that many workers run; the number of one that has ended instead.
async fn first_ended(states: &mut UnboundedReceiver<State>, workers: usize) -> Option<usize> {
    for _ in 0..workers {
        if let Some(State::Ended(number)) = states.recv().await {
            return Some(number);
        }
    }
    None
}

/// How a worker's thread has ended.
///
/// # Errors
/// Why it ended.
pub(crate) fn outcome(thread: JoinHandle<io::Result<()>>) -> Result<(), Failure> {
    match thread.join() {
        Ok(result) => result.map_err(|error| Failure::System(error.to_string())),
        Err(_) => Err(Failure::System("a worker panicked; the error log has the reason".into())),
    }
}
