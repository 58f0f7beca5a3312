//! The workers: a thread each, with its own service, sockets and loop.

use crate::before::Before;
use crate::exit::Failure;
use crate::explain::{CONFIG, Explain};
use hayami_h1::Limits;
use hayami_net::{
    ByteBudget, Clock, Config, Http2Config, ListenerUpdate, Phase, Quota, Timeouts, Update, Updates,
};
use hayami_server::Generation;
use hayami_server::config::settings::Settings;
use hayami_server::modules::http1;
use hayami_server::modules::http2;
use hayami_server::modules::limits;
use hayami_server::modules::listen::{Acceptors, bindings};
use hayami_server::modules::process::Threads;
use hayami_server::modules::proxy;
use hayami_server::modules::session_resumption;
use hayami_server::modules::tcp;
use hayami_server::observe::{self, Severity, Subject};
use hayami_server::router;
use hayami_server::service::{Site, objects};
use hayami_tls::Resumption;
use hayami_tls::resumption::Report;
use std::future::Future;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::watch;

/// The parts of a worker.
#[derive(Clone)]
pub(crate) struct Plan {
    /// The first generation.
    pub generation: Arc<Generation>,
    /// The quota of connections.
    pub quota: Arc<Quota>,
    /// Memory in which content of requests may wait.
    pub content: Arc<ByteBudget>,
    /// How many workers there are.
    pub workers: usize,
}

/// The running workers.
pub(crate) struct Workers {
    /// Their threads.
    pub threads: Vec<JoinHandle<io::Result<()>>>,
    updates: Vec<UnboundedSender<Update<Site>>>,
}

impl Workers {
    /// How many there are.
    pub(crate) fn number(&self) -> usize {
        self.updates.len()
    }

    /// Switches all workers to another generation, each with its listeners. Resolves when the last one has
    /// switched.
    ///
    /// # Errors
    /// The kernel refuses to watch a new listener.
    pub(crate) fn update(
        &self,
        generation: &Arc<Generation>,
        shares: Vec<Vec<ListenerUpdate>>,
    ) -> impl Future<Output = io::Result<()>> + use<> {
        let settings = generation.settings();
        let (done, mut results) = mpsc::unbounded_channel();
        for (worker, listeners) in self.updates.iter().zip(shares) {
            let (generation, done) = (Arc::clone(generation), done.clone());
            let update = Update {
                limits: limits(settings),
                http2: http2(settings),
                timeouts: timeouts(settings),
                listeners,
                make: Box::new(move |_, _, before: &Site| before.next(&generation)),
                // The waiting task may have given up.
                done: Box::new(move |result| _ = done.send(result)),
            };
            // A worker that has ended needs no update.
            let _ = worker.send(update);
        }
        drop(done);
        async move {
            let mut all = Ok(());
            while let Some(result) = results.recv().await {
                all = all.and(result);
            }
            all
        }
    }
}

/// The CPU of each worker: their number is that of the workers.
pub(crate) fn cpus(threads: &Threads) -> Vec<Option<usize>> {
    match threads {
        // Affinity mask and cgroup quota both count.
        Threads::Usable => vec![None; std::thread::available_parallelism().map_or(1, usize::from)],
        Threads::Number(number) => vec![None; *number],
        Threads::Cpus(cpus) => cpus.iter().map(|cpu| Some(*cpu)).collect(),
    }
}

/// The generation of these settings, checked: build errors show before anything is bound.
///
/// # Errors
/// [`Failure::Config`] with the reason.
pub(crate) fn generation(settings: &Arc<Settings>) -> Result<Generation, Failure> {
    let check = |generation: Generation| {
        let worker = objects::first(&generation, &Rc::new(Clock::default()), None, 1);
        router::check(&generation, &worker).map(|()| generation)
    };
    Generation::new(Arc::clone(settings)).and_then(check).map_err(Failure::Config)
}

/// The acceptors of the addresses with TLS: all files are read here, and no thread is started. After a
/// reload, sessions and fetched OCSP responses of `before` are kept where possible.
///
/// # Errors
/// A file cannot be used.
pub(crate) fn acceptors(
    settings: &Settings,
    before: Option<&Before<'_>>,
    explain: &Explain<'_>,
) -> Result<Acceptors, Failure> {
    let wanted = settings.global.get::<session_resumption::Settings>();
    let same = before.filter(|old| {
        speaks_tls(old.settings()) && *old.settings().global.get::<session_resumption::Settings>() == *wanted
    });
    let resumption = match same {
        Some(before) => before.acceptors.resumption(),
        // Without TLS there is no resumption, and no keys are needed.
        None if !speaks_tls(settings) => Resumption::off(),
        None => Resumption::new(wanted, report())
            .map_err(|error| Failure::Config(format!("ssl-session-resumption: {error}")))?,
    };
    let before = before.map(|before| before.acceptors);
    Acceptors::new(settings, resumption, before).map_err(|error| explain.failure(CONFIG, error))
}

fn speaks_tls(settings: &Settings) -> bool {
    bindings(settings).iter().any(|binding| !binding.blocks.is_empty())
}

