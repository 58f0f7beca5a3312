//! Panics, which are bugs of ours, end what they happened in and nothing else.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; `None` if it panicked. The panic's message is in the error log.
///
/// What the connections of a worker share, buffers and counters, is sound at every moment; what `work` alone was
/// changing is the caller's to throw away.
#[inline]
pub fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
