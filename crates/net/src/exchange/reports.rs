//! Observers of responses: told when the last byte has left.

use crate::clock::{Clock, Instant};
use crate::service::{Ended, Observer};
use std::collections::VecDeque;

/// The reports of one connection, in the order in which the responses end in its output.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "one pointer in each of many idle connections")]
pub(crate) struct Reports(Option<Box<VecDeque<Report>>>);

/// A response that is in the output as a whole.
pub(crate) struct Report {
    pub(crate) observer: Box<dyn Observer>,
    pub(crate) began: Instant,
    pub(crate) content: Extent,
    /// Position in the output behind its last byte.
    pub(crate) ends: u64,
}

/// How many bytes of content a response has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// So many, and nothing else is between the first of them and the response's end, but framing.
    Contiguous(u64),
    /// So many, spread over frames.
    Spread(u64),
}

impl Reports {
    pub(crate) fn expect(&mut self, report: Report) {
        self.0.get_or_insert_default().push_back(report);
    }

    /// Bytes up to `position` were handed to the kernel.
    #[inline]
    pub(crate) fn sent(&mut self, position: u64, clock: &Clock) {
        if let Some(reports) = &mut self.0 {
            while reports.front().is_some_and(|report| report.ends <= position) {
                if let Some(report) = reports.pop_front() {
                    report.tell(position, clock, None);
                }
            }
        }
    }

    /// Nothing behind `position` will be sent.
    pub(crate) fn aborted(&mut self, why: &'static str, position: u64, clock: &Clock) {
        for report in self.0.take().into_iter().flat_map(|reports| *reports) {
            report.tell(position, clock, Some(why));
        }
    }
}

impl Report {
    /// Tells the observer, with `position` bytes of the output sent.
    pub(crate) fn tell(self, position: u64, clock: &Clock, aborted: Option<&'static str>) {
        let content_bytes = match self.content {
            // Of what has not left, what is framing is not known exactly.
            Extent::Contiguous(bytes) => bytes.saturating_sub(self.ends.saturating_sub(position)),
            Extent::Spread(bytes) => bytes,
        };
        let ended = clock.refresh();
        self.observer.ended(&Ended { content_bytes, began: self.began, ended, aborted });
    }
}
