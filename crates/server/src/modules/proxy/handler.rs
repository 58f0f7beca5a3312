//! From a request to an upstream: which one, and what it is asked.

use super::attempt::{self, Attempt};
use super::balance::{Balancer, Candidate};
use super::health::{Health, Standing};
use super::http2;
use super::names;
use super::request::Rewriting;
use super::target::Below;
use super::tunnel::{Passed, Tunnels};
use super::upload::Upload;
use super::{Place, ReverseSettings, Settings, Telling, Upstream};
use crate::handler::{Exchange, Handler, Outcome};
use crate::observe::Reporter;
use crate::worker::WorkerContext;
use hayami_http::{Method, ResponseHead, Source};
use hayami_net::service::{Incoming, Interim};
use hayami_net::upstream::{Backend, Call, Origin, Outbound, Timeouts};
use hayami_net::{Clock, Instant};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;

/// How often names are looked up again: a deployment that moves is found within half a minute, and the
/// resolver is asked twice a minute by each worker.
const REFRESH: Duration = Duration::from_secs(30);

/// Connections to an upstream that may wait for requests. They were all busy a moment ago, so what bounds
/// them is the load; this bounds what a burst leaves behind.
const IDLE: usize = 1024;

/// Passes requests on.
struct Proxy(Rc<Pool>);

/// The upstreams of a path, as one worker sees them.
pub(super) struct Pool {
    pub(super) members: Vec<Member>,
    balancer: RefCell<Balancer>,
    rewriting: Rewriting,
    preserve_host: bool,
    tunnels: Tunnels,
    /// Whether the upstreams' `server` fields stay.
    pub(super) keep_server: bool,
    /// Whether errors of requests go to the error log.
    pub(super) reports_errors: bool,
    pub(super) reporter: Reporter,
    clock: Rc<Clock>,
}

/// An upstream.
pub(super) struct Member {
    pub(super) backend: Rc<Backend>,
    /// For logs.
    pub(super) shown: String,
    pub(super) authority: Vec<u8>,
    path: Vec<u8>,
    weight: u32,
    pub(super) health: Cell<Health>,
}

/// What holds for all proxied paths.
#[derive(Clone, Copy, Debug)]
pub struct Everywhere {
    /// What upstreams are told.
    pub telling: Telling,
    /// Whether their `server` fields stay.
    pub keep_server: bool,
    /// Whether errors of requests go to the error log.
    pub reports_errors: bool,
}

/// The handler of a path. Without a loop there is nothing to connect with: then it is for show.
pub fn build(
    reverse: &ReverseSettings,
    settings: &Settings,
    everywhere: Everywhere,
    worker: &WorkerContext,
) -> Box<dyn Handler> {
    let Some(outbound) = &worker.outbound else { return Box::new(ForShow) };
    let member = |upstream: &Upstream| Member {
        backend: backend(outbound, upstream, settings),
        shown: upstream.url.shown.clone(),
        authority: upstream.url.authority.clone().into_bytes(),
        path: upstream.url.path.clone().into_bytes(),
        weight: upstream.weight,
        health: Cell::default(),
    };
    Box::new(Proxy(Rc::new(Pool {
        members: reverse.upstreams.iter().map(member).collect(),
        balancer: RefCell::new(Balancer::new(reverse.policy, reverse.upstreams.len())),
        rewriting: Rewriting { telling: everywhere.telling, commands: settings.commands.clone() },
        preserve_host: settings.preserve_host,
        tunnels: settings.tunnels,
        keep_server: everywhere.keep_server,
        reports_errors: everywhere.reports_errors,
        reporter: Reporter::new(Rc::clone(&worker.clock)),
        clock: Rc::clone(&worker.clock),
    })))
}

/// An origin without addresses, with what holds for the upstreams of a path.
pub(super) fn origin(settings: &Settings) -> Origin {
    let super::Timeouts { io, connect, first_byte, keep_alive } = settings.timeouts;
    let (connect, first_byte) = (connect.unwrap_or(io), first_byte.unwrap_or(io));
    let mut origin = Origin {
        peers: Vec::new(),
        protocol: Default::default(),
        tls: None,
        limits: Default::default(),
        streams: settings.http2.streams,
        timeouts: Timeouts { connect, first_byte, io, keep_alive },
        idle: if keep_alive.is_zero() { 0 } else { IDLE },
    };
    // An upstream is trusted with lengths: what it sends is passed on, not kept.
    origin.limits.content = u64::MAX;
    origin
}

