//! A request to a responder (RFC 6960 §4.1), in the lightweight form of RFC 5019 §2.1: one certificate,
//! SHA-1, no signature, and no nonce, so that responders can answer from a cache.

use super::subject::Subject;
use crate::der::SEQUENCE;
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// The AlgorithmIdentifier of SHA-1.
const SHA1: &[u8] = &[0x30, 9, 6, 5, 0x2b, 0x0e, 3, 2, 0x1a, 5, 0];

/// The CertID of a certificate (RFC 6960 §4.1.1).
pub(super) fn cert_id(subject: &Subject<'_>, issuer: &Subject<'_>) -> Vec<u8> {
    let name = digest(&SHA1_FOR_LEGACY_USE_ONLY, issuer.name);
    let key = digest(&SHA1_FOR_LEGACY_USE_ONLY, issuer.key);
    let parts = [
        SHA1.to_vec(),
        element(0x04, name.as_ref()),
        element(0x04, key.as_ref()),
        element(0x02, subject.serial),
    ];
    element(SEQUENCE, &parts.concat())
}

/// The OCSPRequest for the certificate of `cert_id`.
pub(super) fn request(cert_id: &[u8]) -> Vec<u8> {
    // OCSPRequest { tbsRequest { requestList { Request { reqCert } } } }
    let request = element(SEQUENCE, cert_id);
    let list = element(SEQUENCE, &request);
    element(SEQUENCE, &element(SEQUENCE, &list))
}

/// An element of at most 64 KiB.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match content.len() {
        len @ 0..=0x7f => out.push(len as u8),
        len @ 0x80..=0xff => out.extend([0x81, len as u8]),
        len => out.extend([0x82, (len >> 8) as u8, len as u8]),
    }
    out.extend_from_slice(content);
    out
}
