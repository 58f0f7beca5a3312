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
}

impl Upload {
    /// The content, and where its refusal will be.
    pub(in crate::modules) fn new(incoming: Incoming) -> (Self, Blame) {
        let blame = Blame::default();
        (Self { incoming, blame: Rc::clone(&blame) }, blame)
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
        self.incoming.trailers()
    }
}
