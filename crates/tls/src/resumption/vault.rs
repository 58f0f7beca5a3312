//! The view of a remote store: nothing that is usable without secrets it doesn't have.
//!
//! h2o stores sessions and ticket keys in cleartext, so an attacker who reads its memcached can decrypt
//! recorded TLS 1.2 traffic. Here a session is stored under a name made from its identifier, and sealed with
//! a key made from the identifier and the secret of the machines (`store-secret-file`). Without a secret only
//! the identifier is used: it is in no store, but it is on the wire. Ticket keys are sealed with the secret;
//! without one they are in cleartext, since there is nothing else to seal them with.

use super::secret::{SealingKey, expand, hex, wipe};
use crate::Error;
use std::path::Path;

/// The fewest bytes of a secret: as many as the keys made from it.
const SHORTEST: usize = 32;
/// The prefix of sealed ticket keys. YAML never starts with it.
const SEALED: &[u8] = b"hayami sealed 1\n";

/// Names and seals.
#[derive(Default)]
pub(super) struct Vault {
    /// Empty: there is none.
    secret: Vec<u8>,
}

impl Vault {
    /// With the secret in `file`.
    pub(super) fn read(file: &Path) -> Result<Self, Error> {
        let show = file.display();
        let bytes = std::fs::read(file).map_err(|e| {
            Error(format!("cannot read {show}: {e}; it must contain the secret that the machines share"))
        })?;
        if bytes.len() < SHORTEST {
            let advice =
                format!("make one by `head -c 32 /dev/urandom > {show}` and copy it to all machines");
            return Err(Error(format!("{show} has fewer than {SHORTEST} bytes: {advice}")));
        }
        Ok(Self { secret: bytes })
    }

    /// Whether there is a secret.
    pub(super) fn has_secret(&self) -> bool {
        !self.secret.is_empty()
    }

    /// The name of a session in the store. It doesn't reveal `id`.
    pub(super) fn name(&self, prefix: &str, id: &[u8]) -> String {
        let mut name = [0; 32];
        expand(&[&self.secret, id].concat(), b"hayami session name", b"", &mut name);
        format!("{prefix}{}", hex(&name))
    }

    /// A session for the store: valid through the second `until`.
    pub(super) fn seal_session(&self, id: &[u8], session: &[u8], until: u64) -> Option<Vec<u8>> {
        let mut plain = until.to_be_bytes().to_vec();
        plain.extend_from_slice(session);
        let mut sealed = Vec::with_capacity(plain.len() + 28);
        let done = self.session_key(id).seal(b"", &plain, &mut sealed);
        wipe(&mut plain);
        done.map(|()| sealed)
    }

    /// The session, and until when it is valid. `None` if it was not sealed with this secret.
    pub(super) fn open_session(&self, id: &[u8], sealed: &[u8]) -> Option<(Vec<u8>, u64)> {
        let plain = self.session_key(id).open(b"", sealed)?;
        let (until, session) = plain.split_first_chunk()?;
        Some((session.to_vec(), u64::from_be_bytes(*until)))
    }

    fn session_key(&self, id: &[u8]) -> SealingKey {
        SealingKey::derive(&[&self.secret, id].concat(), b"hayami session", b"")
    }

    /// Ticket keys for the store.
    pub(super) fn seal_keys(&self, text: &[u8]) -> Option<Vec<u8>> {
        if !self.has_secret() {
            return Some(text.to_vec());
        }
        let mut sealed = SEALED.to_vec();
        self.keys_key().seal(SEALED, text, &mut sealed)?;
        Some(sealed)
    }

    /// The ticket keys as text.
    ///
    /// # Errors
    /// Why they can't be read.
    pub(super) fn open_keys(&self, stored: &[u8]) -> Result<String, &'static str> {
        let is_sealed = stored.starts_with(SEALED);
        let plain = match (is_sealed, self.has_secret()) {
            (false, false) => Some(stored.to_vec()),
            (true, true) => self.keys_key().open(SEALED, &stored[SEALED.len()..]),
            (true, false) => return Err("they are sealed, but `store-secret-file` is not set here"),
            // Anyone with write access to the store could have put them there.
            (false, true) => return Err("they are not sealed: set `store-secret-file` on all machines"),
        };
        let plain = plain.ok_or("`store-secret-file` is not the same on all machines")?;
        String::from_utf8(plain).map_err(|_| "they are no text")
    }

    fn keys_key(&self) -> SealingKey {
        SealingKey::derive(&self.secret, b"hayami ticket keys", b"")
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

impl Drop for Vault {
    fn drop(&mut self) {
        wipe(&mut self.secret);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(secret: &[u8]) -> Vault {
        Vault { secret: secret.to_vec() }
    }

    #[test]
    fn a_session_opens_with_its_id_and_the_secret_only() {
        let ours = vault(&[7; 32]);
        let sealed = ours.seal_session(b"id", b"session", 99).unwrap();
        assert_eq!(ours.open_session(b"id", &sealed), Some((b"session".to_vec(), 99)));
        assert_eq!(ours.open_session(b"it", &sealed), None);
        assert_eq!(vault(&[8; 32]).open_session(b"id", &sealed), None);
        assert_eq!(vault(b"").open_session(b"id", &sealed), None);
        assert_eq!(ours.open_session(b"id", b"garbage"), None);
        assert!(!sealed.windows(7).any(|bytes| bytes == b"session"));
    }

    #[test]
    fn a_name_tells_neither_id_nor_secret() {
        let name = vault(&[7; 32]).name("h2o:", b"an-identifier");
        assert_eq!(name.len(), 4 + 64);
        assert!(!name.contains("identifier") && !name.contains(&hex(b"an-identifier")));
        assert_ne!(name, vault(b"").name("h2o:", b"an-identifier"));
        assert_ne!(name, vault(&[7; 32]).name("h2o:", b"an-identifieR"));
    }

    #[test]
    fn ticket_keys_are_taken_only_from_who_has_the_secret() {
        let (ours, none) = (vault(&[7; 32]), vault(b""));
        let sealed = ours.seal_keys(b"- name: x").unwrap();
        assert_eq!(ours.open_keys(&sealed).unwrap(), "- name: x");
        assert_eq!(none.seal_keys(b"- name: x").unwrap(), b"- name: x");
        assert_eq!(none.open_keys(b"- name: x").unwrap(), "- name: x");
        for (vault, stored, why) in [
            (&none, &*sealed, "they are sealed, but `store-secret-file` is not set here"),
            (&ours, b"- name: x", "they are not sealed: set `store-secret-file` on all machines"),
            (&vault(&[8; 32]), &*sealed, "`store-secret-file` is not the same on all machines"),
            (&none, b"\xff", "they are no text"),
        ] {
            assert_eq!(vault.open_keys(stored), Err(why));
        }
    }

    #[test]
    fn a_short_or_missing_secret_is_refused() {
        let file = std::env::temp_dir().join(format!("hayami-secret-{}", std::process::id()));
        std::fs::write(&file, [1; 31]).unwrap();
        let error = Vault::read(&file).unwrap_err().to_string();
        assert!(error.contains("has fewer than 32 bytes: make one by `head -c 32"), "{error}");
        std::fs::write(&file, [1; 32]).unwrap();
        assert!(Vault::read(&file).unwrap().has_secret());
        std::fs::remove_file(&file).unwrap();
        assert!(Vault::read(&file).unwrap_err().to_string().starts_with("cannot read /"));
    }
}
