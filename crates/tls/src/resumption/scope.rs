//! Which handshakes may resume which sessions: those of one scope. The acceptor defines its content
//! (`acceptor::scope`).

use super::secret::expand;

/// A scope, as a digest of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Scope([u8; 16]);

impl Scope {
    /// The scope of everything with these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut digest = [0; 16];
        expand(bytes, b"hayami resumption scope", b"", &mut digest);
        Self(digest)
    }

    /// An identifier that is valid only in this scope.
    pub(super) fn within(&self, id: &[u8]) -> Vec<u8> {
        [&self.0, id].concat()
    }

    /// The digest.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
