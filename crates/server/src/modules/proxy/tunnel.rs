//! Requests to upgrade to another protocol, WebSocket above all, at an upstream (RFC 9110 §7.8).
//!
//! The request to the upstream always uses Upgrade over HTTP/1.1. An HTTP/2 client uses CONNECT with `:protocol`
//! (RFC 8441), which is translated: its CONNECT becomes GET, the upstream's 101 becomes 200.

use super::websocket::Key;
use super::{Settings, failure, response};
use crate::config::directive::{Directive, Levels, Scope};
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use crate::handler::{Exchange, Outcome};
use hayami_client::{Call, Switch, Tunnel};
use hayami_http::{Known, Method, Response, ResponseHead, Status};
use hayami_net::service::{RequestBody, Upgrade, UpgradeKind};
use std::time::Duration;

/// How many milliseconds a tunnel may be idle: h2o's `proxy.websocket.timeout`.
const IDLE: u64 = 300_000;

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "proxy.tunnel",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "ON | OFF",
        default: "ON",
        help: "Whether WebSocket and other protocols that clients request with `upgrade`, or with CONNECT \
               over HTTP/2, are tunneled to upstreams.",
        set: on_off,
    },
    Directive {
        name: "proxy.websocket",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "ON | OFF",
        default: "ON",
        help: "The h2o 2.2 name of `proxy.tunnel`.",
        set: on_off,
    },
    Directive {
        name: "proxy.timeout.tunnel",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "milliseconds",
        default: "300000",
        help: "How long a tunnel may be idle in both directions.",
        set: idle,
    },
    Directive {
        name: "proxy.websocket.timeout",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "milliseconds",
        default: "300000",
        help: "The h2o 2.2 name of `proxy.timeout.tunnel`.",
        set: idle,
    },
];

/// Which tunnels are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnels {
    /// `proxy.tunnel`
    pub on: bool,
    /// `proxy.timeout.tunnel`
    pub idle: Duration,
}

impl Default for Tunnels {
    fn default() -> Self {
        Self { on: true, idle: Duration::from_millis(IDLE) }
    }
}

fn own<'a>(scope: &'a mut Scope<'_>) -> &'a mut Settings {
    scope.inherited.get_mut::<super::Settings>()
}

fn on_off(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    node.on_off().map(|value| own(scope).tunnels.on = value)
}

fn idle(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    own(scope).tunnels.idle = node.milliseconds(1)?;
    Ok(())
}

/// A tunnel that a client requests from an upstream.
#[derive(Debug)]
pub(super) struct TunnelRequest {
    protocols: Vec<u8>,
    bytes: RequestBody,
    idle: Duration,
    /// The key that the upstream must prove to have read, if the client uses HTTP/2.
    key: Option<Key>,
}

/// How to handle a request, which may ask for a tunnel.
pub(super) enum Passed {
    /// As an ordinary request.
    Ordinary,
    /// Forward the request for the tunnel.
    On(Box<TunnelRequest>),
    /// Send this response.
    Answered(Outcome),
}

impl Tunnels {
    /// Takes the client's upgrade request out of the exchange.
    #[inline]
    pub(super) fn pass(self, exchange: &mut Exchange<'_>) -> Passed {
        match exchange.upgrade.take() {
            None if exchange.head.method() != Method::Connect => Passed::Ordinary,
            upgrade => self.consider(upgrade),
        }
    }

