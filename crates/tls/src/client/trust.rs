//! Whom a client believes.

use crate::{Authorities, Error};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error as TlsError, SignatureScheme};
use std::sync::Arc;

/// Whose certificates are believed.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those of the authorities this machine trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` count), and of these.
    Machine(Option<Authorities>),
    /// Those of these authorities and of no others.
    Only(Authorities),
    /// Anyone's: nothing is verified, so anyone on the way can read along and pretend.
    Anyone,
}

impl Trust {
    pub(super) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let roots = match self {
            Self::Machine(more) => Arc::new(machine(more.as_ref())?),
            Self::Only(authorities) => authorities.roots.clone(),
            Self::Anyone => {
                let schemes = provider.signature_verification_algorithms.supported_schemes();
                return Ok(Arc::new(NotVerified(schemes)));
            }
        };
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
        Ok(verifier.map_err(|error| Error(format!("no server could be trusted: {error}")))?)
    }
}

/// The roots of this machine and `more`. One that can't be read is left out: another may be the right one.
fn machine(more: Option<&Authorities>) -> Result<RootCertStore, Error> {
    let mut roots = more.map_or_else(RootCertStore::empty, |more| RootCertStore::clone(&more.roots));
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(Error(format!(
            "this machine has no list of trusted authorities{why}; install the package ca-certificates, name a file of authorities, or go without verification"
        )));
    }
    Ok(roots)
}

/// Believes everyone. Signatures aren't looked at either: they would prove possession of a key that nobody
/// vouches for, and with that certificates work that can't even be parsed (version 1, as old devices have them).
#[derive(Debug)]
struct NotVerified(Vec<SignatureScheme>);

impl ServerCertVerifier for NotVerified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}
