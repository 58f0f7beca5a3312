//! From a request to an upstream: which one, and what it is asked.

use super::attempt::Attempt;
use super::failure;
use super::hop::TooManyElements;
use super::location::Mapping;
use super::manner::Particulars;
use super::request::Rewriting;
use super::streaming::Watch;
use super::target::Below;
use super::tunnel::{Passed, Tunnels};
use super::upload::Upload;
use super::{Settings, Streaming, Telling};
use crate::handler::{Exchange, Handler, Outcome};
use crate::modules::access_log::Way;
use crate::modules::upstreams::{Asking, Member, Pool, Reference, Transport};
use crate::worker::WorkerContext;
use hayami_client::Call;
use hayami_http::{Method, ResponseHead, Source, encode_path};
use hayami_net::service::Interim;
use std::rc::Rc;

/// Passes requests on.
struct Proxy(Rc<Passing>);

/// What a path says to upstreams.
pub(super) struct Passing {
    pub(super) pool: Rc<Pool>,
    transport: usize,
    /// The path of the URL that names a group; otherwise each upstream's URL has its own.
    path: Option<Vec<u8>>,
    rewriting: Rewriting,
    preserve_host: bool,
    particulars: Particulars,
    tunnels: Tunnels,
    streaming: Streaming,
    /// Whether the upstreams' `server` fields stay.
    pub(super) keep_server: bool,
    /// Whether a response without a date gets one.
    pub(super) adds_date: bool,
    /// The prefix of the path, percent-encoded, if URLs of upstreams are rewritten to it.
    own: Option<Vec<u8>>,
    /// Whether errors of requests go to the error log.
    pub(super) reports_errors: bool,
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

/// The handler of the path with that prefix. Without a loop there is nothing to connect with: then it is for show.
pub fn build(
    reverse: &Reference,
    prefix: &str,
    settings: &Settings,
    everywhere: Everywhere,
    worker: &WorkerContext,
) -> Box<dyn Handler> {
    let Some(outbound) = &worker.outbound else { return Box::new(ForShow) };
    let pool = worker.upstreams.get(reverse.group, outbound, &worker.clock);
    let transport = pool.transport(Transport::Http(Box::new(settings.of_connections())));
    Box::new(Proxy(Rc::new(Passing {
        pool,
        transport,
        path: reverse.path.clone().map(String::into_bytes),
        rewriting: settings.rewriting(everywhere.telling),
        preserve_host: settings.preserve_host,
        particulars: settings.particulars,
        tunnels: settings.tunnels,
        streaming: settings.streaming,
        keep_server: everywhere.keep_server,
        adds_date: everywhere.telling.date,
        own: (!settings.keeps_location).then(|| encoded(prefix)),
        reports_errors: everywhere.reports_errors,
    })))
}

fn encoded(prefix: &str) -> Vec<u8> {
    let mut encoded = Vec::new();
    encode_path(prefix.as_bytes(), &mut encoded);
    encoded
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
        let passing = &self.0;
        let asked = match passing.tunnels.pass(exchange) {
            Passed::Ordinary => None,
            Passed::On(asked) => Some(asked),
            Passed::Answered(answer) => return answer,
        };
        let key = passing.pool.key(exchange.head, exchange.client_address());
        let chosen = passing.pool.choose(key);
        let below = Below::new(exchange.head, exchange.path, exchange.below);
        let account = exchange.account.map(Rc::clone);
        let content = exchange.content.take();
        let watch = passing.streaming.watch(exchange.head);
        let content = content.map(|content| Upload::new(content, passing.rewriting.underscores));
        let (mut upload, refusals) = content.unzip();
        if let (Some(upload), Some(watch)) = (&mut upload, &watch) {
            upload.tell(watch.activity().clone());
        }
        let member = chosen.as_ref().ok().map(|chosen| &**chosen.member());
        let mut call = match passing.call(exchange, member, &below, upload) {
            Ok(call) => call,
            Err(fault) => return failure::bad_request(&fault),
        };
        call.manner.streaming = watch.as_ref().map(Watch::over_http2);
        if let Some(asked) = &asked {
            asked.prepare(&mut call);
        }
        let attempt = Attempt {
            asking: Asking {
                pool: Rc::clone(&passing.pool),
                transport: passing.transport,
                key,
                account,
                subject: None,
            },
            below,
            refusals,
            replaces_host: passing.replaces_host(exchange),
            passing: Rc::clone(passing),
            asked,
            watch,
            ends_with: passing.particulars.forward_close.then(|| Rc::clone(exchange.connection)),
        };
        Outcome::from_upstream(attempt.run(chosen, call))
    }
}

impl Passing {
    /// Whether Host is that of the upstream's URL.
    fn replaces_host(&self, exchange: &Exchange<'_>) -> bool {
        !self.preserve_host || exchange.head.authority().is_empty()
    }

    /// What is asked. Without an upstream so far, target and Host are of none.
    ///
    /// # Errors
    /// The client's fields cannot be passed on.
    fn call(
        &self,
        exchange: &mut Exchange<'_>,
        member: Option<&Member>,
        below: &Below,
        upload: Option<Upload>,
    ) -> Result<Call, TooManyElements> {
        let interim = exchange.interims.as_mut().map(|interims| sink(interims.handle()));
        let head = &*exchange.head;
        let replaces = self.replaces_host(exchange);
        let own = member.map_or("", |member| &member.url().authority);
        let host = if replaces { own.as_bytes() } else { head.authority() };
        // RFC 9110 §9.2.2
        let repeatable = head.method().is_safe() || matches!(head.method(), Method::Put | Method::Delete);
        let mut fields = self.pool.outbound().fields();
        let (connection, client) = (exchange.connection, exchange.client_address());
        self.rewriting.write(head, host, (connection, client), exchange.early, &mut fields)?;
        let manner = self.particulars.manner(exchange, upload.is_some());
        if manner.expects_continue {
            fields.append(b"expect", b"100-continue");
        }
        let content = upload.map(|upload| Box::new(upload) as Box<dyn Source>);
        Ok(Call {
            method: head.method_name().to_vec(),
            target: member.map_or_else(Vec::new, |member| self.target(member, below)),
            fields,
            content: content.map(|content| match exchange.account {
                Some(account) => account.counted(content, Way::Up, self.pool.clock()),
                None => content,
            }),
            manner,
            repeatable,
            interim,
            errors: None,
            upgrade: None,
        })
    }

    /// The target at an upstream.
    pub(super) fn target(&self, member: &Member, below: &Below) -> Vec<u8> {
        below.at(self.path_at(member))
    }

    fn path_at<'a>(&'a self, member: &'a Member) -> &'a [u8] {
        self.path.as_deref().unwrap_or(member.url().path.as_bytes())
    }

    /// How URLs of an upstream become paths here, if they do.
    pub(super) fn mapping<'a>(&'a self, member: &'a Member) -> Option<Mapping<'a>> {
        let (upstream, path) = (member.url(), self.path_at(member));
        self.own.as_deref().map(|own| Mapping { own, upstream, path })
    }
}

/// Sends interim responses of an upstream on to the client.
fn sink(interim: Interim) -> Box<dyn FnMut(&ResponseHead)> {
    Box::new(move |head| {
        let mut head = head.clone();
        // The final response names as many, and is refused for it.
        if super::response::clean(&mut head, false).is_ok() {
            interim.send(head);
        }
    })
}
