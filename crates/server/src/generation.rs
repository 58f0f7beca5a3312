//! A generation: everything that a configuration means, built once and shared by all workers.
//!
//! What belongs to one worker (caches, pools of connections, buffers of logs, the routes that its requests have met) hangs
//! beside it, in the service that [`Generation::service`] makes.

use crate::config::settings::Settings;
use crate::modules::access_log::Logs;
use crate::router::{Map, Router};
use crate::service::Site;
use crate::worker::WorkerContext;
use hayami_net::service::Service;
use std::sync::Arc;

/// A configuration, ready to be served.
pub struct Generation {
    settings: Arc<Settings>,
    logs: Arc<Logs>,
    map: Arc<Map>,
}

impl Generation {
    /// The generation of these settings. Its access logs are not open yet.
    ///
    /// # Errors
    /// One line for the user: what cannot be built, where it stands and why.
    pub fn new(settings: Arc<Settings>) -> Result<Self, String> {
        let map = Arc::new(Map::new(&settings)?);
        Ok(Self { settings, logs: Arc::default(), map })
    }

    /// What it was built from.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Its access logs.
    pub fn logs(&self) -> &Arc<Logs> {
        &self.logs
    }

    /// Opens the access logs. To be called before the program gives up its rights, and before there are services.
    ///
    /// # Errors
    /// One line for the user: what cannot be opened and why.
    pub fn open_logs(&mut self) -> Result<(), String> {
        self.logs = Arc::new(Logs::open_all(&self.settings)?);
        Ok(())
    }

    pub(crate) fn map(&self) -> &Arc<Map> {
        &self.map
    }

    /// Builds every route once, one after the other, and keeps none: a route of a checked generation can be built.
    ///
    /// # Errors
    /// One line for the user: what cannot be built, where it stands and why.
    pub fn check(&self, worker: WorkerContext) -> Result<(), String> {
        Router::new(self, worker).check()
    }

    /// The service of one worker. To be called on the worker's thread, within its runtime: the access log's timer is
    /// started there.
    pub fn service(&self, worker: WorkerContext) -> impl Service + use<> {
        Site::new(self, worker)
    }
}
