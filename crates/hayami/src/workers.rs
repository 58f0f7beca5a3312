//! The workers: a thread each, with a service, sockets and a loop of its own.

use crate::exit::Failure;
use crate::explain::{CONFIG, Explain};
use hayami_h1::Limits;
use hayami_net::upstream::Outbound;
use hayami_net::{ByteBudget, Clock, Config, Http2Config, Listener, Phase, Quota, Timeouts};
use hayami_server::Generation;
use hayami_server::config::settings::Settings;
use hayami_server::modules::file::FileCache;
use hayami_server::modules::listen::{Acceptors, bindings};
use hayami_server::modules::process::Threads;
use hayami_server::modules::proxy;
use hayami_server::modules::upstreams::{Pools, Shared};
use hayami_server::observe::{self, Severity, Subject};
use hayami_server::worker::WorkerContext;
use hayami_tls::Resumption;
use hayami_tls::resumption::Report;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

/// What all workers are made from.
pub(crate) struct Plan {
    /// What is served.
    pub generation: Generation,
    /// What workers know together of upstreams.
    pub upstreams: Arc<Shared>,
    /// The quota of connections.
    pub quota: Arc<Quota>,
    /// Memory in which content of requests may wait.
    pub content: Arc<ByteBudget>,
    /// The CPU of each worker, or `None` to leave it to the kernel.
    pub cpus: Vec<Option<usize>>,
}

/// The CPU of each worker: their number is that of the workers.
pub(crate) fn cpus(threads: &Threads) -> Vec<Option<usize>> {
    match threads {
        // Affinity mask and cgroup quota are both heeded.
        Threads::Usable => vec![None; std::thread::available_parallelism().map_or(1, usize::from)],
        Threads::Number(number) => vec![None; *number],
        Threads::Cpus(cpus) => cpus.iter().map(|cpu| Some(*cpu)).collect(),
    }
}

/// The generation of these settings, checked: what cannot be built shows before anything is bound.
///
/// # Errors
/// [`Failure::Config`] with the reason.
pub(crate) fn generation(settings: &Arc<Settings>) -> Result<Generation, Failure> {
    let worker = context(settings, &Arc::default(), 1, &Rc::new(Clock::default()), None);
    let generation = Generation::new(Arc::clone(settings));
    let checked = generation.and_then(|generation| generation.check(worker).map(|()| generation));
    checked.map_err(Failure::Config)
}

/// What the addresses with TLS answer handshakes with: all files are read here, and no thread is started.
///
/// # Errors
/// A file cannot be used.
pub(crate) fn acceptors(settings: &Settings, explain: &Explain<'_>) -> Result<Acceptors, Failure> {
    // Without TLS nothing is resumed, and no keys have to be made.
    let resumption = match speaks_tls(settings) {
        true => Resumption::new(&settings.global.session_resumption, report())
            .map_err(|error| Failure::Config(format!("ssl-session-resumption: {error}")))?,
        false => Resumption::off(),
    };
    Acceptors::new(settings, resumption).map_err(|error| explain.failure(CONFIG, error))
}

fn speaks_tls(settings: &Settings) -> bool {
    bindings(settings).iter().any(|binding| !binding.blocks.is_empty())
}

/// Where threads of TLS say what is wrong.
pub(crate) fn report() -> Report {
    Arc::new(|severity, line| {
        let severity = match severity {
            hayami_tls::resumption::Severity::Warn => Severity::Warn,
            hayami_tls::resumption::Severity::Notice => Severity::Notice,
        };
        observe::report(severity, Subject::Tls, line);
    })
}

/// What a worker tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It has begun to serve.
    Ready,
    /// It has ended, well or not.
    Ended,
}

/// Tells of a worker's end, even if that is a panic.
struct End(UnboundedSender<News>);

impl Drop for End {
    fn drop(&mut self) {
        // Who is told may have given up in the meantime.
        let _ = self.0.send(News::Ended);
    }
}

