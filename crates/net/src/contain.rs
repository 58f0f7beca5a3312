//! Confines panics, which are bugs of this program, to the work they occur in.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; returns `None` if it panicked. The panic message is in the error log.
///
/// State shared by the connections of a worker, such as buffers and counters, is consistent at all times; the caller
/// must discard what only `work` was modifying.
#[inline]
pub fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
