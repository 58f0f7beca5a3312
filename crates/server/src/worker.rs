//! What the runtime objects of one worker share.

use crate::modules::file::FileCache;
use hayami_net::Clock;
use std::rc::Rc;

/// Handed to every `build` function: one per worker.
pub struct WorkerContext {
    /// The worker's clock.
    pub clock: Rc<Clock>,
    /// Number of workers of the process; budgets that hold for the process are divided by it.
    pub workers: usize,
    /// The worker's share of the file cache.
    pub files: Rc<FileCache>,
}
