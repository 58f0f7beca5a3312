//! One worker that forwards everything, without the parts of the server that only its start and its end need.

use hayami_net::listen::{Endpoint, Options, bind, bound_address};
use hayami_net::service::Address;
use hayami_net::{ByteBudget, Config, Http2Config, Listener, Phase, Quota, Timeouts, run};
use hayami_server::Generation;
use hayami_server::features::load_text;
use hayami_server::service::{Site, objects};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::watch;

/// A worker in a thread of its own.
pub(crate) struct Worker {
    pub(crate) address: SocketAddr,
    phase: watch::Sender<Phase>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Ends the worker once its connections have ended.
    pub(crate) fn stop(self) {
        self.phase.send(Phase::Drain).expect("the worker runs");
        self.thread.join().expect("the worker ends");
    }
}

/// Starts a worker that forwards to this upstream.
pub(crate) fn start(upstream: SocketAddr) -> Worker {
    let fd = bind(&Endpoint::Tcp(([127, 0, 0, 1], 0).into()), &Options::default()).expect("a free port");
    let bound = bound_address(&fd);
    let Address::Ip(address) = bound else { panic!("an IP address") };
    let (phase, phases) = watch::channel(Phase::Run);
    let config = move || Config {
        cpu: None,
        listeners: vec![Listener { fd, index: 0, queue: 0, address: bound, tls: None, proxy_protocol: None }],
        limits: Default::default(),
        http2: Http2Config::default(),
        timeouts: Timeouts::default(),
        upstreams: Default::default(),
        content: Arc::new(ByteBudget::new(1 << 30)),
        quota: Arc::new(Quota::new(100, None)),
        ready: Box::new(|| ()),
    };
    let thread = std::thread::spawn(move || serve(config(), phases, upstream));
    Worker { address, phase, thread }
}

fn serve(config: Config, phases: watch::Receiver<Phase>, upstream: SocketAddr) {
    let site = format!("{{/: {{proxy.reverse.url: 'http://{upstream}/'}}}}");
    let text = format!("listen: 80\nhosts: {{a: {{paths: {site}}}}}");
    let settings = load_text("forward", &text).unwrap_or_else(|errors| panic!("{errors}")).settings;
    let mut generation = Generation::new(Arc::clone(&settings)).expect("a generation");
    generation.open_logs().expect("logs");
    generation.open_upstreams(Default::default());
    let generation = Arc::new(generation);
    let ran = run(config, phases, |clock, outbound| {
        let worker = objects::first(&generation, clock, Some(outbound.clone()), 1);
        Ok(Site::new(&generation, worker))
    });
    ran.expect("a worker");
}
