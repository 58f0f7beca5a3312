//! `fastcgi.*`: requests that applications answer over FastCGI, PHP above all.
//!
//! ```text
//! handler ─ search, params ─▶ upstreams ─ whom, how often ─▶ hayami_net::upstream ─▶ attempt, response
//!    │         spool: content whose length is not known yet
//! words: what applications write to their standard error
//! ```
//!
//! Here is what applications are told of a request, and what their answers mean. Where they are and which of them is
//! asked is the affair of `upstreams`, records are `hayami_net`'s; processes of `fastcgi.spawn` are started by the program, see [`Spawn`].

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

/// Connections that may wait for requests, if they may wait at all.
const IDLE: usize = 1024;

/// `fastcgi.connect`, `fastcgi.spawn`: an application that answers.
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

/// What holds for the applications of a place in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `fastcgi.document_root`
    pub document_root: Option<PathBuf>,
    /// `fastcgi.timeout.io`
    pub io: Duration,
    /// `fastcgi.timeout.keepalive`; zero: every request has a connection of its own.
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
            // A process of PHP-FPM serves one connection at a time, and waits on one that is kept: with as many
            // kept connections as processes, nobody else is served.
            keep_alive: Duration::ZERO,
            send_delegated_uri: false,
            underscores: false,
        }
    }
}

impl Settings {
    /// What makes a difference to connections, and nothing else: paths in which it is the same share them.
    fn of_connections(&self) -> Self {
        Self { io: self.io, keep_alive: self.keep_alive, ..Self::default() }
    }

    /// An application at these addresses.
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
        // What it sends is passed on, not kept.
        origin.limits.content = u64::MAX;
        origin
    }
}