fn backend(outbound: &Outbound, upstream: &Upstream, settings: &Settings) -> Rc<Backend> {
    let tls = settings.tls.origin(&upstream.url).expect("it was tried when the URL was read");
    let protocol = settings.http2.protocol(tls.is_some());
    let origin = Origin { peers: upstream.peers.clone(), protocol, tls, ..origin(settings) };
    let backend = Backend::new(outbound, origin);
    if names::is_name(&upstream.url.place) && tokio::runtime::Handle::try_current().is_ok() {
        tokio::task::spawn_local(refresh(Rc::downgrade(&backend), upstream.url.place.clone()));
    }
    backend
}

/// Looks a name up again and again; what cannot be looked up stays as it was.
async fn refresh(backend: Weak<Backend>, place: Place) {
    loop {
        tokio::time::sleep(REFRESH).await;
        let place = place.clone();
        let found = tokio::task::spawn_blocking(move || names::resolve(&place)).await;
        let Some(backend) = backend.upgrade() else { return };
        if let Ok(Ok(peers)) = found {
            backend.set_peers(peers);
        }
    }
}

/// Stands for a handler where a configuration is only tried.
struct ForShow;

impl Handler for ForShow {
    fn handle(&self, _: &mut Exchange<'_>) -> Outcome {
        Outcome::Declined
    }
}

impl Handler for Proxy {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let pool = &self.0;
        let asked = match pool.tunnels.pass(exchange) {
            Passed::Ordinary => None,
            Passed::On(asked) => Some(asked),
            Passed::Answered(answer) => return answer,
        };
        let chosen = match pool.choose(&[]) {
            Ok(chosen) => chosen,
            Err(wait) => return attempt::nobody(wait),
        };
        let below = Below::new(exchange.head, exchange.path, exchange.below);
        let content = exchange.content.take();
        content.iter().filter(|_| http2::is_conversation(exchange.head)).for_each(Incoming::be_patient);
        let content = content.map(Upload::new);
        let (upload, blame) = content.map_or((None, None), |(upload, blame)| (Some(upload), Some(blame)));
        let mut call = pool.call(exchange, chosen, &below, upload);
        if let Some(asked) = &asked {
            asked.prepare(&mut call);
        }
        let replaces_host = pool.replaces_host(exchange);
        let attempt = Attempt { pool: Rc::clone(pool), below, blame, replaces_host, asked };
        Outcome::Later(Box::pin(attempt.run(chosen, call)))
    }

    fn costs_others(&self) -> bool {
        true
    }
}

impl Pool {
    /// The upstream for the next try, none of those in `tried`. If all are down: how long until one is not.
    pub(super) fn choose(&self, tried: &[usize]) -> Result<usize, Duration> {
        let now = self.clock.now();
        for also_doubtful in [false, true] {
            let candidate = |index: usize| {
                let member = &self.members[index];
                let fit = match member.health.get().standing(now) {
                    Standing::Good => true,
                    Standing::Doubtful => also_doubtful,
                    Standing::Down(_) => false,
                };
                let fit = fit && !tried.contains(&index);
                Candidate { weight: member.weight, in_flight: member.backend.in_flight(), fit }
            };
            if let Some(index) = self.balancer.borrow_mut().choose(candidate) {
                return Ok(index);
            }
        }
        let wait = self.members.iter().filter_map(|member| match member.health.get().standing(now) {
            Standing::Down(wait) => Some(wait),
            Standing::Good | Standing::Doubtful => None,
        });
        Err(wait.min().unwrap_or_default())
    }

    /// Whether Host is that of the upstream's URL.
    fn replaces_host(&self, exchange: &Exchange<'_>) -> bool {
        !self.preserve_host || exchange.head.authority().is_empty()
    }

    fn call(&self, exchange: &Exchange<'_>, chosen: usize, below: &Below, upload: Option<Upload>) -> Call {
        let (head, member) = (&*exchange.head, &self.members[chosen]);
        let replaces = self.replaces_host(exchange);
        let host = if replaces { &member.authority[..] } else { head.authority() };
        // RFC 9110 §9.2.2
        let repeatable = head.method().is_safe() || matches!(head.method(), Method::Put | Method::Delete);
        Call {
            method: head.method_name().to_vec(),
            target: member.target(below),
            fields: self.rewriting.fields(head, host, exchange.connection, exchange.early),
            content: upload.map(|upload| Box::new(upload) as Box<dyn Source>),
            repeatable,
            interim: exchange.interim.map(sink),
            errors: None,
            upgrade: None,
            manner: Default::default(),
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }
}

impl Member {
    pub(super) fn target(&self, below: &Below) -> Vec<u8> {
        below.at(&self.path)
    }
}

/// Sends interim responses of an upstream on to the client.
fn sink(interim: &Interim) -> Box<dyn FnMut(&ResponseHead)> {
    let interim = interim.clone();
    Box::new(move |head| {
        let mut head = head.clone();
        super::response::clean(&mut head, false);
        interim.send(head);
    })
}
