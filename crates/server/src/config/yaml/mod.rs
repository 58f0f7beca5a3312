//! YAML 1.1 as h2o reads it: nodes that know where they stand.
//!
//! [`node`] holds the tree and the questions a directive asks of its argument.

mod node;

pub use node::{Node, Place, Value};
