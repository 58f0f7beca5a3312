//! Handles a CONNECT: from the target's name to the tunnel.

use super::candidates::{Candidates, Lookup};
use super::race::{self, Patience};
use super::rules::Rules;
use super::status::{Failure, connected};
use super::{Identity, Settings};
use crate::config::path_key::PathKey;
use crate::feature::RouteContext;
use crate::handler::{Exchange, Handler, Outcome};
use crate::modules::proxy;
use crate::modules::upstreams::Pools;
use hayami_client::Tunnel;
use hayami_http::{Method, Response, ResponseHead, Status, split_authority};
use hayami_net::blocking::{self, Lane};
use hayami_net::names::{self, Family};
use hayami_net::service::{RequestBody, Upgrade, UpgradeKind};
use hayami_net::upstream_io::UpstreamIo;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Opens tunnels to servers named by clients.
struct Connect(Rc<Ways>);

struct Ways {
    rules: Rules,
    patience: Patience,
    /// How long IPv4 addresses wait for IPv6 ones.
    resolution_delay: Duration,
    /// The configured name servers; if empty, the system resolver is used.
    resolver: Arc<[SocketAddr]>,
    /// The name of this proxy in `proxy-status`, if that is sent.
    identity: Option<String>,
    /// `None` if the configuration is only tested.
    outbound: Option<UpstreamIo>,
}

/// Builds the handler of a path.
///
/// # Errors
/// The path is not `/`: CONNECT has no path (RFC 9110 §9.3.6); a message for the user.
pub fn build(rules: &Rules, route: &RouteContext<'_>) -> Result<Box<dyn Handler>, String> {
    if route.path.is_none_or(|path| path.key != PathKey::default()) {
        return Err("proxy.connect is only allowed at the path `/`".to_owned());
    }
    let (settings, proxy) = (route.inherited.get::<Settings>(), route.inherited.get::<proxy::Settings>());
    let identity = route.settings.global.get::<Identity>();
    let worker = route.worker;
    let connect = proxy.timeouts.connect.unwrap_or(proxy.timeouts.io);
    Ok(Box::new(Connect(Rc::new(Ways {
        rules: rules.clone(),
        patience: Patience { delay: settings.attempt_delay, connect, idle: proxy.tunnels.idle },
        resolution_delay: settings.resolution_delay,
        resolver: worker.get::<Pools>().resolver(),
        identity: settings.emit_status.then(|| identity.0.clone()),
        outbound: worker.outbound.clone(),
    }))))
}

impl Handler for Connect {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        if exchange.head.method() != Method::Connect {
            return Outcome::Declined;
        }
        let wrong = |reason: &str| Outcome::Failed {
            response: crate::service::plain(Status::BAD_REQUEST, reason),
            reason: reason.to_owned(),
        };
        let Some(Upgrade { kind: UpgradeKind::Connect, bytes, .. }) = exchange.upgrade.take() else {
            return wrong("a CONNECT that the client has ended");
        };
        let Some((host, Some(port))) = split_authority(exchange.head.authority()) else {
            return wrong("a CONNECT without a port");
        };
        let host = String::from_utf8_lossy(host).into_owned();
        Outcome::from_upstream(Rc::clone(&self.0).answer(host, port, bytes))
    }

    fn connects(&self) -> bool {
        true
    }
}

impl Ways {
    async fn answer(self: Rc<Self>, host: String, port: u16, bytes: RequestBody) -> Outcome {
        match self.connect(&host, port).await {
            Ok((address, tunnel)) => {
                let mut head = ResponseHead::new(Status::OK);
                if let Some(identity) = &self.identity {
                    head.append(b"proxy-status", connected(identity, address).as_bytes());
                }
                Outcome::Ready(Response { head, content: tunnel.join(Box::new(bytes)) })
            }
            Err(failure) => {
                let mut response = crate::service::plain(failure.status(), "");
                if let Some(identity) = &self.identity {
                    response.head.append(b"proxy-status", failure.proxy_status(identity).as_bytes());
                }
                Outcome::Failed { response, reason: failure.reason(&format!("{host}:{port}")) }
            }
        }
    }

    async fn connect(&self, host: &str, port: u16) -> Result<(SocketAddr, Tunnel), Failure> {
        let Some(outbound) = &self.outbound else { return Err(Failure::Denied) };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let candidates = match bare.parse::<IpAddr>() {
            Ok(ip) => Candidates::one(&self.rules, SocketAddr::new(ip, port)),
            Err(_) => {
                let look_up = |family| look_up(host, port, family, &self.resolver);
                Candidates::new(&self.rules, look_up(Family::V6), look_up(Family::V4), self.resolution_delay)
            }
        };
        race::run(outbound, candidates, self.patience).await
    }
}

/// Starts to look up the addresses of a host, on another thread.
fn look_up(host: &str, port: u16, family: Family, resolver: &Arc<[SocketAddr]>) -> Lookup {
    let (host, resolver) = (host.to_owned(), Arc::clone(resolver));
    let lookup = move || names::of_family(&host, port, family, &resolver);
    let lookup = blocking::run(Lane::RequestedNames, lookup);
    Box::pin(async { lookup.await.flatten() })
}
