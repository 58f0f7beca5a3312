//! TLS in the races: one ECDSA P-256 certificate for all servers, and the generator's offer.
//!
//! It offers TLS 1.3 and TLS_AES_128_GCM_SHA256, since servers differ in their preferences, and X25519; where
//! no handshakes are measured also P-256, since nghttpd supports nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use crate::load::split;
use crate::workload::Handshake;

/// The certificate of all servers, self-signed, for 127.0.0.1.
pub(crate) struct Identity {
    /// The file of the certificate, PEM.
    pub(crate) certificate: PathBuf,
    /// The file of its key, PEM.
    pub(crate) key: PathBuf,
}

impl Identity {
    /// Creates key and certificate in `folder`, readable by servers whichever user they run as.
    ///
    /// # Errors
    /// They cannot be created or written.
    pub(crate) fn make(folder: &Path) -> Result<Self, String> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        // rcgen's default key is ECDSA P-256.
        let made = rcgen::generate_simple_self_signed(names).map_err(|error| error.to_string())?;
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        let written = fs::write(&certificate, made.cert.pem())
            .and_then(|()| fs::write(&key, made.signing_key.serialize_pem()));
        written.map_err(|error| error.to_string())?;
        Ok(Self { certificate, key })
    }
}

/// The arguments of `hayami bench`: the trusted certificate and the offer.
pub(crate) fn offer(identity: &Identity, handshake: Option<Handshake>) -> Vec<String> {
    let groups = match handshake {
        Some(Handshake::Full | Handshake::Resumed) => "X25519",
        Some(Handshake::FullHybrid) => "X25519MLKEM768",
        None => "X25519:P-256",
    };
    let mut words = split(&format!("--tls 1.3 --ciphers TLS_AES_128_GCM_SHA256 --groups {groups} --cacert"));
    words.push(identity.certificate.display().to_string());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_exchange_is_offered_where_handshakes_are_measured() {
        let identity = Identity { certificate: "/c.pem".into(), key: "/k.pem".into() };
        for (handshake, groups) in [
            (None, "X25519:P-256"),
            (Some(Handshake::Full), "X25519"),
            (Some(Handshake::Resumed), "X25519"),
            (Some(Handshake::FullHybrid), "X25519MLKEM768"),
        ] {
            let words = offer(&identity, handshake);
            assert!(
                words.contains(&groups.to_owned()) && words.ends_with(&["/c.pem".to_owned()]),
                "{words:?}"
            );
        }
    }
}
