//! Turns for work that takes a processor for long, such as compression.
//!
//! A worker does a few milliseconds of such work in a round of its loop, whatever the number of connections and streams
//! that ask for it: other requests wait no longer than that. The rest waits in a queue, FIFO. Threads that are no workers
//! have no rounds; there, all work is done at once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Work in a round that begins without waiting. A piece of work that has begun is done, so a round may take longer by one.
const TIME: Duration = Duration::from_millis(2);

/// Pieces of work that a round takes from the queue. The usual piece takes half a millisecond.
const ADMITTED: usize = 4;

thread_local! {
    static QUEUE: RefCell<Queue> = const { RefCell::new(Queue::new()) };
}

/// What waits in one worker.
#[derive(Debug)]
struct Queue {
    /// Whether there are rounds.
    is_worker: bool,
    /// The number of the first entry; one more for each entry behind it.
    first: u64,
    /// `None`: it was given up.
    waiting: VecDeque<Option<Waker>>,
    /// Spent in this round.
    spent: Duration,
}

impl Queue {
    const fn new() -> Self {
        Self { is_worker: false, first: 0, waiting: VecDeque::new(), spent: Duration::ZERO }
    }

    fn entry(&mut self, number: u64) -> Option<&mut Option<Waker>> {
        let index = number.checked_sub(self.first)?;
        self.waiting.get_mut(usize::try_from(index).ok()?)
    }

    fn has_time(&self) -> bool {
        !self.is_worker || self.waiting.is_empty() && self.spent < TIME
    }

    fn push(&mut self, waker: &Waker) -> u64 {
        self.waiting.push_back(Some(waker.clone()));
        self.first + self.waiting.len() as u64 - 1
    }

    /// Takes the next that still waits.
    fn pop(&mut self) -> Option<Waker> {
        while let Some(entry) = self.waiting.pop_front() {
            self.first += 1;
            if entry.is_some() {
                return entry;
            }
        }
        None
    }

    fn begin_round(&mut self) {
        self.spent = Duration::ZERO;
        if !self.waiting.is_empty() {
            (0..ADMITTED).map_while(|_| self.pop()).for_each(Waker::wake);
        }
    }
}

/// The worker of this thread begins a round.
#[inline]
pub(crate) fn begin_round() {
    QUEUE.with_borrow_mut(Queue::begin_round);
}

/// From now on this thread has rounds.
pub(crate) fn enter_worker() {
    QUEUE.with_borrow_mut(|queue| queue.is_worker = true);
}

/// The place of one response, or whatever else has such work, in the queue of its worker.
#[derive(Debug, Default)]
pub struct CpuTurn {
    /// The number of its entry.
    entry: Option<u64>,
}

impl CpuTurn {
    /// Waits for the turn. Each turn is for one piece of work, to be done by [`run`](Self::run) before others are polled.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        QUEUE.with_borrow_mut(|queue| {
            match self.entry {
                Some(number) => {
                    if let Some(entry) = queue.entry(number) {
                        *entry = Some(cx.waker().clone());
                        return Poll::Pending;
                    }
                }
                None if queue.has_time() => {}
                None => {
                    self.entry = Some(queue.push(cx.waker()));
                    return Poll::Pending;
                }
            }
            self.entry = None;
            Poll::Ready(())
        })
    }

    /// Whether work can begin now, without waiting.
    pub fn is_free() -> bool {
        QUEUE.with_borrow(Queue::has_time)
    }

    /// Does work, whose time counts.
    pub fn run<T>(work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let output = work();
        spend(begun.elapsed());
        output
    }
}

fn spend(time: Duration) {
    QUEUE.with_borrow_mut(|queue| queue.spent += time);
}

impl Drop for CpuTurn {
    fn drop(&mut self) {
        let Some(number) = self.entry else { return };
        // While the thread ends there may be no queue any more; and a waker of the queue may be what ends the work. Then
        // the entry stays, and wakes nothing.
        let _ = QUEUE.try_with(|queue| {
            let mut queue = queue.try_borrow_mut().ok()?;
            queue.entry(number)?.take()
        });
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
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// One that asks for turns.
    #[derive(Default)]
    struct Work {
        turn: CpuTurn,
        woken: Arc<Count>,
    }

    impl Work {
        fn may_run(&mut self) -> bool {
            let waker = Waker::from(Arc::clone(&self.woken));
            self.turn.poll(&mut Context::from_waker(&waker)).is_ready()
        }

        fn woken(&self) -> usize {
            self.woken.0.load(Ordering::SeqCst)
        }
    }

    /// A worker that has done all the work of its round.
    fn busy_worker() {
        enter_worker();
        begin_round();
        spend(TIME);
    }

    #[test]
    fn a_round_does_so_much_and_the_rest_waits_in_order() {
        enter_worker();
        begin_round();
        let mut works: Vec<Work> = (0..10).map(|_| Work::default()).collect();
        assert!(works[0].may_run());
        spend(TIME / 2);
        assert!(works[0].may_run(), "there is time left");
        spend(TIME / 2);
        assert!(works.iter_mut().all(|work| !work.may_run()));
        begin_round();
        assert!(works.iter().map(Work::woken).eq([1, 1, 1, 1, 0, 0, 0, 0, 0, 0]));
        assert!(!CpuTurn::is_free() && !Work::default().may_run(), "others were there before");
        assert!(
            works[..4].iter_mut().all(Work::may_run) && works[4..].iter_mut().all(|work| !work.may_run())
        );
        assert!(!works[0].may_run(), "a turn is for one piece");
        begin_round();
        begin_round();
        assert!(works[4..].iter_mut().all(Work::may_run));
    }

    #[test]
    fn what_is_given_up_takes_no_turn_and_what_is_polled_twice_has_one_entry() {
        busy_worker();
        let mut works: Vec<Work> = (0..10).map(|_| Work::default()).collect();
        for work in &mut works {
            assert!(!work.may_run() && !work.may_run());
        }
        works.drain(..6);
        begin_round();
        assert!(works.iter().map(Work::woken).eq([1; 4]));
        assert!(works.iter_mut().all(Work::may_run));
        drop(works);
        assert!(Work::default().may_run(), "the queue is empty");
    }

    #[test]
    fn threads_that_are_no_workers_do_all_work_at_once() {
        spend(TIME);
        assert!(Work::default().may_run());
    }
}
