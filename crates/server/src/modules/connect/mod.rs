//! `proxy.connect`: ways to other servers for clients that ask by CONNECT (RFC 9110 §9.3.6), over HTTP/1.1 and
//! HTTP/2.
//!
//! ```text
//! handler ─ candidates: look-ups (off the loop), rules ─ race ─▶ hayami_client::dial ─ tunnel
//! ```
//!
//! Rules are applied to each address of a name, and what they let through is what is connected to: a name cannot
//! change in between.

mod candidates;
mod directives;
mod handler;
mod race;
mod rules;
mod status;

pub use directives::DIRECTIVES;
pub use handler::build;
pub use rules::Rules;

use crate::config::directive::group;
use crate::config::feature_settings::FeatureSetting;
use crate::feature::Feature;
use std::time::Duration;

/// This feature.
pub const FEATURE: Feature = Feature {
    handler: Some(|settings, route| Some(build(settings.get()?, route))),
    ..Feature::new(&[group("CONNECT", DIRECTIVES)])
};

/// What holds for the CONNECT of a place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `proxy.happy-eyeballs.connection-attempt-delay`: how long one address has before the next is tried beside it
    /// (RFC 8305 §5).
    pub attempt_delay: Duration,
    /// `proxy.happy-eyeballs.name-resolution-delay`: how long addresses of IPv4 wait for those of IPv6 (RFC 8305 §3).
    pub resolution_delay: Duration,
    /// `proxy.connect.emit-proxy-status`
    pub emit_status: bool,
}

impl FeatureSetting for Settings {}

impl Default for Settings {
    fn default() -> Self {
        Self {
            attempt_delay: Duration::from_millis(250),
            resolution_delay: Duration::from_millis(50),
            emit_status: false,
        }
    }
}

/// `proxy.proxy-status.identity`: who speaks in a `proxy-status` field (RFC 9209 §2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(pub String);

impl FeatureSetting for Identity {}

impl Default for Identity {
    fn default() -> Self {
        Self("hayami".to_owned())
    }
}
