//! One stream: from its request to its response's end.

use super::body::Body;
use crate::clock::{Clock, Instant};
use crate::link::Link;
use crate::reports::{Extent, Report};
use crate::service::{Answer, Observer};
use std::future::Future;
use std::pin::Pin;

/// What a connection keeps for each of its streams, in the engine's table.
#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) work: Work,
    pub(crate) observer: Option<Box<dyn Observer>>,
    /// When the response's head was written.
    pub(crate) began: Option<Instant>,
    /// Octets of response content so far.
    pub(crate) sent: u64,
    /// Octets of request content so far.
    pub(crate) received: u64,
}

/// What is still to be done for a stream.
#[derive(Default)]
pub(crate) enum Work {
    /// Nothing: the response is complete.
    #[default]
    None,
    /// The answer needs I/O.
    Answer(Pin<Box<dyn Future<Output = Answer>>>),
    /// The head is sent, content follows.
    Body(Body),
}

impl Stream {
    /// The response's last octet is in the output: the observer is told when it has left.
    #[inline]
    pub(crate) fn complete(self, link: &mut Link) {
        if let Some(report) = self.report(link.output.position()) {
            link.reports.expect(report);
        }
    }

    /// The response will not be complete.
    pub(crate) fn abort(self, clock: &Clock, why: &'static str) {
        if let Some(report) = self.report(0) {
            report.tell(0, clock, Some(why));
        }
    }

    fn report(self, ends: u64) -> Option<Report> {
        let (observer, began) = (self.observer?, self.began?);
        Some(Report { observer, began, content: Extent::Octets(self.sent), ends })
    }
}
