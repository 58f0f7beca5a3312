//! A request's content on its way to an upstream: as it comes, and why it broke off, if it does.

use super::streaming::Activity;
use hayami_http::{FieldSection, Source, SourceError};
use hayami_net::service::{Incoming, Refusal};
use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Why the content of a request broke off by the client's fault.
pub(in crate::modules) type Blame = Rc<RefCell<Option<Refusal>>>;

/// Content that remembers its refusal for whoever answers.
pub(in crate::modules) struct Upload {
    incoming: Incoming,
    blame: Blame,
    underscores: bool,
    /// Is told of everything that comes.
    activity: Option<Activity>,
}

impl Upload {
    /// The content, and where its refusal will be. `underscores`: whether trailers with `_` in their names stay.
    pub(in crate::modules) fn new(incoming: Incoming, underscores: bool) -> (Self, Blame) {
        let blame = Blame::default();
        (Self { incoming, blame: Rc::clone(&blame), underscores, activity: None }, blame)
    }

    /// Tells `activity` of everything that comes.
    pub(super) fn tell(&mut self, activity: Activity) {
        self.activity = Some(activity);
    }
}

impl Source for Upload {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let before = out.len();
        let filled = self.incoming.fill(cx, room, out);
        if let Some(activity) = self.activity.as_ref().filter(|_| out.len() > before) {
            activity.note();
        }
        if let Poll::Ready(Err(_)) = filled {
            *self.blame.borrow_mut() = self.incoming.refusal();
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
