//! `proxy.connect`: tunnels to other servers for clients that send CONNECT (RFC 9110 §9.3.6), over HTTP/1.1 and
//! HTTP/2.
//!
//! ```text
//! handler ─ candidates: lookups (off the loop), rules ─ race ─▶ hayami_client::dial ─ tunnel
//! ```
//!
//! Rules are applied to each address of a name, and exactly the allowed addresses are connected to: the name is not
//! resolved again in between.

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

/// Settings of CONNECT at one level of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `proxy.happy-eyeballs.connection-attempt-delay`: the head start of one address before the next is tried in
    /// parallel (RFC 8305 §5).
    pub attempt_delay: Duration,
    /// `proxy.happy-eyeballs.name-resolution-delay`: how long IPv4 addresses wait for IPv6 ones (RFC 8305 §3).
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

/// `proxy.proxy-status.identity`: the name of this proxy in `proxy-status` (RFC 9209 §2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(pub String);

impl FeatureSetting for Identity {}

impl Default for Identity {
    fn default() -> Self {
        Self("hayami".to_owned())
    }
}
