//! The current set of ticket keys: which one seals, which ones open, when another is due.

use super::key::{NAME, TicketKey};
use std::sync::Arc;

/// The longest time between making a key and sealing with it, in seconds: as long as the slowest machine
/// takes to fetch it. h2o's value.
const LEAD: u64 = 60;

/// An immutable set of keys, replaced as a whole.
#[derive(Clone, Debug, Default)]
pub(in crate::resumption) struct Ring {
    /// Newest first.
    keys: Vec<Arc<TicketKey>>,
    /// Keys that only open: their tickets are still in use.
    retired: Vec<Arc<TicketKey>>,
}

impl Ring {
    /// These keys, in any order.
    pub(super) fn new(keys: impl IntoIterator<Item = TicketKey>) -> Self {
        let mut keys: Vec<_> = keys.into_iter().map(Arc::new).collect();
        keys.sort_by_key(|key| (std::cmp::Reverse(key.not_before), key.name));
        Self { keys, retired: Vec::new() }
    }

    /// Newest first.
    pub(super) fn keys(&self) -> impl Iterator<Item = &TicketKey> {
        self.keys.iter().map(AsRef::as_ref)
    }

    /// The newest key that may seal now.
    pub(super) fn sealing(&self, now: u64) -> Option<&TicketKey> {
        self.keys().find(|key| key.not_before <= now).filter(|key| now <= key.not_after)
    }

    /// The key of this name, if its tickets are still valid. A key from the future opens too: the clock of
    /// the machine that sealed with it may be ahead.
    pub(super) fn opening(&self, name: [u8; NAME], now: u64) -> Option<&TicketKey> {
        let mut all = self.keys().chain(self.retired.iter().map(AsRef::as_ref));
        all.find(|key| key.name == name && now <= key.not_after)
    }

    /// The set without expired keys and, if due, with a new key: after a quarter of `lifetime`, as h2o does.
    /// `None`: nothing changes.
    pub(in crate::resumption) fn renewed(&self, now: u64, lifetime: u64) -> Option<Self> {
        let mut ring = self.clone();
        let before = ring.keys.len() + ring.retired.len();
        ring.keys.retain(|key| now <= key.not_after);
        ring.retired.retain(|key| now <= key.not_after);
        let is_due = ring.is_due(now, lifetime);
        if is_due && let Some(key) = ring.next_key(now, lifetime) {
            ring.keys.insert(0, Arc::new(key));
        }
        (is_due || ring.keys.len() + ring.retired.len() != before).then_some(ring)
    }

    fn is_due(&self, now: u64, lifetime: u64) -> bool {
        let newest = self.keys.first().map(|key| key.not_before);
        self.sealing(now).is_none() || newest.is_none_or(|newest| newest.saturating_add(lifetime / 4) <= now)
    }

    /// Its tickets are issued for a quarter of `lifetime` and valid for a whole one, so the key lives five
    /// quarters. If another key can seal now, it starts a little later, so that other machines can fetch it.
    fn next_key(&self, now: u64, lifetime: u64) -> Option<TicketKey> {
        let lead = if self.sealing(now).is_some() { LEAD.min(lifetime / 16) } else { 0 };
        let start = now + lead;
        TicketKey::generate(start, start + lifetime + lifetime / 4)
    }

    /// The set plus the keys of `old` that it lacks: they no longer seal, but open what they have sealed.
    pub(super) fn after(mut self, old: &Self, now: u64) -> Self {
        for key in old.keys.iter().chain(&old.retired) {
            if self.opening(key.name, now).is_none() && now <= key.not_after {
                self.retired.push(key.clone());
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: u8, not_before: u64, not_after: u64) -> TicketKey {
        TicketKey::new([name; NAME], vec![name; 96], not_before, not_after)
    }

    fn names(ring: &Ring) -> Vec<u8> {
        ring.keys().map(|key| key.name[0]).collect()
    }

    #[test]
    fn the_newest_key_whose_time_has_come_seals() {
        let ring = Ring::new([key(1, 0, 50), key(3, 100, 150), key(2, 20, 70)]);
        assert_eq!(names(&ring), [3, 2, 1]);
        for (now, want) in
            [(0, Some(1)), (19, Some(1)), (20, Some(2)), (70, Some(2)), (71, None), (100, Some(3))]
        {
            assert_eq!(ring.sealing(now).map(|key| key.name[0]), want, "at {now}");
        }
    }

    #[test]
    fn every_key_opens_until_its_time_is_over() {
        let ring = Ring::new([key(1, 0, 50), key(2, 100, 150)]);
        for (name, now, want) in [(1, 50, true), (1, 51, false), (2, 0, true), (2, 150, true), (3, 0, false)]
        {
            assert_eq!(ring.opening([name; NAME], now).is_some(), want, "{name} at {now}");
        }
    }

    #[test]
    fn a_ticket_is_good_for_a_lifetime_however_late_it_was_made() {
        let lifetime = 4000;
        let mut ring = Ring::default();
        for now in (1_000_000..1_020_000).step_by(60) {
            ring = ring.renewed(now, lifetime).unwrap_or(ring);
            let sealing = ring.sealing(now).unwrap();
            assert!(sealing.not_after >= now + lifetime - 60, "at {now}");
            assert!(sealing.not_before + lifetime / 4 + 2 * LEAD >= now, "the key is renewed: at {now}");
            assert!(ring.keys.len() <= 7, "old keys go: {} at {now}", ring.keys.len());
        }
    }

    #[test]
    fn a_set_that_is_as_it_should_be_is_left_alone() {
        let ring = Ring::default().renewed(1000, 4000).unwrap();
        assert!(ring.renewed(1000, 4000).is_none());
        assert!(ring.renewed(1999, 4000).is_none());
        let next = ring.renewed(2000, 4000).unwrap();
        assert_eq!(next.keys.len(), 2);
        assert_eq!(next.sealing(2000).unwrap().name, ring.sealing(2000).unwrap().name, "lead");
        assert_ne!(next.sealing(2060).unwrap().name, ring.sealing(2060).unwrap().name);
    }

    #[test]
    fn keys_from_elsewhere_seal_and_the_old_ones_open() {
        let old = Ring::new([key(1, 0, 50), key(2, 10, 60)]);
        let ring = Ring::new([key(2, 10, 60), key(3, 0, 40)]).after(&old, 20);
        assert_eq!(names(&ring), [2, 3]);
        assert_eq!(ring.opening([1; NAME], 20).unwrap().secret.0, [1; 96]);
        assert_eq!(ring.retired.len(), 1);
        assert!(ring.renewed(51, 1 << 40).unwrap().retired.is_empty());
    }
}
