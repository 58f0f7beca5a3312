//! Options of requests to the upstreams of a path: the PROXY protocol in front of them, `expect: 100-continue`, and
//! closing both connections together.

use super::Settings;
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use crate::handler::Exchange;
use hayami_client::CallOptions;
use hayami_http::{Known, Version as HttpVersion};
use hayami_net::proxy_protocol::{self, Version};
use hayami_net::service::Address;
use std::time::Duration;

/// The options as configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyOptions {
    /// `proxy.proxy-protocol`
    pub announce: Option<Version>,
    /// `proxy.expect`
    pub expect: Expect,
    /// `proxy.forward.close-connection`
    pub forward_close: bool,
    /// Whether `proxy.timeout.keepalive` is set and not 0.
    keeps_alive: bool,
}

/// `proxy.expect`: which requests with content wait for the upstream's 100 (RFC 9110 §10.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// None.
    #[default]
    Off,
    /// All.
    On,
    /// Those whose client waits for it.
    Forward,
}

impl ProxyOptions {
    /// Only the options that affect connections.
    pub(super) fn of_connections(self) -> Self {
        Self { announce: self.announce, ..Self::default() }
    }

    /// The PROXY protocol header of connections that carry no client's request: health checks.
    pub(in crate::modules) fn own_announcement(self) -> Option<Vec<u8>> {
        self.announce.map(|version| {
            let mut header = Vec::new();
            proxy_protocol::write(version, &Address::Unix, &Address::Unix, &mut header);
            header
        })
    }

    /// The options of one request.
    pub(super) fn call_options(&self, exchange: &Exchange<'_>, has_content: bool) -> CallOptions {
        let expects_continue = has_content
            && match self.expect {
                Expect::Off => false,
                Expect::On => true,
                Expect::Forward => waits(exchange),
            };
        let proxy_header = self.announce.map(|version| {
            let mut header = Vec::new();
            let local = &exchange.connection.local;
            proxy_protocol::write(version, exchange.client_address(), local, &mut header);
            header
        });
        CallOptions { proxy_header, expects_continue, streaming: None }
    }
}

fn waits(exchange: &Exchange<'_>) -> bool {
    // RFC 9110 §10.1.1: the expectation is ignored in HTTP/1.0 requests.
    let knows = exchange.head.version() != HttpVersion::Http10;
    let expect = exchange.head.get(Known::Expect);
    knows && expect.is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
}

/// Reads `proxy.proxy-protocol`.
pub(super) fn set_announcement(settings: &mut Settings, node: &Node) -> Result<(), ConfigError> {
    let versions = [None, Some(Version::V1), Some(Version::V1), Some(Version::V2)];
    let announce = versions[node.one_of(&["OFF", "ON", "v1", "v2"])?];
    if announce.is_some() && settings.proxy_options.keeps_alive {
        return Err(contradiction(node));
    }
    settings.proxy_options.announce = announce;
    Ok(())
}

/// Records `proxy.timeout.keepalive`.
pub(super) fn set_keep_alive(
    settings: &mut Settings,
    node: &Node,
    keep_alive: Duration,
) -> Result<(), ConfigError> {
    let keeps_alive = !keep_alive.is_zero();
    if keeps_alive && settings.proxy_options.announce.is_some() {
        return Err(contradiction(node));
    }
    (settings.proxy_options.keeps_alive, settings.timeouts.keep_alive) = (keeps_alive, keep_alive);
    Ok(())
}

fn contradiction(node: &Node) -> ConfigError {
    let error = node.error(
        "a connection with a `proxy.proxy-protocol` header belongs to one client and cannot be reused for \
         others",
    );
    error.help("write `proxy.timeout.keepalive: 0`, or remove the line")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{Setting, set};

    #[test]
    fn settings_are_read() {
        let read = |line: &str| set(&[line]).inherited.get::<crate::modules::proxy::Settings>().proxy_options;
        let cases = [
            ("proxy.proxy-protocol: OFF", None),
            ("proxy.proxy-protocol: ON", Some(Version::V1)),
            ("proxy.proxy-protocol: v2", Some(Version::V2)),
        ];
        for (line, want) in cases {
            assert_eq!(read(line).announce, want, "{line}");
        }
        assert_eq!(read("proxy.expect: ON").expect, Expect::On);
        assert_eq!(read("proxy.expect: forward").expect, Expect::Forward);
        assert!(read("proxy.forward.close-connection: ON").forward_close);
    }

    #[test]
    fn an_announced_connection_is_not_kept_whichever_is_written_first() {
        use crate::config::directive::Level;
        let keep = "proxy.timeout.keepalive: 1000";
        let announce = "proxy.proxy-protocol: ON";
        for (first, second) in [(keep, announce), (announce, keep)] {
            let mut setting = Setting::default();
            setting.set(Level::Global, first).unwrap();
            let error = setting.set(Level::Path, second).unwrap_err();
            assert!(error.starts_with("a connection with a `proxy.proxy-protocol` header"), "{error}");
        }
        set(&["proxy.timeout.keepalive: 0", announce]);
        set(&[announce, "proxy.timeout.keepalive: 0"]);
        set(&["proxy.proxy-protocol: OFF", keep]);
    }
}
