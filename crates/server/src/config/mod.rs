//! From the text of a configuration file to plain settings.
//!
//! ```text
//! text ─ yaml ─▶ nodes with positions ─ load, by the rows of a registry ─▶ settings
//!                                        └ error ─ render ─▶ the fault, its line, and a remedy
//! ```
//!
//! `directive` defines what a directive is, and finds directives by name; the features define the directives, and
//! nothing here depends on them. `not_yet` and `foreign` know names of other servers' directives; `deviation` lists
//! where and why the defaults differ from h2o's.

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

/// The version as shown in messages.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
