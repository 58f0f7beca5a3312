//! What a handshake offers or accepts: versions, suites and groups, for both roles.

use super::{Group, Suite, Version, suites_tls12, suites_tls13};
use crate::Error;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion, version};

/// The part of the settings that both roles have.
pub(crate) struct Offer<'a> {
    pub(crate) min_version: Version,
    pub(crate) max_version: Version,
    pub(crate) suites_tls12: Option<&'a [Suite]>,
    pub(crate) suites_tls13: Option<&'a [Suite]>,
    pub(crate) groups: Option<&'a [Group]>,
}

impl Offer<'_> {
    /// The offer in rustls's types.
    pub(crate) fn versions(&self) -> Vec<&'static SupportedProtocolVersion> {
        let spoken = |version: &Version| (self.min_version..=self.max_version).contains(version);
        let all = [(Version::Tls13, &version::TLS13), (Version::Tls12, &version::TLS12)];
        all.into_iter().filter(|(version, _)| spoken(version)).map(|(_, version)| version).collect()
    }

    /// The suites and groups.
    ///
    /// # Errors
    /// Nothing is left to offer.
    pub(crate) fn provider(&self) -> Result<CryptoProvider, Error> {
        if self.min_version > self.max_version {
            return Err(Error(format!(
                "minimum-version {} is above maximum-version {}; raise the one or lower the other",
                self.min_version.name(),
                self.max_version.name()
            )));
        }
        let mut provider = aws_lc_rs::default_provider();
        let supported = provider.cipher_suites;
        let of =
            |tls13: bool| supported.iter().copied().filter(move |suite| (suite.tls13().is_some()) == tls13);
        let tls13 = chosen(self.suites_tls13, of(true));
        let tls12 = chosen(self.suites_tls12, of(false));
        // Suites of a disabled version would still be sent in the ClientHello, and mislead the peer in its
        // choice of a certificate.
        provider.cipher_suites = Vec::new();
        for (version, left, directive, can) in [
            (Version::Tls13, tls13, "cipher-suite-tls1.3", every_name_tls13()),
            (Version::Tls12, tls12, "cipher-suite", every_name_tls12()),
        ] {
            if !(self.min_version..=self.max_version).contains(&version) {
                continue;
            }
            if left.is_empty() {
                return Err(Error(format!("{directive} leaves no cipher suite; supported: {can}")));
            }
            provider.cipher_suites.extend(left);
        }
        if let Some(groups) = self.groups {
            if groups.is_empty() {
                return Err(Error("key-exchange leaves no group; supported: X25519MLKEM768, x25519, secp256r1, secp384r1, SecP256r1MLKEM768".to_owned()));
            }
            provider.kx_groups = groups.iter().map(|Group(group)| *group).collect();
        }
        Ok(provider)
    }
}

fn chosen(
    wanted: Option<&[Suite]>,
    supported: impl Iterator<Item = SupportedCipherSuite>,
) -> Vec<SupportedCipherSuite> {
    match wanted {
        Some(wanted) => wanted.iter().map(|Suite(suite)| *suite).collect(),
        None => supported.collect(),
    }
}

fn every_name_tls13() -> String {
    let names = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];
    suites_tls13(names).chosen.into_iter().map(Suite::name).collect::<Vec<_>>().join(", ")
}

fn every_name_tls12() -> String {
    suites_tls12("ALL").chosen.into_iter().map(Suite::openssl_name).collect::<Vec<_>>().join(", ")
}
