//! One ticket key: its name, when it is good, and the sealing.

use crate::resumption::secret::{SealingKey, random, wipe};

/// Bytes of a key's name.
pub(super) const NAME: usize = 16;
/// Bytes of a key as h2o makes it for aes-256-cbc and sha256: the cipher's, and a block of the hash.
const SECRET: usize = 32 + 64;

/// A key for tickets.
#[derive(Debug)]
pub(super) struct TicketKey {
    /// Random; the first bytes of every ticket.
    pub(super) name: [u8; NAME],
    /// From when tickets may be made with it, in seconds since 1970.
    pub(super) not_before: u64,
    /// Until when they are accepted.
    pub(super) not_after: u64,
    /// The secret in the file or store.
    pub(super) secret: Secret,
    sealing: SealingKey,
}

/// Bytes that are overwritten when they are dropped.
#[derive(PartialEq, Eq)]
pub(super) struct Secret(pub(super) Vec<u8>);

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl TicketKey {
    /// A key with a given secret.
    pub(super) fn new(name: [u8; NAME], secret: Vec<u8>, not_before: u64, not_after: u64) -> Self {
        let sealing = SealingKey::derive(&secret, b"hayami session ticket", &name);
        Self { name, not_before, not_after, secret: Secret(secret), sealing }
    }

    /// A random key. `None`: there is no randomness.
    pub(super) fn generate(not_before: u64, not_after: u64) -> Option<Self> {
        Some(Self::new(random()?, random::<SECRET>()?.to_vec(), not_before, not_after))
    }

    /// A ticket with `session` in it, which only the same `scope` can open.
    pub(super) fn seal(&self, scope: &[u8], session: &[u8]) -> Option<Vec<u8>> {
        let mut ticket = Vec::with_capacity(NAME + 12 + session.len() + 16);
        ticket.extend_from_slice(&self.name);
        self.sealing.seal(scope, session, &mut ticket)?;
        Some(ticket)
    }

    /// The session in the part of a ticket after the name.
    pub(super) fn open(&self, scope: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        self.sealing.open(scope, sealed)
    }
}
