//! The fields that go with every response, `server` and `date`, made once a second.

use crate::clock::Clock;
use hayami_http::{FieldSection, Known, ResponseHead};
use std::cell::Ref;
use std::cell::{Cell, RefCell};

/// Those of one worker.
#[derive(Default)]
pub(crate) struct Common {
    second: Cell<u64>,
    /// `server` and `date`; `date` alone, for responses that name their server themselves.
    both: RefCell<FieldSection>,
    date: RefCell<FieldSection>,
}

impl Common {
    /// The fields that `head` does not have, for this second, and a number that changes with them.
    #[inline]
    pub(crate) fn fields(
        &self,
        clock: &Clock,
        server: Option<&[u8]>,
        head: &ResponseHead,
    ) -> (Ref<'_, FieldSection>, u64) {
        if self.second.get() != clock.unix() {
            self.make(clock.unix(), server);
        }
        match head.get(Known::Server) {
            None => (self.both.borrow(), clock.unix() << 1),
            Some(_) => (self.date.borrow(), clock.unix() << 1 | 1),
        }
    }

    #[cold]
    fn make(&self, second: u64, server: Option<&[u8]>) {
        self.second.set(second);
        let date = hayami_http::date::format(second);
        let (mut both, mut alone) = (self.both.borrow_mut(), self.date.borrow_mut());
        both.clear();
        if let Some(name) = server {
            both.append(b"server", name);
        }
        both.append(b"date", &date[..]);
        alone.clear();
        alone.append(b"date", &date[..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_http::Status;

    #[test]
    fn a_response_that_names_its_server_leaves_the_others_theirs() {
        let (common, clock) = (Common::default(), Clock::default());
        let plain = ResponseHead::new(Status::OK);
        let mut named = ResponseHead::new(Status::OK);
        named.append(b"server", b"other");
        let names = |head: &ResponseHead| {
            let (fields, version) = common.fields(&clock, Some(b"hayami"), head);
            (fields.iter().map(|(name, _)| name.to_vec()).collect::<Vec<_>>(), version)
        };
        let (alone, one) = names(&named);
        let (both, other) = names(&plain);
        assert_eq!(alone, [b"date"]);
        assert_eq!(both, [&b"server"[..], b"date"]);
        assert_ne!(one, other);
    }
}
