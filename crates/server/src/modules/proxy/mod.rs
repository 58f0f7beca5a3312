//! `proxy.*`: the reverse proxy (RFC 9110 §3.7).
//!
//! ```text
//! handler ─ target, request ─▶ upstreams ─ choice, retries ─▶ hayami_client ─▶ attempt, response
//! ```
//!
//! This module decides what upstreams receive, and what their failures mean to a client. Addresses of upstreams and the
//! choice among them are up to `upstreams`; connections, pools and deadlines to `hayami_client`.

mod attempt;
mod directives;
pub(in crate::modules) mod failure;
mod forwarded;
mod handler;
mod hop;
mod http2;
mod location;
mod options;
mod origin;
mod remote;
mod request;
mod response;
mod reverse;
mod route;
mod streaming;
mod target;
mod tls;
mod tunnel;
mod upload;
mod url;
mod websocket;

pub use directives::{DIRECTIVES, TOLERATED};
pub use handler::build;
pub(in crate::modules) use hop::TooManyElements;
pub use http2::{DIRECTIVES as HTTP2, Http2};
pub use options::{Expect, ProxyOptions};
pub(in crate::modules) use origin::origin;
pub use remote::Remote;
pub(in crate::modules) use response::clean;
pub use route::ProxyDefaults;
pub use streaming::{DIRECTIVES as STREAMING, Streaming};
pub use tls::{DIRECTIVES as TLS_DIRECTIVES, Tls};
pub use tunnel::{DIRECTIVES as TUNNELS, Tunnels};
pub(in crate::modules) use upload::{Upload, poll_refused};
pub use url::{Url, UrlLocation};

use self::request::Rewriting;
use super::headers::Command;
use crate::config::directive::group;
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings::{self as config, HandlerSettings};
use crate::feature::Feature;
use crate::modules::upstreams::Reference;
use std::time::Duration;

/// This feature.
pub const FEATURE: Feature = Feature {
    ignored: &[group("Reverse proxy: accepted without effect", TOLERATED)],
    handler: Some(|settings, route| Some(Ok(build(settings.get()?, route)))),
    ..Feature::new(&[
        group("Reverse proxy", DIRECTIVES),
        group("Reverse proxy over TLS", TLS_DIRECTIVES),
        group("HTTP/2 to upstreams", HTTP2),
        group("Streaming calls", STREAMING),
        group("Tunnels", TUNNELS),
    ])
};

/// Whether any path tunnels other protocols than HTTP to upstreams.
pub fn has_tunnels(settings: &config::Settings) -> bool {
    let mut paths = settings.hosts.iter().flat_map(|host| &host.paths);
    paths.any(|path| {
        let proxies = |handler: &HandlerSettings| handler.get::<Reference>().is_some();
        path.inherited.get::<Settings>().tunnels.on && path.handlers.iter().any(proxies)
    })
}

/// Whether any path sends the PROXY protocol to upstreams.
pub fn announces(settings: &config::Settings) -> bool {
    let paths = settings.hosts.iter().flat_map(|host| &host.paths);
    paths.into_iter().any(|path| path.inherited.get::<Settings>().proxy_options.announce.is_some())
}

/// Settings of proxied paths at one level of the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// `proxy.preserve-host`
    pub preserve_host: bool,
    /// `proxy.timeout.*`
    pub timeouts: Timeouts,
    /// `proxy.ssl.*`
    pub tls: Tls,
    /// `proxy.tunnel`
    pub tunnels: Tunnels,
    /// `proxy.timeout.stream`
    pub streaming: Streaming,
    /// `proxy.http2.*`
    pub http2: Http2,
    /// `proxy.proxy-protocol`, `proxy.expect`, `proxy.forward.close-connection`
    pub proxy_options: ProxyOptions,
    /// `proxy.header.*`, in the order written, outer levels first.
    commands: Vec<Command>,
    /// `underscores-in-headers`
    underscores: bool,
    /// `proxy.rewrite-location: OFF`
    keeps_location: bool,
}

impl FeatureSetting for Settings {}

impl Settings {
    /// How the fields of requests are rewritten.
    fn rewriting(&self, forwarding: ForwardingHeaders) -> Rewriting {
        Rewriting { forwarding, commands: self.commands.clone(), underscores: self.underscores }
    }
}

/// Timeouts of upstreams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// `proxy.timeout.io`: between two reads or writes.
    pub io: Duration,
    /// `proxy.timeout.connect`; `None`: the same as `io`.
    pub connect: Option<Duration>,
    /// `proxy.timeout.first_byte`; `None`: the same as `io`.
    pub first_byte: Option<Duration>,
    /// `proxy.timeout.keepalive`: how long an idle connection is kept; zero: not at all.
    pub keep_alive: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            io: Duration::from_secs(30),
            connect: None,
            first_byte: None,
            // Upstreams usually close earlier, which the event loop notices at once.
            keep_alive: Duration::from_secs(60),
        }
    }
}

/// What upstreams learn of the client, and clients of the proxy; applies to all paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardingHeaders {
    /// `proxy.emit-x-forwarded-headers`
    pub x_forwarded: bool,
    /// `proxy.preserve-x-forwarded-proto`
    pub preserve_proto: bool,
    /// `proxy.emit-forwarded-header`
    pub forwarded: bool,
    /// `proxy.emit-via-header`
    pub via: bool,
    /// `proxy.emit-missing-date-header`
    pub date: bool,
}

impl FeatureSetting for ForwardingHeaders {}

impl Default for ForwardingHeaders {
    fn default() -> Self {
        Self { x_forwarded: true, preserve_proto: false, forwarded: false, via: true, date: true }
    }
}
