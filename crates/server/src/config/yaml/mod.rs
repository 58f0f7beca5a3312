//! YAML 1.1 as h2o reads it: nodes that know where they stand.
//!
//! `parse` turns the text of one file into a raw tree, which still has tags, anchors and aliases;
//! `resolve` turns that into [`Node`]s: it reads the files behind `!file` (with `include`), puts in what
//! `!env`, aliases and `<<` (with `merge`) stand for. Everything is bounded: size of a file, nesting,
//! and how much aliases may expand to.
//!
//! [`node`] has the tree and the questions a directive asks of its argument.

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

/// Reads a text, which `name` stands for in messages, with everything it includes.
pub fn read_text(name: &str, text: &str, sources: &mut Sources) -> Result<Node, ConfigError> {
    Reader::new(sources).main_text(name, text.as_bytes().to_vec())
}
