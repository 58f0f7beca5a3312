//! Chooses the certificate for a handshake by what the client can verify. The server name has already
//! selected the block.

use crate::Identity;
use arc_swap::ArcSwap;
use rustls::SignatureAlgorithm;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::sync::Arc;

/// The identities of a block.
#[derive(Debug, Default)]
pub(crate) struct Certificates(Vec<Certified>);

impl Certificates {
    pub(crate) fn new(identities: &[Identity]) -> Self {
        let mut certified: Vec<_> = identities.iter().map(Certified::new).collect();
        // Where the client can verify several, one that isn't RSA: signing takes a tenth of the time.
        certified.sort_by_key(|certified| certified.is_rsa);
        Self(certified)
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let schemes = hello.signature_schemes();
        let fits = self.0.iter().find(|certified| certified.identity.key.choose_scheme(schemes).is_some());
        // If none fits, rustls detects that again and sends handshake_failure (RFC 8446 §4.4.2.2), which it
        // would not do without any certificate.
        fits.or(self.0.first()).map(Certified::current)
    }

    fn only_raw_public_keys(&self) -> bool {
        self.0.first().is_some_and(|certified| certified.identity.is_raw_public_key())
    }
}

/// An identity in the form that handshakes use, with its staple at that time.
#[derive(Debug)]
struct Certified {
    identity: Identity,
    is_rsa: bool,
    built: ArcSwap<Built>,
}

#[derive(Debug)]
struct Built {
    staple_version: u64,
    key: Arc<CertifiedKey>,
}

impl Certified {
    fn new(identity: &Identity) -> Self {
        Self {
            identity: identity.clone(),
            is_rsa: identity.key.algorithm() == SignatureAlgorithm::RSA,
            built: ArcSwap::from_pointee(Built::new(identity)),
        }
    }

    fn current(&self) -> Arc<CertifiedKey> {
        let built = self.built.load();
        if built.staple_version == self.identity.staple().version() {
            return built.key.clone();
        }
        let built = Built::new(&self.identity);
        let key = built.key.clone();
        self.built.store(Arc::new(built));
        key
    }
}

impl Built {
    fn new(identity: &Identity) -> Self {
        // Read before the staple itself: a staple set in between is used from the next handshake on.
        let staple_version = identity.staple().version();
        let mut key = CertifiedKey::new(identity.chain.clone(), identity.key.clone());
        key.ocsp = identity.staple().current().map(|response| response.to_vec());
        Self { staple_version, key: Arc::new(key) }
    }
}
