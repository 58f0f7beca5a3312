//! From a request to an application and back.

use super::params::{Facts, params};
use super::response::{Meaning, read};
use super::spool::Spooled;
use super::{Application, Script, Settings, script, words};
use crate::handler::{Exchange, Handler, Outcome};
use crate::modules::env::Environment;
use crate::modules::proxy::{Blame, Upload, failure};
use crate::observe::Reporter;
use crate::worker::WorkerContext;
use hayami_http::{Content, FieldSection, Method, Response, Source, SourceError};
use hayami_net::upstream::{Backend, Call, Failure, Origin, Outbound, Phase, Protocol, Timeouts, call};
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Connections that may wait for requests, if they may wait at all.
const IDLE: usize = 1024;

/// Passes requests on to an application.
struct FastCgi(Rc<Shared>);

struct Shared {
    members: Vec<Member>,
    next: Cell<usize>,
    root: Option<Rc<Path>>,
    send_delegated_uri: bool,
    reports_errors: bool,
    /// What `setenv` adds in `file.custom-handler`.
    env: Environment,
    reporter: Rc<Reporter>,
}

/// One place of the application.
struct Member {
    backend: Rc<Backend>,
    shown: String,
}

/// The handler of an application. Without a loop there is nothing to connect with: then it declines.
pub fn build(
    application: &Application,
    settings: &Settings,
    env: Environment,
    reports_errors: bool,
    worker: &WorkerContext,
) -> Rc<dyn Handler> {
    let members = match &worker.outbound {
        Some(outbound) => members(application, settings, outbound),
        None => Vec::new(),
    };
    Rc::new(FastCgi(Rc::new(Shared {
        members,
        next: Cell::new(0),
        root: settings.document_root.as_deref().map(Rc::from),
        send_delegated_uri: settings.send_delegated_uri,
        reports_errors,
        env,
        reporter: Rc::new(Reporter::new(Rc::clone(&worker.clock))),
    })))
}

fn members(application: &Application, settings: &Settings, outbound: &Outbound) -> Vec<Member> {
    let member = |peers, shown| Member { backend: Backend::new(outbound, origin(peers, settings)), shown };
    match application {
        Application::Connect(places) => {
            places.iter().map(|at| member(at.peers.clone(), at.to_string())).collect()
        }
        Application::Spawn(spawn) => {
            let peer = hayami_net::dial::Peer::Unix(spawn.socket().to_owned());
            vec![member(vec![peer], format!("`{}`", spawn.command))]
        }
    }
}

fn origin(peers: Vec<hayami_net::dial::Peer>, settings: &Settings) -> Origin {
    let Settings { io, keep_alive, .. } = *settings;
    let mut origin = Origin {
        peers,
        protocol: Protocol::FastCgi,
        tls: None,
        limits: Default::default(),
        timeouts: Timeouts { connect: io, first_byte: io, io, keep_alive },
        streams: 1,
        idle: if keep_alive.is_zero() { 0 } else { IDLE },
    };
    // What it sends is passed on, not kept.
    origin.limits.content = u64::MAX;
    origin
}

impl Handler for FastCgi {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let shared = &self.0;
        if shared.members.is_empty() {
            return Outcome::Declined;
        }
        let script = match (exchange.script, &shared.root) {
            (Some(script), _) => Some(script.clone()),
            (None, Some(root)) => script::find(root, exchange.path, exchange.below),
            (None, None) => None,
        };
        let content = exchange.content.take().map(Upload::new);
        let (upload, blame) = content.map_or((None, None), |(upload, blame)| (Some(upload), Some(blame)));
        let length = upload.as_ref().map(Source::length);
        let asking = Asking { shared: Rc::clone(shared), script, blame };
        match length {
            // Its length has to be told, and is not known before it is all there.
            Some(None) => asking.later(exchange, upload),
            length => {
                let call = asking.call(exchange, length.flatten(), exchange.env);
                Outcome::Later(Box::pin(asking.run(Call { content: upload.map(boxed), ..call })))
            }
        }
    }

    fn costs_others(&self) -> bool {
        true
    }
}

fn boxed(source: impl Source + 'static) -> Box<dyn Source> {
    Box::new(source)
}

/// A request under way.
struct Asking {
    shared: Rc<Shared>,
    script: Option<Script>,
    /// Where the client's content says what is wrong with it.
    blame: Option<Blame>,
}

