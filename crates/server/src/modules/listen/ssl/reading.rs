//! The state while an `ssl` mapping is being read.

use super::{FileName, Files, Settings};
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use hayami_tls::Choice;
use std::path::PathBuf;

/// What has been read so far.
pub(crate) struct Reading {
    pub(super) settings: Settings,
    /// The files named in `ssl` itself.
    pub(super) files: Partly,
    /// Warnings.
    pub(super) warnings: Vec<ConfigError>,
}

/// The files of an identity that is not complete yet.
#[derive(Default)]
pub(super) struct Partly {
    pub(super) certificate: Option<FileName>,
    pub(super) key: Option<FileName>,
    pub(super) ocsp: Option<FileName>,
}

impl Partly {
    /// Both files or none.
    pub(super) fn complete(self, node: &Node) -> Result<Option<Files>, ConfigError> {
        match self {
            Self { certificate: Some(certificate), key: Some(key), ocsp } => {
                Ok(Some(Files { certificate, key, ocsp }))
            }
            Self { certificate: Some(certificate), .. } => {
                let error = ConfigError::new(certificate.at, "`key-file` is missing");
                Err(error.help("add the `key-file` with the private key of this certificate"))
            }
            Self { key: Some(key), .. } => {
                let error = ConfigError::new(key.at, "`certificate-file` is missing");
                Err(error.help("add the `certificate-file` with the certificate of this key"))
            }
            Self { ocsp: Some(_), .. } => {
                Err(node.error("`ocsp-file` requires `certificate-file` and `key-file` in the same mapping"))
            }
            _ => Ok(None),
        }
    }
}

impl Reading {
    /// One entry of `identity`.
    pub(super) fn identity(&mut self, node: &Node) -> Result<(), ConfigError> {
        let wanted = "a mapping with `certificate-file` and `key-file`";
        let mut files = Partly::default();
        for (key, value) in node.mapping().map_err(|_| node.expected(wanted))? {
            match key.text().unwrap_or_default() {
                "certificate-file" => files.certificate = Some(file(value)?),
                "key-file" => files.key = Some(file(value)?),
                "ocsp-file" => files.ocsp = Some(file(value)?),
                _ => return Err(key.expected("`certificate-file`, `key-file` or `ocsp-file`")),
            }
        }
        let files = files.complete(node)?.ok_or_else(|| node.expected(wanted))?;
        self.settings.identities.push(files);
        Ok(())
    }

    /// Warns that an attribute has no effect.
    pub(super) fn without_effect(&mut self, node: &Node, name: &str, why: &str) {
        self.warnings.push(node.error(format!("`{name}` has no effect: {why}")));
    }

    /// Warns of unknown or unsupported names; an error if no name remains.
    pub(super) fn choice<T>(
        &mut self,
        node: &Node,
        choice: &Choice<T>,
        what: &str,
        example: &str,
    ) -> Result<(), ConfigError> {
        if choice.chosen.is_empty() {
            let error = node.error(format!("no supported {what} remains"));
            return Err(
                error.help(format!("add one such as {example}, or remove the line to use the default"))
            );
        }
        if !choice.ignored.is_empty() {
            let names = choice.ignored.join(", ");
            self.warnings.push(node.error(format!("unsupported names ignored: {names}")));
        }
        Ok(())
    }

    /// Checks the range of versions once both ends are set.
    pub(super) fn range(&mut self, node: &Node) -> Result<(), ConfigError> {
        if self.settings.min_version > self.settings.max_version {
            let error = node.error("`minimum-version` is above `maximum-version`");
            return Err(error.help("remove one of them"));
        }
        Ok(())
    }
}

pub(super) fn file(node: &Node) -> Result<FileName, ConfigError> {
    match node.text() {
        Ok(path) if !path.is_empty() => Ok(FileName { path: PathBuf::from(path), at: node.at }),
        _ => Err(node.expected("the name of a file")),
    }
}
