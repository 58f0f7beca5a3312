//! `ssl` of a listener: certificates, protocol versions, cipher suites, client certificates.
//!
//! [`Settings`] is the mapping as written; [`Settings::load`] reads the files it names, when a configuration is
//! checked, when the server starts and when it reloads its certificates. `attributes` is the table of keys, `read`
//! reads the mapping, `load` the files.

mod attributes;
mod load;
mod read;
mod reading;
#[cfg(test)]
mod tests;

pub(crate) use attributes::ATTRIBUTES;
pub(super) use read::read;

use crate::config::yaml::Position;
use hayami_tls::Version;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// One `ssl` mapping, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Certificates with their keys, at least one.
    pub identities: Vec<Files>,
    /// `minimum-version`
    pub min_version: Version,
    /// `maximum-version`
    pub max_version: Version,
    /// `cipher-suite`: a list for OpenSSL.
    pub suites_tls12: Option<String>,
    /// `cipher-suite-tls1.3`
    pub suites_tls13: Option<Vec<String>>,
    /// `cipher-preference: server`
    pub server_preference: bool,
    /// `key-exchange-tls1.3`
    pub groups: Option<Vec<String>>,
    /// `client-ca-file`
    pub client_ca: Option<FileName>,
    /// `early-data`, bytes; 0 for none.
    pub early_data: u32,
    /// `ocsp-*`
    pub ocsp: Ocsp,
}

/// The files of an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// `certificate-file`
    pub certificate: FileName,
    /// `key-file`
    pub key: FileName,
    /// `ocsp-file`
    pub ocsp: Option<FileName>,
}

/// The name of a file, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName {
    /// The path; a relative one is resolved from the server's working directory at startup.
    pub path: PathBuf,
    /// Position in the configuration.
    pub at: Position,
}

/// How OCSP responses are kept up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ocsp {
    /// `ocsp-update-interval`; `None`: no response is fetched.
    pub interval: Option<Duration>,
    /// `ocsp-max-failures`: failed fetches in a row after which the last response is no longer sent.
    pub max_failures: u32,
    /// `ocsp-update-cmd`: a command that fetches responses in place of the server.
    pub command: Option<String>,
}

impl Default for Ocsp {
    fn default() -> Self {
        Self { interval: Some(Duration::from_secs(14_400)), max_failures: 3, command: None }
    }
}

impl Settings {
    pub(super) fn new(identities: Vec<Files>) -> Self {
        Self {
            identities,
            min_version: Version::Tls12,
            max_version: Version::Tls13,
            suites_tls12: None,
            suites_tls13: None,
            server_preference: false,
            groups: None,
            client_ca: None,
            early_data: 0,
            ocsp: Ocsp::default(),
        }
    }
}

/// `TLS 1.2`
fn version_name(version: Version) -> &'static str {
    match version {
        Version::Tls12 => "TLS 1.2",
        Version::Tls13 => "TLS 1.3",
    }
}

impl fmt::Display for Settings {
    /// One line for `-t -v`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.min_version == self.max_version {
            true => f.write_str(version_name(self.min_version))?,
            false => write!(f, "{} and 1.3", version_name(self.min_version))?,
        }
        for files in &self.identities {
            write!(f, ", certificate {}, key {}", files.certificate, files.key)?;
        }
        if let Some(client_ca) = &self.client_ca {
            write!(f, ", clients of {client_ca} only")?;
        }
        if self.early_data > 0 {
            write!(f, ", early data")?;
        }
        Ok(())
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}
