//! Turns for CPU-bound work, such as compression.
//!
//! A worker spends a few milliseconds of each loop round on such work, however many connections and streams request
//! it, so other requests wait no longer than that. The rest waits in a FIFO queue. Threads that are not workers have
//! no rounds; there, work runs at once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Time per round for work that starts without waiting. Work that has started is finished, so a round may overrun by
/// one piece.
const TIME: Duration = Duration::from_millis(2);

/// Pieces of work that a round admits from the queue. A typical piece takes half a millisecond.
const ADMITTED: usize = 4;

thread_local! {
    static QUEUE: RefCell<Queue> = const { RefCell::new(Queue::new()) };
}

/// The queue of one worker.
#[derive(Debug)]
struct Queue {
    /// Whether this thread runs rounds.
    is_worker: bool,
    /// The number of the first entry; entries are numbered consecutively.
    first: u64,
    /// `None`: the entry was cancelled.
    waiting: VecDeque<Option<Waker>>,
    /// Time spent in this round.
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

    /// Takes the next entry that is not cancelled.
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

/// Starts a round of this thread's worker.
#[inline]
pub(crate) fn begin_round() {
    QUEUE.with_borrow_mut(Queue::begin_round);
}

/// Marks this thread as one that runs rounds.
pub(crate) fn enter_worker() {
    QUEUE.with_borrow_mut(|queue| queue.is_worker = true);
}

/// The place of one response, or another source of such work, in the queue of its worker.
#[derive(Debug, Default)]
pub struct CpuTurn {
    /// The number of its queue entry.
    entry: Option<u64>,
}

impl CpuTurn {
    /// Waits for the turn. Each turn is for one piece of work, which must [`run`](Self::run) before others are
    /// polled.
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

    /// Whether work can start now, without waiting.
    pub fn is_free() -> bool {
        QUEUE.with_borrow(Queue::has_time)
    }

    /// Runs work and charges its duration to the round.
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
        // While the thread exits, the queue may be gone; and a waker called by the queue may be what drops this. Then
        // the entry stays and wakes nothing.
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

    /// A task that asks for turns.
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

    /// A worker that has used up its round.
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
