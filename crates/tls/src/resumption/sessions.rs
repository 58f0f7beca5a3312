//! The session cache, as rustls uses it.
//!
//! A session is found by its identifier: in TLS 1.2 again and again, in TLS 1.3 once (it is removed, so that
//! early data can't be replayed; RFC 8446 §8.1). Identifiers are valid within a [`Scope`]. `shared` adds
//! sharing with other machines.

use super::clock::unix_now;
use super::memory::Memory;
use super::scope::Scope;
use rustls::server::StoresServerSessions;
use std::sync::Arc;

/// Bytes of all sessions in memory. With some 400 bytes for each, 40,000: twice what h2o keeps.
pub(super) const ROOM: usize = 16 << 20;

/// Sessions in memory only.
#[derive(Clone, Debug)]
pub(super) struct InternalSessions {
    memory: Arc<Memory>,
    lifetime: u64,
    scope: Scope,
}

impl InternalSessions {
    /// Sessions with this lifetime in seconds.
    pub(super) fn new(lifetime: u32) -> Self {
        Self { memory: Arc::new(Memory::new(ROOM)), lifetime: lifetime.into(), scope: Scope::default() }
    }

    /// The same memory, but sessions of `scope` only.
    pub(super) fn scoped(&self, scope: Scope) -> Self {
        Self { scope, ..self.clone() }
    }
}

impl StoresServerSessions for InternalSessions {
    fn put(&self, id: Vec<u8>, session: Vec<u8>) -> bool {
        self.memory.put(&self.scope.within(&id), session, unix_now() + self.lifetime)
    }

    fn get(&self, id: &[u8]) -> Option<Vec<u8>> {
        self.memory.get(&self.scope.within(id), unix_now())
    }

    fn take(&self, id: &[u8]) -> Option<Vec<u8>> {
        self.memory.take(&self.scope.within(id), unix_now())
    }

    fn can_cache(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_in_its_scope_and_by_all_who_share_the_memory() {
        let sessions = InternalSessions::new(60);
        let (one, two) = (sessions.scoped(Scope::of(b"one")), sessions.scoped(Scope::of(b"two")));
        assert!(one.put(b"id".to_vec(), b"session".to_vec()));
        assert_eq!(one.clone().get(b"id"), Some(b"session".to_vec()));
        assert_eq!((two.get(b"id"), sessions.get(b"id")), (None, None));
        assert_eq!(one.take(b"id"), Some(b"session".to_vec()));
        assert_eq!(one.get(b"id"), None);
    }
}
