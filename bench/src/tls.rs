//! TLS of the races: one ECDSA P-256 certificate for all servers, and what the load offers them.
//!
//! It offers TLS 1.3 and TLS_AES_128_GCM_SHA256, since servers differ in what they would choose, and X25519; but
//! P-256 as well where no handshakes are measured, since nghttpd knows nothing else.

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
    /// Makes key and certificate in `folder`, where servers can read them whichever user they become.
    ///
    /// # Errors
    /// They cannot be made or written.
    pub(crate) fn make(folder: &Path) -> Result<Self, String> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        // rcgen's key is ECDSA P-256 if nothing else is said.
        let made = rcgen::generate_simple_self_signed(names).map_err(|error| error.to_string())?;
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        let written = fs::write(&certificate, made.cert.pem())
            .and_then(|()| fs::write(&key, made.signing_key.serialize_pem()));
        written.map_err(|error| error.to_string())?;
        Ok(Self { certificate, key })
    }
}

/// The words for `hayami bench`: whom to trust, and what to offer.
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
