//! What the runtime objects of one worker share.

use crate::modules::file::FileCache;
use crate::modules::upstreams::Pools;
use hayami_net::Clock;
use hayami_net::upstream::Outbound;
use std::rc::Rc;

/// Handed to every `build` function: one per worker.
pub struct WorkerContext {
    /// The worker's clock.
    pub clock: Rc<Clock>,
    /// The worker's way to upstreams; `None` where a configuration is only tried.
    pub outbound: Option<Outbound>,
    /// The worker's groups of upstreams.
    pub upstreams: Rc<Pools>,
    /// Number of workers of the process; budgets that hold for the process are divided by it.
    pub workers: usize,
    /// The worker's share of the file cache.
    pub files: Rc<FileCache>,
}
