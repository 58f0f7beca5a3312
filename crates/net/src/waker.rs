//! Waking a worker from any thread: one connection, one of its streams, or the worker's tasks.

use crate::poll::Token;
use rustix::event::{EventfdFlags, eventfd};
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// A connection and one of its streams; 0 is the connection itself.
pub(crate) type Target = (Token, u32);

/// Wake-ups since the loop last checked.
///
/// Almost all come from the worker's own thread while it runs; they go to a thread-local list without a lock. Other
/// threads use a second list, and notify the loop if it sleeps.
#[derive(Debug)]
pub(crate) struct Woken {
    elsewhere: Mutex<Vec<Target>>,
    /// `elsewhere` is not empty.
    any: AtomicBool,
    /// The worker's tasks were woken.
    tasks: AtomicBool,
    /// The loop is blocked in epoll, or about to be.
    resting: AtomicBool,
    /// An eventfd in the loop's epoll, edge-triggered: it is written to and never read.
    notifier: OwnedFd,
}

thread_local! {
    /// The worker of this thread, and the wake-ups from the thread.
    static HERE: (Cell<*const Woken>, RefCell<Vec<Target>>) =
        const { (Cell::new(std::ptr::null()), RefCell::new(Vec::new())) };
}

impl Woken {
    /// Creates an instance for the worker of this thread. Its tasks start as woken, since none of them has run yet.
    ///
    /// # Errors
    /// No more descriptors.
    pub(crate) fn new() -> io::Result<Arc<Self>> {
        let woken = Arc::new(Self {
            elsewhere: Mutex::default(),
            any: AtomicBool::new(false),
            tasks: AtomicBool::new(true),
            resting: AtomicBool::new(false),
            notifier: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        });
        HERE.with(|(worker, _)| worker.set(Arc::as_ptr(&woken)));
        Ok(woken)
    }

    /// The descriptor that the loop watches while it sleeps.
    pub(crate) fn notifier(&self) -> &OwnedFd {
        &self.notifier
    }

    /// Creates a waker for `stream` of a connection. Wake-ups after the connection has ended are dropped.
    pub(crate) fn waker(self: &Arc<Self>, connection: Token, stream: u32) -> Waker {
        Arc::new(ConnectionWaker { woken: Arc::clone(self), target: (connection, stream) }).into()
    }

    /// Moves all wake-ups to `to`.
    pub(crate) fn take(&self, to: &mut Vec<Target>) {
        self.with_ours(|ours| to.append(ours));
        if self.any.load(Ordering::Acquire) {
            let mut elsewhere = self.elsewhere();
            self.any.store(false, Ordering::Relaxed);
            to.append(&mut elsewhere);
        }
    }

    /// Whether the worker's tasks were woken since the last call.
    pub(crate) fn take_tasks(&self) -> bool {
        self.tasks.load(Ordering::Relaxed) && self.tasks.swap(false, Ordering::AcqRel)
    }

    /// Lets wake-ups notify the loop from now on. Returns false if there are wake-ups already: the loop must not
    /// sleep.
    pub(crate) fn may_rest(&self) -> bool {
        if self.with_ours(|ours| !ours.is_empty()) == Some(true) {
            return false;
        }
        // Callers of `notify` store and check in the reverse order, so at least one side sees the other's store.
        self.resting.store(true, Ordering::SeqCst);
        !self.any.load(Ordering::SeqCst) && !self.tasks.load(Ordering::SeqCst)
    }

    /// The loop is running again, and will check for wake-ups before it sleeps.
    pub(crate) fn at_work(&self) {
        self.resting.store(false, Ordering::Relaxed);
    }

    fn add(&self, target: Target) {
        if self.with_ours(|ours| ours.push(target)).is_some() {
            return;
        }
        let mut elsewhere = self.elsewhere();
        elsewhere.push(target);
        self.any.store(true, Ordering::SeqCst);
        drop(elsewhere);
        self.notify();
    }

    /// Interrupts the loop if it sleeps.
    pub(crate) fn notify(&self) {
        if self.resting.swap(false, Ordering::SeqCst) {
            // This fails only if the counter is full: then the loop has been notified already.
            let _ = rustix::io::write(&self.notifier, &1_u64.to_ne_bytes());
        }
    }

