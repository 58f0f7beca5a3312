//! The error log: the server's own messages.
//!
//! ```text
//! 2026-11-22T14:03:05.123+01:00 warn upstream: http://10.0.0.2:8000: connection refused; ejected for 1 s
//! └ time, RFC 3339             │    │         └ the text: always the rest of one line
//!                    severity ─┘    └ Subject: a stable first word
//! ```
//!
//! `line` formats lines, `reporter` limits their rate. Their destination (standard error, a file, a command) is up to
//! the program. Nothing here panics if writing fails: a closed or full standard error loses lines, not requests.

mod line;
mod reporter;
mod subject;

pub use reporter::Reporter;
pub use subject::{Severity, Subject};

use hayami_http::RequestHead;
use hayami_net::service::Address;
use std::fmt;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes one line to the error log.
pub fn report(severity: Severity, subject: Subject, text: impl fmt::Display) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let line = line::line(now, severity, subject, &text);
    // A single call, so that lines of several threads do not mix.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Writes a line about a request of this client; the caller sees to it that there are not too many.
pub fn report_request(severity: Severity, head: &RequestHead, client: &Address, reason: &str) {
    report(severity, Subject::Request, format_args!("from {client} for \"{}\": {reason}", shown(head)));
}

/// What is shown of a target.
fn shown(head: &RequestHead) -> String {
    String::from_utf8_lossy(head.target()).chars().take(200).flat_map(char::escape_default).collect()
}
