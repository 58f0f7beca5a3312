//! The addresses of a name, as lookups return them: both families are looked up in parallel, and the first connection
//! need not wait for both (RFC 8305 §3).

use super::rules::Rules;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// The lookup of one family.
pub(super) type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>>>>;

/// Addresses to connect to, in the order in which they are tried: families alternate, IPv6 first (RFC 8305 §4).
pub(super) struct Candidates<'r> {
    rules: &'r Rules,
    v6: Family,
    v4: Family,
    /// How long IPv4 addresses wait for IPv6 ones (Resolution Delay), and the running timer.
    delay: Duration,
    wait: Option<Pin<Box<Sleep>>>,
    /// The family that was not tried last.
    v6_is_next: bool,
    /// Whether the rules deny an address.
    denied: bool,
}

/// The state of one family.
struct Family {
    lookup: Option<Lookup>,
    found: VecDeque<SocketAddr>,
    failure: Option<io::Error>,
}

/// The next address.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Address(SocketAddr),
    /// A lookup is still running.
    Pending,
    /// All of them have been tried.
    End,
}

impl<'r> Candidates<'r> {
    /// The addresses of two lookups that the rules allow.
    pub(super) fn new(rules: &'r Rules, v6: Lookup, v4: Lookup, delay: Duration) -> Self {
        let family = |lookup| Family { lookup: Some(lookup), found: VecDeque::new(), failure: None };
        Self { rules, v6: family(v6), v4: family(v4), delay, wait: None, v6_is_next: true, denied: false }
    }

    /// A single address.
    pub(super) fn one(rules: &'r Rules, address: SocketAddr) -> Self {
        let found = |addresses: Vec<SocketAddr>| -> Lookup { Box::pin(std::future::ready(Ok(addresses))) };
        Self::new(rules, found(vec![address]), found(Vec::new()), Duration::ZERO)
    }

    /// The next address to try.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Next {
        self.denied |= self.v6.poll(cx, self.rules) | self.v4.poll(cx, self.rules);
        if self.v6.lookup.is_some() && !self.v4.found.is_empty() && self.waits(cx) {
            return Next::Pending;
        }
        let (first, second) =
            if self.v6_is_next { (&mut self.v6, &mut self.v4) } else { (&mut self.v4, &mut self.v6) };
        match first.found.pop_front().or_else(|| second.found.pop_front()) {
            Some(address) => {
                self.v6_is_next = address.is_ipv4();
                Next::Address(address)
            }
            None if self.v6.lookup.is_some() || self.v4.lookup.is_some() => Next::Pending,
            None => Next::End,
        }
    }

    /// Whether the rules deny an address that was found.
    pub(super) fn has_denied(&self) -> bool {
        self.denied
    }

    /// Why nothing was found: a failed lookup takes precedence over a family without addresses.
    pub(super) fn take_failure(&mut self) -> io::Error {
        let failures = [self.v6.failure.take(), self.v4.failure.take()].into_iter().flatten();
        let definite = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        failures.min_by_key(definite).unwrap_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Whether IPv4 addresses still wait for IPv6 ones.
    fn waits(&mut self, cx: &mut Context<'_>) -> bool {
        let delay = self.delay;
        if delay.is_zero() {
            return false;
        }
        let wait = self.wait.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + delay)));
        wait.as_mut().poll(cx).is_pending()
    }
}

