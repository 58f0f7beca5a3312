//! A certificate chain with its key, as read from files.

use crate::{Error, Staple};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Who a server says it is: chain, key, and the staple for the first certificate.
#[derive(Debug)]
pub struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    staple: Arc<Staple>,
    certificate_file: PathBuf,
}

impl Identity {
    /// Reads both files (PEM), and checks that the key is the certificate's and that the certificate is of
    /// today. `now` in seconds since 1970.
    pub fn read(_certificate_file: &Path, _key_file: &Path, _now: u64) -> Result<Self, Error> {
        Err(Error(String::new()))
    }

    /// The certificates (DER): ours, then those of its issuers.
    pub fn chain(&self) -> impl Iterator<Item = &[u8]> {
        self.chain.iter().map(AsRef::as_ref)
    }

    /// Where the OCSP response for the first certificate goes.
    pub fn staple(&self) -> &Arc<Staple> {
        &self.staple
    }

    /// The file of the chain, for messages.
    pub fn certificate_file(&self) -> &Path {
        &self.certificate_file
    }
}
