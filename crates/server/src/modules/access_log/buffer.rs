//! A worker's side of the access log: buffers filled while requests are served.

use super::sink::Sink;
use crate::calendar::Moment;
use hayami_net::Clock;
use hayami_net::clock::local_offset;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// Bytes at which a buffer is passed to the writer: large enough that a write costs little, small enough that a worker
/// with many logs stays small.
const FULL: usize = 64 * 1024;

/// Up to this size, bytes are copied rather than sent with their buffer.
const FEW: usize = 4096;

/// How long the last lines of a worker may wait for space in the queue.
const PATIENCE: Duration = Duration::from_secs(2);

/// One buffer per log.
#[derive(Debug)]
pub(super) struct Buffers {
    clock: Rc<Clock>,
    logs: Vec<Buffer>,
    /// The minute for which the UTC offset is known, and that offset in seconds.
    offset: Cell<(u64, i32)>,
    /// Notified when the first line is added to empty buffers.
    filled: Rc<Notify>,
    waiting: Cell<bool>,
}

#[derive(Debug)]
struct Buffer {
    lines: RefCell<Vec<u8>>,
    sink: Sink,
}

impl Buffers {
    pub(super) fn new(clock: Rc<Clock>, sinks: &[Sink]) -> Self {
        let buffer = |sink: &Sink| Buffer { lines: RefCell::default(), sink: sink.clone() };
        Self {
            clock,
            logs: sinks.iter().map(buffer).collect(),
            offset: Cell::new((u64::MAX, 0)),
            filled: Rc::default(),
            waiting: Cell::new(false),
        }
    }

    /// The current time; with microseconds only if `fine`.
    pub(super) fn moment(&self, fine: bool) -> Moment {
        let (unix, micros) = match fine.then(|| SystemTime::now().duration_since(UNIX_EPOCH)) {
            Some(Ok(now)) => (now.as_secs(), now.subsec_micros()),
            _ => (self.clock.unix(), 0),
        };
        // The offset changes only at whole minutes; querying it takes a lock that all threads share.
        if self.offset.get().0 != unix / 60 {
            self.offset.set((unix / 60, local_offset(unix)));
        }
        Moment { unix, micros, offset: self.offset.get().1 }
    }

    /// Appends a line to a log.
    pub(super) fn append(&self, log: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let buffer = &self.logs[log];
        let mut lines = buffer.lines.borrow_mut();
        write(&mut lines);
        if lines.len() >= FULL {
            buffer.sink.send(std::mem::take(&mut lines));
        } else if !self.waiting.replace(true) {
            self.filled.notify_one();
        }
    }

    /// Whether any buffer contains lines.
    #[inline]
    pub(super) fn has_lines(&self) -> bool {
        self.waiting.get()
    }

    /// Sends all buffers to the writers.
    pub(super) fn flush(&self) {
        self.waiting.set(false);
        for buffer in &self.logs {
            let mut lines = buffer.lines.borrow_mut();
            match lines.len() {
                0 => {}
                // A few lines are sent as a copy, and the buffer keeps its memory.
                1..FEW => {
                    buffer.sink.send(lines.to_vec());
                    lines.clear();
                }
                _ => buffer.sink.send(std::mem::take(&mut lines)),
            }
        }
    }

    /// Notified when the first line is added to empty buffers, and when the buffers are dropped.
    pub(super) fn filled(&self) -> Rc<Notify> {
        Rc::clone(&self.filled)
    }

    /// Sends all buffers to the writers when a worker ends, waiting a little for space in their queues.
    pub(super) async fn drain(&self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        for buffer in &self.logs {
            let mut lines = buffer.lines.take();
            while !lines.is_empty()
                && let Err(left) = buffer.sink.try_send(std::mem::take(&mut lines))
            {
                if tokio::time::Instant::now() >= deadline {
                    buffer.sink.send(left);
                    break;
                }
                lines = left;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

impl Drop for Buffers {
    /// No request logs here any more: a reload has replaced these logs.
    fn drop(&mut self) {
        self.flush();
        // Wakes the flushing task, which finds that it is done.
        self.filled.notify_one();
    }
}
