//! Reads and checks the files named by an `ssl` mapping.

use super::{FileName, Files, Ocsp, Settings};
use crate::config::error::ConfigError;
use hayami_tls::ocsp::{self, Source};
use hayami_tls::{Authorities, Error, Identity};
use std::time::SystemTime;

impl Settings {
    /// Reads certificates, keys, authorities and OCSP responses, and checks that they match.
    ///
    /// # Errors
    /// The first file that cannot be used: which, why, and a remedy.
    pub fn load(&self) -> Result<hayami_tls::Settings, ConfigError> {
        Ok(hayami_tls::Settings {
            identities: self.identities.iter().map(Files::load).collect::<Result<_, _>>()?,
            min_version: self.min_version,
            max_version: self.max_version,
            suites_tls12: self.suites_tls12.as_deref().map(|list| hayami_tls::suites_tls12(list).chosen),
            suites_tls13: (self.suites_tls13.as_ref())
                .map(|names| hayami_tls::suites_tls13(names.iter().map(String::as_str)).chosen),
            server_preference: self.server_preference,
            groups: (self.groups.as_ref())
                .map(|names| hayami_tls::groups(names.iter().map(String::as_str)).chosen),
            client_ca: self.client_ca.as_ref().map(client_ca).transpose()?,
            early_data: self.early_data,
            alpn_h2: true,
        })
    }
}

impl Files {
    /// Reads certificate and key, and checks that they match.
    pub(crate) fn load(&self) -> Result<Identity, ConfigError> {
        let identity = Identity::read(&self.certificate.path, &self.key.path, now()).map_err(|error| {
            // Errors about the key begin with its name.
            let text = error.to_string();
            let of_key =
                text.strip_prefix(&self.key.to_string()).is_some_and(|rest| rest.starts_with([':', ' ']));
            at(
                if of_key && self.key.path != self.certificate.path { &self.key } else { &self.certificate },
                &error,
            )
        })?;
        self.ocsp.as_ref().map(check_ocsp_response).transpose()?;
        Ok(identity)
    }
}

fn client_ca(file: &FileName) -> Result<Authorities, ConfigError> {
    Authorities::read(&file.path).map_err(|error| at(file, &error))
}

fn at(file: &FileName, error: &Error) -> ConfigError {
    let text = error.to_string();
    match text.split_once("; ") {
        Some((fault, remedy)) => ConfigError::new(file.at, fault).help(remedy),
        None => ConfigError::new(file.at, text),
    }
}

/// Larger files are not OCSP responses, which have about 2 KB.
const LARGEST_RESPONSE: usize = 65_536;

/// A basic check of the file; the updater validates its content, every time.
fn check_ocsp_response(file: &FileName) -> Result<(), ConfigError> {
    let failed = |why: &str| ConfigError::new(file.at, format!("cannot use the OCSP response {file}: {why}"));
    let bytes = std::fs::read(&file.path).map_err(|error| failed(&error.to_string()))?;
    // OCSPResponse is a SEQUENCE (RFC 6960 §4.2.1), in DER 0x30.
    if bytes.first() != Some(&0x30) || bytes.len() > LARGEST_RESPONSE {
        return Err(failed("it is not a DER-encoded OCSP response")
            .help("create one with `openssl ocsp … -respout FILE`"));
    }
    Ok(())
}

impl Ocsp {
    /// Settings for fetching the OCSP response of one certificate.
    pub(in crate::modules::listen) fn settings(&self, files: &Files) -> ocsp::Settings {
        let source = match (&files.ocsp, &self.command) {
            (Some(file), _) => Source::File(file.path.clone()),
            (None, Some(command)) => Source::Command(command.into()),
            (None, None) => Source::Responder,
        };
        let interval = self.interval.map_or(0, |interval| interval.as_secs().clamp(1, u32::MAX.into()));
        ocsp::Settings { interval: interval as u32, max_failures: self.max_failures, source }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
