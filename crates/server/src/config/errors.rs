//! All errors of a configuration.

use super::error::ConfigError;
use super::source::Sources;
use std::fmt;

/// Why a configuration cannot be used: all errors that were found, never empty.
#[derive(Debug)]
pub struct Errors {
    /// The errors, in the order found.
    pub errors: Vec<ConfigError>,
    /// The texts that they refer to.
    pub sources: Sources,
}

impl Errors {
    /// The text for the user, with colours for a terminal if `styled`; ends in a line break.
    pub fn text(&self, styled: bool) -> String {
        super::render::errors(&self.errors, &self.sources, styled)
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(false).trim_end())
    }
}

impl std::error::Error for Errors {}
