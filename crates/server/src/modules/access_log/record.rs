//! What is to be logged of one request, kept until its answer has left.

use super::account::Account;
use super::buffer::WorkerLogs;
use super::format::Format;
use super::logs::Logs;
use super::specifier::{Stage, Value};
use super::{Escape, Settings, value};
use crate::client::Client;
use crate::modules::env::Environment;
use hayami_http::ResponseHead;
use hayami_net::Instant;
use hayami_net::service::{Ended, Observer, Request};
use std::ops::Range;
use std::rc::Rc;

/// The logs of a path.
#[derive(Debug, Default)]
pub struct PathLogs {
    pub(super) logs: Vec<PathLog>,
    /// The host's name as the configuration writes it.
    pub(super) host: String,
    pub(super) wants_microseconds: bool,
    /// Whether a log wants to know what the handler answered, before the filters.
    wants_original: bool,
    wants_account: bool,
}

/// One log of a path.
#[derive(Debug)]
pub(super) struct PathLog {
    /// Which of [`Logs`] it goes to.
    pub(super) target: usize,
    pub(super) format: Format,
}

impl PathLogs {
    /// The logs that `settings` ask for.
    pub fn new(settings: &Settings, logs: &Logs, host: &str, env: &Environment) -> Self {
        let log = |log: &super::LogSettings| {
            Some(PathLog { target: logs.index(&log.target)?, format: log.format.with_environment(env) })
        };
        let logs: Vec<_> = settings.logs.iter().filter_map(log).collect();
        let wants_microseconds = logs.iter().any(|log| log.format.wants_microseconds());
        let wants_account = logs.iter().any(|log| log.format.wants_account());
        let wants_original = logs.iter().any(|log| log.format.has(Stage::Original));
        Self { logs, host: host.to_owned(), wants_microseconds, wants_original, wants_account }
    }
}

/// The values of a request, rendered as soon as each is known: nothing of the request has to be kept.
/// Records are used again; filling one allocates nothing once its buffers have grown.
#[derive(Debug)]
pub struct Record {
    logs: Rc<PathLogs>,
    /// `None` while nobody uses the record.
    worker: Option<Rc<WorkerLogs>>,
    octets: Vec<u8>,
    /// By piece of all logs' formats, where in `octets` its value is; `None` if there is none.
    values: Vec<Option<Range<usize>>>,
    begun: Instant,
    received: Instant,
    error: String,
    /// Of the upstreams that are asked, if a log wants it.
    account: Option<Rc<Account>>,
}

impl Record {
    pub(super) fn new(begun: Instant) -> Self {
        Self {
            logs: Rc::default(),
            worker: None,
            octets: Vec::new(),
            values: Vec::new(),
            begun,
            received: begun,
            error: String::new(),
            account: None,
        }
    }

    /// Starts with what is known of the request.
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
        self.octets.clear();
        self.error.clear();
        self.account = logs.wants_account.then(Rc::default);
        self.values.clear();
        self.values.resize(logs.logs.iter().map(|log| log.format.pieces.len()).sum(), None);
        let client = client.address(request.connection);
        let at = worker.moment(logs.wants_microseconds);
        let asked = value::Asked { request, client, host: &logs.host, at };
        self.fill(Stage::Request, |value, escape, out| asked.push(value, escape, out));
    }

    /// Where upstreams that are asked are noted, if a log wants it.
    pub fn account(&self) -> Option<&Rc<Account>> {
        self.account.as_ref()
    }

    /// Notes what was wrong with the request.
    pub fn set_error(&mut self, reason: &str) {
        reason.clone_into(&mut self.error);
    }

    /// Notes what the handler answered.
    #[inline]
    pub fn note_original(&mut self, head: &ResponseHead) {
        if self.logs.wants_original {
            self.fill(Stage::Original, |value, escape, out| value::push_answer(value, head, "", escape, out));
        }
    }

    /// Notes what the filters made of it, and whose request it was.
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
                let start = self.octets.len();
                *range = push(&piece.value, escape, &mut self.octets).then_some(start..self.octets.len());
            }
        }
    }

    /// Appends the line of a log to `out`; `values` are those of this log's pieces.
    fn write_line(&self, format: &Format, values: &[Option<Range<usize>>], out: &mut Vec<u8>) {
        for (piece, value) in format.pieces.iter().zip(values) {
            out.extend_from_slice(&piece.before);
            match value {
                Some(range) => {
                    out.extend(piece.quote);
                    out.extend_from_slice(&self.octets[range.clone()]);
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
            worker.append(log.target, |out| self.write_line(&log.format, own, out));
            values = others;
        }
    }
}

impl Observer for Record {
    fn ended(mut self: Box<Self>, end: &Ended) {
        let account = self.account.take();
        let times =
            value::Times { begun: self.begun, received: self.received, end, account: account.as_deref() };
        self.fill(Stage::End, |value, _, out| times.push(value, out));
        if let Some(worker) = self.worker.take() {
            self.write(&worker);
            worker.recycle(self);
        }
    }
}

impl Drop for Record {
    /// A request whose client was gone before there was an answer has a line too.
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.write(&worker);
        }
    }
}
