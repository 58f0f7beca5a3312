//! A request's content on its way to an upstream: as it comes, and why it broke off, if it does.

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
}

impl Upload {
    /// The content, and where its refusal will be. `underscores`: whether trailers with `_` in their names stay.
    pub(in crate::modules) fn new(incoming: Incoming, underscores: bool) -> (Self, Blame) {
        let blame = Blame::default();
        (Self { incoming, blame: Rc::clone(&blame), underscores }, blame)
    }
}

impl Source for Upload {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let filled = self.incoming.fill(cx, room, out);
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