/// Receives the reports of TLS threads.
pub(crate) fn report() -> Report {
    Arc::new(|severity, line| {
        let severity = match severity {
            hayami_tls::resumption::Severity::Warn => Severity::Warn,
            hayami_tls::resumption::Severity::Notice => Severity::Notice,
        };
        observe::report(severity, Subject::Tls, line);
    })
}

/// A worker's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerEvent {
    /// It has begun to serve.
    Ready,
    /// It has ended, with or without an error.
    Ended,
}

/// Reports a worker's end, even after a panic.
struct End(UnboundedSender<WorkerEvent>);

impl Drop for End {
    fn drop(&mut self) {
        // The receiver may have been dropped in the meantime.
        let _ = self.0.send(WorkerEvent::Ended);
    }
}

/// Starts every worker; each sends to `events` when it begins to serve, and at its end.
///
/// # Errors
/// A thread could not be started.
pub(crate) fn start(
    plan: &Plan,
    (cpus, shares): (Vec<Option<usize>>, Vec<Vec<ListenerUpdate>>),
    phase: &watch::Receiver<Phase>,
    events: &UnboundedSender<WorkerEvent>,
) -> Result<Workers, Failure> {
    let mut workers = Workers { threads: Vec::new(), updates: Vec::new() };
    for (index, (cpu, listeners)) in cpus.into_iter().zip(shares).enumerate() {
        let (plan, phase, end) = (plan.clone(), phase.clone(), End(events.clone()));
        let (sender, updates) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new()
            .name(format!("worker {index}"))
            .spawn(move || run(plan, (cpu, listeners), phase, updates, &end));
        let thread =
            thread.map_err(|error| Failure::System(format!("cannot start worker {index}: {error}")))?;
        workers.threads.push(thread);
        workers.updates.push(sender);
    }
    Ok(workers)
}

fn run(
    plan: Plan,
    (cpu, listeners): (Option<usize>, Vec<ListenerUpdate>),
    phase: watch::Receiver<Phase>,
    updates: Updates<Site>,
    End(events): &End,
) -> io::Result<()> {
    let ready = events.clone();
    let Plan { generation, quota, content, workers } = plan;
    let settings = generation.settings();
    let opened = listeners.into_iter().filter_map(|listener| match listener {
        ListenerUpdate::Open(listener) => Some(listener),
        ListenerUpdate::Keep { .. } => None,
    });
    let config = Config {
        cpu,
        listeners: opened.collect(),
        limits: limits(settings),
        http2: http2(settings),
        timeouts: timeouts(settings),
        upstreams: settings.global.get::<tcp::Settings>().of_upstreams(),
        quota,
        content,
        // The receiver may have been dropped in the meantime.
        ready: Box::new(move || {
            let _ = ready.send(WorkerEvent::Ready);
        }),
    };
    // The closure takes the generation along; a later one replaces it.
    hayami_net::run_with_updates(config, phase, updates, move |clock, outbound| {
        let worker = objects::first(&generation, clock, Some(outbound.clone()), workers);
        Ok(Site::new(&generation, worker))
    })
}

fn limits(settings: &Settings) -> Limits {
    let http1 = settings.global.get::<http1::Settings>();
    Limits {
        request_line: http1.request_line,
        head: http1.head,
        fields: http1.fields,
        content: settings.global.get::<limits::Settings>().request_body,
        chunk_line: http1.chunk_line,
        chunk_extensions: http1.chunk_extensions,
        trailer: http1.trailer,
        ..Limits::default()
    }
}

fn timeouts(settings: &Settings) -> Timeouts {
    let http1 = settings.global.get::<http1::Settings>();
    Timeouts {
        request: http1.request_timeout,
        receive: http1.request_io_timeout,
        send: http1.response_io_timeout,
        min_rate: settings.global.get::<limits::Settings>().min_rate,
        idle: settings.global.get::<http2::Settings>().idle_timeout,
        graceful: settings.global.get::<http2::Settings>().graceful_shutdown_timeout.unwrap_or_default(),
        handshake: settings.global.get::<limits::Settings>().handshake_timeout,
        ..Timeouts::default()
    }
}

fn http2(settings: &Settings) -> Http2Config {
    let (http1, http2) = (settings.global.get::<http1::Settings>(), settings.global.get::<http2::Settings>());
    let defaults = hayami_h2::Config::default();
    let engine = hayami_h2::Config {
        max_concurrent_streams: http2.concurrent_streams(),
        initial_window: defaults.initial_window.min(http2.input_window),
        max_stream_window: http2.input_window,
        max_connection_window: defaults.max_connection_window.max(http2.input_window),
        enable_connect_protocol: proxy::has_tunnels(settings),
        // HTTP/1's limits apply to both: users send the same fields over either.
        max_header_list: http1.head.saturating_add(FIELD_OVERHEAD * u32::from(http1.fields)),
        max_fields: http1.fields,
        max_target: http1.request_line,
        ..defaults
    };
    Http2Config { engine, prior_knowledge: http2.prior_knowledge, upgrade: http1.upgrade_to_http2 }
}

/// What a field counts besides its bytes (RFC 9113 §6.5.2).
const FIELD_OVERHEAD: u32 = 32;
