//! What the runtime objects of one worker share.

use crate::generation::Generation;
use crate::modules::file::FileCache;
use crate::modules::upstreams::Pools;
use hayami_net::Clock;
use hayami_net::upstream_io::UpstreamIo;
use std::rc::Rc;
use std::sync::Arc;

/// Handed to every `build` function: one per worker and generation.
pub struct WorkerContext {
    /// The worker's clock.
    pub clock: Rc<Clock>,
    /// The worker's way to upstreams; `None` where a configuration is only checked.
    pub outbound: Option<UpstreamIo>,
    /// The worker's groups of upstreams.
    pub upstreams: Rc<Pools>,
    /// Number of workers of the process; budgets that hold for the process are divided by it.
    pub workers: usize,
    /// The worker's share of the file cache.
    pub files: Rc<FileCache>,
}

impl WorkerContext {
    /// What one of `workers` workers has for its first generation.
    pub fn new(
        generation: &Generation,
        clock: &Rc<Clock>,
        outbound: Option<UpstreamIo>,
        workers: usize,
    ) -> Self {
        let files = Rc::new(FileCache::new(&generation.settings().global.file_cache, workers));
        let upstreams = Rc::new(Pools::new(Arc::clone(generation.upstreams())));
        Self { clock: Rc::clone(clock), outbound, upstreams, workers, files }
    }

    /// What the same worker has for the next generation: its cache and its connections stay where they may.
    pub(crate) fn next(&self, before: &Generation, generation: &Generation) -> Self {
        let settings = &generation.settings().global.file_cache;
        let files = match *settings == before.settings().global.file_cache {
            true => Rc::clone(&self.files),
            false => Rc::new(FileCache::new(settings, self.workers)),
        };
        let upstreams = Rc::new(Pools::after(Arc::clone(generation.upstreams()), &self.upstreams));
        let (clock, outbound) = (Rc::clone(&self.clock), self.outbound.clone());
        Self { clock, outbound, upstreams, workers: self.workers, files }
    }
}
