//! Errors of a configuration: what is wrong, where, and what to do.

/// An error with its place; made by [`Node::error`](super::yaml::Node::error).
#[derive(Debug)]
pub struct ConfigError {
    /// What is wrong, one line.
    pub message: String,
    /// What to do, one line; may be empty.
    pub help: String,
    /// Where.
    pub at: super::yaml::Place,
}
