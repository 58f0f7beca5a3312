//! Passes log lines from workers to the writer threads.

use super::loss::Loss;
use super::writer::{self, Message, Outlet};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most buffers that wait for a writer; at 64 KiB each, a writer that hangs holds 8 MiB.
const QUEUE: usize = 128;

/// The writers of the process that are running, those of earlier generations among them.
static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Counts a writer as running.
struct Counted;

impl Counted {
    fn new() -> Self {
        *RUNNING.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *RUNNING.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        RUNNING.1.notify_all();
    }
}

/// Waits until all writers have ended: those that are stopped, and those whose generation is gone.
pub fn wait_for_writers(patience: Duration) {
    let running = RUNNING.0.lock().unwrap_or_else(PoisonError::into_inner);
    // What has not been written by then is lost, and its writer says so if it can.
    let _ = RUNNING.1.wait_timeout_while(running, patience, |running| *running > 0);
}

/// A handle to the writer of one log.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    writer: Arc<Writer>,
    /// The index of the writer's output.
    output: usize,
    loss: Arc<Loss>,
}

/// A thread that writes logs. It ends when it is stopped, or when no sink is left.
#[derive(Debug)]
pub(super) struct Writer {
    queue: SyncSender<Message>,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// Opened. Threads start with the first worker, after the program has changed its user.
    Opened(Receiver<Message>, Vec<Outlet>),
    Running(JoinHandle<()>),
    Failed,
}

impl Sink {
    /// A sink for one of a writer's outputs.
    pub(super) fn new(writer: &Arc<Writer>, output: usize, loss: Arc<Loss>) -> Self {
        Self { writer: Arc::clone(writer), output, loss }
    }

    /// A sink with its own writer.
    pub(super) fn alone(outlet: Outlet) -> Self {
        let loss = Arc::clone(&outlet.loss);
        Self::new(&Arc::new(Writer::new(vec![outlet])), 0, loss)
    }

    /// Starts the writer's thread, unless it is running.
    pub(super) fn start(&self) {
        self.writer.start();
    }

    /// Stops the writer once it has written all queued lines.
    pub(super) fn stop(&self, deadline: Instant) {
        self.writer.stop(deadline);
    }

    /// Waits for the writer to end; reports the lines it has not written by `deadline`.
    pub(super) fn join(&self, deadline: Instant) {
        self.writer.join(deadline);
        self.loss.abandon();
    }

    /// Sends lines without waiting: those that do not fit are lost and counted.
    pub(super) fn send(&self, lines: Vec<u8>) {
        if let Err(lines) = self.try_send(lines) {
            self.loss.add(&lines, "lines arrive faster than they can be written");
        }
    }

    /// Sends lines, or returns them if the queue is full.
    pub(super) fn try_send(&self, lines: Vec<u8>) -> Result<(), Vec<u8>> {
        self.loss.hand_over(&lines);
        match self.writer.queue.try_send(Message::Lines { output: self.output, lines }) {
            Err(TrySendError::Full(Message::Lines { lines, .. }))
            | Err(TrySendError::Disconnected(Message::Lines { lines, .. })) => {
                self.loss.settle(&lines);
                Err(lines)
            }
            _ => Ok(()),
        }
    }
}

impl Writer {
    /// A writer to these outputs, whose thread has not started.
    pub(super) fn new(outputs: Vec<Outlet>) -> Self {
        let (queue, receiver) = sync_channel(QUEUE);
        Self { queue, state: Mutex::new(State::Opened(receiver, outputs)) }
    }

    /// Starts the thread, unless it is running.
    fn start(&self) {
        let mut state = self.state();
        *state = match std::mem::replace(&mut *state, State::Failed) {
            State::Opened(queue, outlets) => {
                let thread = std::thread::Builder::new().name("access-log".to_owned());
                let counted = Counted::new();
                match thread.spawn(move || {
                    let _counted = counted;
                    writer::run(&queue, outlets);
                }) {
                    Ok(handle) => State::Running(handle),
                    // The queue was dropped with the closure: lines count as lost.
                    Err(_) => State::Failed,
                }
            }
            other => other,
        };
    }

    fn stop(&self, deadline: Instant) {
        while let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Stop) {
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn join(&self, deadline: Instant) {
        if let State::Running(handle) = &*self.state() {
            while !handle.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_gives_lines_back_and_never_waits() {
        let (queue, receiver) = sync_channel(1);
        let loss = Arc::new(Loss::new("test".to_owned()));
        let writer = Arc::new(Writer { queue, state: Mutex::new(State::Failed) });
        let sink = Sink { writer, output: 0, loss };
        assert_eq!(sink.try_send(b"a\n".to_vec()), Ok(()));
        assert_eq!(sink.try_send(b"b\n".to_vec()), Err(b"b\n".to_vec()));
        sink.send(b"c\n".to_vec());
        drop(receiver);
        assert_eq!(sink.try_send(b"d\n".to_vec()), Err(b"d\n".to_vec()));
    }
}
