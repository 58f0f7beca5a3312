//! Reads a responder's response, and checks whether it may be stapled (RFC 6960 §3.2, §4.2).
//!
//! Checked: it is a successful basic response; for this certificate (serial number, and the hashes of
//! issuer's name and key); good or revoked, not unknown; valid now (thisUpdate, nextUpdate); signed by the
//! issuer, or by a certificate that the issuer made for signing responses. If the issuer's certificate isn't
//! in the chain, hashes and signature can't be checked; that happens only with files and commands.

use super::request::cert_id;
use super::signature::is_signed;
use super::subject::{Subject, bits};
use crate::certificate::time;
use crate::der::{Der, Element, SEQUENCE};

/// `id-pkix-ocsp-basic` (RFC 6960 §4.2.1).
const BASIC: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1];
/// How far the responder's clock may be ahead, in seconds.
const SKEW: u64 = 300;

/// The relevant content of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checked {
    /// The certificate is revoked. That is stapled too, so that clients know.
    pub(super) is_revoked: bool,
    /// Until when the response is valid, in seconds since 1970, if given.
    pub(super) next_update: Option<u64>,
}

/// Checks the response `der` for the first certificate of `chain`.
///
/// # Errors
/// The reason why the response is rejected.
pub(super) fn check(der: &[u8], chain: &[Vec<u8>], now: u64) -> Result<Checked, &'static str> {
    let certificate = chain.first().and_then(|leaf| Subject::read(leaf)).ok_or("there is no certificate")?;
    let basic = Basic::read(der)?;
    let single = basic.single(&certificate, chain.get(1).map(Vec::as_slice))?;
    if let Some(issuer) = chain.get(1)
        && !is_signed(basic.signed, basic.algorithm, basic.signature, issuer, &basic.certificates, now)
    {
        return Err("the response is not signed by the issuer");
    }
    single.check(now)
}

/// A BasicOCSPResponse (RFC 6960 §4.2.1).
struct Basic<'a> {
    signed: &'a [u8],
    responses: Der<'a>,
    /// The content of the AlgorithmIdentifier.
    algorithm: &'a [u8],
    signature: &'a [u8],
    certificates: Vec<&'a [u8]>,
}

impl<'a> Basic<'a> {
    fn read(der: &'a [u8]) -> Result<Self, &'static str> {
        const BROKEN: &str = "the response is not an OCSP response";
        let mut response = only(Der(der)).ok_or(BROKEN)?;
        match response.expect(0x0a).ok_or(BROKEN)?.content {
            [0] => {}
            [1] => return Err("the responder reports that the request is malformed"),
            [2] => return Err("the responder has an internal error"),
            [3] => return Err("the responder reports that it is busy; try later"),
            [6] => return Err("the responder doesn't know this certificate's issuer"),
            _ => return Err("the responder answers with an error"),
        }
        Self::read_basic(response).ok_or(BROKEN)
    }

    fn read_basic(mut response: Der<'a>) -> Option<Self> {
        let mut bytes = only(response.expect(0xa0)?.inner())?;
        bytes.expect(0x06).filter(|kind| kind.content == BASIC)?;
        let mut basic = only(bytes.expect(0x04)?.inner())?;
        let signed = basic.expect(SEQUENCE)?;
        let algorithm = basic.expect(SEQUENCE)?.content;
        let signature = bits(basic.expect(0x03)?)?;
        let certificates = basic.expect(0xa0).and_then(|field| only(field.inner()));
        let mut certificates = certificates.unwrap_or(Der(b""));
        let certificates = std::iter::from_fn(|| certificates.next()).map(|one| one.whole).collect();
        let responses = responses(signed)?;
        Some(Self { signed: signed.whole, responses, algorithm, signature, certificates })
    }

    /// The single response for this certificate; a response may have several.
    fn single(&self, certificate: &Subject<'_>, issuer: Option<&[u8]>) -> Result<Single<'a>, &'static str> {
        let mut responses = self.responses;
        let mut singles = std::iter::from_fn(|| responses.next()).filter_map(Single::read);
        let found = match issuer {
            Some(issuer) => {
                let issuer = Subject::read(issuer).ok_or("the issuer's certificate can't be read")?;
                let wanted = cert_id(certificate, &issuer);
                singles.find(|single| is_same_id(single.id, &wanted))
            }
            None => singles.find(|single| single.serial() == Some(certificate.serial)),
        };
        found.ok_or("the response is for another certificate")
    }
}

/// The elements of a SEQUENCE with nothing after it.
fn only(mut der: Der<'_>) -> Option<Der<'_>> {
    let sequence = der.expect(SEQUENCE)?;
    der.0.is_empty().then(|| sequence.inner())
}

/// The list of answers in a ResponseData.
fn responses(data: Element<'_>) -> Option<Der<'_>> {
    let mut fields = data.inner();
    let first = fields.next()?;
    if first.tag == 0xa0 {
        fields.next()?; // that was the version, this is the responder's ID
    }
    fields.expect(0x18)?; // producedAt
    Some(fields.expect(SEQUENCE)?.inner())
}

/// Whether two CertIDs are the same, ignoring the parameters after the hash's name: the NULL of SHA-1's
/// parameters is sometimes left out.
fn is_same_id(id: Element<'_>, wanted: &[u8]) -> bool {
    let parts = |id: Element<'_>| {
        let mut fields = id.inner();
        let hash = fields.expect(SEQUENCE)?.inner().expect(0x06)?.content.to_vec();
        let rest = [fields.expect(0x04)?, fields.expect(0x04)?, fields.expect(0x02)?];
        Some((hash, rest.map(|field| field.content.to_vec())))
    };
    let ours = Der(wanted).next().and_then(parts);
    ours.is_some() && parts(id) == ours
}

/// A SingleResponse.
struct Single<'a> {
    id: Element<'a>,
    status: u8,
    this_update: u64,
    next_update: Option<u64>,
}

impl<'a> Single<'a> {
    fn read(element: Element<'a>) -> Option<Self> {
        let mut fields = element.inner();
        let (id, status) = (fields.expect(SEQUENCE)?, fields.next()?.tag);
        let this_update = time(fields.expect(0x18)?)?;
        let next = fields.expect(0xa0);
        let next_update = next.map(|field| field.inner().expect(0x18).and_then(time));
        // An unreadable nextUpdate is not the same as a missing one.
        let next_update = if next_update == Some(None) { return None } else { next_update.flatten() };
        Some(Self { id, status, this_update, next_update })
    }

    fn serial(&self) -> Option<&'a [u8]> {
        let mut fields = self.id.inner();
        std::iter::from_fn(|| fields.next()).last().map(|serial| serial.content)
    }

    fn check(&self, now: u64) -> Result<Checked, &'static str> {
        let is_revoked = match self.status {
            0x80 => false,
            0xa1 => true,
            _ => return Err("the responder doesn't know the certificate"),
        };
        // RFC 6960 §4.2.2.1
        if self.this_update > now + SKEW {
            return Err("the response is not valid yet: check the system clock");
        }
        if self.next_update.is_some_and(|next| next < now) {
            return Err("the response is out of date");
        }
        Ok(Checked { is_revoked, next_update: self.next_update })
    }
}
