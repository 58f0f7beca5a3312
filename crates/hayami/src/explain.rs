//! Failures of the start, with their place in the configuration.

use crate::args::Args;
use crate::exit::Failure;
use crate::user::Problem;
use hayami_server::config::error::ConfigError;
use hayami_server::config::load::Loaded;
use hayami_server::config::yaml::Position;
use std::path::Path;

/// Finds values in the configuration.
pub(crate) struct Explain<'a> {
    loaded: &'a Loaded,
    /// Where warnings go.
    warn: &'a (dyn Fn(&str) + Sync),
    /// A directory from the command line is served: the user has not written its configuration.
    is_folder: bool,
    /// With colours for a terminal.
    styled: bool,
}

impl<'a> Explain<'a> {
    pub(crate) fn new(
        args: &Args,
        loaded: &'a Loaded,
        styled: bool,
        warn: &'a (dyn Fn(&str) + Sync),
    ) -> Self {
        Self { loaded, warn, is_folder: args.conf.is_none(), styled }
    }

    /// Whether a directory from the command line is served, without a configuration file.
    pub(crate) fn is_folder(&self) -> bool {
        self.is_folder
    }

    /// An error where a directive has this text in its argument.
    pub(crate) fn at(&self, directive: &str, text: &str, message: impl Into<String>) -> ConfigError {
        let at = self.loaded.place_of(directive, text).unwrap_or(Position::NOWHERE);
        ConfigError::new(at, message)
    }

    /// The same where it has this path.
    pub(crate) fn at_path(&self, directive: &str, path: &Path, message: impl Into<String>) -> ConfigError {
        self.at(directive, &path.to_string_lossy(), message)
    }

    /// A user or group in a directive is not available.
    pub(crate) fn user(&self, directive: &str, problem: Problem) -> Failure {
        problem.failure(|name, error| {
            let at = self.loaded.place_of(directive, name).unwrap_or(Position::NOWHERE);
            self.failure(CONFIG, ConfigError { at, ..error })
        })
    }

    /// Warns, with the place in the configuration.
    pub(crate) fn warn(&self, warnings: &[ConfigError]) {
        if !self.is_folder {
            (self.warn)(&self.loaded.later_warnings_text(warnings, self.styled));
            return;
        }
        for warning in warnings {
            self.warn_of(&warning.line());
        }
    }

    /// Warns without a place in the configuration.
    pub(crate) fn warn_of(&self, warning: &str) {
        (self.warn)(&format!("hayami: warning: {warning}\n"));
    }

    /// An exit code with one reason.
    pub(crate) fn failure(&self, code: u8, error: ConfigError) -> Failure {
        self.failures(code, &[error])
    }

    /// An exit code with its reasons.
    pub(crate) fn failures(&self, code: u8, errors: &[ConfigError]) -> Failure {
        if !self.is_folder {
            let text = self.loaded.errors_text(errors, self.styled);
            return Failure::Rendered { code, text };
        }
        let lines: Vec<_> = errors.iter().map(|error| format!("hayami: {}", error.line())).collect();
        Failure::Rendered { code, text: lines.join("\n") }
    }
}

/// Exit codes (sysexits.h).
pub(crate) const SYSTEM: u8 = 71;
pub(crate) const CANNOT_CREATE: u8 = 73;
pub(crate) const NO_PERMISSION: u8 = 77;
pub(crate) const CONFIG: u8 = 78;
