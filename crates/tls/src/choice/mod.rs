//! Versions, cipher suites and groups by the names that configurations use.
//!
//! A name of something unsupported is ignored and reported, since configurations outlive server versions;
//! whether enough remains is decided when the acceptor is built.

mod offer;
mod suites;

pub(crate) use offer::Offer;
pub use suites::{Suite, suites_tls12, suites_tls13};

use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::kx_group;

/// Parses a list of names, keeping their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<T> {
    /// The supported ones, in order of preference.
    pub chosen: Vec<T>,
    /// The names that are ignored.
    pub ignored: Vec<String>,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

/// The version with this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedVersion {
    /// A supported version.
    Spoken(Version),
    /// SSL, TLS 1.0 or TLS 1.1, which are deprecated (RFC 8996).
    TooOld,
}

impl Version {
    /// `TLSv1.3`
    pub fn name(self) -> &'static str {
        match self {
            Self::Tls12 => "TLSv1.2",
            Self::Tls13 => "TLSv1.3",
        }
    }

    /// The version of a name such as `tlsv1.2`; `None` if it is not a version.
    pub fn named(name: &str) -> Option<NamedVersion> {
        match name.to_ascii_lowercase().as_str() {
            "tlsv1.3" => Some(NamedVersion::Spoken(Self::Tls13)),
            "tlsv1.2" => Some(NamedVersion::Spoken(Self::Tls12)),
            "tlsv1.1" | "tlsv1" | "tlsv1.0" | "sslv3" | "sslv2" => Some(NamedVersion::TooOld),
            _ => None,
        }
    }
}

/// A group of the key exchange.
#[derive(Clone, Copy, Debug)]
pub struct Group(pub(crate) &'static dyn SupportedKxGroup);

impl Group {
    /// All supported groups.
    pub fn all() -> impl Iterator<Item = Self> {
        GROUPS.iter().map(|(_, group)| Self(*group))
    }

    /// Its IANA name: `X25519MLKEM768`.
    pub fn name(self) -> &'static str {
        let known = GROUPS.iter().find(|(_, group)| group.name() == self.0.name());
        known.map_or("unknown", |(names, _)| names[0])
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

/// The groups by their names; the first is the displayed one, the others are in lower case.
const GROUPS: &[(&[&str], &dyn SupportedKxGroup)] = &[
    (&["X25519MLKEM768", "x25519mlkem768"], kx_group::X25519MLKEM768),
    (&["SecP256r1MLKEM768", "secp256r1mlkem768", "p256_mlkem768"], kx_group::SECP256R1MLKEM768),
    (&["x25519"], kx_group::X25519),
    (&["secp256r1", "p-256", "prime256v1"], kx_group::SECP256R1),
    (&["secp384r1", "p-384"], kx_group::SECP384R1),
    (&["MLKEM768", "mlkem768"], kx_group::MLKEM768),
    (&["MLKEM1024", "mlkem1024"], kx_group::MLKEM1024),
];

/// Groups by their IANA, NIST or OpenSSL names: `x25519`, `secp256r1`, `P-256`, `X25519MLKEM768`.
pub fn groups<'a>(names: impl IntoIterator<Item = &'a str>) -> Choice<Group> {
    let mut choice = Choice { chosen: Vec::new(), ignored: Vec::new() };
    for name in names {
        let lower = name.to_ascii_lowercase();
        match GROUPS.iter().find(|(names, _)| names.contains(&lower.as_str())) {
            Some((_, group)) if !choice.chosen.contains(&Group(*group)) => choice.chosen.push(Group(*group)),
            Some(_) => {}
            None => choice.ignored.push(name.to_owned()),
        }
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_go_by_the_names_of_openssl_in_any_case() {
        for (name, version) in [
            ("TLSv1.3", Some(NamedVersion::Spoken(Version::Tls13))),
            ("tlsv1.2", Some(NamedVersion::Spoken(Version::Tls12))),
            ("TLSv1", Some(NamedVersion::TooOld)),
            ("SSLv3", Some(NamedVersion::TooOld)),
            ("TLSv1.4", None),
        ] {
            assert_eq!(Version::named(name), version, "{name}");
        }
    }

    #[test]
    fn groups_go_by_the_names_of_iana_nist_and_openssl() {
        let choice = groups(["X25519MLKEM768", "X25519", "P-256", "prime256v1", "secp521r1"]);
        let names: Vec<_> = choice.chosen.iter().map(|group| group.name()).collect();
        assert_eq!(names, ["X25519MLKEM768", "x25519", "secp256r1"]);
        assert_eq!(choice.ignored, ["secp521r1"]);
    }
}
