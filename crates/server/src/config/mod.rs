//! From the text of a configuration file to plain settings.
//!
//! ```text
//! text ─ yaml ─▶ nodes with places ─ load, by the rows of a registry ─▶ settings
//!                                     └ error ─ render ─▶ what is wrong, where, and what to do
//! ```
//!
//! `directive` is the contract of a directive, and finds directives by name: which ones there are, features say, of which
//! nothing here knows. `not_yet` and `foreign` know names that mean something elsewhere; `deviation` says
//! where and why our defaults are not h2o's.

pub mod attribute;
pub(crate) mod deviation;
pub mod directive;
pub mod error;
pub mod errors;
pub mod feature_settings;
mod foreign;
pub mod load;
pub mod location;
pub mod nearest;
pub(crate) mod not_yet;
pub mod path_key;
pub mod position;
mod render;
pub mod settings;
pub mod source;
pub mod yaml;

pub use load::Loaded;

/// The version as messages name it.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
