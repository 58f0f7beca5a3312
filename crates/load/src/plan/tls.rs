//! TLS options, and the names of suites and groups.

use hayami_tls::{Group, Suite, groups as named_groups, suites_tls12, suites_tls13};
use std::path::PathBuf;

/// The TLS options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// Whether the server's certificate is checked.
    pub verify: bool,
    /// Trusted roots in PEM instead of the system's.
    pub roots: Option<PathBuf>,
    /// Whether later connections resume the sessions of earlier ones.
    pub resume: bool,
    /// The client's certificate chain and private key, both PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Versions offered.
    pub versions: TlsVersions,
    /// Names of the cipher suites to offer, in order of preference, as returned by [`ciphers`]. A version
    /// without any of them offers all of its suites.
    pub ciphers: Vec<&'static str>,
    /// Names of the key exchange groups to offer, in order of preference, as returned by [`groups`]. Empty:
    /// all.
    pub groups: Vec<&'static str>,
}

/// Versions of TLS offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersions {
    /// 1.2 and 1.3.
    Both,
    /// 1.2 only.
    Only12,
    /// 1.3 only.
    Only13,
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self {
            verify: true,
            roots: None,
            resume: true,
            identity: None,
            versions: TlsVersions::Both,
            ciphers: Vec::new(),
            groups: Vec::new(),
        }
    }
}

impl TlsOptions {
    /// The suites of TLS 1.3 and those of 1.2 that are offered instead of all.
    pub(crate) fn suites(&self) -> (Option<Vec<Suite>>, Option<Vec<Suite>>) {
        let some = |suites: Vec<Suite>| (!suites.is_empty()).then_some(suites);
        let tls13 = suites_tls13(self.ciphers.iter().copied()).chosen;
        (some(tls13), some(suites_tls12(&self.ciphers.join(":")).chosen))
    }

    /// A chosen suite that belongs to no version offered.
    pub fn unused_cipher(&self) -> Option<&'static str> {
        let is_of_13 = |name: &&str| !suites_tls13([*name]).chosen.is_empty();
        self.ciphers.iter().copied().find(|name| match self.versions {
            TlsVersions::Both => false,
            TlsVersions::Only12 => is_of_13(name),
            TlsVersions::Only13 => !is_of_13(name),
        })
    }

    /// The groups that are offered instead of all.
    pub(crate) fn chosen_groups(&self) -> Option<Vec<Group>> {
        let groups = named_groups(self.groups.iter().copied()).chosen;
        (!groups.is_empty()).then_some(groups)
    }
}

/// Reads a list of cipher suites, with commas or colons between: IANA or OpenSSL names
/// (`TLS_AES_128_GCM_SHA256`, `ECDHE-RSA-AES128-GCM-SHA256`), and OpenSSL's selectors for TLS 1.2
/// (`ECDHE+AESGCM`). Returns the IANA names.
///
/// # Errors
/// An unknown name, in a line with all supported ones.
pub fn ciphers(text: &str) -> Result<Vec<&'static str>, String> {
    let mut chosen: Vec<&'static str> = Vec::new();
    for word in words(text) {
        let mut suites = suites_tls13([word]).chosen;
        suites.extend(suites_tls12(word).chosen);
        if suites.is_empty() {
            let all = Suite::all().map(Suite::openssl_name);
            return Err(unknown(word, "cipher suite", all));
        }
        let new: Vec<_> = suites.into_iter().map(Suite::name).filter(|name| !chosen.contains(name)).collect();
        chosen.extend(new);
    }
    Ok(chosen)
}

/// Reads a list of groups, with commas or colons between: IANA, NIST or OpenSSL names in any case (`X25519`,
/// `P-256`, `X25519MLKEM768`). Returns the IANA names.
///
/// # Errors
/// An unknown name, in a line with all supported ones.
pub fn groups(text: &str) -> Result<Vec<&'static str>, String> {
    let choice = named_groups(words(text));
    match choice.ignored.first() {
        Some(word) => Err(unknown(word, "group", Group::all().map(Group::name))),
        None if choice.chosen.is_empty() => Err(unknown(text, "group", Group::all().map(Group::name))),
        None => Ok(choice.chosen.into_iter().map(Group::name).collect()),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ':']).map(str::trim)
}

fn unknown<'a>(word: &str, what: &str, all: impl Iterator<Item = &'a str>) -> String {
    format!("unknown {what} `{word}`; supported: {}", all.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_go_by_the_names_of_iana_and_openssl() {
        let long = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
        let cases: [(&str, &[&str]); 5] = [
            ("TLS_AES_128_GCM_SHA256", &["TLS_AES_128_GCM_SHA256"]),
            ("ECDHE-RSA-AES128-GCM-SHA256", &[long]),
            (
                "TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                &["TLS_AES_128_GCM_SHA256", long],
            ),
            ("ECDHE+aRSA+AES128:ECDHE-RSA-AES128-GCM-SHA256", &[long]),
            (
                "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256",
                &["TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"],
            ),
        ];
        for (text, names) in cases {
            assert_eq!(ciphers(text).as_deref(), Ok(names), "{text}");
        }
    }

    #[test]
    fn groups_go_by_their_names_in_any_case() {
        assert_eq!(groups("X25519,p-256"), Ok(vec!["x25519", "secp256r1"]));
        assert_eq!(groups("x25519mlkem768:SECP384R1"), Ok(vec!["X25519MLKEM768", "secp384r1"]));
    }

    #[test]
    fn what_is_not_known_is_named_with_all_that_is() {
        for (error, word, known) in [
            (ciphers("RC4-MD5"), "`RC4-MD5`", "TLS_AES_128_GCM_SHA256"),
            (ciphers("TLS_AES_128_GCM_SHA256,"), "``", "ECDHE-RSA-AES128-GCM-SHA256"),
            (groups("X25519,P-521"), "`P-521`", "secp384r1"),
            (groups(""), "``", "x25519"),
        ] {
            let error = error.expect_err(word);
            assert!(error.contains(word) && error.contains(known), "{error}");
        }
    }

    #[test]
    fn a_version_without_a_named_suite_keeps_its_own() {
        let options = |text| TlsOptions { ciphers: ciphers(text).expect("known"), ..TlsOptions::default() };
        let shape = |text| {
            let (tls13, tls12) = options(text).suites();
            (tls13.map(|suites| suites.len()), tls12.map(|suites| suites.len()))
        };
        assert_eq!(shape("TLS_AES_128_GCM_SHA256"), (Some(1), None));
        assert_eq!(shape("ECDHE-RSA-AES128-GCM-SHA256"), (None, Some(1)));
        assert_eq!(TlsOptions::default().suites(), (None, None));
    }
}
