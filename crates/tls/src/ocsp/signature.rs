//! Verifies that the issuer authorized a response (RFC 6960 §4.2.2.2).

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use std::time::Duration;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

/// `id-kp-OCSPSigning`: the purpose of certificates that sign responses for their issuer.
const OCSP_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 9];

/// Whether `signature` on `signed` is the issuer's, or that of one of `certificates` to which the issuer has
/// delegated signing. `algorithm` is the content of the AlgorithmIdentifier.
pub(super) fn is_signed(
    signed: &[u8],
    algorithm: &[u8],
    signature: &[u8],
    issuer: &[u8],
    certificates: &[&[u8]],
    now: u64,
) -> bool {
    let known = default_provider().signature_verification_algorithms.all;
    // One algorithm has several entries: for each kind of key it may be used with.
    let fitting: Vec<_> = known.iter().filter(|a| a.signature_alg_id().as_ref() == algorithm).collect();
    let has_signed = |der: &[u8]| {
        let der = CertificateDer::from(der);
        let certificate = EndEntityCert::try_from(&der);
        certificate.is_ok_and(|c| fitting.iter().any(|a| c.verify_signature(**a, signed, signature).is_ok()))
    };
    let mut delegates = certificates.iter().filter(|der| is_delegate(der, issuer, known, now));
    has_signed(issuer) || delegates.any(|der| has_signed(der))
}

/// Whether the issuer has made this certificate for signing responses, and it is valid.
fn is_delegate(der: &[u8], issuer: &[u8], known: &[&dyn SignatureVerificationAlgorithm], now: u64) -> bool {
    let (der, issuer) = (CertificateDer::from(der), CertificateDer::from(issuer));
    let (Ok(certificate), Ok(anchor)) = (EndEntityCert::try_from(&der), anchor_from_trusted_cert(&issuer))
    else {
        return false;
    };
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
    let usage = KeyUsage::required(OCSP_SIGNING);
    certificate.verify_for_usage(known, &[anchor], &[], now, usage, None, None).is_ok()
}
