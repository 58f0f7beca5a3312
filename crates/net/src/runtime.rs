//! The tokio runtime shared by all workers of a process: timers, and threads for blocking work.
//!
//! It has a thread of its own that waits for timers, so that a worker's thread blocks only in its own epoll; a
//! runtime on the same thread would need to block in its own. A worker's tasks do not run here but in the worker's
//! own task set, which its loop polls.

use crate::blocking;
use std::future::pending;
use std::io;
use std::sync::{Mutex, PoisonError};
use tokio::runtime::{Builder, Handle};

/// Threads for blocking work outside the lanes.
const SPARE: usize = 16;

/// Created by the first worker; lives as long as the process.
static RUNTIME: Mutex<Option<Handle>> = Mutex::new(None);

/// Returns the runtime, creating it on first use.
///
/// # Errors
/// It could not be created: no more descriptors or threads.
pub(crate) fn shared() -> io::Result<Handle> {
    let mut shared = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*shared {
        return Ok(handle.clone());
    }
    let threads = blocking::threads() + SPARE;
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(threads).build()?;
    let handle = runtime.handle().clone();
    let wait = move || runtime.block_on(pending::<()>());
    std::thread::Builder::new().name("timers".into()).spawn(wait)?;
    *shared = Some(handle.clone());
    Ok(handle)
}
