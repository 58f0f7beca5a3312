//! The data to log about one request, kept until its response has been sent.

use super::buffer::Buffers;
use super::format::Format;
use super::logs::Logs;
use super::path_logs::PathLogs;
use super::sink::Sink;
use super::specifier::{Stage, Value};
use super::{Escape, value};
use crate::client::Client;
use crate::upstream_trace::UpstreamTrace;
use crate::worker::WorkerContext;
use hayami_http::ResponseHead;
use hayami_net::Instant;
use hayami_net::service::{Ended, Observer, Request};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// Most records kept for reuse; so many requests can be in flight without an allocation each.
const SPARE_RECORDS: usize = 1024;

/// The oldest a line gets in a buffer of a worker that is never idle. With the writer's delay it is on disk within a
/// second.
const AGE: Duration = Duration::from_millis(500);

/// The values of a request, rendered as soon as each is known, so that nothing of the request has to be kept. Records
/// are reused; filling one does not allocate once its buffers have grown.
#[derive(Debug)]
pub struct Record {
    logs: Rc<PathLogs>,
    /// `None` while the record is not in use.
    worker: Option<Rc<WorkerLogs>>,
    bytes: Vec<u8>,
    /// For each piece of all logs' formats, the range of its value in `bytes`; `None` if the value is missing.
    values: Vec<Option<Range<usize>>>,
    begun: Instant,
    received: Instant,
    error: String,
    /// Trace of the upstreams that are tried, if a log needs it.
    upstreams: Option<Rc<UpstreamTrace>>,
}

impl Record {
    pub(super) fn new(begun: Instant) -> Self {
        Self {
            logs: Rc::default(),
            worker: None,
            bytes: Vec::new(),
            values: Vec::new(),
            begun,
            received: begun,
            error: String::new(),
            upstreams: None,
        }
    }

    /// Begins with the values known from the request.
    pub(super) fn begin(
        &mut self,
        worker: &Rc<WorkerLogs>,
        logs: &Rc<PathLogs>,
        request: &Request<'_>,
        client: &Client,
    ) {
        self.logs = Rc::clone(logs);
        self.worker = Some(Rc::clone(worker));
        (self.begun, self.received) = (request.begun, request.received);
        self.bytes.clear();
        self.error.clear();
        self.upstreams = logs.wants_upstreams.then(Rc::default);
        self.values.clear();
        self.values.resize(logs.logs.iter().map(|log| log.format.pieces.len()).sum(), None);
        let client = client.address(request.connection);
        let at = worker.buffers.moment(logs.wants_microseconds);
        let log_context = value::LogContext { request, client, host: &logs.host, at };
        self.fill(Stage::Request, |value, escape, out| log_context.push(value, escape, out));
    }

    /// The trace for upstreams that are tried, if a log needs it.
    pub fn upstreams(&self) -> Option<&Rc<UpstreamTrace>> {
        self.upstreams.as_ref()
    }

    /// Records an error of the request.
    pub fn set_error(&mut self, reason: &str) {
        reason.clone_into(&mut self.error);
    }

    /// Records the handler's response.
    #[inline]
    pub fn note_original(&mut self, head: &ResponseHead) {
        if self.logs.wants_original {
            self.fill(Stage::Original, |value, escape, out| value::push_answer(value, head, "", escape, out));
        }
    }

    /// Records the response after the filters, and the user.
    pub fn note_response(&mut self, head: &ResponseHead, client: &Client) {
        let error = std::mem::take(&mut self.error);
        self.fill(Stage::Response, |value, escape, out| match value {
            Value::User => client.user().is_some_and(|user| value::text(&user.name, escape, out)),
            value => value::push_answer(value, head, &error, escape, out),
        });
        self.error = error;
    }

