//! What the runtime objects of one worker share.

use hayami_net::Clock;
use hayami_net::upstream_io::UpstreamIo;
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// Handed to every function that builds a part of a route: one per worker and generation.
pub struct WorkerContext {
    /// The worker's clock.
    pub clock: Rc<Clock>,
    /// The worker's connections to upstreams; `None` where a configuration is only checked.
    pub outbound: Option<UpstreamIo>,
    /// Number of workers of the process; budgets that hold for the process are divided by it.
    pub workers: usize,
    objects: RefCell<Vec<Rc<dyn Any>>>,
}

impl WorkerContext {
    /// The context of one of `workers` workers, which has no objects yet.
    pub fn new(clock: &Rc<Clock>, outbound: Option<UpstreamIo>, workers: usize) -> Self {
        Self { clock: Rc::clone(clock), outbound, workers, objects: RefCell::default() }
    }

    /// Adds an object of a feature: its cache, its pools. There is one of each type.
    pub fn with<T: Any>(self, object: Rc<T>) -> Self {
        self.objects.borrow_mut().push(object);
        self
    }

    /// The object of that type; the default if none was added.
    pub fn get<T: Any + Default>(&self) -> Rc<T> {
        let known = self.objects.borrow().iter().find_map(|object| Rc::clone(object).downcast().ok());
        known.unwrap_or_else(|| {
            let object = Rc::<T>::default();
            self.objects.borrow_mut().push(Rc::clone(&object) as _);
            object
        })
    }
}
