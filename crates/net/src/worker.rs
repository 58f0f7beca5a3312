//! A worker: one thread, one loop, its own listeners, buffers, deadlines and service.

use crate::accept::Quota;
use crate::buffer::Pool;
use crate::byte_budget::ByteBudget;
use crate::clock::Clock;
use crate::common::Common;
use crate::exchange;
use crate::liveness::Liveness;
use crate::pace::Patience;
use crate::proxy_protocol::Expectation;
use crate::reactor::Reactor;
use crate::runtime;
use crate::service::{Address, Service};
use crate::turn_budget::TurnBudget;
use crate::update::Updates;
use crate::upstream_io::UpstreamIo;
use crate::waker::Woken;
use hayami_h1::Limits;
use hayami_http::RequestHead;
use hayami_tls::Acceptor;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

/// How long a connection may take for what.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a whole request head, and between two requests.
    pub request: Duration,
    /// For a client that owes request content and sends none.
    pub receive: Duration,
    /// For a client that takes nothing of the response that waits for it.
    pub send: Duration,
    /// Bytes per second that restore the time of `receive` and `send` while a client is slow; 0: any byte does.
    pub min_rate: u32,
    /// Without a stream, over HTTP/2.
    pub idle: Duration,
    /// For a TLS handshake.
    pub handshake: Duration,
    /// For the streams that are open when the worker is told to end, over HTTP/2; zero: for ever.
    pub graceful: Duration,
    /// For the peer to close after we said that we do, when bytes of its may still be on the way.
    pub linger: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            request: seconds(10),
            receive: seconds(5),
            send: seconds(60),
            min_rate: 256,
            idle: seconds(10),
            handshake: seconds(10),
            graceful: Duration::ZERO,
            linger: seconds(2),
        }
    }
}

impl Timeouts {
    /// With clients that owe content of requests.
    pub(crate) fn receiving(&self) -> Patience {
        Patience { timeout: self.receive, min_rate: self.min_rate }
    }

    /// With clients that take responses.
    pub(crate) fn sending(&self) -> Patience {
        Patience { timeout: self.send, min_rate: self.min_rate }
    }

    /// Over HTTP/2, with clients whose only streams wait for content.
    pub(crate) fn idling(&self) -> Patience {
        Patience { timeout: self.idle, min_rate: self.min_rate }
    }
}

/// A listening socket as one worker gets it.
#[derive(Debug)]
pub struct Listener {
    /// The socket, listening and non-blocking.
    pub fd: OwnedFd,
    /// Its index among all listeners of the program.
    pub index: usize,
    /// The address it is bound to.
    pub address: Address,
    /// What it answers TLS handshakes with; `None` to serve in clear.
    pub tls: Option<Arc<Acceptor>>,
    /// Connections begin with a header of the PROXY protocol, which is believed; `None`: it is not known here.
    pub proxy_protocol: Option<Expectation>,
}

/// How HTTP/2 is spoken.
#[derive(Clone, Debug)]
pub struct Http2Config {
    /// Limits and budgets.
    pub engine: hayami_h2::Config,
    /// In clear, a client may begin with HTTP/2 (RFC 9113 §3.3).
    pub prior_knowledge: bool,
    /// In clear, a client may ask for HTTP/2 by `Upgrade: h2c` (RFC 7540 §3.2).
    pub upgrade: bool,
}

impl Default for Http2Config {
    fn default() -> Self {
        Self { engine: hayami_h2::Config::default(), prior_knowledge: true, upgrade: true }
    }
}

/// What a worker is made of.
pub struct Config {
    /// The CPU to stay on, if any.
    pub cpu: Option<usize>,
    /// The listeners.
    pub listeners: Vec<Listener>,
    /// Limits of HTTP/1 messages.
    pub limits: Limits,
    /// How HTTP/2 is spoken.
    pub http2: Http2Config,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// How it is noticed that an upstream is gone.
    pub upstreams: Liveness,
    /// Connections of the whole process, and how many there may be.
    pub quota: Arc<Quota>,
    /// Memory in which content of requests may wait, in the whole process.
    pub content: Arc<ByteBudget>,
    /// Called once, when the worker begins to serve.
    pub ready: Box<dyn FnOnce() + Send>,
}

/// What the worker is asked to do; sent by the program to all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Serve.
    Run,
    /// Accept no more, finish what runs, end.
    Drain,
}

/// What all connections of a worker share.
pub(crate) struct Worker<S> {
    pub(crate) service: S,
    pub(crate) clock: Rc<Clock>,
    pub(crate) pool: Rc<Pool>,
    pub(crate) limits: Limits,
    pub(crate) http2: Http2Config,
    /// That of `http2`, shared by the connections that were begun with it.
    pub(crate) http2_engine: Rc<hayami_h2::Config>,
    pub(crate) timeouts: Timeouts,
    pub(crate) quota: Arc<Quota>,
    pub(crate) content: Arc<ByteBudget>,
    pub(crate) draining: Cell<bool>,
    /// Of the turn at hand.
    pub(crate) budget: TurnBudget,
    /// Connections and tasks that were woken.
    pub(crate) woken: Arc<Woken>,
    /// The head of the request at hand; used again and again.
    pub(crate) head: RefCell<RequestHead>,
    pub(crate) common: Common,
    /// Memory of exchanges.
    pub(crate) exchanges: exchange::Pool,
}

