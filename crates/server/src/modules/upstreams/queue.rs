//! Requests that wait while all upstreams are as busy as they may be: one line for all workers.
//!
//! Only the first in line may take a place, and nobody who comes meanwhile: so nobody starves, whichever worker it
//! is served by. Whoever leaves the line, with a place or without, wakes the next.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A line.
pub(super) struct Queue {
    length: usize,
    /// How many stand in it; read without the lock.
    waiting: AtomicUsize,
    line: Mutex<VecDeque<Arc<Waiter>>>,
}

/// Who waits.
#[derive(Default)]
struct Waiter(Mutex<Option<Waker>>);

impl Queue {
    /// A line for so many.
    pub(super) fn new(length: usize) -> Self {
        Self { length, waiting: AtomicUsize::new(0), line: Mutex::default() }
    }

    /// Whether somebody waits.
    #[inline]
    pub(super) fn is_waited_in(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// A place at the end of the line; `None` if it is full.
    pub(super) fn join(&self) -> Option<Ticket<'_>> {
        let mut line = self.lock();
        if line.len() >= self.length {
            return None;
        }
        let waiter = Arc::new(Waiter::default());
        line.push_back(Arc::clone(&waiter));
        // Before the first in line looks for a place: whoever gives one back afterwards sees that it is wanted.
        self.waiting.store(line.len(), Ordering::SeqCst);
        Some(Ticket { queue: self, waiter })
    }

    /// A place has become free.
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

/// A place in the line. Dropped, it is left.
pub(super) struct Ticket<'a> {
    queue: &'a Queue,
    waiter: Arc<Waiter>,
}

impl Ticket<'_> {
    /// Has `waker` woken when it is worth looking for a place again.
    pub(super) fn wakes(&self, waker: &Waker) {
        *self.waiter.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    /// Whether it is the first in line.
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
        // The last one's client goes away.
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
