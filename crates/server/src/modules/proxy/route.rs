//! State shared by all requests that a path forwards.

use super::hop::TooManyElements;
use super::location::Mapping;
use super::options::ProxyOptions;
use super::request::Rewriting;
use super::target::Below;
use super::tunnel::Tunnels;
use super::upload::Upload;
use super::{ForwardingHeaders, Settings, Streaming};
use crate::feature::RouteContext;
use crate::handler::Exchange;
use crate::modules::error_log;
use crate::modules::identity::{self, SendServerName};
use crate::modules::upstreams::{Member, Pool, Pools, Reference, Transport};
use crate::upstream_trace::Direction;
use hayami_client::Call;
use hayami_http::{ResponseHead, Source, encode_path};
use hayami_net::service::Interim;
use hayami_net::upstream_io::UpstreamIo;
use std::rc::Rc;

/// Settings of a path, prepared for its requests.
pub(super) struct ProxyRoute {
    pub(super) pool: Rc<Pool>,
    pub(super) transport: usize,
    /// The path of the URL that names a group; otherwise each upstream's URL has its own.
    pub(super) path: Option<Vec<u8>>,
    pub(super) rewriting: Rewriting,
    pub(super) preserve_host: bool,
    pub(super) proxy_options: ProxyOptions,
    pub(super) tunnels: Tunnels,
    pub(super) streaming: Streaming,
    /// Whether the upstreams' `server` fields are kept.
    pub(super) keep_server: bool,
    /// Whether a response without a date gets one.
    pub(super) adds_date: bool,
    /// The prefix of the path, percent-encoded, if URLs of upstreams are rewritten to it.
    pub(super) own: Option<Vec<u8>>,
    /// Whether errors of requests go to the error log.
    pub(super) reports_errors: bool,
}

/// Settings common to all proxied paths.
#[derive(Clone, Copy, Debug)]
pub struct ProxyDefaults {
    /// Which fields about the client and the proxy are added.
    pub forwarding: ForwardingHeaders,
    /// Whether the upstreams' `server` fields are kept.
    pub keep_server: bool,
    /// Whether errors of requests go to the error log.
    pub reports_errors: bool,
}

impl ProxyDefaults {
    /// The settings at a level of the configuration.
    pub fn new(route: &RouteContext<'_>) -> Self {
        let global = &route.settings.global;
        Self {
            forwarding: *global.get(),
            keep_server: global.get::<identity::Settings>().send == SendServerName::Preserve,
            reports_errors: route.inherited.get::<error_log::Settings>().emit_request_errors,
        }
    }
}

impl ProxyRoute {
    /// Prepares the settings of a path.
    pub(super) fn new(reverse: &Reference, route: &RouteContext<'_>, outbound: &UpstreamIo) -> Self {
        let (settings, worker) = (route.inherited.get::<Settings>(), route.worker);
        let proxy_defaults = ProxyDefaults::new(route);
        // Without a path there is nothing to map an upstream's URL to.
        let path = route.path.filter(|_| !settings.keeps_location);
        let pool = worker.get::<Pools>().get(reverse.group, outbound, &worker.clock);
        let transport = pool.transport(Transport::Http(Box::new(settings.of_connections())));
        Self {
            pool,
            transport,
            path: reverse.path.clone().map(String::into_bytes),
            rewriting: settings.rewriting(proxy_defaults.forwarding),
            preserve_host: settings.preserve_host,
            proxy_options: settings.proxy_options,
            tunnels: settings.tunnels,
            streaming: settings.streaming,
            keep_server: proxy_defaults.keep_server,
            adds_date: proxy_defaults.forwarding.date,
            own: path.map(|path| encoded(path.key.prefix())),
            reports_errors: proxy_defaults.reports_errors,
        }
    }

    /// Whether Host is taken from the upstream's URL.
    pub(super) fn replaces_host(&self, exchange: &Exchange<'_>) -> bool {
        !self.preserve_host || exchange.head.authority().is_empty()
    }

    /// Builds the call. Without an upstream, target and Host remain empty.
    ///
    /// # Errors
    /// The client's fields cannot be forwarded.
    pub(super) fn call(
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
        let mut fields = self.pool.outbound().fields();
        let (connection, client) = (exchange.connection, exchange.client_address());
        self.rewriting.write(head, host, (connection, client), exchange.early, &mut fields)?;
        let options = self.proxy_options.call_options(exchange, upload.is_some());
        if options.expects_continue {
            fields.append(b"expect", b"100-continue");
        }
        let content = upload.map(|upload| Box::new(upload) as Box<dyn Source>);
        Ok(Call {
            method: head.method_name().to_vec(),
            target: member.map_or_else(Vec::new, |member| self.target(member, below)),
            fields,
            content: content.map(|content| match exchange.trace {
                Some(trace) => trace.counted(content, Direction::Up, self.pool.clock()),
                None => content,
            }),
            options,
            repeatable: head.method().is_idempotent(),
            interim,
            errors: None,
            upgrade: None,
        })
    }

    /// The target for an upstream.
    pub(super) fn target(&self, member: &Member, below: &Below) -> Vec<u8> {
        below.at(self.path_at(member))
    }

    fn path_at<'a>(&'a self, member: &'a Member) -> &'a [u8] {
        self.path.as_deref().unwrap_or(member.url().path.as_bytes())
    }

    /// The mapping from an upstream's URLs to paths of this server, if they are rewritten.
    pub(super) fn mapping<'a>(&'a self, member: &'a Member) -> Option<Mapping<'a>> {
        let (upstream, path) = (member.url(), self.path_at(member));
        self.own.as_deref().map(|own| Mapping { own, upstream, path })
    }
}

fn encoded(prefix: &str) -> Vec<u8> {
    let mut encoded = Vec::new();
    encode_path(prefix.as_bytes(), &mut encoded);
    encoded
}

/// Forwards interim responses of an upstream to the client.
fn sink(interim: Interim) -> Box<dyn FnMut(&ResponseHead)> {
    Box::new(move |head| {
        let mut head = head.clone();
        // Too many Connection elements: the final response, which repeats them, is refused for that.
        if super::response::clean(&mut head, false).is_ok() {
            interim.send(head);
        }
    })
}
