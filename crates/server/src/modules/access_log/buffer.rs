//! A worker's side of the access log: buffers that fill while requests are served.

use super::sink::Sink;
use crate::calendar::Moment;
use hayami_net::Clock;
use hayami_net::clock::local_offset;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// Bytes with which a buffer goes to the writer: enough that a write costs little, few enough that a
/// worker with many logs stays small.
const FULL: usize = 64 * 1024;

/// Bytes that are copied rather than handed over with their buffer.
const FEW: usize = 4096;

/// How long the last lines of a worker may wait for room in the queue.
const PATIENCE: Duration = Duration::from_secs(2);

/// A buffer for each log.
#[derive(Debug)]
pub(super) struct Buffers {
    clock: Rc<Clock>,
    logs: Vec<Buffer>,
    /// The minute whose difference to UTC is known, and the difference in seconds.
    offset: Cell<(u64, i32)>,
    /// Told when the first line comes into empty buffers.
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

    /// The time now, to the microsecond only if it must be.
    pub(super) fn moment(&self, fine: bool) -> Moment {
        let (unix, micros) = match fine.then(|| SystemTime::now().duration_since(UNIX_EPOCH)) {
            Some(Ok(now)) => (now.as_secs(), now.subsec_micros()),
            _ => (self.clock.unix(), 0),
        };
        // Differences change at whole minutes at most; asking costs a lock that all threads share.
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

    /// Whether lines wait in a buffer.
    #[inline]
    pub(super) fn has_lines(&self) -> bool {
        self.waiting.get()
    }

    /// Hands all buffers to the writers.
    pub(super) fn flush(&self) {
        self.waiting.set(false);
        for buffer in &self.logs {
            let mut lines = buffer.lines.borrow_mut();
            match lines.len() {
                0 => {}
                // A few lines leave as a copy, and the buffer keeps its memory.
                1..FEW => {
                    buffer.sink.send(lines.to_vec());
                    lines.clear();
                }
                _ => buffer.sink.send(std::mem::take(&mut lines)),
            }
        }
    }

    /// Resolves when the first line comes into empty buffers, and when the buffers are dropped.
    pub(super) fn filled(&self) -> Rc<Notify> {
        Rc::clone(&self.filled)
    }

    /// Hands all buffers to the writers at the end of a worker, waiting a little for room in their queues.
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
        // Who flushes learns that there is nothing left to do.
        self.filled.notify_one();
    }
}
