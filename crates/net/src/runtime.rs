//! The runtime that all workers of a process share: timers, and threads for what blocks.
//!
//! It has a thread of its own that waits for timers. So a worker's thread can wait in its own epoll, and only
//! there: a runtime on the same thread would want it to wait in the runtime's. A worker's tasks are not here, but in
//! the worker's own set of tasks, which its loop runs.

use crate::blocking;
use std::future::pending;
use std::io;
use std::sync::{Mutex, PoisonError};
use tokio::runtime::{Builder, Handle};

/// Threads for what blocks and has no lane of its own.
const SPARE: usize = 16;

/// Made by the first worker, and there for as long as the process.
static RUNTIME: Mutex<Option<Handle>> = Mutex::new(None);

/// The runtime.
///
/// # Errors
/// It could not be made: no more descriptors or threads.
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
