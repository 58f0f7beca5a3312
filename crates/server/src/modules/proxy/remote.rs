//! Fetches from servers outside the configuration, named by an upstream's `x-reproxy-url`. Each request opens its own
//! connection, which is closed after the response.

use super::request::Rewriting;
use super::{ProxyDefaults, Settings, Url, failure, response};
use crate::config::yaml::Node;
use crate::feature::RouteContext;
use crate::handler::Outcome;
use crate::modules::upstreams;
use crate::modules::upstreams::Pools;
use crate::subrequest::RemoteServers;
use hayami_client::{Backend, Call, Origin, Reply, call};
use hayami_http::{FieldSection, RequestHead, Response, Status};
use hayami_net::blocking::{self, Lane};
use hayami_net::service::{Address, ConnectionInfo};
use hayami_net::upstream_io::UpstreamIo;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// Fields that identify the client (RFC 6265 §4.2, RFC 9110 §11.6.2, §11.7.2).
const CREDENTIALS: [&[u8]; 3] = [b"cookie", b"authorization", b"proxy-authorization"];

/// Sends requests to such servers.
pub struct Remote(Rc<RemoteFetch>);

struct RemoteFetch {
    outbound: UpstreamIo,
    /// The URLs of the path's own upstreams, which may receive the client's credentials.
    own: Vec<Url>,
    /// The configured name servers; if empty, the system resolver is used.
    resolver: Arc<[SocketAddr]>,
    settings: Settings,
    rewriting: Rewriting,
    keep_server: bool,
}

impl Remote {
    /// Uses the settings of a path, whose upstreams are `own`. `None` without an event loop, where nothing can connect.
    pub fn new(route: &RouteContext<'_>, own: Vec<Url>) -> Option<Self> {
        let (settings, worker) = (route.inherited.get::<Settings>(), route.worker);
        let proxy_defaults = ProxyDefaults::new(route);
        let rewriting = settings.rewriting(proxy_defaults.forwarding);
        Some(Self(Rc::new(RemoteFetch {
            outbound: worker.outbound.clone()?,
            own,
            resolver: worker.get::<Pools>().resolver(),
            settings: settings.clone(),
            rewriting,
            keep_server: proxy_defaults.keep_server,
        })))
    }
}

impl RemoteServers for Remote {
    fn ask(&self, head: &RequestHead, connection: &ConnectionInfo, client: &Address, early: bool) -> Outcome {
        let fetch = Rc::clone(&self.0);
        let (path, query) = (head.path(), head.query());
        let mut target = if path.is_empty() { b"/".to_vec() } else { path.to_vec() };
        if let Some(query) = query {
            target.push(b'?');
            target.extend_from_slice(query);
        }
        let url = head.target().strip_suffix(&target[..]).unwrap_or(head.target());
        let url = match Url::read(&Node::scalar(&String::from_utf8_lossy(url))) {
            Ok(url) => url,
            Err(error) => return failed(format!("the upstream's x-reproxy-url: {}", error.message)),
        };
        let mut fields = FieldSection::default();
        let host = url.authority.as_bytes();
        if let Err(fault) = fetch.rewriting.write(head, host, (connection, client), early, &mut fields) {
            return failure::bad_request(&fault);
        }
        if !fetch.own.iter().any(|own| own.is_of_origin(&url)) {
            // Another origin is another party: credentials that the client or the configuration sends to the path's own
            // upstreams are not meant for it.
            fields.retain(|name, _| !CREDENTIALS.iter().any(|own| own.eq_ignore_ascii_case(name)));
        }
        let request = Call::new(head.method_name(), target, fields);
        Outcome::from_upstream(async move { fetch.run(url, request).await })
    }
}

impl RemoteFetch {
    async fn run(&self, url: Url, request: Call) -> Outcome {
        let (place, resolver) = (url.place.clone(), Arc::clone(&self.resolver));
        let look_up = move || upstreams::addresses(&place, &resolver);
        let peers = match blocking::run(Lane::RequestedNames, look_up).await.flatten() {
            Ok(peers) => peers,
            Err(error) => {
                let refused = blocking::is_refused(&error);
                let status = if refused { Status::SERVICE_UNAVAILABLE } else { Status::BAD_GATEWAY };
                let reason = format!("upstream {url}: cannot resolve the host name: {error}");
                return Outcome::Failed { response: failure::response(status), reason };
            }
        };
        let origin = match super::origin(&url, peers, &self.settings) {
            Ok(origin) => Origin { idle: 0, ..origin },
            Err(error) => return failed(format!("upstream {url}: {error}")),
        };
        match call(&Backend::new(&self.outbound, origin), request).await {
            Ok(Reply { mut head, content, .. }) => match response::clean(&mut head, self.keep_server) {
                Ok(()) => Outcome::Ready(Response { head, content }),
                Err(fault) => failure::bad_response(&url.shown, &fault),
            },
            Err(failure) => {
                let response = failure::response(failure::status(&failure, None));
                Outcome::Failed { response, reason: failure::reason(&url.shown, &failure) }
            }
        }
    }
}

fn failed(reason: String) -> Outcome {
    Outcome::Failed { response: failure::response(Status::BAD_GATEWAY), reason }
}
