//! From a host and a path to what answers there: built from the settings once per worker.
//!
//! [`host`] and [`path`] are the two lookups. Handlers, filters and logs of a path are in its [`Route`];
//! calling them is the service's work.

mod build;
mod guard;
mod host;
mod path;
pub(crate) mod unlike_h2o;

pub use build::build;

use crate::handler::{Filter, Handler};
use crate::modules::access_log::PathLogs;
use crate::modules::env::Environment;
use crate::modules::{error_doc, reproxy, server_timing};
use guard::Guard;
use hayami_http::{FieldSection, split_authority};
use hayami_net::service::{ConnectionInfo, HeadChange};
use host::HostTable;
use path::PathTable;
use std::rc::Rc;

/// All hosts of a configuration.
pub struct Router {
    hosts: Vec<Host>,
    /// By listener: the hosts that answer there.
    listeners: Vec<HostTable>,
    /// Which connections may ask which hosts, where hosts require client certificates.
    guard: Option<Guard>,
    /// Every host by the ports of its listeners, for internal redirects to `http` and to `https`.
    everywhere: [HostTable; 2],
    /// What answers when no host does.
    nowhere: Rc<Route>,
}

/// A host's paths.
struct Host {
    paths: PathTable<Route>,
    /// What answers when no path fits.
    otherwise: Rc<Route>,
    /// What answers when there is no path to look up: `/`, or else the same.
    pathless: Rc<Route>,
}

/// What happens to the requests of one path.
#[derive(Default)]
pub struct Route {
    /// Asked in order until one does not decline.
    pub handlers: Vec<Box<dyn Handler>>,
    /// What handlers' answers may say is to be done instead of sending them.
    pub reproxy: Option<reproxy::Rules>,
    /// Whether clients find nothing here.
    pub internal: bool,
    /// Applied in order to every answer.
    pub filters: Vec<Box<dyn Filter>>,
    /// Whether clients are told how long it took.
    pub server_timing: server_timing::Mode,
    /// Pages in place of the server's own error texts.
    pub error_pages: error_doc::Pages,
    /// What goes out as 103 while an answer is being made.
    pub hints: Option<Rc<FieldSection>>,
    /// What changes the 103 of an upstream.
    pub early: Option<HeadChange>,
    /// What handlers and logs see of the environment.
    pub env: Rc<Environment>,
    /// Where the requests are logged.
    pub logs: Rc<PathLogs>,
    /// Whether errors of the requests go to the error log.
    pub reports_errors: bool,
}

/// Index of a host; `None` if no host answers.
pub type HostIndex = Option<usize>;

impl Router {
    /// The host that serves `authority` on a listener.
    #[inline]
    pub fn host(&self, listener: usize, authority: &[u8]) -> HostIndex {
        self.listeners.get(listener)?.find(authority)
    }

    /// Whether a connection may ask this host: its handshake required the client certificate that the host requires.
    #[inline]
    pub fn admits(&self, host: HostIndex, connection: &ConnectionInfo) -> bool {
        let (Some(guard), Some(host)) = (&self.guard, host) else { return true };
        let name = connection.tls.as_ref().and_then(|tls| tls.server_name.as_deref());
        guard.admits(host, connection.listener, name)
    }

    /// The host named `authority` in a URL of `https` or of `http`, on whatever listener.
    pub fn named_host(&self, https: bool, authority: &[u8]) -> HostIndex {
        self.everywhere[usize::from(https)].named(authority)
    }

    /// What answers at a normalized path of a host, and the length of the path's prefix.
    #[inline]
    pub fn route(&self, host: HostIndex, path: &[u8]) -> (&Rc<Route>, usize) {
        let Some(host) = host.map(|index| &self.hosts[index]) else { return (&self.nowhere, 0) };
        host.paths.find(path).unwrap_or((&host.otherwise, 0))
    }

    /// What answers at a host when there is no path to look up.
    #[inline]
    pub fn pathless(&self, host: HostIndex) -> &Rc<Route> {
        host.map_or(&self.nowhere, |index| &self.hosts[index].pathless)
    }
}

/// A host and a port: of an authority, or of a key of `hosts`.
#[derive(Clone, Copy, Debug)]
struct Name<'a> {
    host: &'a [u8],
    port: Option<u16>,
}

impl<'a> Name<'a> {
    /// The parts of an authority. The dot of the root makes no other name: `example.org.` is `example.org`.
    fn of(authority: &'a [u8]) -> Option<Self> {
        let (host, port) = split_authority(authority)?;
        let host = host.strip_suffix(b".").filter(|name| !name.is_empty()).unwrap_or(host);
        Some(Self { host, port })
    }
}
