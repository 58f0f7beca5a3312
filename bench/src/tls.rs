//! TLS of the races: one ECDSA P-256 certificate for all servers, and what our clients offer.
//!
//! Clients offer TLS 1.3 and TLS_AES_128_GCM_SHA256, and where handshakes are measured one key
//! exchange, so that every server does the same work and one that would do another is a fault
//! instead of a figure.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

/// The certificate of all servers, self-signed, for 127.0.0.1.
pub(crate) struct Identity {
    /// The file of the certificate, PEM.
    pub(crate) certificate: PathBuf,
    /// The file of its key, PEM.
    pub(crate) key: PathBuf,
    der: CertificateDer<'static>,
}

/// How keys are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    X25519,
    /// X25519MLKEM768.
    Hybrid,
    /// X25519, or P-256, which is all that nghttpd knows.
    Classic,
}

/// What a client offers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) exchange: Exchange,
    /// The one protocol of ALPN (RFC 7301).
    pub(crate) protocol: &'static [u8],
    /// Tickets are kept and used.
    pub(crate) resume: bool,
}

/// HTTP/2, each connection for itself.
pub(crate) const HTTP2: Offer = Offer { exchange: Exchange::Classic, protocol: b"h2", resume: false };

impl Identity {
    /// Makes key and certificate in `folder`, where servers can read them whichever user they become.
    ///
    /// # Errors
    /// They cannot be made or written.
    pub(crate) fn make(folder: &Path) -> Result<Self, String> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        // rcgen's key is ECDSA P-256 if nothing else is said.
        let made = rcgen::generate_simple_self_signed(names).map_err(|error| error.to_string())?;
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        let written = fs::write(&certificate, made.cert.pem())
            .and_then(|()| fs::write(&key, made.signing_key.serialize_pem()));
        written.map_err(|error| error.to_string())?;
        Ok(Self { certificate, key, der: made.cert.der().clone() })
    }

    /// What a client needs that trusts this certificate alone. Each call has tickets of its own.
    ///
    /// # Errors
    /// rustls does not take the certificate or the suite.
    pub(crate) fn client(&self, offer: Offer) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).map_err(|error| error.to_string())?;
        let builder = ClientConfig::builder_with_provider(Arc::new(provider(offer.exchange)));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]);
        let builder = builder.map_err(|error| error.to_string())?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![offer.protocol.to_vec()];
        config.resumption =
            if offer.resume { Resumption::in_memory_sessions(16) } else { Resumption::disabled() };
        Ok(Arc::new(config))
    }
}

/// The name all clients ask for.
pub(crate) fn name() -> ServerName<'static> {
    ServerName::from(std::net::IpAddr::from([127, 0, 0, 1]))
}

fn provider(exchange: Exchange) -> CryptoProvider {
    let kx_groups = match exchange {
        Exchange::X25519 => vec![aws_lc_rs::kx_group::X25519],
        Exchange::Hybrid => vec![aws_lc_rs::kx_group::X25519MLKEM768],
        Exchange::Classic => vec![aws_lc_rs::kx_group::X25519, aws_lc_rs::kx_group::SECP256R1],
    };
    CryptoProvider {
        cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups,
        ..aws_lc_rs::default_provider()
    }
}
