//! `fastcgi.*`: forwards requests to applications over FastCGI, PHP above all.
//!
//! ```text
//! handler ─ search, params ─▶ upstreams ─ choice, retries ─▶ hayami_client ─▶ attempt, response
//!    │         spool: content whose length is not known yet
//! stderr_log: what applications write to their standard error
//! ```
//!
//! This module decides what applications get of a request, and what their responses mean. Their addresses and the
//! choice among them are up to `upstreams`, records to `hayami_client`; processes of `fastcgi.spawn` are started by
//! the program, see [`Spawn`].

mod attempt;
mod directives;
mod handler;
mod params;
mod place;
mod response;
mod search;
mod spawn;
mod spool;
mod stderr_log;

pub use directives::DIRECTIVES;
pub use handler::build;
pub use spawn::{Spawn, is_used, not_running, spawned, take_over};

use crate::config::directive::group;
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings::HandlerSetting;
use crate::feature::Feature;
use hayami_client::{BUFFER, Origin, Protocol, Timeouts};
use hayami_net::dial::Peer;
use std::path::PathBuf;
use std::time::Duration;

/// This feature.
pub const FEATURE: Feature = Feature {
    handler: Some(|settings, route| Some(Ok(build(settings.get()?, route)))),
    ..Feature::new(&[group("FastCGI", DIRECTIVES)])
};

/// Idle connections kept for reuse, where `fastcgi.timeout.keepalive` allows any.
const IDLE: usize = 1024;

/// `fastcgi.connect`, `fastcgi.spawn`: the application that handles requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application {
    /// The index of its upstream group.
    pub group: usize,
}

impl HandlerSetting for Application {
    fn upstream_group(&self) -> Option<usize> {
        Some(self.group)
    }
}

/// FastCGI settings at one level of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `fastcgi.document_root`
    pub document_root: Option<PathBuf>,
    /// `fastcgi.timeout.io`
    pub io: Duration,
    /// `fastcgi.timeout.keepalive`; zero: every request opens its own connection.
    pub keep_alive: Duration,
    /// `fastcgi.send-delegated-uri`
    pub send_delegated_uri: bool,
    /// `underscores-in-headers`
    pub underscores: bool,
}

impl FeatureSetting for Settings {}

impl Default for Settings {
    fn default() -> Self {
        Self {
            document_root: None,
            io: Duration::from_secs(30),
            // A PHP-FPM process serves one connection at a time and blocks on an idle one: with as many kept
            // connections as processes, all other clients are locked out.
            keep_alive: Duration::ZERO,
            send_delegated_uri: false,
            underscores: false,
        }
    }
}

impl Settings {
    /// Only the settings that affect connections: paths that agree on them share connections.
    fn of_connections(&self) -> Self {
        Self { io: self.io, keep_alive: self.keep_alive, ..Self::default() }
    }

    /// The origin of an application with these addresses.
    pub(super) fn origin(&self, peers: Vec<Peer>) -> Origin {
        let Self { io, keep_alive, .. } = *self;
        let mut origin = Origin {
            peers,
            protocol: Protocol::FastCgi,
            tls: None,
            limits: Default::default(),
            timeouts: Timeouts { connect: io, first_byte: io, io, keep_alive },
            streams: 1,
            buffer: BUFFER,
            idle: if keep_alive.is_zero() { 0 } else { IDLE },
        };
        // No limit: the content is forwarded, not stored.
        origin.limits.content = u64::MAX;
        origin
    }
}
