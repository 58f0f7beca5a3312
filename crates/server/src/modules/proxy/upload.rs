//! Streams a request's content to an upstream, and reports why it broke off, if it does.

use super::streaming::Activity;
use hayami_http::{FieldSection, Source, SourceError};
use hayami_net::service::{Refusal, Refusals, RequestBody};
use std::task::{Context, Poll};

/// Request content being forwarded.
pub(in crate::modules) struct Upload {
    incoming: RequestBody,
    underscores: bool,
    /// Notified of all data received; says whether the client may pause.
    activity: Option<Activity>,
}

impl Upload {
    /// Returns the content, and what reports its refusal. `underscores`: keeps trailers with `_` in their names.
    pub(in crate::modules) fn new(incoming: RequestBody, underscores: bool) -> (Self, Refusals) {
        let refusals = incoming.refusals();
        (Self { incoming, underscores, activity: None }, refusals)
    }

    /// Reports all data received to `activity`.
    pub(super) fn tell(&mut self, activity: Activity) {
        self.activity = Some(activity);
    }
}

/// Ready when the content of a request was refused; a request without content never is.
pub(in crate::modules) fn poll_refused(refusals: Option<&Refusals>, cx: &mut Context<'_>) -> Poll<Refusal> {
    refusals.map_or(Poll::Pending, |refusals| refusals.poll(cx))
}

impl Source for Upload {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let before = out.len();
        if self.activity.as_ref().is_some_and(Activity::is_watched) {
            self.incoming.disable_read_timeout();
        }
        let filled = self.incoming.fill(cx, room, out);
        if let Some(activity) = self.activity.as_ref().filter(|_| out.len() > before) {
            activity.note();
        }
        filled
    }

    fn length(&self) -> Option<u64> {
        self.incoming.length()
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        let mut trailers = self.incoming.trailers()?;
        if !self.underscores {
            trailers.retain(|name, _| !name.contains(&b'_'));
        }
        Some(trailers)
    }
}
