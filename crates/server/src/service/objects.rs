//! What a worker has beside a generation: its cache of files and its pools of connections to upstreams.

use crate::generation::Generation;
use crate::modules::file::{CacheSettings, FileCache};
use crate::modules::upstreams::Pools;
use crate::worker::WorkerContext;
use hayami_net::Clock;
use hayami_net::upstream_io::UpstreamIo;
use std::rc::Rc;
use std::sync::Arc;

/// What one of `workers` workers has for its first generation.
pub fn first(
    generation: &Generation,
    clock: &Rc<Clock>,
    outbound: Option<UpstreamIo>,
    workers: usize,
) -> WorkerContext {
    let files = FileCache::new(generation.settings().global.get(), workers);
    let pools = Pools::new(Arc::clone(generation.upstreams()));
    WorkerContext::new(clock, outbound, workers).with(Rc::new(files)).with(Rc::new(pools))
}

/// The objects of the same worker, now one of `workers`, for the next generation. It keeps its cache and its connections where
/// possible.
pub(super) fn next(
    worker: &WorkerContext,
    before: &Generation,
    generation: &Generation,
    workers: usize,
) -> WorkerContext {
    let settings = generation.settings().global.get::<CacheSettings>();
    let same = worker.workers == workers && settings == before.settings().global.get::<CacheSettings>();
    let files = match same {
        true => worker.get::<FileCache>(),
        false => Rc::new(FileCache::new(settings, workers)),
    };
    let pools = Pools::after(Arc::clone(generation.upstreams()), &worker.get::<Pools>());
    WorkerContext::new(&worker.clock, worker.outbound.clone(), workers).with(files).with(Rc::new(pools))
}
