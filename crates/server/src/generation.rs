//! A generation: everything that a configuration means, built once and shared by all workers.
//!
//! What belongs to one worker (caches, pools of connections, buffers of logs, the routes that its requests have met) hangs
//! beside it, in its [`Site`](crate::service::Site). A reload builds the next generation; a request stays with
//! the one that it began with, and the last one that uses a generation frees it.

use crate::config::settings::Settings;
use crate::modules::access_log::Logs;
use crate::modules::fastcgi;
use crate::modules::proxy;
use crate::modules::rate_limit;
use crate::modules::server_timing;
use crate::modules::upstreams;
use crate::modules::upstreams::{Shared, Uploads};
use crate::router::Map;
use std::sync::Arc;

/// A configuration, ready to be served.
pub struct Generation {
    settings: Arc<Settings>,
    logs: Arc<Logs>,
    map: Map,
    needs: Needs,
    upstreams: Arc<Shared>,
}

/// What the paths of a configuration need of their workers. Found once: with thousands of paths the search would delay
/// requests.
#[derive(Clone, Copy)]
pub(crate) struct Needs {
    /// Applications and upstreams are told to which address a client is connected.
    pub(crate) local_address: bool,
    /// Clients of some path are told how long their requests took.
    pub(crate) timing: bool,
}

impl Generation {
    /// The generation of these settings. Its access logs are not open yet, nothing is known of its upstreams, and listeners have
    /// the numbers of their bindings.
    ///
    /// # Errors
    /// One line for the user: what cannot be built, where it stands and why.
    pub fn new(settings: Arc<Settings>) -> Result<Self, String> {
        let map = Map::new(&settings)?;
        let needs = Needs {
            local_address: fastcgi::is_used(&settings) || proxy::announces(&settings),
            timing: server_timing::is_used(&settings),
        };
        Ok(Self { settings, logs: Arc::default(), map, needs, upstreams: Arc::default() })
    }

    /// What it was built from.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Its access logs.
    pub fn logs(&self) -> &Arc<Logs> {
        &self.logs
    }

    pub(crate) fn map(&self) -> &Map {
        &self.map
    }

    pub(crate) fn needs(&self) -> Needs {
        self.needs
    }

    pub(crate) fn upstreams(&self) -> &Arc<Shared> {
        &self.upstreams
    }

    /// Opens the access logs. To be called before the program gives up its rights, and before there are services.
    ///
    /// # Errors
    /// One line for the user: what cannot be opened and why.
    pub fn open_logs(&mut self) -> Result<(), String> {
        self.logs = Arc::new(Logs::open_all(&self.settings, None)?);
        Ok(())
    }

    /// Begins to know its upstreams; `uploads` bounds the content of requests that waits for them. To be called after
    /// applications have been started, and before there are services.
    pub fn open_upstreams(&mut self, uploads: Uploads) {
        self.upstreams = Arc::new(Shared::new(self.settings.global.get::<upstreams::Settings>(), uploads));
    }

    /// Opens the access logs, and takes over what the generation `before` has that stays: the commands of logs, the
    /// upstream groups with what is known of them, and what limits have counted.
    ///
    /// # Errors
    /// As of [`open_logs`](Self::open_logs).
    pub fn follow(&mut self, before: &Self) -> Result<(), String> {
        fastcgi::take_over(&self.settings, &before.settings);
        rate_limit::take_over(&self.settings, &before.settings);
        self.logs = Arc::new(Logs::open_all(&self.settings, Some(&before.logs))?);
        let transport = |generation: &Self, group| {
            let (host, path) = generation.map.first_user(group)?;
            let inherited = &generation.settings.hosts[host].paths[path].inherited;
            Some((inherited.get::<proxy::Settings>().clone(), inherited.get::<fastcgi::Settings>().clone()))
        };
        let same_transport = |new, old| transport(self, new) == transport(before, old);
        let settings = self.settings.global.get::<upstreams::Settings>();
        self.upstreams = Arc::new(Shared::after(settings, &before.upstreams, same_transport));
        Ok(())
    }

    /// Says which listeners belong to which bindings: numbers of listeners hold for the whole life of the process, those of
    /// bindings are indexes in a configuration. To be called before there are services.
    pub fn assign_listeners(&mut self, listeners: impl Iterator<Item = (usize, usize)>) {
        self.map.assign_listeners(listeners);
    }
}
