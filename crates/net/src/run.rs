//! A worker: one thread, one loop, its own listeners, buffers, deadlines and service.

use crate::accept::Listener;
use crate::buffer::Pool;
use crate::byte_budget::ByteBudget;
use crate::clock::Clock;
use crate::common::Common;
use crate::exchange;
use crate::liveness::Liveness;
use crate::quota::Quota;
use crate::reactor::Reactor;
use crate::runtime;
use crate::service::Service;
use crate::timeouts::Timeouts;
use crate::turn_budget::TurnBudget;
use crate::update::Updates;
use crate::upstream_io::UpstreamIo;
use crate::waker::Woken;
use crate::worker::{Http2Config, Worker};
use hayami_h1::Limits;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

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
    // Dropping the sender would end the worker.
    let (_sender, updates) = mpsc::unbounded_channel();
    run_with_updates(config, phase, updates, make)
}

/// As [`run`], for a worker that switches to another service and other listeners with each update, and ends with its last
/// connection when the sender of `updates` is dropped.
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
            while !reactor.is_ending()
                && let Poll::Ready(update) = updates.poll_recv(&mut cx)
            {
                match update {
                    Some(update) => reactor.update(update),
                    None => reactor.retire(),
                }
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
