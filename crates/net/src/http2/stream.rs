//! One stream: from its request to its response's end.

use super::body::Body;
use crate::clock::{Clock, Instant};
use crate::incoming::Feed;
use crate::link::Link;
use crate::pace::Pace;
use crate::reports::{Extent, Report};
use crate::service::{Answer, InterimHeads, Observer};
use std::future::Future;
use std::pin::Pin;

/// What a connection keeps in the engine's table for each of its streams: nothing, unless the stream
/// outlives the turn of its request.
pub(crate) type Slot = Option<Box<Stream>>;

/// Streams that are done with, kept for the next ones, so that none is allocated while as many are open.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "the boxes go into the engine's table and come back")]
pub(crate) struct Spare(Vec<Box<Stream>>);

impl Spare {
    /// The stream of a slot, made if there is none.
    #[inline]
    pub(crate) fn stream<'a>(&mut self, slot: &'a mut Slot) -> &'a mut Stream {
        slot.get_or_insert_with(|| self.0.pop().unwrap_or_default())
    }

    /// The response's last octet is in the output: the observer is told when it has left.
    pub(crate) fn complete(&mut self, stream: Slot, link: &mut Link) {
        let Some(mut stream) = stream else { return };
        if let Some(report) = std::mem::take(&mut *stream).report(link.output.position()) {
            link.reports.expect(report);
        }
        self.0.push(stream);
    }

    /// Gives all memory back.
    pub(crate) fn clear(&mut self) {
        self.0 = Vec::new();
    }
}

/// A stream from its request to its response's end.
#[derive(Default)]
pub(crate) struct Stream {
    /// The request's content, while somebody takes it. It ends before who takes it.
    pub(crate) content: Option<Feed>,
    /// The client waits for 100 before it sends content (RFC 9110 §10.1.1).
    pub(crate) expects_continue: bool,
    /// The request is a CONNECT; once it is answered, whether the stream is a tunnel (RFC 9113 §8.5).
    pub(crate) tunnel: bool,
    /// What is to be sent before the answer.
    pub(crate) interim: Option<InterimHeads>,
    pub(crate) work: Work,
    pub(crate) observer: Option<Box<dyn Observer>>,
    /// When the response's head was written.
    pub(crate) began: Option<Instant>,
    /// Octets of response content so far.
    pub(crate) sent: u64,
    /// Octets of request content so far.
    pub(crate) received: u64,
    /// How slowly the client grants credit for the response's content, since it was first found without.
    pub(crate) pace: Option<Pace>,
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
    /// Nothing more goes to the client of a tunnel, who may still speak.
    Hear,
}

impl Stream {
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
