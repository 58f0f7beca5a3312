//! Rate-limited lines about single requests.

use super::{Severity, Subject, report, shown};
use hayami_http::{RequestHead, Status};
use hayami_net::Clock;
use hayami_net::service::Address;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// Lines about single requests that one worker may write per second: enough to diagnose a problem, too few for a client
/// to fill a disk.
const LINES_PER_SECOND: u32 = 10;

/// Reports errors of requests, limited in rate.
#[derive(Debug)]
pub struct Reporter {
    clock: Rc<Clock>,
    second: Cell<u64>,
    /// Lines written in that second.
    count: Cell<u32>,
}

impl Reporter {
    /// A reporter for one worker.
    pub fn new(clock: Rc<Clock>) -> Self {
        Self { clock, second: Cell::new(0), count: Cell::new(0) }
    }

    /// Reports the error of a request. For statuses up to 499 the client is at fault.
    #[cold]
    pub fn request_error(&self, head: &RequestHead, client: &Address, status: Status, reason: &str) {
        let severity = if status.code() < 500 { Severity::Info } else { Severity::Error };
        self.line(
            severity,
            Subject::Request,
            format_args!("from {client} for \"{}\": {reason}", shown(head)),
        );
    }

    /// Writes a line, unless the limit for this second is reached.
    #[cold]
    pub fn line(&self, severity: Severity, subject: Subject, text: impl fmt::Display) {
        let omitted = self.next_second();
        if omitted > 0 {
            report(
                Severity::Warn,
                Subject::Server,
                format_args!("{omitted} more lines omitted within a second"),
            );
        }
        self.count.set(self.count.get().saturating_add(1));
        if self.count.get() <= LINES_PER_SECOND {
            report(severity, subject, text);
        }
    }

    /// Starts a new second if one has begun. Returns how many lines of the previous one were omitted.
    fn next_second(&self) -> u32 {
        let now = self.clock.unix();
        if self.second.replace(now) == now {
            return 0;
        }
        self.count.replace(0).saturating_sub(LINES_PER_SECOND)
    }
}
