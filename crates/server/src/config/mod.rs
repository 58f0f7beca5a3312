//! From the text of a configuration file to plain settings.
//!
//! `yaml` reads YAML 1.1 into nodes that know where they stand; `error` says what is wrong and where;
//! `directive` is the contract of a directive; `registry` the list of all of them, the only place that
//! names every module; `settings` the plain result; `load` walks the nodes.

pub mod directive;
pub mod error;
pub mod nearest;
mod render;
pub mod settings;
pub mod source;
pub mod yaml;
