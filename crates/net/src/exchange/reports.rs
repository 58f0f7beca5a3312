//! Observers of responses, notified when the last byte is sent.

use crate::clock::{Clock, Instant};
use crate::service::{Ended, Observer};
use std::collections::VecDeque;

/// The pending reports of one connection, in the order in which the responses end in its output.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "one pointer in each of many idle connections")]
pub(crate) struct Reports(Option<Box<VecDeque<Report>>>);

/// A response that is completely in the output.
pub(crate) struct Report {
    pub(crate) observer: Box<dyn Observer>,
    pub(crate) began: Instant,
    pub(crate) content: Extent,
    /// Output position behind its last byte.
    pub(crate) ends: u64,
}

/// Number of content bytes of a response.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// This many bytes, contiguous up to the end of the response except for framing.
    Contiguous(u64),
    /// This many bytes, spread over frames.
    Spread(u64),
}

impl Reports {
    pub(crate) fn expect(&mut self, report: Report) {
        self.0.get_or_insert_default().push_back(report);
    }

    /// Reports responses that end within the `position` bytes handed to the kernel.
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

    /// Reports all responses as aborted: nothing behind `position` will be sent.
    pub(crate) fn aborted(&mut self, why: &'static str, position: u64, clock: &Clock) {
        for report in self.0.take().into_iter().flat_map(|reports| *reports) {
            report.tell(position, clock, Some(why));
        }
    }
}

impl Report {
    /// Notifies the observer; `position` bytes of the output are sent.
    pub(crate) fn tell(self, position: u64, clock: &Clock, aborted: Option<&'static str>) {
        let content_bytes = match self.content {
            // How much of the unsent bytes is framing is not known exactly.
            Extent::Contiguous(bytes) => bytes.saturating_sub(self.ends.saturating_sub(position)),
            Extent::Spread(bytes) => bytes,
        };
        let ended = clock.refresh();
        self.observer.ended(&Ended { content_bytes, began: self.began, ended, aborted });
    }
}
