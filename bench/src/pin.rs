//! Cores: which ones this process may use, and running something on one of them.

use std::io;
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores this process may use, in order.
///
/// # Errors
/// The kernel reports an error.
pub(crate) fn usable_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
}

/// Runs `work` on a new thread pinned to `core`; child processes inherit the mask, which is how all servers
/// and the load are pinned.
///
/// # Panics
/// When `work` panics.
pub(crate) fn on_core<T: Send>(core: usize, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let pinned = || {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(None, &set)?;
        work()
    };
    thread::scope(|scope| scope.spawn(pinned).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}
