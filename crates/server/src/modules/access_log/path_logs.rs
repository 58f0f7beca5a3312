//! The logs that a path's requests are written to.

use super::format::Format;
use super::logs::Logs;
use super::specifier::Stage;
use super::{LogSettings, Settings};
use crate::environment::Environment;

/// The logs of a path.
#[derive(Debug, Default)]
pub struct PathLogs {
    pub(super) logs: Vec<PathLog>,
    /// The host's name as written in the configuration.
    pub(super) host: String,
    pub(super) wants_microseconds: bool,
    /// Whether a log contains the handler's response, before the filters.
    pub(super) wants_original: bool,
    pub(super) wants_upstreams: bool,
}

/// One log of a path.
#[derive(Debug)]
pub(super) struct PathLog {
    /// Its index in [`Logs`].
    pub(super) target: usize,
    pub(super) format: Format,
}

impl PathLogs {
    /// The logs configured in `settings`.
    pub fn new(settings: &Settings, logs: &Logs, host: &str, env: &Environment) -> Self {
        let log = |log: &LogSettings| {
            Some(PathLog { target: logs.index(&log.target)?, format: log.format.with_environment(env) })
        };
        let logs: Vec<_> = settings.logs.iter().filter_map(log).collect();
        let wants_microseconds = logs.iter().any(|log| log.format.wants_microseconds());
        let wants_upstreams = logs.iter().any(|log| log.format.wants_upstreams());
        let wants_original = logs.iter().any(|log| log.format.has(Stage::Original));
        Self { logs, host: host.to_owned(), wants_microseconds, wants_original, wants_upstreams }
    }
}
