//! Ending background threads that are no longer needed.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Held by the users of a thread. When the last one drops it, the thread ends.
#[derive(Debug, Default)]
pub(crate) struct Alive(Arc<Signal>);

/// The thread's end of it.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    over: Mutex<bool>,
    changed: Condvar,
}

impl Alive {
    /// For the thread.
    pub(crate) fn signal(&self) -> Arc<Signal> {
        self.0.clone()
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        *self.0.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

impl Signal {
    /// Whether the thread should end.
    pub(crate) fn is_over(&self) -> bool {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits; `false` as soon as the thread should end.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(over, time, |over| !*over);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_ends_when_the_last_one_who_needs_it_is_gone() {
        let alive = Arc::new(Alive::default());
        let signal = alive.signal();
        let (held, thread) =
            (alive.clone(), std::thread::spawn(move || signal.wait(Duration::from_secs(600))));
        assert!(alive.signal().wait(Duration::ZERO));
        drop((alive, held));
        assert!(!thread.join().unwrap());
    }
}