impl<S> Worker<S> {
    /// The worker after a reload, with the same loop.
    pub(crate) fn renewed(&self, service: S, limits: Limits, http2: Http2Config, timeouts: Timeouts) -> Self {
        Self {
            service,
            clock: Rc::clone(&self.clock),
            pool: Rc::clone(&self.pool),
            limits,
            http2_engine: Rc::new(http2.engine),
            http2,
            timeouts,
            quota: Arc::clone(&self.quota),
            content: Arc::clone(&self.content),
            draining: self.draining.clone(),
            budget: TurnBudget::default(),
            woken: Arc::clone(&self.woken),
            head: RefCell::default(),
            common: Common::default(),
            exchanges: exchange::Pool::default(),
        }
    }
}

/// Runs a worker on this thread until it is told to drain and its last connection has ended.
///
/// `make` builds the service; it gets the worker's clock, and the way to connections that the worker opens itself.
/// Within it, and wherever the service is asked, `tokio::task::spawn_local` gives a task to the worker; timers
/// and blocking work are those of a runtime that all workers of the process share.
///
/// # Errors
/// The loop or a listener could not be set up, or `make` failed.
pub fn run<S: Service>(
    config: Config,
    phase: watch::Receiver<Phase>,
    make: impl FnOnce(&Rc<Clock>, &UpstreamIo) -> io::Result<S>,
) -> io::Result<()> {
    let (_, updates) = mpsc::unbounded_channel();
    run_with_updates(config, phase, updates, make)
}

/// As [`run`], for a worker that goes over to another service, and to other listeners, when it is told to.
///
/// # Errors
/// As of [`run`].
pub fn run_with_updates<S: Service>(
    config: Config,
    phase: watch::Receiver<Phase>,
    updates: Updates<S>,
    make: impl FnOnce(&Rc<Clock>, &UpstreamIo) -> io::Result<S>,
) -> io::Result<()> {
    // Before the worker is bound to its CPU: the thread that all workers share is bound to none.
    let runtime = runtime::shared().map_err(no_loop)?;
    if let Some(cpu) = config.cpu {
        pin_to(cpu)?;
    }
    let _runtime = runtime.enter();
    serve(config, phase, updates, make, &runtime)
}

fn serve<S: Service>(
    config: Config,
    mut phase: watch::Receiver<Phase>,
    mut updates: Updates<S>,
    make: impl FnOnce(&Rc<Clock>, &UpstreamIo) -> io::Result<S>,
    runtime: &Handle,
) -> io::Result<()> {
    let mut tasks = LocalSet::new();
    let _tasks = tasks.enter();
    let clock = Rc::new(Clock::default());
    let pool = Rc::new(Pool::default());
    let outbound = UpstreamIo::new(&clock, &pool, config.upstreams).map_err(no_loop)?;
    let worker = Worker {
        service: make(&clock, &outbound)?,
        clock,
        pool,
        limits: config.limits,
        http2_engine: Rc::new(config.http2.engine),
        http2: config.http2,
        timeouts: config.timeouts,
        quota: config.quota,
        content: config.content,
        draining: Cell::new(false),
        budget: TurnBudget::default(),
        woken: Woken::new().map_err(no_loop)?,
        head: RefCell::default(),
        common: Common::default(),
        exchanges: exchange::Pool::default(),
    };
    let woken = Arc::clone(&worker.woken);
    let mut reactor = Reactor::new(worker, outbound, config.listeners).map_err(no_loop)?;
    (config.ready)();
    // An error means that the program is gone: then the worker drains as well.
    let mut draining = std::pin::pin!(phase.wait_for(|phase| *phase == Phase::Drain));
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    loop {
        if woken.take_tasks() {
            if !reactor.is_draining() && draining.as_mut().poll(&mut cx).is_ready() {
                reactor.drain();
            }
            while !reactor.is_draining()
                && let Poll::Ready(Some(update)) = updates.poll_recv(&mut cx)
            {
                reactor.update(update);
            }
            // Those that were woken, several dozen at most; if there are more, it wakes again.
            let _ = Pin::new(&mut tasks).poll(&mut cx);
        }
        if reactor.is_over() {
            break;
        }
        reactor.round();
    }
    runtime.block_on(tasks.run_until(reactor.service().stop()));
    Ok(())
}

fn no_loop(error: io::Error) -> io::Error {
    let advice = "raise the limit of open files (`ulimit -n`)";
    io::Error::new(error.kind(), format!("cannot set up the event loop of a worker: {error}; {advice}"))
}

/// Whether a worker could stay on this CPU.
///
/// # Errors
/// A line for the user: there is no such CPU, or this process may not use it.
pub fn check_cpu(cpu: usize) -> io::Result<()> {
    // On a thread of its own: this one stays where it is.
    std::thread::scope(|scope| scope.spawn(|| pin_to(cpu)).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread that tries the CPU panicked")))
}

fn pin_to(cpu: usize) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("cannot run on CPU {cpu}: {error}; `taskset -cp $$` and `nproc` show the CPUs that may be used"),
        )
    })
}
