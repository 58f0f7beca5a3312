//! The settings of one `ssl` block of a configuration.

use crate::choice::Offer;
use crate::identity::read_certificates;
use crate::{Error, Group, Identity, Suite, Version};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use std::path::Path;
use std::sync::Arc;

/// The settings of one `ssl` block: plain data, all files read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The client's signature schemes choose among them.
    pub identities: Vec<Identity>,
    /// The minimum version.
    pub min_version: Version,
    /// The maximum version.
    pub max_version: Version,
    /// TLS 1.2 suites, in order of preference; `None` for the defaults.
    pub suites_tls12: Option<Vec<Suite>>,
    /// TLS 1.3 suites, in order of preference; `None` for the defaults.
    pub suites_tls13: Option<Vec<Suite>>,
    /// The server's order of suites applies, not the client's.
    pub server_preference: bool,
    /// Groups of the key exchange, in order of preference; `None` for the defaults, the post-quantum hybrid
    /// first.
    pub groups: Option<Vec<Group>>,
    /// The authorities of accepted client certificates; `None` if none is required.
    pub client_ca: Option<Authorities>,
    /// Bytes of early data accepted (0-RTT, RFC 8446 §2.3); 0 for none. More than 0 uses the session cache
    /// instead of tickets, since early data may be accepted only once (§8.1).
    pub early_data: u32,
    /// HTTP/2 is offered.
    pub alpn_h2: bool,
}

impl Settings {
    /// The defaults.
    pub fn new(identities: Vec<Identity>) -> Self {
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
            alpn_h2: true,
        }
    }

    pub(crate) fn offer(&self) -> Offer<'_> {
        Offer {
            min_version: self.min_version,
            max_version: self.max_version,
            suites_tls12: self.suites_tls12.as_deref(),
            suites_tls13: self.suites_tls13.as_deref(),
            groups: self.groups.as_deref(),
        }
    }

    /// Whether the two differ at most in their identities, so that they can share a handshake configuration.
    pub(crate) fn shares_handshake_with(&self, other: &Self) -> bool {
        self.min_version == other.min_version
            && self.max_version == other.max_version
            && self.suites_tls12 == other.suites_tls12
            && self.suites_tls13 == other.suites_tls13
            && self.server_preference == other.server_preference
            && self.groups == other.groups
            && self.client_ca == other.client_ca
            && self.early_data == other.early_data
            && self.alpn_h2 == other.alpn_h2
    }
}

/// The authorities whose certificates are trusted: those of clients, or of servers.
#[derive(Clone, Debug)]
pub struct Authorities {
    pub(crate) roots: Arc<RootCertStore>,
    certificates: Arc<[CertificateDer<'static>]>,
}

impl Authorities {
    /// Reads the certificates of a PEM file. Errors name the file and the remedy.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let certificates = read_certificates(file)?;
        let mut roots = RootCertStore::empty();
        for (at, certificate) in certificates.iter().enumerate() {
            roots.add(certificate.clone()).map_err(|error| {
                Error(format!("{}: certificate {} can't be used: {error}", file.display(), at + 1))
            })?;
        }
        Ok(Self { roots: Arc::new(roots), certificates: certificates.into() })
    }

    /// The certificates, to separate the sessions of different authorities.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = &[u8]> {
        self.certificates.iter().map(AsRef::as_ref)
    }
}

impl PartialEq for Authorities {
    fn eq(&self, other: &Self) -> bool {
        self.certificates == other.certificates
    }
}
