//! A generation: everything built from a configuration, once, and shared by all workers.
//!
//! What belongs to one worker (caches, connection pools, log buffers, the routes that its requests have used) is in its
//! [`Site`](crate::service::Site). A reload builds the next generation; a request keeps the one it began with, and the
//! last user of a generation frees it.

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

/// A configuration that is ready to be served.
pub struct Generation {
    settings: Arc<Settings>,
    logs: Arc<Logs>,
    map: Map,
    needs: Needs,
    upstreams: Arc<Shared>,
}

/// What the paths of a configuration require of workers. Determined once: with thousands of paths the search would
/// delay requests.
#[derive(Clone, Copy)]
pub(crate) struct Needs {
    /// Applications or upstreams are sent the local address of a client's connection.
    pub(crate) local_address: bool,
    /// Durations are reported to clients of some path.
    pub(crate) timing: bool,
}

impl Generation {
    /// Builds the generation of these settings. Its access logs are not open yet, the state of its upstreams is empty,
    /// and listeners have the indexes of their bindings.
    ///
    /// # Errors
    /// One line for the user: what cannot be built, where and why.
    pub fn new(settings: Arc<Settings>) -> Result<Self, String> {
        let map = Map::new(&settings)?;
        let needs = Needs {
            local_address: fastcgi::is_used(&settings) || proxy::announces(&settings),
            timing: server_timing::is_used(&settings),
        };
        Ok(Self { settings, logs: Arc::default(), map, needs, upstreams: Arc::default() })
    }

    /// The settings it was built from.
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

    /// Opens the access logs. To be called before the program drops its privileges, and before services are created.
    ///
    /// # Errors
    /// One line for the user: what cannot be opened and why.
    pub fn open_logs(&mut self) -> Result<(), String> {
        self.logs = Arc::new(Logs::open_all(&self.settings, None)?);
        Ok(())
    }

    /// Creates the state of its upstreams; `uploads` limits the request content that waits for them. To be called after
    /// applications have been started, and before services are created.
    pub fn open_upstreams(&mut self, uploads: Uploads) {
        self.upstreams = Arc::new(Shared::new(self.settings.global.get::<upstreams::Settings>(), uploads));
    }

    /// Opens the access logs, and takes over what is unchanged from the generation `before`: the commands of logs, the
    /// upstream groups with their state, and the accounts of limits.
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

    /// Assigns listeners to bindings: the numbers of listeners are constant for the life of the process, those of
    /// bindings are indexes in a configuration. To be called before services are created.
    pub fn assign_listeners(&mut self, listeners: impl Iterator<Item = (usize, usize)>) {
        self.map.assign_listeners(listeners);
    }
}
