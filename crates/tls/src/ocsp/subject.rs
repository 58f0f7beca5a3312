//! The fields of a certificate that OCSP needs: serial number, issuer, responder (RFC 5280).

use crate::der::{Der, Element, SEQUENCE};

/// `id-pe-authorityInfoAccess` (RFC 5280 §4.2.2.1).
const AUTHORITY_INFO_ACCESS: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 1];
/// `id-ad-ocsp`.
const ACCESS_OCSP: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 0x30, 1];

/// Fields of a certificate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    /// The content of the INTEGER.
    pub(super) serial: &'a [u8],
    /// The issuer's name (DER).
    pub(super) issuer: &'a [u8],
    /// Its own name (DER).
    pub(super) name: &'a [u8],
    /// The bytes of its public key, without its algorithm identifier.
    pub(super) key: &'a [u8],
    /// The URL of the OCSP responder.
    pub(super) responder: Option<&'a str>,
}

impl<'a> Subject<'a> {
    /// Finds the fields; `None` if `der` is not a certificate (RFC 5280 §4.1).
    pub(super) fn read(der: &'a [u8]) -> Option<Self> {
        let mut fields = Der(der).expect(SEQUENCE)?.inner().expect(SEQUENCE)?.inner();
        let mut serial = fields.next()?;
        if serial.tag == 0xa0 {
            serial = fields.next()?; // the previous element was the version
        }
        let [_algorithm, issuer, _validity, name, key] = [
            fields.expect(SEQUENCE)?,
            fields.expect(SEQUENCE)?,
            fields.expect(SEQUENCE)?,
            fields.expect(SEQUENCE)?,
            fields.expect(SEQUENCE)?,
        ];
        let mut key = key.inner();
        key.expect(SEQUENCE)?;
        let (issuer, name) = (issuer.whole, name.whole);
        let key = bits(key.expect(0x03)?)?;
        Some(Self { serial: serial.content, issuer, name, key, responder: responder(fields) })
    }
}

/// The bytes of a BIT STRING of whole bytes.
pub(super) fn bits(element: Element<'_>) -> Option<&[u8]> {
    element.content.split_first().filter(|(unused, _)| **unused == 0).map(|(_, bytes)| bytes)
}

/// The first responder URL among the fields after the key.
fn responder(mut fields: Der<'_>) -> Option<&str> {
    let extensions = std::iter::from_fn(|| fields.next()).find(|field| field.tag == 0xa3)?;
    let mut extensions = extensions.inner().expect(SEQUENCE)?.inner();
    let access = std::iter::from_fn(|| extensions.next()).find_map(|extension| {
        let mut parts = extension.inner();
        let is_access = parts.expect(0x06)?.content == AUTHORITY_INFO_ACCESS;
        let value = std::iter::from_fn(|| parts.next()).last()?;
        (is_access && value.tag == 0x04).then(|| value.inner())
    });
    let mut descriptions = access?.expect(SEQUENCE)?.inner();
    std::iter::from_fn(|| descriptions.next()).find_map(|description| {
        let mut parts = description.inner();
        let is_ocsp = parts.expect(0x06)?.content == ACCESS_OCSP;
        let location = parts.expect(0x86)?;
        is_ocsp.then(|| std::str::from_utf8(location.content).ok()).flatten()
    })
}
