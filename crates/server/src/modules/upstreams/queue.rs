//! Requests that wait while all upstreams are at their limit: one FIFO queue for all workers.
//!
//! Only the first in the queue may take a permit, and no request that arrives later: so none starves, whichever worker
//! serves it. A request that leaves the queue, with a permit or without, wakes the next.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// The queue of a group.
pub(super) struct Queue {
    length: usize,
    /// Length of the queue; read without the lock.
    waiting: AtomicUsize,
    line: Mutex<VecDeque<Arc<Waiter>>>,
}

/// A queued request.
#[derive(Default)]
struct Waiter(Mutex<Option<Waker>>);

impl Queue {
    /// Creates a queue for at most `length` requests.
    pub(super) fn new(length: usize) -> Self {
        Self { length, waiting: AtomicUsize::new(0), line: Mutex::default() }
    }

    /// Whether requests are queued.
    #[inline]
    pub(super) fn is_waited_in(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Appends a request to the queue; `None` if it is full.
    pub(super) fn join(&self) -> Option<Ticket<'_>> {
        let mut line = self.lock();
        if line.len() >= self.length {
            return None;
        }
        let waiter = Arc::new(Waiter::default());
        line.push_back(Arc::clone(&waiter));
        // Stored before the first in the queue looks for a permit: one released after that wakes it.
        self.waiting.store(line.len(), Ordering::SeqCst);
        Some(Ticket { queue: self, waiter })
    }

    /// Wakes the first in the queue, since a permit was released.
    #[inline]
    pub(super) fn wake_first(&self) {
        if self.is_waited_in() {
            self.wake_first_of(&self.lock());
        }
    }

    #[cold]
    fn wake_first_of(&self, line: &VecDeque<Arc<Waiter>>) {
        if let Some(first) = line.front() {
            first.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Waiter>>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    fn wake(&self) {
        let waker = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A position in the queue; dropping it leaves the queue.
pub(super) struct Ticket<'a> {
    queue: &'a Queue,
    waiter: Arc<Waiter>,
}

impl Ticket<'_> {
    /// Registers the waker to wake when another search for a permit is worthwhile.
    pub(super) fn wakes(&self, waker: &Waker) {
        *self.waiter.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    /// Whether it is the first in the queue.
    pub(super) fn is_first(&self) -> bool {
        self.queue.lock().front().is_some_and(|first| Arc::ptr_eq(first, &self.waiter))
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut line = self.queue.lock();
        line.retain(|own| !Arc::ptr_eq(own, &self.waiter));
        self.queue.waiting.store(line.len(), Ordering::SeqCst);
        self.queue.wake_first_of(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing::Wakes;

    #[test]
    fn the_first_in_line_is_woken_and_whoever_leaves_wakes_the_next() {
        let queue = Queue::new(3);
        let (tickets, wakers): (Vec<_>, Vec<_>) =
            (0..3).map(|_| (queue.join().expect("room"), Wakes::new())).unzip();
        for (ticket, (_, waker)) in tickets.iter().zip(&wakers) {
            ticket.wakes(waker);
        }
        let woken = || wakers.iter().map(|(wakes, _)| wakes.count()).collect::<Vec<_>>();
        assert!(queue.join().is_none(), "three are many enough");
        queue.wake_first();
        assert_eq!(woken(), [1, 0, 0]);
        assert!(tickets[0].is_first() && !tickets[1].is_first());
        let mut tickets = tickets.into_iter();
        drop(tickets.next());
        assert_eq!(woken(), [1, 1, 0]);
        let second = tickets.next().expect("the second");
        // The last one's client disconnects.
        drop(tickets.next());
        assert!(second.is_first() && queue.is_waited_in());
        drop(second);
        assert!(!queue.is_waited_in());
        queue.wake_first();
        assert_eq!(woken(), [1, 1, 0]);
    }

    #[test]
    fn a_line_without_room_is_never_joined() {
        assert!(Queue::new(0).join().is_none());
    }
}
