//! From the text of a configuration file to plain settings.
//!
//! ```text
//! text ─ yaml ─▶ nodes with places ─ load, by the rows of registry ─▶ settings ─ effective ─▶ text
//!                                     │                     └ manual ─▶ docs/directives.md
//!                                     └ error ─ render ─▶ what is wrong, where, and what to do
//! ```
//!
//! `directive` is the contract of a directive, `registry` the list of all of them: the only place that
//! names every module. `not_yet` and `foreign` know names that mean something elsewhere; `deviation` says
//! where and why our defaults are not h2o's.

pub mod attribute;
mod deviation;
pub mod directive;
pub mod effective;
pub mod error;
mod foreign;
pub mod load;
pub mod location;
pub mod manual;
pub mod nearest;
mod not_yet;
pub mod path_key;
pub mod registry;
mod render;
pub mod settings;
pub mod source;
pub mod yaml;

pub use load::{Loaded, load_file, load_text};

/// The version as messages name it.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
