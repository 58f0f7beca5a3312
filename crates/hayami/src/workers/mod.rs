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

/// A change whose new workers serve already.
pub(crate) struct Change {
    generation: Arc<Generation>,
    leavers: Vec<Worker>,
    newcomers: Vec<Worker>,
    /// The listeners of the workers that stay, then of the new ones.
    shares: Vec<Share>,
}

impl Workers {
    /// None yet. `ended` gets a message when one ends before `phase` requests it, and is closed when all have ended.
    pub(crate) fn new(budgets: Budgets, phase: watch::Receiver<Phase>, ended: UnboundedSender<()>) -> Self {
        Self { budgets, serving: Vec::new(), left: Vec::new(), started: 0, phase, ended }
    }

    /// Starts the workers that are missing, on CPUs that have none, and waits until they serve.
    ///
    /// # Errors
    /// One could not start; the others serve as before.
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
        let mut shares = wanted.sockets.share_out(&held, wanted.acceptors)?;
        let newcomers = shares.split_off(shares.len() - cpus.len());
        let newcomers = self.start(wanted, cpus, newcomers).await?;
        let kept = newcomers.iter().map(|own| wanted.sockets.keep(&own.held, wanted.acceptors));
        shares.extend(kept);
        let mut stays = stays.into_iter();
        let leavers = self.serving.extract_if(.., |_| stays.next() == Some(false)).collect();
        Ok(Change { generation: Arc::clone(wanted.generation), leavers, newcomers, shares })
    }

    /// Starts workers on these CPUs, and waits until all serve.
    async fn start(
        &mut self,
        wanted: Wanted<'_>,
        cpus: Vec<Option<usize>>,
        shares: Vec<Share>,
    ) -> Result<Vec<Worker>, Failure> {
        let (states, mut changes) = mpsc::unbounded_channel();
        let start = |(cpu, share)| {
            self.started += 1;
            let start = Start {
                number: self.started - 1,
                cpu,
                share,
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
        for result in cpus.into_iter().zip(shares).map(start) {
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
        for worker in started {
            let has_ended = Some(worker.number) == ended;
            let thread = worker.leave();
            match has_ended {
                true => failure = failure.or(outcome(thread).err()),
                false => self.left.push(thread),
            }
        }
        Err(failure.unwrap_or_else(|| Failure::System("a worker ended at its start".to_owned())))
    }

    /// Completes a change: workers that are not wanted leave, the others switch to the new generation and its listeners.
    ///
    /// # Errors
    /// The kernel refuses to watch a new listener. All else has been done.
    pub(crate) async fn complete(&mut self, change: Change) -> io::Result<()> {
        let Change { generation, leavers, newcomers, shares } = change;
        self.serving.extend(newcomers);
        let workers = self.serving.len();
        let (done, results) = mpsc::unbounded_channel();
        for worker in &leavers {
            let make: MakeService<Site> = Box::new(|_, _, before| before.leaving());
            worker.update(&generation, Vec::new(), make, &done);
        }
        drop(done);
        // They leave their upstream groups to the workers that switch afterwards, new ones among them.
        let left = all_done(results).await;
        self.left.retain(|thread| !thread.is_finished());
        self.left.extend(leavers.into_iter().map(Worker::leave));
        let (done, results) = mpsc::unbounded_channel();
        for (worker, share) in self.serving.iter_mut().zip(shares) {
            let next = Arc::clone(&generation);
            let make: MakeService<Site> = Box::new(move |_, _, before| before.next(&next, workers));
            worker.held = share.held;
            worker.update(&generation, share.listeners, make, &done);
        }
        drop(done);
        all_done(results).await.and(left)
    }

    /// The threads of all workers; no more can be started.
    pub(crate) fn into_threads(self) -> Vec<JoinHandle<io::Result<()>>> {
        self.serving.into_iter().map(|worker| worker.thread).chain(self.left).collect()
    }
}

impl Worker {
    /// Switches to a service and listeners; `done` gets the result. A worker that has ended needs no update.
    fn update(
        &self,
        generation: &Generation,
        listeners: Vec<ListenerUpdate>,
        make: MakeService<Site>,
        done: &UnboundedSender<io::Result<()>>,
    ) {
        let (settings, done) = (generation.settings(), done.clone());
        let _ = self.updates.send(Update {
            limits: parameters::limits(settings),
            http2: parameters::http2(settings),
            timeouts: parameters::timeouts(settings),
            listeners,
            make,
            // The waiting task may have given up.
            done: Box::new(move |result| _ = done.send(result)),
        });
    }

    /// Has it end with its last connection.
    fn leave(self) -> JoinHandle<io::Result<()>> {
        self.is_leaving.store(true, Ordering::Release);
        self.thread
    }
}

/// Waits until that many workers serve; the number of one that has ended instead.
async fn first_ended(states: &mut UnboundedReceiver<State>, workers: usize) -> Option<usize> {
    for _ in 0..workers {
        if let Some(State::Ended(number)) = states.recv().await {
            return Some(number);
        }
    }
    None
}

/// Resolves when all updates have been made.
async fn all_done(mut results: UnboundedReceiver<io::Result<()>>) -> io::Result<()> {
    let mut all = Ok(());
    while let Some(result) = results.recv().await {
        all = all.and(result);
    }
    all
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
