//! Cipher suites by their IANA and OpenSSL names, and as OpenSSL's cipher strings select them.

use super::Choice;
use rustls::crypto::aws_lc_rs::cipher_suite::*;
use rustls::{CipherSuite, SupportedCipherSuite};

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suite(pub(crate) SupportedCipherSuite);

/// A suite with its names, and the cipher string keywords that select it.
struct Known {
    suite: SupportedCipherSuite,
    iana: &'static str,
    openssl: &'static str,
    words: &'static [&'static str],
}

const TLS13: &[Known] = &[
    known13(TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
    known13(TLS13_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256"),
    known13(TLS13_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256"),
];

const TLS12: &[Known] = &[
    Known {
        suite: TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        iana: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        openssl: "ECDHE-ECDSA-AES256-GCM-SHA384",
        words: &["ECDSA", "aECDSA", "AES", "AES256", "AESGCM", "SHA384"],
    },
    Known {
        suite: TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        iana: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        openssl: "ECDHE-ECDSA-AES128-GCM-SHA256",
        words: &["ECDSA", "aECDSA", "AES", "AES128", "AESGCM", "SHA256"],
    },
    Known {
        suite: TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        iana: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        openssl: "ECDHE-ECDSA-CHACHA20-POLY1305",
        words: &["ECDSA", "aECDSA", "CHACHA20"],
    },
    Known {
        suite: TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        iana: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        openssl: "ECDHE-RSA-AES256-GCM-SHA384",
        words: &["RSA", "aRSA", "AES", "AES256", "AESGCM", "SHA384"],
    },
    Known {
        suite: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        iana: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        openssl: "ECDHE-RSA-AES128-GCM-SHA256",
        words: &["RSA", "aRSA", "AES", "AES128", "AESGCM", "SHA256"],
    },
    Known {
        suite: TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        iana: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        openssl: "ECDHE-RSA-CHACHA20-POLY1305",
        words: &["RSA", "aRSA", "CHACHA20"],
    },
];

/// The keywords that select every supported TLS 1.2 suite: all are ECDHE with an AEAD.
const ALL: &[&str] = &[
    "ALL",
    "DEFAULT",
    "HIGH",
    "ECDHE",
    "EECDH",
    "kECDHE",
    "kEECDH",
    "TLSv1.2",
    "COMPLEMENTOFALL",
    "COMPLEMENTOFDEFAULT",
];

const fn known13(suite: SupportedCipherSuite, name: &'static str) -> Known {
    Known { suite, iana: name, openssl: name, words: &[] }
}

impl Suite {
    /// All supported suites, those of TLS 1.3 first.
    pub fn all() -> impl Iterator<Item = Self> {
        TLS13.iter().chain(TLS12).map(|known| Self(known.suite))
    }

    /// `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`
    pub fn name(self) -> &'static str {
        Self::known(self.0.suite()).map_or("unknown", |known| known.iana)
    }

    /// `ECDHE-RSA-AES128-GCM-SHA256`
    pub fn openssl_name(self) -> &'static str {
        Self::known(self.0.suite()).map_or("unknown", |known| known.openssl)
    }

    fn known(suite: CipherSuite) -> Option<&'static Known> {
        TLS13.iter().chain(TLS12).find(|known| known.suite.suite() == suite)
    }
}

impl Known {
    /// Whether a selector (`ECDHE+AESGCM`) selects this suite: each of its keywords has to match.
    fn is_meant(&self, selector: &str) -> bool {
        self.is_named(selector)
            || selector.split('+').all(|word| self.words.contains(&word) || ALL.contains(&word))
    }

    fn is_named(&self, name: &str) -> bool {
        self.iana == name || self.openssl == name
    }
}

