//! Validates URLs and paths for a Location field (RFC 9110 §10.2.2).

use super::error::ConfigError;
use super::yaml::Node;

/// Reads a URL or path.
///
/// # Errors
/// It is empty, or contains characters that must be percent-encoded.
pub fn read(node: &Node) -> Result<String, ConfigError> {
    let wanted = || node.expected("a URL, such as `https://example.com/` or `/new/`");
    let url = node.text().map_err(|_| wanted())?;
    if url.is_empty() {
        return Err(wanted());
    }
    check(node, url)?;
    Ok(url.to_owned())
}

/// Checks a part of a URL, written at `node`.
///
/// # Errors
/// It contains a character that must be percent-encoded.
pub fn check(node: &Node, part: &str) -> Result<(), ConfigError> {
    match part.chars().find(|c| !c.is_ascii_graphic() || "\"<>\\^`{|}".contains(*c)) {
        None => Ok(()),
        Some(odd) => {
            let escapes: String = odd.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect();
            let error = node.error(format!("a URL must not contain `{}`", odd.escape_debug()));
            Err(error.help(format!("write `{escapes}`")))
        }
    }
}
