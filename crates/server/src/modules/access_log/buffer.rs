//! A worker's side of the access log: buffers that fill while requests are served.

use super::logs::Sink;
use super::record::{PathLogs, Record};
use crate::calendar::Moment;
use crate::client::Client;
use hayami_net::Clock;
use hayami_net::clock::local_offset;
use hayami_net::service::Request;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// Octets with which a buffer goes to the writer: enough that a write costs little, few enough that a
/// worker with many logs stays small.
const FULL: usize = 64 * 1024;

/// Bytes that are copied rather than handed over with their buffer.
const FEW: usize = 4096;

/// How old a line gets in a buffer of a worker that is never idle. Together with the writer's turn it is on disk within a
/// second.
const AGE: Duration = Duration::from_millis(500);

/// How long the last lines of a worker may wait for room in the queue.
const PATIENCE: Duration = Duration::from_secs(2);

/// Records kept for use again; so many requests can wait for their answers without an allocation each.
const SPARE_RECORDS: usize = 1024;

/// The logs of one worker.
#[derive(Debug)]
pub struct WorkerLogs {
    clock: Rc<Clock>,
    logs: Vec<Buffer>,
    #[allow(clippy::vec_box)] // the boxes are what is used again
    spare: RefCell<Vec<Box<Record>>>,
    /// The minute whose difference to UTC is known, and the difference in seconds.
    offset: Cell<(u64, i32)>,
    wants_local_address: bool,
    /// Told when the first line comes into empty buffers.
    filled: Rc<Notify>,
    waiting: Cell<bool>,
}

#[derive(Debug)]
struct Buffer {
    lines: RefCell<Vec<u8>>,
    sink: Sink,
}

impl WorkerLogs {
    pub(super) fn new(clock: Rc<Clock>, sinks: &[Sink], wants_local_address: bool) -> Self {
        let buffer = |sink: &Sink| Buffer { lines: RefCell::default(), sink: sink.clone() };
        Self {
            clock,
            logs: sinks.iter().map(buffer).collect(),
            spare: RefCell::default(),
            offset: Cell::new((u64::MAX, 0)),
            wants_local_address,
            filled: Rc::default(),
            waiting: Cell::new(false),
        }
    }

    /// Begins the record of a request, if the path has logs.
    #[inline]
    pub fn begin(
        self: &Rc<Self>,
        logs: &Rc<PathLogs>,
        request: &Request<'_>,
        client: &Client,
    ) -> Option<Box<Record>> {
        if logs.logs.is_empty() {
            return None;
        }
        let spare = self.spare.borrow_mut().pop();
        let mut record = spare.unwrap_or_else(|| Box::new(Record::new(request.begun)));
        record.begin(self, logs, request, client);
        Some(record)
    }

    /// Whether a format asks for the address of our end.
    pub fn want_local_address(&self) -> bool {
        self.wants_local_address
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

    /// Keeps a record for use again.
    pub(super) fn recycle(&self, record: Box<Record>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_RECORDS {
            spare.push(record);
        }
    }

    /// Whether lines wait in a buffer.
    #[inline]
    pub fn has_lines(&self) -> bool {
        self.waiting.get()
    }

    /// Hands all buffers to the writers.
    pub fn flush(&self) {
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

    /// Flushes whenever the oldest line is [`AGE`] old; sleeps while there are none. Ends with the logs.
    pub fn run(self: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        let (logs, filled) = (Rc::downgrade(self), Rc::clone(&self.filled));
        async move {
            loop {
                filled.notified().await;
                tokio::time::sleep(AGE).await;
                let Some(logs) = logs.upgrade() else { return };
                logs.flush();
            }
        }
    }

    /// Hands all buffers to the writers at the end of a worker, waiting a little for room in their queues.
    pub async fn drain(&self) {
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

impl Drop for WorkerLogs {
    /// No request logs here any more: a reload has replaced these logs.
    fn drop(&mut self) {
        self.flush();
        // Who flushes learns that there is nothing left to do.
        self.filled.notify_one();
    }
}
