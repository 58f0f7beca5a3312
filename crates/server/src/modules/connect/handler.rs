//! One CONNECT: from the target's name to the tunnel.

use super::race::{self, Patience};
use super::rules::Rules;
use super::status::{Failure, connected};
use super::{Identity, Settings};
use crate::handler::{Exchange, Handler, Outcome};
use crate::modules::proxy;
use crate::worker::WorkerContext;
use hayami_http::{Method, Response, ResponseHead, Status, split_authority};
use hayami_net::service::{Incoming, Upgrade, Wish};
use hayami_net::upstream::{Outbound, Tunnel};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::rc::Rc;

/// Connects clients with servers that they name.
struct Connect(Rc<Ways>);

struct Ways {
    rules: Rules,
    patience: Patience,
    /// Who speaks in `proxy-status`, if that is sent.
    identity: Option<String>,
    /// `None` where a configuration is only tried.
    outbound: Option<Outbound>,
}

/// The handler of a path.
pub fn build(
    rules: &Rules,
    settings: &Settings,
    proxy: &proxy::Settings,
    identity: &Identity,
    worker: &WorkerContext,
) -> Box<dyn Handler> {
    let connect = proxy.timeouts.connect.unwrap_or(proxy.timeouts.io);
    Box::new(Connect(Rc::new(Ways {
        rules: rules.clone(),
        patience: Patience { delay: settings.attempt_delay, connect, idle: proxy.tunnels.idle },
        identity: settings.emit_status.then(|| identity.0.clone()),
        outbound: worker.outbound.clone(),
    })))
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
        let Some(Upgrade { wish: Wish::Connect, octets, .. }) = exchange.upgrade.take() else {
            return wrong("a CONNECT that the client has ended");
        };
        let Some((host, Some(port))) = split_authority(exchange.head.authority()) else {
            return wrong("a CONNECT without a port");
        };
        let host = String::from_utf8_lossy(host).into_owned();
        Outcome::Later(Box::pin(Rc::clone(&self.0).answer(host, port, octets)))
    }

    fn costs_others(&self) -> bool {
        true
    }

    fn connects(&self) -> bool {
        true
    }
}

impl Ways {
    async fn answer(self: Rc<Self>, host: String, port: u16, octets: Incoming) -> Outcome {
        match self.connect(&host, port).await {
            Ok((address, tunnel)) => {
                let mut head = ResponseHead::new(Status::OK);
                if let Some(identity) = &self.identity {
                    head.append(b"proxy-status", connected(identity, address).as_bytes());
                }
                Outcome::Ready(Response { head, content: tunnel.join(Box::new(octets)) })
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
        let lookup = tokio::time::timeout(self.patience.connect, resolve(host, port));
        let mut addresses = lookup.await.map_err(|_| Failure::LookupTimeout)?.map_err(Failure::Unknown)?;
        addresses.retain(|address| self.rules.allow(*address));
        let outbound = self.outbound.as_ref().filter(|_| !addresses.is_empty()).ok_or(Failure::Denied)?;
        race::run(outbound, race::in_turns(addresses), self.patience).await.map_err(Failure::Unreachable)
    }
}

/// The addresses of a host; a name is asked for from the system's resolver, on another thread.
async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let name = host.to_owned();
    let lookup = tokio::task::spawn_blocking(move || Ok((name.as_str(), port).to_socket_addrs()?.collect()));
    let addresses: Vec<SocketAddr> = lookup.await.map_err(io::Error::other).flatten()?;
    if addresses.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(addresses) }
}