    #[cold]
    fn consider(self, upgrade: Option<Upgrade>) -> Passed {
        let no = |status, reason: &str| {
            let response = failure::response(status);
            Passed::Answered(Outcome::Failed { response, reason: reason.to_owned() })
        };
        let Some(Upgrade { kind, protocols, bytes }) = upgrade else {
            return no(Status::BAD_REQUEST, "a CONNECT that the client has ended");
        };
        let websocket = protocols.eq_ignore_ascii_case(b"websocket");
        let key = match kind {
            // RFC 9110 §7.8: a server may ignore Upgrade.
            UpgradeKind::Upgrade if !self.on => return Passed::Ordinary,
            UpgradeKind::Upgrade => None,
            // RFC 9220 §3: 501 says that the protocol is not supported.
            UpgradeKind::ExtendedConnect if self.on && websocket => Some(Key::new()),
            UpgradeKind::ExtendedConnect => {
                return no(Status::NOT_IMPLEMENTED, "this protocol is not tunneled to upstreams");
            }
            UpgradeKind::Connect => {
                return no(Status::METHOD_NOT_ALLOWED, "CONNECT to other servers is not enabled");
            }
        };
        Passed::On(Box::new(TunnelRequest { protocols, bytes, idle: self.idle, key }))
    }
}

impl TunnelRequest {
    /// Turns the call into a request for the tunnel.
    pub(super) fn prepare(&self, call: &mut Call) {
        call.content = None;
        call.upgrade = Some(Switch { protocols: self.protocols.clone(), idle: self.idle });
        let Some(key) = &self.key else { return };
        // RFC 8441 §5: over HTTP/1.1 it is a GET with a key.
        call.method = b"GET".to_vec();
        call.repeatable = true;
        call.fields.remove(b"sec-websocket-accept");
        call.fields.set(b"sec-websocket-key", key.as_slice());
    }

    /// The response to the client once the upstream has switched protocols.
    pub(super) fn granted(
        self,
        mut head: ResponseHead,
        tunnel: Tunnel,
        keep_server: bool,
    ) -> Result<Response, String> {
        let protocol = head.get(Known::Upgrade).unwrap_or_default().to_vec();
        let proof = head.get_named(b"sec-websocket-accept").map(<[u8]>::to_vec);
        response::clean(&mut head, keep_server).map_err(|fault| fault.to_string())?;
        match &self.key {
            None => head.set(b"upgrade", &protocol),
            Some(key) if proof.as_ref() != Some(&key.accept()) => {
                return Err("its sec-websocket-accept does not match the key".to_owned());
            }
            Some(_) => {
                head.remove(b"sec-websocket-accept");
                head.set_status(Status::OK);
            }
        }
        Ok(Response { head, content: tunnel.join(Box::new(self.bytes)) })
    }

    /// Whether a response that does not switch protocols may be forwarded. An HTTP/2 client would take any 2xx for an
    /// open tunnel, and its content for tunneled data.
    pub(super) fn takes(&self, answer: &ResponseHead) -> bool {
        takes(self.key.is_some(), answer)
    }
}

fn takes(over_http2: bool, answer: &ResponseHead) -> bool {
    !over_http2 || !(200..300).contains(&answer.status().code())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};

    #[test]
    fn tunnels_are_on_and_the_old_names_mean_the_same() {
        let tunnels = |lines: &[&str]| set(lines).inherited.get::<crate::modules::proxy::Settings>().tunnels;
        assert_eq!(tunnels(&[]), Tunnels { on: true, idle: Duration::from_secs(300) });
        for names in
            [("proxy.tunnel", "proxy.timeout.tunnel"), ("proxy.websocket", "proxy.websocket.timeout")]
        {
            let lines = [format!("{}: OFF", names.0), format!("{}: 1500", names.1)];
            let want = Tunnels { on: false, idle: Duration::from_millis(1500) };
            assert_eq!(tunnels(&[&lines[0], &lines[1]]), want);
        }
        assert_eq!(error("proxy.timeout.tunnel: 0"), "expected a time from 1 ms to 2147483647 ms, found `0`");
        assert_eq!(error("proxy.tunnel: yes"), "expected ON or OFF, found `yes`; write `ON`");
    }

    #[test]
    fn a_client_of_http_2_gets_no_success_that_is_no_tunnel() {
        let cases = [
            (false, 200, true),
            (false, 404, true),
            (true, 200, false),
            (true, 299, false),
            (true, 404, true),
        ];
        for (over_http2, code, want) in cases {
            let head = ResponseHead::new(Status::new(code).expect("three digits"));
            assert_eq!(takes(over_http2, &head), want, "{code}");
        }
    }
}
