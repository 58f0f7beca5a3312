//! Blocking work: name lookups, disk I/O, session stores. Each lane has its own threads and queue, so that
//! unresponsive name servers do not delay file reads.
//!
//! Queues are FIFO and bounded: work that finds one full fails at once. Work whose caller has gone is skipped.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// The purpose of a group of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Names in requests: CONNECT, `x-reproxy-url`.
    RequestedNames,
    /// Names in the configuration.
    ConfiguredNames,
    /// File content that is not in the page cache.
    Files,
    /// Directory listings.
    Listings,
    /// TLS sessions in a store on another machine.
    Sessions,
    /// Request content that is buffered on disk.
    Spool,
    /// Compression at slow levels.
    Compression,
    /// Password verification: each takes a tenth of a second of CPU time.
    Passwords,
}

/// One for each [`Lane`], in that order.
static QUEUES: [Queue; 8] = [
    Queue::new("name look-ups", NAME_THREADS, NAME_THREADS * WAITING_NAMES),
    // Bounded by the number of names in the configuration.
    Queue::new("name look-ups", NAME_THREADS, usize::MAX),
    // Each connection has at most one.
    Queue::new("files to be read", 256, 65_536),
    // A large directory takes half a second of CPU time.
    Queue::new("listings", 2, 1024),
    Queue::new("TLS session look-ups", 64, 1024),
    Queue::new("uploads to be kept on disk", 64, 16_384),
    // Each uses a full core; a response has one piece at a time here.
    Queue::new("pieces to be compressed", 4, 65_536),
    Queue::new("passwords to be checked", 1, WAITING_PASSWORDS),
];

/// Default number of threads for name lookups.
const NAME_THREADS: usize = 32;

/// Queued lookups for requests, per thread.
const WAITING_NAMES: usize = 32;

/// Queued password verifications, per thread. At a tenth of a second each, the last one waits about as long as users
/// are willing to.
const WAITING_PASSWORDS: usize = 64;

/// Limits password verification to half of the processors, so that password guessing leaves the others to the
/// workers.
pub fn set_password_threads() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (processors / 2).max(1);
    QUEUES[Lane::Passwords as usize].resize(threads, threads * WAITING_PASSWORDS);
}

/// Sets the number of threads for names in requests, and the same for those in the configuration. Must be called
/// before the first worker starts.
pub fn set_name_threads(threads: usize) {
    let [requested, configured, ..] = &QUEUES;
    requested.resize(threads, threads.saturating_mul(WAITING_NAMES));
    configured.resize(threads, usize::MAX);
}

/// Maximum number of threads of all lanes.
pub(crate) fn threads() -> usize {
    QUEUES.iter().map(|queue| queue.threads.load(Ordering::Relaxed)).sum()
}

/// Runs work on a thread of this lane. Must be called within a worker or another tokio runtime.
pub fn run<T: Send + 'static>(lane: Lane, work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
    QUEUES[lane as usize].run(work)
}

/// Work in progress.
///
/// Fails if the work was refused ([`is_refused`]) or has panicked.
#[derive(Debug)]
pub struct Task<T>(Result<oneshot::Receiver<T>, &'static str>);

/// Whether work was refused because the queue of its lane is full.
pub fn is_refused(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ResourceBusy
}

impl<T> Future for Task<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Ok(result) => Pin::new(result).poll(cx).map_err(|_| io::Error::other("a thread has panicked")),
            Err(what) => {
                let text = format!("too many {what} are waiting");
                Poll::Ready(Err(io::Error::new(ErrorKind::ResourceBusy, text)))
            }
        }
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// The threads of a lane, and its queue.
struct Queue {
    what: &'static str,
    threads: AtomicUsize,
    most_waiting: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    running: usize,
    waiting: VecDeque<Job>,
}

impl Queue {
    const fn new(what: &'static str, threads: usize, most_waiting: usize) -> Self {
        Self {
            what,
            threads: AtomicUsize::new(threads),
            most_waiting: AtomicUsize::new(most_waiting),
            state: Mutex::new(State { running: 0, waiting: VecDeque::new() }),
        }
    }

    fn resize(&self, threads: usize, most_waiting: usize) {
        self.threads.store(threads, Ordering::Relaxed);
        self.most_waiting.store(most_waiting, Ordering::Relaxed);
    }

