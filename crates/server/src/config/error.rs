//! An error of a configuration: what is wrong, where, and what to do.

use super::position::Position;

/// An error or a warning with its place; made by [`Node::error`](super::yaml::Node::error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// What is wrong, one line.
    pub message: String,
    /// What to do, one line; may be empty.
    pub help: String,
    /// Where.
    pub at: Position,
    /// Another place that has to do with it, and what stands there.
    pub also: Option<(Position, &'static str)>,
}

impl ConfigError {
    /// An error at `at`.
    pub fn new(at: Position, message: impl Into<String>) -> Self {
        Self { message: message.into(), help: String::new(), at, also: None }
    }

    /// An error that stands nowhere in a file.
    pub fn nowhere(message: impl Into<String>) -> Self {
        Self::new(Position::NOWHERE, message)
    }

    /// The same error with an advice.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = text.into();
        self
    }

    /// What is wrong and what to do, on one line.
    pub fn line(&self) -> String {
        match self.help.as_str() {
            "" => self.message.clone(),
            help => format!("{}; {help}", self.message),
        }
    }

    /// The same error with another place to look at.
    pub fn also(mut self, place: Position, what: &'static str) -> Self {
        self.also = Some((place, what));
        self
    }
}
