//! Work that blocks a thread: names, disks, stores of sessions. Each use has threads and a queue of its own, so that
//! name servers that are silent keep nobody from reading a file.
//!
//! A queue is FIFO and bounded: what finds it full fails at once. Work whose caller has given up is skipped.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// What the threads are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Names that requests bring: CONNECT, `x-reproxy-url`.
    RequestedNames,
    /// Names of the configuration.
    ConfiguredNames,
    /// Files that are not in memory.
    Files,
    /// Directories that are listed as a client asks for.
    Listings,
    /// TLS sessions that another machine may have.
    Sessions,
    /// Content of requests that is kept on disk.
    Spool,
    /// Compression at a quality that takes long.
    Compression,
    /// Passwords: a check takes a processor for a tenth of a second.
    Passwords,
}

/// One of each [`Lane`], in that order.
static QUEUES: [Queue; 8] = [
    Queue::new("name look-ups", NAME_THREADS, NAME_THREADS * WAITING_NAMES),
    // As many as the configuration has names.
    Queue::new("name look-ups", NAME_THREADS, usize::MAX),
    // Every connection has one at most.
    Queue::new("files to be read", 256, 65_536),
    // A large directory takes a core for half a second.
    Queue::new("listings", 2, 1024),
    Queue::new("TLS session look-ups", 64, 1024),
    Queue::new("uploads to be kept on disk", 64, 16_384),
    // Each takes a core; a response has one piece at a time here.
    Queue::new("pieces to be compressed", 4, 65_536),
    Queue::new("passwords to be checked", 1, WAITING_PASSWORDS),
];

/// Threads for names if nobody says how many.
const NAME_THREADS: usize = 32;

/// Look-ups that requests bring and that wait, for each thread.
const WAITING_NAMES: usize = 32;

/// Passwords that wait for a check, for each thread. At a tenth of a second each, the last one waits for as long as
/// people do.
const WAITING_PASSWORDS: usize = 64;

/// Has half of this machine's processors check passwords at most: guesses leave the others to the workers.
pub fn set_password_threads() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (processors / 2).max(1);
    QUEUES[Lane::Passwords as usize].resize(threads, threads * WAITING_PASSWORDS);
}

/// Sets the number of threads for names of requests, and the same for those of the configuration. To be called
/// before the first worker starts.
pub fn set_name_threads(threads: usize) {
    let [requested, configured, ..] = &QUEUES;
    requested.resize(threads, threads.saturating_mul(WAITING_NAMES));
    configured.resize(threads, usize::MAX);
}

/// All threads that there may be.
pub(crate) fn threads() -> usize {
    QUEUES.iter().map(|queue| queue.threads.load(Ordering::Relaxed)).sum()
}

/// Has a thread of this lane do the work. To be called within a worker, or any other runtime of tokio.
pub fn run<T: Send + 'static>(lane: Lane, work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
    QUEUES[lane as usize].run(work)
}

/// Work under way.
///
/// Its output is an error if it was refused ([`is_refused`]), or has panicked.
#[derive(Debug)]
pub struct Task<T>(Result<oneshot::Receiver<T>, &'static str>);

/// Whether work was refused since too much of its kind waits already.
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

/// The threads of a lane, and what waits for one.
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
                // Whoever wanted it may have given up since.
                let _ = tell.send(work());
            }
        };
        Task(if self.submit(Box::new(job)) { Ok(told) } else { Err(self.what) })
    }

    /// Starts a thread, or puts the job in the queue. Whether there was room.
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

/// One of the threads of a lane; dropped, also by a runtime that ends before it ran, it is counted no more.
struct Thread(&'static Queue);

impl Thread {
    /// Does jobs until none waits.
    fn work(self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            // A panic was reported by its hook; the caller learns by its channel.
            let _ = catch_unwind(AssertUnwindSafe(job));
            next = self.next();
        }
        // `next` has counted it out, in one step with looking at the queue.
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

    /// Work that blocks until it is told to go on.
    fn blocked(on: &Arc<Mutex<mpsc::Receiver<()>>>) -> impl FnOnce() + Send + use<> {
        let on = Arc::clone(on);
        move || {
            // The other end is dropped when it may.
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
