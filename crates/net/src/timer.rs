//! Deadlines of a worker's connections.
//!
//! Moving a deadline is one store, since every request moves it twice and almost none ever passes.
//! A sweep ten times a second reads all of them: four octets each, so 20,000 connections are 80 KB.

use std::cell::RefCell;
use std::task::Waker;
use std::time::{Duration, Instant};

/// How often [`Timers::sweep`] is called, and so how late a deadline can be noticed.
pub const SWEEP: Duration = Duration::from_millis(100);

/// No deadline.
const NEVER: u32 = u32::MAX;

/// A worker's deadlines, each with the task to wake.
#[derive(Debug)]
pub struct Timers {
    epoch: Instant,
    slots: RefCell<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    /// Milliseconds after the epoch.
    deadlines: Vec<u32>,
    wakers: Vec<Option<Waker>>,
    free: Vec<u32>,
}

/// A place in a worker's [`Timers`], held by one connection.
#[derive(Debug)]
pub struct Slot(u32);

impl Timers {
    /// No deadlines yet; `now` becomes the time from which they count.
    pub fn new(now: Instant) -> Self {
        Self { epoch: now, slots: RefCell::default() }
    }

    /// A place for one more task.
    pub fn register(&self, waker: Waker) -> Slot {
        let mut slots = self.slots.borrow_mut();
        let index = slots.free.pop().unwrap_or_else(|| {
            slots.deadlines.push(NEVER);
            slots.wakers.push(None);
            (slots.wakers.len() - 1) as u32
        });
        slots.wakers[index as usize] = Some(waker);
        Slot(index)
    }

    /// Gives the place back.
    pub fn release(&self, slot: Slot) {
        let mut slots = self.slots.borrow_mut();
        slots.deadlines[slot.0 as usize] = NEVER;
        slots.wakers[slot.0 as usize] = None;
        slots.free.push(slot.0);
    }

    /// Sets the deadline; the task is woken once when it has passed.
    pub fn set(&self, slot: &Slot, deadline: Instant) {
        self.slots.borrow_mut().deadlines[slot.0 as usize] = self.millis(deadline);
    }

    /// Takes the deadline away.
    pub fn clear(&self, slot: &Slot) {
        self.slots.borrow_mut().deadlines[slot.0 as usize] = NEVER;
    }

    /// Wakes every task whose deadline has passed.
    pub fn sweep(&self, now: Instant) {
        let now = self.millis(now);
        let mut slots = self.slots.borrow_mut();
        let Slots { deadlines, wakers, .. } = &mut *slots;
        for (deadline, waker) in deadlines.iter_mut().zip(wakers).filter(|(d, _)| **d <= now) {
            *deadline = NEVER;
            wake(waker);
        }
    }

    /// Milliseconds from the epoch, as far as 49 days: a worker that runs longer starts over with
    /// deadlines that are due at once, which costs its idle connections and nothing else.
    fn millis(&self, time: Instant) -> u32 {
        let since = time.saturating_duration_since(self.epoch);
        ((since.as_secs() as u32).wrapping_mul(1000)).wrapping_add(since.subsec_millis())
    }

    /// Wakes every task.
    pub fn wake_all(&self) {
        self.slots.borrow().wakers.iter().for_each(wake);
    }
}

fn wake(waker: &(impl std::borrow::Borrow<Option<Waker>> + ?Sized)) {
    if let Some(waker) = waker.borrow() {
        waker.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_woken_once_when_its_deadline_has_passed() {
        let start = Instant::now();
        let timers = Timers::new(start);
        let woken = Arc::new(Count::default());
        let slot = timers.register(Waker::from(Arc::clone(&woken)));
        timers.set(&slot, start + Duration::from_secs(10));
        timers.sweep(start + Duration::from_secs(9));
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        timers.sweep(start + Duration::from_secs(10));
        timers.sweep(start + Duration::from_secs(11));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        timers.set(&slot, start + Duration::from_secs(20));
        timers.clear(&slot);
        timers.sweep(start + Duration::from_secs(30));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        timers.release(slot);
        timers.wake_all();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_released_place_is_used_again() {
        let timers = Timers::new(Instant::now());
        let a = timers.register(Waker::noop().clone());
        let index = a.0;
        timers.release(a);
        assert_eq!(timers.register(Waker::noop().clone()).0, index);
    }
}