/// Starts every worker; each tells `news` when it begins to serve, and at its end.
///
/// # Errors
/// A thread could not be made.
pub(crate) fn start(
    plan: &Arc<Plan>,
    shares: Vec<Vec<Listener>>,
    phase: &watch::Receiver<Phase>,
    news: &UnboundedSender<News>,
) -> Result<Vec<JoinHandle<io::Result<()>>>, Failure> {
    let mut threads = Vec::new();
    for (index, listeners) in shares.into_iter().enumerate() {
        let (plan, phase, end) = (Arc::clone(plan), phase.clone(), End(news.clone()));
        let thread = std::thread::Builder::new()
            .name(format!("worker {index}"))
            .spawn(move || run(&plan, plan.cpus[index], listeners, phase, &end));
        threads
            .push(thread.map_err(|error| Failure::System(format!("cannot start worker {index}: {error}")))?);
    }
    Ok(threads)
}

fn run(
    plan: &Plan,
    cpu: Option<usize>,
    listeners: Vec<Listener>,
    phase: watch::Receiver<Phase>,
    End(news): &End,
) -> io::Result<()> {
    let ready = news.clone();
    let settings = &**plan.generation.settings();
    let config = Config {
        cpu,
        listeners,
        limits: limits(settings),
        http2: http2(settings),
        timeouts: timeouts(settings),
        upstreams: settings.global.tcp.of_upstreams(),
        quota: Arc::clone(&plan.quota),
        content: Arc::clone(&plan.content),
        // Who is told may have given up in the meantime.
        ready: Box::new(move || {
            let _ = ready.send(News::Ready);
        }),
    };
    hayami_net::run(config, phase, |clock, outbound| {
        let context = context(settings, &plan.upstreams, plan.cpus.len(), clock, Some(outbound.clone()));
        Ok(plan.generation.service(context))
    })
}

fn context(
    settings: &Settings,
    upstreams: &Arc<Shared>,
    workers: usize,
    clock: &Rc<Clock>,
    outbound: Option<Outbound>,
) -> WorkerContext {
    let files = Rc::new(FileCache::new(&settings.global.file_cache, workers));
    let upstreams = Rc::new(Pools::new(Arc::clone(upstreams)));
    WorkerContext { clock: Rc::clone(clock), outbound, upstreams, workers, files }
}

fn limits(settings: &Settings) -> Limits {
    let http1 = &settings.global.http1;
    Limits {
        request_line: http1.request_line,
        head: http1.head,
        fields: http1.fields,
        content: settings.global.limits.request_body,
        chunk_line: http1.chunk_line,
        chunk_extensions: http1.chunk_extensions,
        trailer: http1.trailer,
        ..Limits::default()
    }
}

fn timeouts(settings: &Settings) -> Timeouts {
    let http1 = &settings.global.http1;
    Timeouts {
        request: http1.request_timeout,
        receive: http1.request_io_timeout,
        send: http1.response_io_timeout,
        min_rate: settings.global.limits.min_rate,
        idle: settings.global.http2.idle_timeout,
        graceful: settings.global.http2.graceful_shutdown_timeout.unwrap_or_default(),
        handshake: settings.global.limits.handshake_timeout,
        ..Timeouts::default()
    }
}

fn http2(settings: &Settings) -> Http2Config {
    let (http1, http2) = (&settings.global.http1, &settings.global.http2);
    let defaults = hayami_h2::Config::default();
    let engine = hayami_h2::Config {
        max_concurrent_streams: http2.concurrent_streams(),
        initial_window: defaults.initial_window.min(http2.input_window),
        max_stream_window: http2.input_window,
        max_connection_window: defaults.max_connection_window.max(http2.input_window),
        enable_connect_protocol: proxy::has_tunnels(settings),
        // The limits of HTTP/1 hold for both: a site's users send the same fields over either.
        max_header_list: http1.head.saturating_add(FIELD_OVERHEAD * u32::from(http1.fields)),
        max_fields: http1.fields,
        max_target: http1.request_line,
        ..defaults
    };
    Http2Config { engine, prior_knowledge: http2.prior_knowledge, upgrade: http1.upgrade_to_http2 }
}

/// What a field counts beside its octets (RFC 9113 §6.5.2).
const FIELD_OVERHEAD: u32 = 32;
