//! The effective configuration as text, for `hayami -t -v`.

use super::settings::Settings;

/// The text.
pub fn text(_settings: &Settings) -> String {
    String::new()
}
