//! Creates the authority and its certificates.
//!
//! The facts about a certificate that are needed later (names, end, authority) are in a line before it, which
//! PEM allows (RFC 7468 §2): so no code here parses certificates.

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P256_SHA256, SanType,
    date_time_ymd,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// The validity of a certificate, in seconds since 1970.
#[derive(Clone, Copy)]
pub(super) struct Validity {
    pub(super) from: u64,
    pub(super) until: u64,
}

/// The authority of this machine.
pub(super) struct Authority {
    key: KeyPair,
    /// The names that it may certify, besides this machine's addresses.
    names: Vec<String>,
    /// When it expires.
    pub(super) until: u64,
    /// The certificate, with a line about it.
    pub(super) pem: String,
}

/// The beginning of the line before a certificate.
const MARK: &str = "hayami --dev-tls: ";

impl Authority {
    /// A new authority for `localhost` and this machine's name.
    pub(super) fn new(validity: Validity, host: &Option<String>) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let names: Vec<_> = std::iter::once("localhost".to_owned()).chain(host.clone()).collect();
        let certificate = authority_params(&key, &names, validity)?.self_signed(&key)?;
        let pem = marked(validity.until, &names.join(" "), &certificate);
        Ok(Self { key, names, until: validity.until, pem })
    }

    /// The authority stored as these two texts.
    pub(super) fn restore(key: &str, pem: &str) -> Option<Self> {
        let (until, names) = mark(pem)?;
        let key = KeyPair::from_pem(key).ok()?;
        let names = names.split(' ').map(str::to_owned).collect();
        pem.contains("BEGIN CERTIFICATE").then(|| Self { key, names, until, pem: pem.to_owned() })
    }

    /// The key as stored.
    pub(super) fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// A certificate for the names of this machine, and its key.
    pub(super) fn issue(&self, validity: Validity) -> Result<String, rcgen::Error> {
        // The authority's certificate was made from the same values, except for its validity.
        let issuer = Issuer::new(authority_params(&self.key, &self.names, validity)?, &self.key);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::new(self.names.clone())?;
        params.subject_alt_names.extend(LOOPBACK.map(SanType::IpAddress));
        params.distinguished_name.push(DnType::CommonName, "localhost");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        within(&mut params, validity);
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(marked(validity.until, &identifier(&self.key), &certificate) + &key.serialize_pem())
    }

    /// Whether `pem` was issued by this authority, and is valid until `until`.
    pub(super) fn has_issued(&self, pem: &str, until: u64) -> bool {
        let whole = pem.contains("BEGIN CERTIFICATE") && pem.contains("PRIVATE KEY");
        whole && mark(pem).is_some_and(|(end, of)| end >= until && of == identifier(&self.key))
    }
}

const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// An authority that may certify only this machine: a stolen key cannot be used against other sites.
fn authority_params(
    key: &KeyPair,
    names: &[String],
    validity: Validity,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, format!("hayami development CA {}", identifier(key)));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let names = names.iter().cloned().map(GeneralSubtree::DnsName);
    let addresses =
        [CidrSubnet::from_v4_prefix([127, 0, 0, 0], 8), CidrSubnet::from_v6_prefix(V6_LOOPBACK, 128)];
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: names.chain(addresses.map(GeneralSubtree::IpAddress)).collect(),
        excluded_subtrees: Vec::new(),
    });
    within(&mut params, validity);
    Ok(params)
}

const V6_LOOPBACK: [u8; 16] = Ipv6Addr::LOCALHOST.octets();

fn within(params: &mut CertificateParams, validity: Validity) {
    params.not_before = date_time_ymd(1970, 1, 1) + Duration::from_secs(validity.from);
    params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(validity.until);
}

/// Distinguishes authorities with the same name: the beginning of the key in hexadecimal.
fn identifier(key: &KeyPair) -> String {
    // The first byte only marks a point (SEC 1 §2.3.3).
    key.public_key_raw().iter().skip(1).take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// A certificate after a line with its end and a note.
fn marked(until: u64, note: &str, certificate: &Certificate) -> String {
    format!("{MARK}{until} {note}\n{}", certificate.pem())
}

/// End and note of such a line.
fn mark(pem: &str) -> Option<(u64, &str)> {
    let (until, note) = pem.lines().next()?.strip_prefix(MARK)?.split_once(' ')?;
    Some((until.parse().ok()?, note))
}
