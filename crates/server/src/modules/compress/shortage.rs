//! Responses without memory for their encoder: counted, and reported from time to time.

use crate::observe::{self, Severity, Subject};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Minimum time between two reports of one worker.
const BETWEEN_REPORTS: Duration = Duration::from_secs(60);

thread_local! {
    static COUNT: RefCell<Count> = const { RefCell::new(Count { cheaper: 0, uncompressed: 0, reported: None }) };
}

/// What has not been reported yet.
#[derive(Debug)]
struct Count {
    cheaper: u64,
    uncompressed: u64,
    reported: Option<Instant>,
}

impl Count {
    /// Counts a response; returns the report, if it is due.
    fn add(&mut self, compressed: bool, now: Instant) -> Option<String> {
        match compressed {
            true => self.cheaper += 1,
            false => self.uncompressed += 1,
        }
        if self.reported.is_some_and(|last| now.saturating_duration_since(last) < BETWEEN_REPORTS) {
            return None;
        }
        self.reported = Some(now);
        let (cheaper, uncompressed) =
            (std::mem::take(&mut self.cheaper), std::mem::take(&mut self.uncompressed));
        Some(format!(
            "the memory for encoders is used up by responses that clients read slowly: {uncompressed} sent \
             uncompressed, {cheaper} with a coding that takes less memory"
        ))
    }
}

/// Counts a response that is compressed with a cheaper target, or not at all.
pub(super) fn count(compressed: bool) {
    if let Some(line) = COUNT.with_borrow_mut(|count| count.add(compressed, Instant::now())) {
        observe::report(Severity::Warn, Subject::Compression, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_counted_and_reported_at_most_once_a_minute() {
        let mut count = Count { cheaper: 0, uncompressed: 0, reported: None };
        let now = Instant::now();
        let line = |uncompressed, cheaper| {
            Some(format!(
                "the memory for encoders is used up by responses that clients read slowly: {uncompressed} sent \
                 uncompressed, {cheaper} with a coding that takes less memory"
            ))
        };
        assert_eq!(count.add(false, now), line(1, 0));
        assert_eq!(count.add(false, now + BETWEEN_REPORTS / 2), None);
        assert_eq!(count.add(true, now + BETWEEN_REPORTS / 2), None);
        assert_eq!(count.add(true, now + BETWEEN_REPORTS), line(1, 2));
    }
}
