//! Lines that could not be written: counted, and reported from time to time.

use crate::observe::{self, Severity, Subject};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Minimum time between two reports of one log.
const BETWEEN_REPORTS: Duration = Duration::from_secs(10);

/// The losses of one log.
#[derive(Debug)]
pub(super) struct Loss {
    /// The log's name for the user.
    log: String,
    state: Mutex<State>,
    /// Lines sent to the writer that are neither written nor lost yet.
    pending: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Lost lines that are not reported yet.
    unreported: u64,
    reported: Option<Instant>,
    failing: bool,
}

impl State {
    /// Whether a report is due.
    fn is_time(&self, now: Instant) -> bool {
        self.reported.is_none_or(|last| now.saturating_duration_since(last) >= BETWEEN_REPORTS)
    }
}

fn lines_in(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

impl Loss {
    pub(super) fn new(log: String) -> Self {
        Self { log, state: Mutex::default(), pending: AtomicU64::new(0) }
    }

    /// Counts the lines in `bytes` as lost.
    pub(super) fn add(&self, bytes: &[u8], why: &str) {
        if let Some(line) = self.count(bytes, why, Instant::now()) {
            say(Severity::Error, &line);
        }
    }

    /// Records that the lines in `bytes` were sent to the writer.
    pub(super) fn hand_over(&self, bytes: &[u8]) {
        self.pending.fetch_add(lines_in(bytes), Ordering::Relaxed);
    }

    /// Records that the lines in `bytes` are written, or counted as lost.
    pub(super) fn settle(&self, bytes: &[u8]) {
        self.pending.fetch_sub(lines_in(bytes), Ordering::Relaxed);
    }

    /// Reports the lines that the writer has not written.
    pub(super) fn abandon(&self) {
        let lost = self.pending.swap(0, Ordering::Relaxed);
        if lost > 0 {
            say(Severity::Error, &format!("{}: {} dropped at shutdown", self.log, Lines(lost)));
        }
    }

    /// Records that writing works.
    pub(super) fn works(&self) {
        if let Some(line) = self.recovered(Instant::now()) {
            say(Severity::Notice, &line);
        }
    }

    /// Reports the remaining losses, at the end.
    pub(super) fn close(&self) {
        let lost = std::mem::take(&mut self.state().unreported);
        if lost > 0 {
            say(Severity::Error, &format!("{}: {} more lost", self.log, Lines(lost)));
        }
    }

    /// Counts lost lines; returns the report, if it is due.
    fn count(&self, bytes: &[u8], why: &str, now: Instant) -> Option<String> {
        let mut state = self.state();
        // A line may be incomplete: its rest counts as one.
        state.unreported += lines_in(bytes).max(1);
        state.failing = true;
        if !state.is_time(now) {
            return None;
        }
        state.reported = Some(now);
        let lost = std::mem::take(&mut state.unreported);
        Some(format!("{}: {} lost: {why}; logging resumes as soon as it can", self.log, Lines(lost)))
    }

    fn recovered(&self, now: Instant) -> Option<String> {
        let mut state = self.state();
        if !state.failing || !state.is_time(now) {
            return None;
        }
        (state.failing, state.reported) = (false, Some(now));
        let lost = std::mem::take(&mut state.unreported);
        let more = if lost > 0 { format!("; {} more lost", Lines(lost)) } else { String::new() };
        Some(format!("{}: logging has resumed{more}", self.log))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing panics while holding the lock; if it did, the counts would still be valid.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn say(severity: Severity, line: &str) {
    observe::report(severity, Subject::AccessLog, line);
}

/// `1 line`, `2 lines`
struct Lines(u64);

impl std::fmt::Display for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} line{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_reported_at_once_then_now_and_then() {
        let loss = Loss::new("/log".to_owned());
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(
            loss.count(b"a\nb\n", "disk full", now).unwrap(),
            "/log: 2 lines lost: disk full; logging resumes as soon as it can"
        );
        assert_eq!(loss.count(b"a\n", "disk full", later(1)), None);
        assert_eq!(loss.count(b"torn", "disk full", later(9)), None);
        assert!(loss.count(b"a\n", "disk full", later(10)).unwrap().contains(" 3 lines lost"));
        assert_eq!(loss.count(b"a\n", "disk full", later(11)), None);
        assert_eq!(loss.recovered(later(12)), None, "too soon: it may fail again at once");
        let works = "/log: logging has resumed; 1 line more lost";
        assert_eq!(loss.recovered(later(20)).unwrap(), works);
        assert_eq!(loss.recovered(later(40)), None);
    }
}
