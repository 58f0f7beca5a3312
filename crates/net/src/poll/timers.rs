//! Timers of a worker's thread, with a resolution of a millisecond.

use super::wheel::{Key, Wheel};
use crate::clock::Instant;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A step is 2^20 ns, about a millisecond.
const STEP_BITS: u32 = 20;
/// A rotation is half a second; a timer beyond that is examined once per rotation.
const STEPS: usize = 512;

/// A worker's timers for timeouts that cannot wait for a [sweep](super::SWEEP). They belong to the worker's thread
/// and wake its tasks: no other thread is involved, a timer needs no system call, and a worker without timers pays
/// nothing.
#[derive(Clone, Debug)]
pub struct Timers(Rc<RefCell<Wheel<Waker>>>);

impl Default for Timers {
    fn default() -> Self {
        Self(Rc::new(RefCell::new(Wheel::new(Instant::now().as_nanos(), STEP_BITS, STEPS))))
    }
}

impl Timers {
    /// Waits for `duration`, and up to a millisecond longer.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep { timers: self.clone(), due: Instant::now() + duration, key: None }
    }

    /// How long the loop may sleep until the next timer.
    #[inline]
    pub(crate) fn pause(&self) -> Option<Duration> {
        let due = self.0.borrow().next_due()?;
        Some(Duration::from_nanos(due.saturating_sub(Instant::now().as_nanos())))
    }

    /// Wakes the timers that are due.
    #[inline]
    pub(crate) fn wake(&self) {
        if !self.0.borrow().is_empty() {
            self.wake_due(Instant::now());
        }
    }

    #[cold]
    fn wake_due(&self, now: Instant) {
        let mut due = Vec::new();
        self.0.borrow_mut().take(now.as_nanos(), usize::MAX, &mut due);
        due.into_iter().for_each(Waker::wake);
    }
}

/// A future that completes at a deadline; created by [`Timers::sleep`].
#[derive(Debug)]
pub struct Sleep {
    timers: Timers,
    due: Instant,
    key: Option<Key>,
}

impl Sleep {
    fn cancel(&mut self) {
        if let Some(key) = self.key.take() {
            let waker = self.timers.0.borrow_mut().cancel(key);
            drop(waker);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.due {
            self.cancel();
            return Poll::Ready(());
        }
        let timers = self.timers.clone();
        let mut wheel = timers.0.borrow_mut();
        match self.key.and_then(|key| wheel.get_mut(key)) {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.key = Some(wheel.add(self.due.as_nanos(), cx.waker().clone())),
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sleeps as long as the loop would, then wakes the timers.
    fn rest(timers: &Timers) {
        std::thread::sleep(timers.pause().expect("a timer"));
        timers.wake();
    }

    #[test]
    fn what_sleeps_is_woken_when_its_time_has_come_and_not_a_sweep_later() {
        let (timers, woken) = (Timers::default(), Arc::<Woken>::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut cx = Context::from_waker(&waker);
        let began = Instant::now();
        let mut sleep = Box::pin(timers.sleep(Duration::from_millis(3)));
        assert!(sleep.as_mut().poll(&mut cx).is_pending() && sleep.as_mut().poll(&mut cx).is_pending());
        let pause = timers.pause().expect("a timer");
        assert!(pause <= Duration::from_millis(5), "{pause:?}");
        rest(&timers);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(sleep.as_mut().poll(&mut cx).is_ready());
        assert!(Instant::now().saturating_duration_since(began) >= Duration::from_millis(3));
        assert_eq!(timers.pause(), None);
    }

    #[test]
    fn nothing_is_left_of_a_sleep_that_was_given_up() {
        let timers = Timers::default();
        let mut cx = Context::from_waker(Waker::noop());
        let mut sleep = Box::pin(timers.sleep(Duration::from_secs(60)));
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
        assert!(timers.pause().is_some());
        drop(sleep);
        assert_eq!(timers.pause(), None);
    }
}
