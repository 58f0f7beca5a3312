//! A worker: one thread, one loop, its own listeners, buffers, deadlines and service.

use crate::accept::Quota;
use crate::buffer::Pool;
use crate::clock::Clock;
use crate::reactor::Reactor;
use crate::service::{Address, Service};
use crate::waker::Woken;
use hayami_h1::Limits;
use hayami_http::RequestHead;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a connection may take for what.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a whole request head, and between two requests.
    pub request: Duration,
    /// Between two reads of request content that get anywhere.
    pub receive: Duration,
    /// Between two writes of a response that get anywhere.
    pub send: Duration,
    /// For the peer to close after we said that we do, when octets of its may still be on the way.
    pub linger: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { request: seconds(10), receive: seconds(5), send: seconds(60), linger: seconds(2) }
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
}

/// What a worker is made of.
pub struct Config {
    /// The CPU to stay on, if any.
    pub cpu: Option<usize>,
    /// The listeners.
    pub listeners: Vec<Listener>,
    /// Limits of HTTP/1 messages.
    pub limits: Limits,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Connections of the whole process, and how many there may be.
    pub quota: Arc<Quota>,
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
    pub(crate) pool: Pool,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) quota: Arc<Quota>,
    pub(crate) draining: Cell<bool>,
    /// Connections whose waker was woken.
    pub(crate) woken: Arc<Woken>,
    /// The head of the request at hand; used again and again.
    pub(crate) head: RefCell<RequestHead>,
    pub(crate) common: Common,
}

/// The field lines that go with every response, ready for this second.
pub(crate) struct Common {
    second: Cell<u64>,
    octets: RefCell<Vec<u8>>,
}

impl Common {
    fn new() -> Self {
        Self { second: Cell::new(0), octets: RefCell::default() }
    }

    /// `server` and `date` with their line ends.
    pub(crate) fn lines(&self, clock: &Clock, server: Option<&[u8]>) -> std::cell::Ref<'_, Vec<u8>> {
        if self.second.get() != clock.unix() {
            self.second.set(clock.unix());
            let mut octets = self.octets.borrow_mut();
            octets.clear();
            if let Some(name) = server {
                octets.extend([b"server: ", name, b"\r\n"].concat());
            }
            octets.extend([b"date: ", &hayami_http::date::format(clock.unix())[..], b"\r\n"].concat());
        }
        self.octets.borrow()
    }
}

/// Runs a worker on this thread until it is told to drain and its last connection has ended.
///
/// `make` builds the service inside the worker's runtime.
///
/// # Errors
/// The loop or a listener could not be set up, or `make` failed.
pub fn run<S: Service>(
    config: Config,
    phase: watch::Receiver<Phase>,
    make: impl FnOnce(&Rc<Clock>) -> io::Result<S>,
) -> io::Result<()> {
    if let Some(cpu) = config.cpu {
        pin_to(cpu)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .map_err(no_loop)?;
    runtime.block_on(serve(config, phase, make))
}

async fn serve<S: Service>(
    config: Config,
    mut phase: watch::Receiver<Phase>,
    make: impl FnOnce(&Rc<Clock>) -> io::Result<S>,
) -> io::Result<()> {
    let clock = Rc::new(Clock::default());
    let worker = Rc::new(Worker {
        service: make(&clock)?,
        clock,
        pool: Pool::default(),
        limits: config.limits,
        timeouts: config.timeouts,
        quota: config.quota,
        draining: Cell::new(false),
        woken: Arc::default(),
        head: RefCell::default(),
        common: Common::new(),
    });
    let mut reactor = Reactor::new(Rc::clone(&worker), config.listeners).map_err(no_loop)?;
    (config.ready)();
    // An error means that the program is gone: then the worker drains as well.
    let mut draining = std::pin::pin!(phase.wait_for(|phase| *phase == Phase::Drain));
    poll_fn(|cx| {
        if !worker.draining.get() && draining.as_mut().poll(cx).is_ready() {
            reactor.drain();
        }
        reactor.poll(cx)
    })
    .await;
    worker.service.stop().await;
    Ok(())
}

fn no_loop(error: io::Error) -> io::Error {
    let advice = "more files must be allowed to be open, see `ulimit -n`";
    io::Error::new(error.kind(), format!("cannot set up the loop of a worker: {error}; {advice}"))
}

fn pin_to(cpu: usize) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("cannot run on CPU {cpu}: {error}; `nproc` and num-threads tell which there are"),
        )
    })
}
