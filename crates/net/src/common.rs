//! The fields common to all responses, `server` and `date`, generated once per second.

use crate::clock::Clock;
use hayami_http::{FieldSection, Known, ResponseHead};
use std::cell::Ref;
use std::cell::{Cell, RefCell};

/// The common fields of one worker.
#[derive(Default)]
pub(crate) struct Common {
    second: Cell<u64>,
    /// `server` and `date`; `date` alone, for responses with a `server` field of their own.
    both: RefCell<FieldSection>,
    date: RefCell<FieldSection>,
    /// For responses that have a date from the upstream, or must not have one: `server` alone, and no fields.
    server: RefCell<FieldSection>,
    nothing: RefCell<FieldSection>,
}

impl Common {
    /// Returns the fields that `head` lacks, for the current second, and a version number that changes with them.
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
        let version = clock.unix() << 2;
        let dated = head.get(Known::Date).is_some() || head.omits_date();
        match (head.get(Known::Server).is_some(), dated) {
            (false, false) => (self.both.borrow(), version),
            (true, false) => (self.date.borrow(), version | 1),
            (false, true) => (self.server.borrow(), version | 2),
            (true, true) => (self.nothing.borrow(), version | 3),
        }
    }

    #[cold]
    fn make(&self, second: u64, server: Option<&[u8]>) {
        self.second.set(second);
        let date = hayami_http::date::format(second);
        let (mut both, mut alone) = (self.both.borrow_mut(), self.date.borrow_mut());
        let mut server_alone = self.server.borrow_mut();
        both.clear();
        server_alone.clear();
        if let Some(name) = server {
            both.append(b"server", name);
            server_alone.append(b"server", name);
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
    fn a_response_has_its_own_server_and_date_or_ours() {
        let (common, clock) = (Common::default(), Clock::default());
        type Names = &'static [&'static [u8]];
        let cases: [(Names, Names); 4] = [
            (&[], &[b"server", b"date"]),
            (&[b"server"], &[b"date"]),
            (&[b"date"], &[b"server"]),
            (&[b"server", b"date"], &[]),
        ];
        let mut versions = Vec::new();
        for (own, want) in cases {
            let mut head = ResponseHead::new(Status::OK);
            own.iter().for_each(|name| head.append(name, b"own"));
            let (fields, version) = common.fields(&clock, Some(b"hayami"), &head);
            assert_eq!(fields.iter().map(|(name, _)| name).collect::<Vec<_>>(), want);
            assert!(!versions.contains(&version));
            versions.push(version);
        }
        let mut head = ResponseHead::new(Status::OK);
        head.omit_date();
        let (fields, version) = common.fields(&clock, Some(b"hayami"), &head);
        assert_eq!(fields.iter().map(|(name, _)| name).collect::<Vec<_>>(), [b"server"]);
        assert_eq!(version, versions[2], "as if it had one");
    }
}
