//! How a store that must not block reports that a session may be in a remote store.
//!
//! The store is called from within a handshake, on the thread of its worker: the note is kept in that thread.

use std::cell::RefCell;

thread_local! {
    static WATCHED: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Notes that the session of `key` isn't here, and may be in a remote store.
pub(crate) fn note_missed(key: &[u8]) {
    WATCHED.with_borrow_mut(|missed| *missed = Some(key.to_vec()));
}

/// Runs a step of a handshake; also returns the key of the session that was missed in it.
pub(crate) fn watch_for_missed<T>(step: impl FnOnce() -> T) -> (T, Option<Vec<u8>>) {
    WATCHED.take();
    let result = step();
    (result, WATCHED.take())
}