impl Family {
    /// Takes the addresses that were found. Returns whether the rules deny some of them.
    fn poll(&mut self, cx: &mut Context<'_>, rules: &Rules) -> bool {
        let Some(lookup) = &mut self.lookup else { return false };
        let Poll::Ready(found) = lookup.as_mut().poll(cx) else { return false };
        self.lookup = None;
        match found {
            Ok(addresses) => {
                let count = addresses.len();
                self.found.extend(addresses.into_iter().filter(|address| rules.allow(*address)));
                self.found.len() < count
            }
            Err(error) => {
                self.failure = Some(error);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml::Node;
    use std::task::Waker;
    use tokio::sync::oneshot::{Sender, channel};

    type Found = io::Result<Vec<SocketAddr>>;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|address| address.parse().expect("an address")).collect()
    }

    fn rules(text: &str) -> Rules {
        Rules::read(&Node::scalar(text)).expect("a rule")
    }

    /// Candidates, and the senders that complete the two lookups.
    fn candidates(rules: &Rules, delay: Duration) -> (Candidates<'_>, Sender<Found>, Sender<Found>) {
        let lookup = || {
            let (sender, receiver) = channel::<Found>();
            let lookup: Lookup = Box::pin(async move { receiver.await.expect("it is told") });
            (sender, lookup)
        };
        let ((v6, v6_lookup), (v4, v4_lookup)) = (lookup(), lookup());
        (Candidates::new(rules, v6_lookup, v4_lookup, delay), v6, v4)
    }

    fn next(candidates: &mut Candidates<'_>) -> Next {
        candidates.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    fn rest(candidates: &mut Candidates<'_>) -> Vec<SocketAddr> {
        std::iter::from_fn(|| match next(candidates) {
            Next::Address(address) => Some(address),
            Next::Pending | Next::End => None,
        })
        .collect()
    }

    /// Runs the test with timers.
    fn within_runtime(test: impl FnOnce()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async { test() });
    }

    /// Never expires within a test.
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn families_take_turns_and_ipv6_is_first() {
        within_runtime(|| {
            let rules = rules("+*");
            let (mut both, v6, v4) = candidates(&rules, LONG);
            assert_eq!(next(&mut both), Next::Pending);
            v4.send(Ok(addresses(&["1.1.1.1:1", "1.1.1.2:1"]))).expect("waits");
            v6.send(Ok(addresses(&["[::1]:1", "[::2]:1", "[::3]:1"]))).expect("waits");
            let want = addresses(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"]);
            assert_eq!(rest(&mut both), want);
            assert_eq!(next(&mut both), Next::End);
        });
    }

    #[test]
    fn ipv4_waits_for_ipv6_as_long_as_was_configured_and_ipv6_waits_for_nobody() {
        within_runtime(|| {
            let rules = rules("+*");
            for (delay, want) in
                [(LONG, Next::Pending), (Duration::ZERO, Next::Address(addresses(&["1.1.1.1:1"])[0]))]
            {
                let (mut both, _v6, v4) = candidates(&rules, delay);
                v4.send(Ok(addresses(&["1.1.1.1:1"]))).expect("waits");
                assert_eq!(next(&mut both), want, "{delay:?}");
            }
            let (mut both, v6, _v4) = candidates(&rules, LONG);
            v6.send(Ok(addresses(&["[::1]:1"]))).expect("waits");
            assert_eq!(rest(&mut both), addresses(&["[::1]:1"]));
            assert_eq!(next(&mut both), Next::Pending, "IPv4 may follow");
        });
    }

    #[test]
    fn a_family_that_has_no_address_is_not_waited_for_and_what_is_temporary_is_said() {
        within_runtime(|| {
            let rules = rules("+*");
            let (mut both, v6, v4) = candidates(&rules, LONG);
            v6.send(Err(io::ErrorKind::NotFound.into())).expect("waits");
            v4.send(Ok(addresses(&["1.1.1.1:1"]))).expect("waits");
            assert_eq!(rest(&mut both), addresses(&["1.1.1.1:1"]));
            let (mut both, v6, v4) = candidates(&rules, LONG);
            v6.send(Err(io::ErrorKind::NotFound.into())).expect("waits");
            v4.send(Err(io::ErrorKind::TimedOut.into())).expect("waits");
            assert_eq!(next(&mut both), Next::End);
            assert_eq!(both.take_failure().kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn only_what_the_rules_allow_is_a_candidate() {
        within_runtime(|| {
            let rules = rules("+1.1.1.1");
            let (mut both, v6, v4) = candidates(&rules, LONG);
            v6.send(Ok(addresses(&["[::1]:1"]))).expect("waits");
            v4.send(Ok(addresses(&["1.1.1.2:1", "1.1.1.1:1"]))).expect("waits");
            assert_eq!(rest(&mut both), addresses(&["1.1.1.1:1"]));
            assert!(both.has_denied());
            assert_eq!(next(&mut Candidates::one(&rules, addresses(&["[::1]:1"])[0])), Next::End);
        });
    }
}
