//! The limits that have counted a request, so that none counts it twice, and what they hold until its response is sent.

use hayami_net::service::{Ended, Observer};
use std::any::Any;

/// The limits that have counted a request on its way through this server.
#[derive(Default)]
pub struct PassedLimits {
    /// Most routes have one limit: it takes no allocation.
    first: Option<Passed>,
    others: Vec<Passed>,
}

struct Passed {
    limit: u64,
    permit: Option<Permit>,
}

/// What a limit holds for a request; dropping it is the end of the request for the limit.
pub type Permit = Box<dyn Any>;

impl PassedLimits {
    /// Whether the limit of this number has counted the request.
    pub fn contains(&self, limit: u64) -> bool {
        self.iter().any(|own| own.limit == limit)
    }

    /// The limit of this number has counted the request.
    pub fn add(&mut self, limit: u64) {
        self.push(Passed { limit, permit: None });
    }

    /// As [`add`](Self::add), and the limit holds `permit` until the response has been sent or broke off.
    pub fn hold(&mut self, limit: u64, permit: Permit) {
        self.push(Passed { limit, permit: Some(permit) });
    }

    /// An observer that holds the permits until the response has been sent or broke off; `observer` itself if there are
    /// none.
    #[inline]
    pub(crate) fn hold_until_sent(self, observer: Option<Box<dyn Observer>>) -> Option<Box<dyn Observer>> {
        let has_permits = self.iter().any(|own| own.permit.is_some());
        match has_permits {
            true => Some(Box::new(Holding { observer, held: self })),
            false => observer,
        }
    }

    fn push(&mut self, passed: Passed) {
        match &self.first {
            None => self.first = Some(passed),
            Some(_) => self.others.push(passed),
        }
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = &Passed> {
        self.first.iter().chain(&self.others)
    }
}

/// Drops permits when the response has been sent, or when the connection drops it without a word.
struct Holding {
    observer: Option<Box<dyn Observer>>,
    held: PassedLimits,
}

impl Observer for Holding {
    fn ended(self: Box<Self>, end: &Ended) {
        let Self { observer, held } = *self;
        drop(held);
        if let Some(observer) = observer {
            observer.ended(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_net::Instant;
    use std::rc::Rc;

    struct Told(Rc<()>);

    impl Observer for Told {
        fn ended(self: Box<Self>, _: &Ended) {
            assert_eq!(Rc::strong_count(&self.0), 2, "the permit was dropped before");
        }
    }

    #[test]
    fn a_limit_counts_once() {
        let mut passed = PassedLimits::default();
        passed.add(7);
        passed.hold(9, Box::new(()));
        assert!(passed.contains(7) && passed.contains(9) && !passed.contains(8));
    }

    #[test]
    fn permits_are_dropped_when_the_response_has_ended_or_is_dropped() {
        let held = Rc::new(());
        let observed = |observer: Option<Box<dyn Observer>>| {
            let mut passed = PassedLimits::default();
            passed.hold(1, Box::new(Rc::clone(&held)));
            passed.hold_until_sent(observer).expect("it holds a permit")
        };
        let observer = observed(Some(Box::new(Told(Rc::clone(&held)))));
        assert_eq!(Rc::strong_count(&held), 3);
        let now = Instant::now();
        observer.ended(&Ended { content_bytes: 0, began: now, ended: now, aborted: None });
        assert_eq!(Rc::strong_count(&held), 1);
        drop(observed(None));
        assert_eq!(Rc::strong_count(&held), 1);
    }

    #[test]
    fn without_permits_nothing_is_observed() {
        let mut passed = PassedLimits::default();
        passed.add(1);
        assert!(passed.hold_until_sent(None).is_none());
        assert!(PassedLimits::default().hold_until_sent(None).is_none());
    }
}