    /// Accesses the list of the worker's own thread, if called on that thread.
    #[inline]
    fn with_ours<T>(&self, with: impl FnOnce(&mut Vec<Target>) -> T) -> Option<T> {
        let ours = |(worker, ours): &(Cell<*const Self>, RefCell<Vec<Target>>)| {
            std::ptr::eq(worker.get(), self).then(|| with(&mut ours.borrow_mut()))
        };
        // While the thread exits, its list is not used any more.
        HERE.try_with(ours).ok().flatten()
    }

    fn elsewhere(&self) -> MutexGuard<'_, Vec<Target>> {
        self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Woken {
    fn drop(&mut self) {
        // The next instance may have the same address and belong to another thread.
        let _ = HERE.try_with(|(worker, ours)| {
            if std::ptr::eq(worker.get(), self) {
                worker.set(std::ptr::null());
                ours.borrow_mut().clear();
            }
        });
    }
}

/// As a waker, it wakes the worker's tasks.
impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.tasks.store(true, Ordering::SeqCst);
        self.notify();
    }
}

struct ConnectionWaker {
    woken: Arc<Woken>,
    target: Target,
}

impl Wake for ConnectionWaker {
    fn wake(self: Arc<Self>) {
        self.woken.add(self.target);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.add(self.target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::Kind;

    fn notifications(woken: &Woken) -> u64 {
        let mut number = [0; 8];
        let read = rustix::io::read(&woken.notifier, &mut number);
        if read.is_ok() { u64::from_ne_bytes(number) } else { 0 }
    }

    fn connection(slot: u32) -> Token {
        Token::new(Kind::Connection, slot, 0)
    }

    fn woken() -> Arc<Woken> {
        let woken = Woken::new().expect("an eventfd");
        assert!(woken.take_tasks(), "they run once, to begin");
        woken
    }

    fn from_another_thread(wake: impl FnOnce() + Send) {
        std::thread::scope(|scope| scope.spawn(wake).join()).expect("woken");
    }

    #[test]
    fn what_is_woken_is_told_once_from_whatever_thread() {
        let woken = woken();
        let (ours, theirs) = (woken.waker(connection(7), 0), woken.waker(connection(9), 5));
        ours.wake_by_ref();
        from_another_thread(|| theirs.wake());
        let mut targets = Vec::new();
        woken.take(&mut targets);
        assert_eq!(targets, [(connection(7), 0), (connection(9), 5)]);
        targets.clear();
        woken.take(&mut targets);
        assert_eq!(targets, []);
    }

    #[test]
    fn the_loop_is_notified_once_per_sleep_and_never_while_running() {
        let woken = woken();
        let waker = woken.waker(connection(1), 0);
        from_another_thread(|| waker.wake_by_ref());
        assert_eq!(notifications(&woken), 0);
        assert!(!woken.may_rest(), "something was woken in the meantime");
        woken.at_work();
        woken.take(&mut Vec::new());
        assert!(woken.may_rest());
        from_another_thread(|| {
            waker.wake_by_ref();
            waker.wake_by_ref();
        });
        assert_eq!(notifications(&woken), 1);
    }

    #[test]
    fn tasks_that_were_woken_keep_the_loop_from_resting() {
        let woken = woken();
        let tasks = Waker::from(Arc::clone(&woken));
        assert!(woken.may_rest());
        from_another_thread(|| tasks.wake_by_ref());
        assert_eq!(notifications(&woken), 1);
        assert!(!woken.may_rest());
        assert!(woken.take_tasks() && !woken.take_tasks());
        woken.at_work();
        woken.waker(connection(3), 0).wake();
        assert!(!woken.may_rest(), "what was woken by the loop itself has a turn first");
    }

    #[test]
    fn a_worker_that_has_ended_leaves_nothing_to_the_next_of_its_thread() {
        let first = woken();
        let waker = first.waker(connection(4), 0);
        let second = woken();
        waker.wake();
        let mut targets = Vec::new();
        second.take(&mut targets);
        assert_eq!(targets, []);
    }
}
