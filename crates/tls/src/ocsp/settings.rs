//! The configuration of OCSP stapling (h2o's `ocsp-*`), as plain data.

use std::path::PathBuf;

/// How the staple of one certificate is kept fresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Seconds between two responses: h2o's `ocsp-update-interval`. 0: no stapling (a file is read anyhow).
    pub interval: u32,
    /// The number of consecutive failures after which the staple is withdrawn: h2o's `ocsp-max-failures`. It
    /// is withdrawn earlier if it is no longer valid.
    pub max_failures: u32,
    /// Where responses come from.
    pub source: Source,
}

/// Where responses come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The responder that the certificate names, by HTTP. A certificate without a responder has no staple.
    Responder,
    /// This program, started with the certificate's file as its argument, writes a response (DER) to its
    /// standard output: h2o's `ocsp-update-cmd`.
    Command(PathBuf),
    /// Another program writes a response (DER) to this file: hayami's own attribute `ocsp-file`, nginx's
    /// `ssl_stapling_file`. It is read again when it changes.
    File(PathBuf),
}

impl Default for Settings {
    /// h2o's: every four hours, three failures, from the responder.
    fn default() -> Self {
        Self { interval: 14_400, max_failures: 3, source: Source::Responder }
    }
}
