//! YAML 1.1 as read by h2o: nodes with positions.
//!
//! `parse` turns the text of one file into a raw tree, which still has tags, anchors and aliases; `resolve` turns that
//! into [`Node`]s: it reads the files of `!file` (with `include`), and replaces `!env`, aliases and `<<` (with
//! `merge`). Everything is limited: size of a file, nesting, and expansion of aliases.
//!
//! [`node`] has the tree and the methods with which a directive reads its argument.

mod glob;
mod include;
mod merge;
mod node;
mod parse;
mod quantity;
mod resolve;

pub use node::{Node, Value};

pub use super::position::Position;
pub use quantity::time;

use super::error::ConfigError;
use super::source::Sources;
use include::Reader;

/// Reads a file with everything it includes.
pub fn read_file(path: &str, sources: &mut Sources) -> Result<Node, ConfigError> {
    Reader::new(sources).main_file(path)
}

/// Reads a text with everything it includes; `name` is its name in messages.
pub fn read_text(name: &str, text: &str, sources: &mut Sources) -> Result<Node, ConfigError> {
    Reader::new(sources).main_text(name, text.as_bytes().to_vec())
}
