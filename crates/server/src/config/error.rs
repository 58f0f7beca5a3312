//! A configuration error: the fault, its position, and a remedy.

use super::position::Position;

/// An error or a warning with its position; created by [`Node::error`](super::yaml::Node::error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// What is wrong, one line.
    pub message: String,
    /// What to do, one line; may be empty.
    pub help: String,
    /// The position.
    pub at: Position,
    /// A related position, and what is there.
    pub also: Option<(Position, &'static str)>,
}

impl ConfigError {
    /// An error at `at`.
    pub fn new(at: Position, message: impl Into<String>) -> Self {
        Self { message: message.into(), help: String::new(), at, also: None }
    }

    /// An error without a position.
    pub fn nowhere(message: impl Into<String>) -> Self {
        Self::new(Position::NOWHERE, message)
    }

    /// Adds a remedy.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = text.into();
        self
    }

    /// The fault and the remedy, on one line.
    pub fn line(&self) -> String {
        match self.help.as_str() {
            "" => self.message.clone(),
            help => format!("{}; {help}", self.message),
        }
    }

    /// Adds a related position.
    pub fn also(mut self, place: Position, what: &'static str) -> Self {
        self.also = Some((place, what));
        self
    }
}
