//! Upstream groups, named or private to a path: members, load balancing and health.
//!
//! ```text
//! dispatch ─ one request: waits in the queue, is sent, is retried
//!     │
//!     pool ─ one worker's view: balance and hash choose among its members
//!     │
//!   shared ─ the process: names, health checks, counts; watch keeps it up to date
//! ```
//!
//! Everything here is independent of the upstream's protocol, which is `transport`'s. What a request contains, and
//! what a failure means to the client, is decided by `proxy` and `fastcgi`.

mod balance;
mod check;
mod check_settings;
mod directives;
mod dispatch;
mod download;
mod first_look;
mod hash;
mod health;
mod member;
mod names;
mod pool;
mod queue;
mod read;
mod reference;
mod settings;
mod shared;
mod transport;
mod uploads;
mod watch;

pub use balance::Policy;
pub use directives::DIRECTIVES;
pub use dispatch::{Answered, Begun, Dispatch, Failed};
pub(in crate::modules) use download::follow;
pub use first_look::look_up_names;
pub use hash::HashKey;
pub(in crate::modules) use health::FailureKind;
pub use member::Member;
pub(in crate::modules) use names::addresses;
pub use pool::{Chosen, Pool, Pools, SelectError};
pub(in crate::modules) use read::located;
pub use reference::Reference;
pub(in crate::modules) use reference::reference;
pub use settings::{Check, Endpoint, Group, Patience, Queueing, Retry, Settings, Upstream};
pub use shared::{Permit, Shared};
pub use transport::Transport;
pub use uploads::{Client, NoRoom, Spool, SpoolShare, Uploads};

use crate::config::directive;
use crate::config::error::ConfigError;
use crate::config::settings as config;
use crate::config::settings::Reading;
use crate::config::yaml::Node;
use crate::feature::Feature;

/// This feature.
pub const FEATURE: Feature =
    Feature { complete: Some(complete), ..Feature::new(&[directive::group("Upstreams", DIRECTIVES)]) };

/// The unix sockets of upstreams, each with the upstream's name in logs. Sockets of applications that the server
/// itself starts are not included.
pub fn unix_sockets(settings: &Settings) -> impl Iterator<Item = (&str, &std::path::Path)> {
    let all = settings.groups.iter().flat_map(|group| &group.upstreams);
    all.filter(|own| !own.down && own.spawn.is_none()).filter_map(|own| match &own.url.place {
        crate::modules::proxy::UrlLocation::Unix(path) => Some((own.url.shown.as_str(), path.as_path())),
        crate::modules::proxy::UrlLocation::Tcp(..) => None,
    })
}

/// Warns about upstream groups that are not used.
fn complete(settings: &mut config::Settings, reading: &mut Reading, _: &Node) {
    let unused = settings.global.get::<Settings>().groups.iter().filter(|group| !group.used);
    let warnings = unused.map(|group| {
        let name = group.name.as_deref().unwrap_or_default();
        let warning = ConfigError::new(group.at, format!("upstream group `{name}` is not used"));
        warning.help(format!("use it in a path: `proxy.reverse.url: http://{name}/`"))
    });
    reading.warnings.extend(warnings);
}