    /// Renders the values of a stage.
    fn fill(&mut self, stage: Stage, mut push: impl FnMut(&Value, Escape, &mut Vec<u8>) -> bool) {
        let formats = self.logs.logs.iter().map(|log| &log.format);
        let pieces = formats.flat_map(|format| format.pieces.iter().map(|piece| (piece, format.escape)));
        for ((piece, escape), range) in pieces.zip(&mut self.values) {
            if piece.value.stage() == stage {
                let start = self.bytes.len();
                *range = push(&piece.value, escape, &mut self.bytes).then_some(start..self.bytes.len());
            }
        }
    }

    /// Appends a log's line to `out`; `values` are those of its pieces.
    fn write_line(&self, format: &Format, values: &[Option<Range<usize>>], out: &mut Vec<u8>) {
        for (piece, value) in format.pieces.iter().zip(values) {
            out.extend_from_slice(&piece.before);
            match value {
                Some(range) => {
                    out.extend(piece.quote);
                    out.extend_from_slice(&self.bytes[range.clone()]);
                    out.extend(piece.quote);
                }
                None => out.extend_from_slice(format.escape.nothing()),
            }
        }
        out.extend_from_slice(&format.tail);
    }

    /// Writes the lines of all logs to the worker's buffers.
    fn write(&self, worker: &WorkerLogs) {
        let mut values = &self.values[..];
        for log in &self.logs.logs {
            let (own, others) = values.split_at(log.format.pieces.len());
            worker.buffers.append(log.target, |out| self.write_line(&log.format, own, out));
            values = others;
        }
    }
}

impl Observer for Record {
    fn ended(mut self: Box<Self>, end: &Ended) {
        let upstreams = self.upstreams.take();
        let times =
            value::Times { begun: self.begun, received: self.received, end, upstreams: upstreams.as_deref() };
        self.fill(Stage::End, |value, _, out| times.push(value, out));
        if let Some(worker) = self.worker.take() {
            self.write(&worker);
            worker.recycle(self);
        }
    }
}

impl Drop for Record {
    /// A request whose client disconnected before the response is logged too.
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.write(&worker);
        }
    }
}

/// The logs of one worker.
#[derive(Debug)]
pub struct WorkerLogs {
    buffers: Buffers,
    #[allow(clippy::vec_box)] // the boxes are what is used again
    spare: RefCell<Vec<Box<Record>>>,
    wants_local_address: bool,
}

impl WorkerLogs {
    /// Creates one worker's side of these logs; within a worker's runtime, starts its timer too.
    pub fn new(logs: &Logs, worker: &WorkerContext) -> Rc<Self> {
        let own = Rc::new(Self {
            buffers: Buffers::new(Rc::clone(&worker.clock), logs.sinks()),
            spare: RefCell::default(),
            wants_local_address: logs.want_local_address(),
        });
        if logs.want_durations() {
            worker.clock.be_exact();
        }
        logs.sinks().iter().for_each(Sink::start);
        if !logs.sinks().is_empty() && tokio::runtime::Handle::try_current().is_ok() {
            tokio::task::spawn_local(own.run());
        }
        own
    }

    /// Begins the record of a request, if its path has logs.
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

    /// Whether a format contains the local address of a connection.
    pub fn want_local_address(&self) -> bool {
        self.wants_local_address
    }

    /// Keeps a record for reuse.
    fn recycle(&self, record: Box<Record>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_RECORDS {
            spare.push(record);
        }
    }

    /// Whether any buffer contains lines.
    #[inline]
    pub fn has_lines(&self) -> bool {
        self.buffers.has_lines()
    }

    /// Sends all buffers to the writers.
    pub fn flush(&self) {
        self.buffers.flush();
    }

    /// Flushes whenever the oldest line is [`AGE`] old; sleeps while there are none. Ends with the logs.
    pub fn run(self: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        let (logs, filled) = (Rc::downgrade(self), self.buffers.filled());
        async move {
            loop {
                filled.notified().await;
                tokio::time::sleep(AGE).await;
                let Some(logs) = logs.upgrade() else { return };
                logs.flush();
            }
        }
    }

    /// Sends all buffers to the writers when a worker ends, waiting a little for space in their queues.
    pub async fn drain(&self) {
        self.buffers.drain().await;
    }
}
