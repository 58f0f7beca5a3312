//! Groups of upstreams, by name or a path's own: who belongs to them, whom a request goes to, who is well.
//!
//! ```text
//! asking ─ one request: waits in the queue, asks, asks another one
//!    │
//!   pool ─ one worker's view: balance and hash choose among its members
//!    │
//!  shared ─ the process: names, checks, counts; watch keeps it up to date
//! ```
//!
//! Everything here holds for whatever is spoken to an upstream: `transport` knows what that is. What a request
//! says, and what a failure means to the client, is the affair of `proxy` and `fastcgi`.

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
pub use dispatch::{Answered, Dispatch, Failed};
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

/// The unix sockets of upstreams, each with what logs call the upstream. Those that the program itself listens on
/// are not among them.
pub fn unix_sockets(settings: &Settings) -> impl Iterator<Item = (&str, &std::path::Path)> {
    let all = settings.groups.iter().flat_map(|group| &group.upstreams);
    all.filter(|own| !own.down && own.spawn.is_none()).filter_map(|own| match &own.url.place {
        crate::modules::proxy::UrlLocation::Unix(path) => Some((own.url.shown.as_str(), path.as_path())),
        crate::modules::proxy::UrlLocation::Tcp(..) => None,
    })
}

/// What the user should know: groups that nobody uses.
fn complete(settings: &mut config::Settings, reading: &mut Reading, _: &Node) {
    let unused = settings.global.get::<Settings>().groups.iter().filter(|group| !group.used);
    let warnings = unused.map(|group| {
        let name = group.name.as_deref().unwrap_or_default();
        let warning = ConfigError::new(group.at, format!("upstream group `{name}` is not used"));
        warning.help(format!("use it in a path: `proxy.reverse.url: http://{name}/`"))
    });
    reading.warnings.extend(warnings);
}
