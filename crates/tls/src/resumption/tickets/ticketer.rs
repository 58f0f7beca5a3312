//! Makes and reads tickets, as rustls' interface requires.

use super::ring::Ring;
use crate::resumption::alive::Alive;
use crate::resumption::clock::unix_now;
use arc_swap::ArcSwap;
use rustls::server::ProducesTickets;
use std::sync::Arc;

/// The longest a ticket may be good, in seconds (RFC 8446 §4.6.1).
pub(in crate::resumption) const LONGEST: u32 = 604_800;
/// The largest ticket that is opened. Issued ones have about 200 bytes, and more with client certificates.
const LARGEST: usize = 32 * 1024;

/// Seals and opens with the current keys.
#[derive(Clone, Debug)]
pub(in crate::resumption) struct Ticketer {
    ring: Arc<ArcSwap<Ring>>,
    lifetime: u32,
    scope: Vec<u8>,
    _alive: Arc<Alive>,
}

impl Ticketer {
    /// With the keys that are in `ring`, now and later.
    pub(in crate::resumption) fn new(ring: Arc<ArcSwap<Ring>>, lifetime: u32, alive: Arc<Alive>) -> Self {
        Self { ring, lifetime, scope: Vec::new(), _alive: alive }
    }

    /// The same keys, but tickets that are valid only in `scope`.
    pub(in crate::resumption) fn scoped(&self, scope: &[u8]) -> Self {
        Self { scope: scope.to_vec(), ..self.clone() }
    }

    fn open(&self, ticket: &[u8], now: u64) -> Option<Vec<u8>> {
        let (name, sealed) = ticket.split_first_chunk()?;
        self.ring.load().opening(*name, now)?.open(&self.scope, sealed)
    }
}

impl ProducesTickets for Ticketer {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.lifetime
    }

    fn encrypt(&self, session: &[u8]) -> Option<Vec<u8>> {
        self.ring.load().sealing(unix_now())?.seal(&self.scope, session)
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        if ticket.len() > LARGEST { None } else { self.open(ticket, unix_now()) }
    }
}

/// No tickets.
#[derive(Debug)]
pub(in crate::resumption) struct NoTickets;

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticketer() -> Ticketer {
        let ring = Ring::default().renewed(unix_now(), 3600).unwrap();
        Ticketer::new(Arc::new(ArcSwap::from_pointee(ring)), 3600, Arc::default())
    }

    #[test]
    fn a_ticket_opens_for_everybody_with_the_keys_and_for_nobody_else() {
        let (ours, other) = (ticketer(), ticketer());
        let ticket = ours.encrypt(b"session").unwrap();
        assert_eq!(ours.clone().decrypt(&ticket), Some(b"session".to_vec()));
        assert_eq!(other.decrypt(&ticket), None);
        for len in 0..ticket.len() {
            assert_eq!(ours.decrypt(&ticket[..len]), None, "cut at {len}");
        }
        assert_eq!(ours.decrypt(&vec![0; LARGEST + 1]), None);
    }

    #[test]
    fn a_ticket_of_one_scope_is_none_in_another() {
        let ours = ticketer();
        let ticket = ours.scoped(b"one").encrypt(b"session").unwrap();
        assert_eq!(ours.scoped(b"one").decrypt(&ticket), Some(b"session".to_vec()));
        assert_eq!(ours.scoped(b"two").decrypt(&ticket), None);
        assert_eq!(ours.decrypt(&ticket), None);
    }

    #[test]
    fn a_ticket_outlives_the_change_of_keys_but_not_its_lifetime() {
        let now = unix_now();
        let ours = ticketer();
        let ticket = ours.encrypt(b"session").unwrap();
        let next = ours.ring.load().renewed(now + 1000, 3600).unwrap();
        ours.ring.store(Arc::new(next));
        assert_eq!(ours.open(&ticket, now + 3600), Some(b"session".to_vec()));
        assert_eq!(ours.open(&ticket, now + 3600 + 900 + 5), None);
    }

    #[test]
    fn without_a_key_there_are_no_tickets() {
        let none = Ticketer::new(Arc::default(), 3600, Arc::default());
        assert_eq!(none.encrypt(b"session"), None);
        assert_eq!(none.decrypt(&[0; 100]), None);
    }
}
