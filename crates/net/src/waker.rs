//! Waking one connection among those of a worker, or one stream of it, from whatever thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// A connection by its index, and which of its streams: 0 for the connection itself.
pub(crate) type Who = (u32, u32);

/// The connections that were woken since the loop last looked.
#[derive(Debug, Default)]
pub(crate) struct Woken(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    connections: Vec<Who>,
    /// The worker's task.
    task: Option<Waker>,
}

impl Woken {
    /// A waker for `stream` of connection `index`. A wake that comes after the connection has ended reaches
    /// the one that then has its place, which finds nothing to do.
    pub(crate) fn waker(self: &Arc<Self>, index: usize, stream: u32) -> Waker {
        Arc::new(ConnectionWaker { woken: Arc::clone(self), who: (index as u32, stream) }).into()
    }

    /// Moves those that were woken to `to`; later ones wake `task`.
    pub(crate) fn take(&self, task: &Waker, to: &mut Vec<Who>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        to.append(&mut state.connections);
        if !state.task.as_ref().is_some_and(|known| known.will_wake(task)) {
            state.task = Some(task.clone());
        }
    }

    fn add(&self, who: Who) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.connections.push(who);
        if let Some(task) = &state.task {
            task.wake_by_ref();
        }
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

    #[test]
    fn the_loop_learns_who_was_woken() {
        let woken = Arc::new(Woken::default());
        let mut who = Vec::new();
        woken.take(Waker::noop(), &mut who);
        woken.waker(7, 0).wake_by_ref();
        woken.waker(9, 5).wake();
        woken.take(Waker::noop(), &mut who);
        assert_eq!(who, [(7, 0), (9, 5)]);
    }
}
