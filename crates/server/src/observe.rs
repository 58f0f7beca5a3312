//! What the server says on its error log (standard error), and how often.
//!
//! Nothing here panics when nobody listens: a closed or full standard error loses words, not requests.

use hayami_http::RequestHead;
use hayami_net::Clock;
use hayami_net::service::ConnectionInfo;
use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;

/// Writes one line to the error log.
pub fn report(line: &str) {
    // In one piece, so that lines of several threads do not mix.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Lines about single requests that one worker may write within a second: enough to see what is wrong,
/// too little for a client to fill a disk with.
const REQUEST_ERRORS_PER_SECOND: u32 = 10;

/// Reports errors of requests, not too many.
#[derive(Debug)]
pub struct Reporter {
    clock: Rc<Clock>,
    second: Cell<u64>,
    /// Errors in that second.
    count: Cell<u32>,
}

impl Reporter {
    /// A reporter for one worker.
    pub fn new(clock: Rc<Clock>) -> Self {
        Self { clock, second: Cell::new(0), count: Cell::new(0) }
    }

    /// Reports why a request was not answered as it should have been.
    #[cold]
    pub fn request_error(&self, head: &RequestHead, connection: &ConnectionInfo, reason: &str) {
        let target = String::from_utf8_lossy(head.target());
        let shown: String = target.chars().take(200).flat_map(char::escape_default).collect();
        self.line(&format!("request from {} for \"{shown}\": {reason}", connection.peer));
    }

    /// Writes a line, unless there were too many in this second.
    #[cold]
    pub fn line(&self, line: &str) {
        let left_out = self.next_second();
        if left_out > 0 {
            report(&format!("{left_out} more errors of requests within a second were left out"));
        }
        self.count.set(self.count.get().saturating_add(1));
        if self.count.get() <= REQUEST_ERRORS_PER_SECOND {
            report(line);
        }
    }

    /// Starts a new second if one has begun. Says how many errors of the one before were left out.
    fn next_second(&self) -> u32 {
        let now = self.clock.unix();
        if self.second.replace(now) == now {
            return 0;
        }
        self.count.replace(0).saturating_sub(REQUEST_ERRORS_PER_SECOND)
    }
}