impl Asking {
    fn call(&self, exchange: &Exchange<'_>, content: Option<u64>, env: &Environment) -> Call {
        let (shared, head) = (&self.shared, &*exchange.head);
        let merged;
        let env = match shared.env.iter().next() {
            None => env,
            Some(_) => {
                let outer = env.iter().filter(|(name, _)| shared.env.get(name).is_none());
                merged = Environment::from_pairs(outer.chain(shared.env.iter()));
                &merged
            }
        };
        let fields = params(&Facts {
            head,
            path: exchange.path,
            asked: exchange.asked.filter(|_| !shared.send_delegated_uri),
            script: self.script.as_ref(),
            root: shared.root.as_deref(),
            connection: exchange.connection,
            content,
            env,
        });
        Call {
            method: head.method_name().to_vec(),
            target: b"/".to_vec(),
            fields,
            content: None,
            // RFC 9110 §9.2.2
            repeatable: head.method().is_safe() || matches!(head.method(), Method::Put | Method::Delete),
            interim: None,
            errors: None,
            upgrade: None,
            manner: Default::default(),
        }
    }

    /// Collects the content first.
    #[cold]
    fn later(self, exchange: &Exchange<'_>, upload: Option<Upload>) -> Outcome {
        let Some(upload) = upload else { return Outcome::Declined };
        let mut call = self.call(exchange, None, exchange.env);
        Outcome::Later(Box::pin(async move {
            match Spooled::collect(upload).await {
                Ok(spooled) => {
                    let length = spooled.length().unwrap_or_default();
                    with_length(&mut call.fields, length);
                    self.run(Call { content: Some(boxed(spooled)), ..call }).await
                }
                Err(error) => self.broke_off(&error),
            }
        }))
    }

    fn broke_off(&self, error: &SourceError) -> Outcome {
        let refusal = self.blame.as_ref().and_then(|blame| blame.borrow().clone());
        let status = refusal.map_or(hayami_http::Status::INTERNAL_SERVER_ERROR, |refusal| refusal.status());
        Outcome::Failed {
            response: failure::response(status),
            reason: format!("the request's content: {error}"),
        }
    }

    /// Asks one place of the application, and others if it cannot be connected to.
    async fn run(self, mut request: Call) -> Outcome {
        let shared = Rc::clone(&self.shared);
        let members = &shared.members;
        let first = shared.next.get();
        shared.next.set((first + 1) % members.len());
        let mut reasons = Vec::new();
        for turn in 0..members.len().min(4) {
            let member = &members[(first + turn) % members.len()];
            request.errors = Some(words::sink(&self.shared.reporter, self.whose(member)));
            let mut failure = match call(&member.backend, request).await {
                Ok(reply) => return self.answer(reply.head, reply.content, (first + turn) % members.len()),
                Err(failure) => failure,
            };
            reasons.push(failure::reason(&self.whose(member), &failure));
            let again = failure.call.take().filter(|_| failure.phase == Phase::Connect);
            match again.filter(|_| failure::is_worth_repeating(&failure) && turn + 1 < members.len().min(4)) {
                Some(again) => request = again,
                None => return self.failed(&failure, &reasons),
            }
        }
        Outcome::Declined
    }

    /// `php-fpm.sock, script /index.php`
    fn whose(&self, member: &Member) -> String {
        match &self.script {
            Some(script) => {
                format!("{} for {}", member.shown, String::from_utf8_lossy(&script.name).escape_default())
            }
            None => member.shown.clone(),
        }
    }

    fn failed(&self, failure: &Failure, reasons: &[String]) -> Outcome {
        let refusal = self.blame.as_ref().and_then(|blame| blame.borrow().clone());
        let status = failure::status(failure, refusal.as_ref());
        Outcome::Failed { response: failure::response(status), reason: reasons.join("; ") }
    }

    fn answer(self, mut head: hayami_http::ResponseHead, content: Content, member: usize) -> Outcome {
        if let Meaning::Elsewhere(target) = read(&mut head) {
            return Outcome::Internal { target, keep_method: false };
        }
        let content = match content {
            Content::Stream(source) if self.shared.reports_errors => {
                Content::Stream(Box::new(Download { source, asking: self, member }))
            }
            content => content,
        };
        Outcome::Ready(Response { head, content })
    }
}

/// Adds CONTENT_LENGTH.
fn with_length(fields: &mut FieldSection, length: u64) {
    fields.append(b"CONTENT_LENGTH", length.to_string().as_bytes());
}

/// A response's content on its way from an application; what breaks off is reported.
struct Download {
    source: Box<dyn Source>,
    asking: Asking,
    member: usize,
}

impl Source for Download {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let filled = self.source.fill(cx, room, out);
        if let Poll::Ready(Err(error)) = &filled {
            let shared = &self.asking.shared;
            let whose = self.asking.whose(&shared.members[self.member]);
            shared
                .reporter
                .line(&format!("upstream {whose}: the content of its response broke off: {error}"));
        }
        filled
    }

    fn length(&self) -> Option<u64> {
        self.source.length()
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.source.trailers()
    }
}
