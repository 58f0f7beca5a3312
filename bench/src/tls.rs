//! TLS of the races: one ECDSA P-256 certificate for all servers, and what our clients offer.
//!
//! Clients offer TLS 1.3 and TLS_AES_128_GCM_SHA256, and where handshakes are measured one key
//! exchange, so that every server does the same work and one that would do another is a fault
//! instead of a figure.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, NamedGroup, RootCertStore};

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
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) exchange: Exchange,
    /// The one protocol of ALPN (RFC 7301).
    pub(crate) protocol: &'static [u8],
    /// Where tickets are kept; `None`: nothing is resumed.
    pub(crate) tickets: Option<Arc<Tickets>>,
}

/// HTTP/2, each connection for itself.
pub(crate) const HTTP2: Offer = Offer { exchange: Exchange::Classic, protocol: b"h2", tickets: None };

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

    /// What a client needs that trusts this certificate alone.
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
            offer.tickets.map_or_else(Resumption::disabled, |tickets| Resumption::store(tickets));
        Ok(Arc::new(config))
    }
}

/// The tickets of the one server there is, each used once (RFC 8446 Appendix C.4), the newest first.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    kept: Mutex<Vec<Tls13ClientSessionValue>>,
    /// Tickets are taken in only: handshakes are full ones.
    collecting: AtomicBool,
}

impl Tickets {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.kept().len()
    }

    /// From now on tickets are kept and not used, or used.
    pub(crate) fn collect(&self, collecting: bool) {
        self.collecting.store(collecting, Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Tls13ClientSessionValue>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.kept().push(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        if self.collecting.load(Ordering::Relaxed) { None } else { self.kept().pop() }
    }

    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    // TLS 1.3 only is offered.
    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}
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
