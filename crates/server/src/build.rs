//! From settings to what answers: called by the program once per worker.

use crate::config::settings::Settings;
use crate::modules::access_log::Logs;
use crate::service::Site;
use crate::worker::WorkerContext;
use hayami_net::service::Service;

/// Builds the service of one worker. To be called on the worker's thread, within its runtime: the access
/// log's timer is started there.
///
/// # Errors
/// One line for the user: what cannot be made, where it stands and why.
pub fn build(
    settings: &Settings,
    logs: &Logs,
    worker: WorkerContext,
) -> Result<impl Service + use<>, String> {
    Site::new(settings, logs, worker)
}
