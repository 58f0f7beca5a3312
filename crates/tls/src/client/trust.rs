//! Which certificates a client trusts.

use crate::certificate::Certificate;
use crate::{Authorities, Error};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme};
use std::sync::Arc;
use std::time::Duration;

/// Which certificates are trusted.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those of this machine's trusted authorities (`SSL_CERT_FILE` and `SSL_CERT_DIR` apply), and of these.
    Machine(Option<Authorities>),
    /// Those of these authorities only; or exactly these certificates, as with self-signed ones.
    Only(Authorities),
    /// Verification is disabled: anyone on the network path can read the traffic and impersonate the server.
    Anyone,
}

impl Trust {
    pub(super) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let (roots, named) = match self {
            Self::Machine(more) => (Arc::new(machine(more.as_ref())?), more.clone()),
            Self::Only(authorities) => (authorities.roots.clone(), Some(authorities.clone())),
            Self::Anyone => {
                let schemes = provider.signature_verification_algorithms.supported_schemes();
                return Ok(Arc::new(NotVerified(schemes)));
            }
        };
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
        let verifier =
            verifier.map_err(|error| Error(format!("server certificates can't be verified: {error}")))?;
        Ok(match named {
            Some(named) => Arc::new(OrNamed { verifier, named }),
            None => verifier,
        })
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
            "this machine has no list of trusted authorities{why}; install the package ca-certificates, configure a file of trusted authorities, or disable verification"
        )));
    }
    Ok(roots)
}

/// Also accepts a server that presents one of the configured certificates. This is how a self-signed
/// certificate is trusted: it may be marked as a CA certificate, which a chain must not end in.
#[derive(Debug)]
struct OrNamed {
    verifier: Arc<WebPkiServerVerifier>,
    named: Authorities,
}

impl ServerCertVerifier for OrNamed {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        staple: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if !self.named.certificates().any(|named| named == certificate.as_ref()) {
            return self.verifier.verify_server_cert(certificate, chain, name, staple, now);
        }
        let dates = Certificate::read(certificate).map(|read| read.validity);
        let (from, until) = dates.ok_or(CertificateError::BadEncoding)?;
        let date = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        if now.as_secs() > until {
            return Err(CertificateError::ExpiredContext { time: now, not_after: date(until) }.into());
        }
        if now.as_secs() < from {
            return Err(CertificateError::NotValidYetContext { time: now, not_before: date(from) }.into());
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// Accepts every certificate. Signatures aren't verified either: they would prove possession of an untrusted
/// key, and without the check even certificates that can't be parsed work (version 1, as on old devices).
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
