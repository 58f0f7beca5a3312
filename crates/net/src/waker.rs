//! Waking one connection among those of a worker, or one stream of it, from whatever thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// A connection by its index, and which of its streams: 0 for the connection itself.
pub(crate) type Who = (u32, u32);

/// The connections that were woken since the loop last looked.
#[derive(Debug, Default)]
pub(crate) struct Woken(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    connections: Vec<Who>,
    /// The worker's task; none while it is at work, since it looks here before it rests.
    task: Option<Waker>,
}

impl Woken {
    /// A waker for `stream` of connection `index`. A wake that comes after the connection has ended reaches
    /// the one that then has its place, which finds nothing to do.
    pub(crate) fn waker(self: &Arc<Self>, index: usize, stream: u32) -> Waker {
        Arc::new(ConnectionWaker { woken: Arc::clone(self), who: (index as u32, stream) }).into()
    }

    /// The worker's task is at work: to be woken, it need not be woken. Many turns wake somebody, and each
    /// time the task would make another round through the runtime and the kernel.
    pub(crate) fn at_work(&self) {
        self.state().task = None;
    }

    /// Moves those that were woken to `to`.
    pub(crate) fn take(&self, to: &mut Vec<Who>) {
        to.append(&mut self.state().connections);
    }

    /// From now on, who is woken wakes `task`. Whether somebody was woken already.
    pub(crate) fn at_rest(&self, task: &Waker) -> bool {
        let mut state = self.state();
        state.task = Some(task.clone());
        !state.connections.is_empty()
    }

    fn add(&self, who: Who) {
        let mut state = self.state();
        state.connections.push(who);
        if let Some(task) = &state.task {
            task.wake_by_ref();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct ConnectionWaker {
    woken: Arc<Woken>,
    who: Who,
}

impl Wake for ConnectionWaker {
    fn wake(self: Arc<Self>) {
        self.woken.add(self.who);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.add(self.who);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_loop_learns_who_was_woken_and_is_woken_only_while_it_rests() {
        let woken = Arc::new(Woken::default());
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let task = Waker::from(Arc::clone(&count));
        let mut who = Vec::new();
        woken.at_work();
        woken.waker(7, 0).wake_by_ref();
        assert!(woken.at_rest(&task), "somebody was woken in the meantime");
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        woken.waker(9, 5).wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        woken.at_work();
        woken.take(&mut who);
        assert_eq!(who, [(7, 0), (9, 5)]);
        assert!(!woken.at_rest(&task));
    }
}
