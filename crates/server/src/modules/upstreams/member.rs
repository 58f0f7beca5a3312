//! An upstream as one worker sees it.

use super::health::{FailureKind, Health, Standing};
use super::settings::Patience;
use super::shared::{SharedGroup, SharedMember};
use super::transport::Transport;
use crate::modules::proxy::Url;
use hayami_client::Backend;
use hayami_net::Instant;
use hayami_net::upstream_io::UpstreamIo;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Weights are multiplied by this, so that a small one can grow in steps.
const STEPS: u32 = 256;

/// An upstream.
pub struct Member {
    pub(super) shared: Arc<SharedMember>,
    health: Cell<Health>,
    /// Its connections, by transport; opened and kept apart, since timeouts and TLS may differ.
    backends: RefCell<Vec<Rc<Backend>>>,
}

impl Member {
    pub(super) fn new(shared: Arc<SharedMember>) -> Self {
        Self { shared, health: Cell::default(), backends: RefCell::default() }
    }

    /// Its URL.
    pub fn url(&self) -> &Url {
        &self.shared.url
    }

    /// What logs call it.
    pub fn shown(&self) -> &str {
        &self.shared.url.shown
    }

    /// Makes what is missing for these transports, and tells the rest its addresses.
    pub(super) fn renew(&self, outbound: &UpstreamIo, transports: &[Transport]) {
        let mut backends = self.backends.borrow_mut();
        let peers = self.shared.peers();
        backends.iter().for_each(|backend| backend.set_peers(peers.to_vec()));
        for transport in &transports[backends.len()..] {
            let origin = transport.origin(&self.shared.url, peers.to_vec());
            let origin = origin.expect("it was tried when the configuration was read");
            backends.push(Backend::new(outbound, origin));
        }
    }

    /// Its connections of a transport.
    #[inline]
    pub(super) fn backend(&self, transport: usize) -> Rc<Backend> {
        Rc::clone(&self.backends.borrow()[transport])
    }

    /// Requests that this worker has under way to it.
    #[inline]
    pub(super) fn in_flight(&self) -> usize {
        self.backends.borrow().iter().map(|backend| backend.in_flight()).sum()
    }

    /// How it stands, as far as this worker and the checks know.
    #[inline]
    pub(super) fn standing(&self, group: &SharedGroup, now: Instant) -> Standing {
        if self.shared.is_unhealthy() {
            let interval = group.settings.check.as_ref().map(|check| check.interval);
            return Standing::Down(interval.unwrap_or_default());
        }
        self.health.get().standing(now)
    }

    /// Its share at the moment, in 256ths.
    #[inline]
    pub(super) fn weight(&self, group: &SharedGroup, now: Instant) -> u32 {
        let whole = self.shared.weight * STEPS;
        match group.is_new_since(&self.shared, now) {
            None => whole,
            Some(since) => grown(whole, since, group.settings.slow_start),
        }
    }

    /// A connection to it was made. Whether that is news.
    #[inline]
    pub(super) fn worked(&self) -> bool {
        let mut health = self.health.get();
        let news = health.worked();
        self.health.set(health);
        news
    }

    /// A connection to it could not be made. For how long it is left alone, if that is news.
    pub(super) fn failed(
        &self,
        now: Instant,
        failure_kind: FailureKind,
        patience: Patience,
    ) -> Option<Duration> {
        let mut health = self.health.get();
        let news = health.failed(now, failure_kind, patience);
        self.health.set(health);
        news
    }
}

/// What of a share one has so long after it came back: from next to nothing to everything.
fn grown(whole: u32, since: Duration, of: Duration) -> u32 {
    let share = u128::from(whole) * since.as_millis() / of.as_millis().max(1);
    u32::try_from(share).unwrap_or(whole).clamp(1, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_grows_from_next_to_nothing_to_the_whole() {
        let of = Duration::from_secs(10);
        let cases = [(0, 1), (1, 51), (5, 256), (9, 460), (10, 512), (11, 512)];
        for (seconds, want) in cases {
            assert_eq!(grown(512, Duration::from_secs(seconds), of), want, "after {seconds} s");
        }
        assert_eq!(grown(65_535 * STEPS, of, Duration::ZERO), 65_535 * STEPS);
    }
}