    fn run<T: Send + 'static>(&'static self, work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        let (tell, told) = oneshot::channel();
        let job = move || {
            if !tell.is_closed() {
                // The caller may have gone since.
                let _ = tell.send(work());
            }
        };
        Task(if self.submit(Box::new(job)) { Ok(told) } else { Err(self.what) })
    }

    /// Starts a thread, or queues the job. Returns false if there is no room.
    fn submit(&'static self, job: Job) -> bool {
        let mut state = self.lock();
        if state.running >= self.threads.load(Ordering::Relaxed) {
            let is_room = state.waiting.len() < self.most_waiting.load(Ordering::Relaxed);
            if is_room {
                state.waiting.push_back(job);
            }
            return is_room;
        }
        state.running += 1;
        drop(state);
        let thread = Thread(self);
        tokio::task::spawn_blocking(move || thread.work(job));
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the threads of a lane; dropping it, even by a runtime that ends before it ran, decrements the count.
struct Thread(&'static Queue);

impl Thread {
    /// Runs jobs until the queue is empty.
    fn work(self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            // The panic hook has reported the panic; the caller notices by its closed channel.
            let _ = catch_unwind(AssertUnwindSafe(job));
            next = self.next();
        }
        // `next` has decremented the count, atomically with checking the queue.
        std::mem::forget(self);
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.0.lock();
        let next = state.waiting.pop_front();
        if next.is_none() {
            state.running -= 1;
        }
        next
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc;
    use std::time::Duration;
    use tokio::runtime::{Builder, Runtime};

    fn queue(threads: usize, most_waiting: usize) -> &'static Queue {
        Box::leak(Box::new(Queue::new("things", threads, most_waiting)))
    }

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_all().build().expect("a runtime")
    }

    /// Work that blocks until it may continue.
    fn blocked(on: &Arc<Mutex<mpsc::Receiver<()>>>) -> impl FnOnce() + Send + use<> {
        let on = Arc::clone(on);
        move || {
            // Returns when the other end is dropped.
            let _ = on.lock().expect("no panic within").recv();
        }
    }

    #[test]
    fn six_hundred_unanswered_names_do_not_delay_a_file() {
        let runtime = runtime();
        let _entered = runtime.enter();
        let (go, on) = mpsc::channel();
        let on = Arc::new(Mutex::new(on));
        let names: Vec<_> = (0..600).map(|_| run(Lane::RequestedNames, blocked(&on))).collect();
        let file = run(Lane::Files, || 7);
        let answer = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(5), file).await });
        assert_eq!(answer.expect("in time").expect("done"), 7);
        assert_eq!(QUEUES[Lane::RequestedNames as usize].lock().running, NAME_THREADS);
        drop(go);
        for name in names {
            runtime.block_on(name).expect("looked up");
        }
    }

    #[test]
    fn what_finds_the_queue_full_is_refused_and_what_waits_runs_in_order() {
        let runtime = runtime();
        let _entered = runtime.enter();
        let queue = queue(1, 3);
        let (go, on) = mpsc::channel();
        let on = Arc::new(Mutex::new(on));
        let first = queue.run(blocked(&on));
        let (tell, told) = mpsc::channel();
        let next: Vec<_> = (0..3)
            .map(|number| {
                let tell = tell.clone();
                queue.run(move || tell.send(number).expect("somebody listens"))
            })
            .collect();
        let error = runtime.block_on(queue.run(|| ())).expect_err("full");
        assert!(is_refused(&error) && error.to_string() == "too many things are waiting", "{error}");
        drop(go);
        runtime.block_on(first).expect("done");
        for task in next {
            runtime.block_on(task).expect("done");
        }
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn abandoned_work_is_skipped_and_a_panic_ends_no_thread() {
        let runtime = runtime();
        let _entered = runtime.enter();
        let queue = queue(1, 10);
        let (go, on) = mpsc::channel();
        let first = queue.run(blocked(&Arc::new(Mutex::new(on))));
        let (tell, told) = mpsc::channel();
        drop(queue.run(move || tell.send(()).expect("somebody listens")));
        let panics = queue.run(|| panic!("for the test"));
        let last = queue.run(|| 1);
        drop(go);
        runtime.block_on(first).expect("done");
        assert!(!is_refused(&runtime.block_on(panics).expect_err("it panicked")));
        assert_eq!(runtime.block_on(last).expect("done"), 1);
        assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Disconnected), "skipped");
    }

    #[test]
    fn a_runtime_that_ends_takes_no_thread_with_it() {
        let queue = queue(1, 10);
        for number in 0..3 {
            let runtime = runtime();
            let _entered = runtime.enter();
            assert_eq!(runtime.block_on(queue.run(move || number)).expect("done"), number);
            drop(queue.run(|| ()));
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}
