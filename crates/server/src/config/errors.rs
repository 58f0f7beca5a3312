//! All that is wrong with a configuration.

use super::error::ConfigError;
use super::source::Sources;
use std::fmt;

/// Why a configuration cannot be used: everything wrong that was found in one go, never empty.
#[derive(Debug)]
pub struct Errors {
    /// What is wrong, in the order found.
    pub errors: Vec<ConfigError>,
    /// The texts in which it stands.
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
