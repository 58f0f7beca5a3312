//! Responses whose end somebody wants to hear of: told when their last octet has left.

use crate::clock::{Clock, Instant};
use crate::service::{Ended, Observer};
use std::collections::VecDeque;

/// The reports of one connection, in the order in which the responses end in its output.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "one pointer in each of many idle connections")]
pub(crate) struct Reports(Option<Box<VecDeque<Report>>>);

/// The end of a response's content that is still being made.
pub(crate) const UNKNOWN_END: u64 = u64::MAX;

/// A response that is in the output, as a whole or the first part of it.
pub(crate) struct Report {
    pub(crate) observer: Box<dyn Observer>,
    pub(crate) began: Instant,
    pub(crate) content: Extent,
    /// Position in the output behind its last octet, or [`UNKNOWN_END`].
    pub(crate) ends: u64,
}

/// How many octets of content a response has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// All octets of the output from this position to the end.
    From(u64),
    /// The same, without so many octets of framing between them.
    Framed(u64, u64),
    /// So many, spread over frames.
    Octets(u64),
}

impl Reports {
    pub(crate) fn expect(&mut self, report: Report) {
        self.0.get_or_insert_default().push_back(report);
    }

    /// The response that was expected last, whose end was not known, ends at `position`.
    pub(crate) fn ends(&mut self, position: u64) {
        if let Some(report) = self.0.as_mut().and_then(|reports| reports.back_mut()) {
            report.ends = position;
        }
    }

    /// So many of the octets of the response that was expected last are framing, and no content.
    pub(crate) fn framing(&mut self, octets: u64) {
        if let Some(report) = self.0.as_mut().and_then(|reports| reports.back_mut()) {
            report.content = match report.content {
                Extent::From(start) => Extent::Framed(start, octets),
                Extent::Framed(start, before) => Extent::Framed(start, before + octets),
                counted => counted,
            };
        }
    }

    /// Octets up to `position` were handed to the kernel.
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
    /// Tells the observer, with `position` octets of the output sent.
    pub(crate) fn tell(self, position: u64, clock: &Clock, aborted: Option<&'static str>) {
        let content_octets = match self.content {
            Extent::From(start) => position.min(self.ends).saturating_sub(start),
            // Of an unfinished response, what of the framing has left is not known exactly.
            Extent::Framed(start, framing) => {
                position.min(self.ends).saturating_sub(start).saturating_sub(framing)
            }
            Extent::Octets(octets) => octets,
        };
        let ended = clock.refresh();
        self.observer.ended(&Ended { content_octets, began: self.began, ended, aborted });
    }
}
