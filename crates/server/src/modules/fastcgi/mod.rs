//! `fastcgi.*`: requests that applications answer over FastCGI, PHP above all.
//!
//! ```text
//! handler ─ script, params ─▶ hayami_net::upstream ─▶ response
//!    │         spool: content whose length is not known yet
//! words: what applications write to their standard error
//! ```
//!
//! Here is what applications are told of a request, and what their answers mean. Records are
//! `hayami_net`'s affair; processes of `fastcgi.spawn` are started by the program, see [`Spawn`].

mod directives;
mod handler;
mod params;
mod place;
mod response;
mod script;
mod spawn;
mod spool;
mod words;

pub use directives::DIRECTIVES;
pub use handler::build;
pub use place::Application;
pub use script::Script;
pub use spawn::{Spawn, is_used, spawned};

use std::path::PathBuf;
use std::time::Duration;

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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            document_root: None,
            io: Duration::from_secs(30),
            // A process of PHP-FPM serves one connection at a time, and waits on one that is kept: with as many
            // kept connections as processes, nobody else is served.
            keep_alive: Duration::ZERO,
            send_delegated_uri: false,
        }
    }
}
