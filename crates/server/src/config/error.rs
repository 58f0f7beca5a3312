//! Errors of a configuration: what is wrong, where, and what to do.

use super::yaml::Place;

/// An error with its place; made by [`Node::error`](super::yaml::Node::error).
#[derive(Debug)]
pub struct ConfigError {
    /// What is wrong, one line.
    pub message: String,
    /// What to do, one line; may be empty.
    pub help: String,
    /// Where.
    pub at: Place,
}

impl ConfigError {
    /// An error at `at`.
    pub fn new(at: Place, message: impl Into<String>) -> Self {
        Self { message: message.into(), help: String::new(), at }
    }

    /// The same error with an advice.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = text.into();
        self
    }
}
