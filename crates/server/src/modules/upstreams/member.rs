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

/// Weights are scaled by this, so that even a small one can grow in steps (slow start).
const STEPS: u32 = 256;

/// An upstream.
pub struct Member {
    pub(super) shared: Arc<SharedMember>,
    health: Cell<Health>,
    /// One connection pool per transport: timeouts and TLS may differ.
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

    /// How logs name it.
    pub fn shown(&self) -> &str {
        &self.shared.url.shown
    }

    /// Adds backends for new transports, and updates the addresses of the existing ones.
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

    /// Its backend for a transport.
    #[inline]
    pub(super) fn backend(&self, transport: usize) -> Rc<Backend> {
        Rc::clone(&self.backends.borrow()[transport])
    }

    /// Requests that this worker has in flight to it.
    #[inline]
    pub(super) fn in_flight(&self) -> usize {
        self.backends.borrow().iter().map(|backend| backend.in_flight()).sum()
    }

    /// Its standing, from this worker's experience and the health checks.
    #[inline]
    pub(super) fn standing(&self, group: &SharedGroup, now: Instant) -> Standing {
        if self.shared.is_unhealthy() {
            let interval = group.settings.check.as_ref().map(|check| check.interval);
            return Standing::Down(interval.unwrap_or_default());
        }
        self.health.get().standing(now)
    }

    /// Its current weight, in 256ths.
    #[inline]
    pub(super) fn weight(&self, group: &SharedGroup, now: Instant) -> u32 {
        let whole = self.shared.weight * STEPS;
        match group.is_new_since(&self.shared, now) {
            None => whole,
            Some(since) => grown(whole, since, group.settings.slow_start),
        }
    }

    /// A connection to it was made. Returns whether this ends an ejection.
    #[inline]
    pub(super) fn worked(&self) -> bool {
        let mut health = self.health.get();
        let news = health.worked();
        self.health.set(health);
        news
    }

    /// A connection attempt failed. Returns the duration of the ejection, if one begins.
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

/// The part of a weight that applies `since` after recovery: rises from 1 to the whole within `of`.
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