/// TLS 1.2 suites of an OpenSSL cipher string: names and selectors between `:`, `,` or blanks;
/// `!` excludes for good, `-` removes, `+` moves to the end, `@STRENGTH` and similar are ignored.
pub fn suites_tls12(string: &str) -> Choice<Suite> {
    let mut choice = Choice { chosen: Vec::new(), ignored: Vec::new() };
    let mut shut_out: Vec<&Known> = Vec::new();
    for word in string.split([':', ',', ' ', ';']).filter(|word| !word.is_empty()) {
        let selector = word.trim_start_matches(['!', '-', '+', '@']);
        let meant: Vec<&Known> = TLS12.iter().filter(|known| known.is_meant(selector)).collect();
        let is_meant = |suite: &Suite| meant.iter().any(|known| known.suite == suite.0);
        match word.as_bytes()[0] {
            b'@' => {}
            b'!' | b'-' => {
                choice.chosen.retain(|suite| !is_meant(suite));
                shut_out.extend(meant.iter().filter(|_| word.starts_with('!')));
            }
            // A stable sort: selected suites move to the end, in their order.
            b'+' => choice.chosen.sort_by_key(is_meant),
            _ if meant.is_empty() => choice.ignored.push(word.to_owned()),
            _ => {
                let allowed = meant.iter().filter(|known| !shut_out.iter().any(|out| out.iana == known.iana));
                let new: Vec<_> = allowed.map(|known| Suite(known.suite)).collect();
                choice.chosen.extend(
                    new.into_iter().filter(|suite| !choice.chosen.contains(suite)).collect::<Vec<_>>(),
                );
            }
        }
    }
    choice
}

/// TLS 1.3 suites by their names (`TLS_AES_128_GCM_SHA256`).
pub fn suites_tls13<'a>(names: impl IntoIterator<Item = &'a str>) -> Choice<Suite> {
    let mut choice = Choice { chosen: Vec::new(), ignored: Vec::new() };
    for name in names {
        match TLS13.iter().find(|known| known.is_named(name)).map(|known| Suite(known.suite)) {
            Some(suite) if !choice.chosen.contains(&suite) => choice.chosen.push(suite),
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
    fn cipher_strings_select_as_with_openssl() {
        const CASES: &[(&str, &[&str], &[&str])] = &[
            ("ECDHE-RSA-AES128-GCM-SHA256", &["ECDHE-RSA-AES128-GCM-SHA256"], &[]),
            (
                "ECDHE-ECDSA-AES128-GCM-SHA256:DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:!aNULL:!MD5",
                &["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
                &["DHE-RSA-AES128-GCM-SHA256"],
            ),
            (
                "ECDHE+AES128:@STRENGTH",
                &["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
                &[],
            ),
            (
                "!ECDSA:ALL:+AES256:-CHACHA20",
                &["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384"],
                &[],
            ),
            ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", &["ECDHE-RSA-AES256-GCM-SHA384"], &[]),
            ("AES128-SHA RC4-SHA", &[], &["AES128-SHA", "RC4-SHA"]),
            ("", &[], &[]),
        ];
        for (string, chosen, ignored) in CASES {
            let choice = suites_tls12(string);
            let names: Vec<_> = choice.chosen.iter().map(|suite| suite.openssl_name()).collect();
            assert_eq!(names, *chosen, "{string}");
            assert_eq!(choice.ignored, *ignored, "{string}");
        }
    }

    #[test]
    fn suites_of_tls13_go_by_their_names() {
        let choice = suites_tls13(["TLS_AES_128_GCM_SHA256", "TLS_AES_128_CCM_SHA256"]);
        assert_eq!(
            choice.chosen.iter().map(|suite| suite.name()).collect::<Vec<_>>(),
            ["TLS_AES_128_GCM_SHA256"]
        );
        assert_eq!(choice.ignored, ["TLS_AES_128_CCM_SHA256"]);
    }

    #[test]
    fn every_suite_of_the_provider_is_known() {
        for suite in rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES {
            assert_ne!(Suite(*suite).name(), "unknown", "{suite:?}");
        }
    }
}
