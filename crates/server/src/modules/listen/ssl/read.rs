//! Reads the mapping `ssl`.

use super::Settings;
use super::attributes::ATTRIBUTES;
use super::reading::{Partly, Reading};
use crate::config::attribute;
use crate::config::error::ConfigError;
use crate::config::yaml::Node;

/// Reads the mapping `node` that is the value of `key`; also returns warnings.
pub(crate) fn read(key: &Node, node: &Node) -> Result<(Settings, Vec<ConfigError>), ConfigError> {
    let mut reading =
        Reading { settings: Settings::new(Vec::new()), files: Partly::default(), warnings: Vec::new() };
    attribute::read(ATTRIBUTES, "ssl", &mut reading, node)?;
    let files = std::mem::take(&mut reading.files);
    if let Some(files) = files.complete(node)? {
        reading.settings.identities.insert(0, files);
    }
    if reading.settings.identities.is_empty() {
        let error = key.error("`ssl` has no certificate");
        return Err(error.help(
            "add `certificate-file` and `key-file`; automatic certificates are not supported yet. For \
             testing, `hayami --dev-tls` generates one",
        ));
    }
    Ok((reading.settings, reading.warnings))
}
