//! Limits of buffered request content: memory, and temporary files (the spool).
//!
//! The spool is shared fairly. When it is full, an upload of a client that holds little evicts the largest upload of a
//! client that holds much: one client cannot lock out all others.

use hayami_net::ByteBudget;
use hayami_net::service::Address;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// A client's fair share is this fraction of the spool.
const FAIR_SHARE: u64 = 8;
/// A victim holds at least this many times as much as the upload it is evicted for.
const HOLDS_MORE: u64 = 2;

/// The budgets of all uploads of a process.
#[derive(Debug, Default)]
pub struct Uploads {
    /// `limit-request-memory`
    pub memory: Arc<ByteBudget>,
    /// `limit-request-spool`
    pub spool: Arc<Spool>,
}

/// Bytes of temporary files, and the uploads that hold them.
#[derive(Debug, Default)]
pub struct Spool {
    most: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    next: u64,
    clients: HashMap<Client, Holding>,
}

/// The origin of uploads: an IPv4 address, an IPv6 /64 network, or unix sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client(Option<IpAddr>);

impl From<&Address> for Client {
    fn from(address: &Address) -> Self {
        let Address::Ip(address) = address else { return Self(None) };
        Self(Some(match address.ip().to_canonical() {
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
            ip => ip,
        }))
    }
}

/// The uploads of a client.
#[derive(Debug, Default)]
struct Holding {
    bytes: u64,
    uploads: HashMap<u64, Held>,
}

/// One upload.
#[derive(Debug)]
struct Held {
    bytes: u64,
    /// Dropped to evict the upload; `None` once it is complete.
    evict: Option<oneshot::Sender<()>>,
}

/// Why an upload cannot grow.
#[derive(Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// The spool is full.
    Full,
    /// The upload was evicted in favor of smaller ones.
    Evicted,
}

impl Spool {
    /// A spool of `most` bytes.
    pub fn new(most: u64) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// The share of a new upload, initially empty.
    pub fn share(self: &Arc<Self>, client: Client) -> SpoolShare {
        let (evict, evicted) = oneshot::channel();
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        let held = Held { bytes: 0, evict: Some(evict) };
        state.clients.entry(client).or_default().uploads.insert(id, held);
        drop(state);
        SpoolShare { spool: Arc::clone(self), client, id, evicted: Some(evicted) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds `more` bytes to an upload, and evicts others if necessary.
    fn grow(&mut self, most: u64, client: Client, id: u64, more: u64) -> Result<(), NoRoom> {
        let upload = self.clients.get(&client).and_then(|holding| holding.uploads.get(&id));
        let held = upload.ok_or(NoRoom::Evicted)?.bytes;
        while self.used.saturating_add(more) > most {
            let (victim, id) =
                self.victim(client, held + more, more, most / FAIR_SHARE).ok_or(NoRoom::Full)?;
            // Its file is closed once its worker has noticed.
            self.release(victim, id);
        }
        self.used += more;
        let holding = self.clients.entry(client).or_default();
        holding.bytes += more;
        if let Some(upload) = holding.uploads.get_mut(&id) {
            upload.bytes += more;
        }
        Ok(())
    }

    /// The upload to evict for one of `client` that is to hold `wanted` bytes, `more` than now.
    fn victim(&self, client: Client, wanted: u64, more: u64, fair: u64) -> Option<(Client, u64)> {
        let own = self.clients.get(&client);
        let together = own.map_or(0, |own| own.bytes) + more;
        let others = || {
            let enough = |(_, holding): &(&Client, &Holding)| holding.bytes / HOLDS_MORE >= together;
            let others = self.clients.iter().filter(|(other, _)| **other != client).filter(enough);
            let largest =
                others.filter_map(|(other, holding)| Some((holding.bytes, *other, holding.largest()?.1)));
            largest.max_by_key(|(bytes, ..)| *bytes).map(|(_, other, id)| (other, id))
        };
        // Many clients may share an address, that of a proxy in front: compare single uploads.
        let same = || {
            let (bytes, id) = own?.largest()?;
            (bytes / HOLDS_MORE >= wanted).then_some((client, id))
        };
        let other = if together <= fair { others() } else { None };
        other.or_else(|| if wanted <= fair { same() } else { None })
    }

    /// Releases the bytes of an upload, and evicts it if it is not complete.
    fn release(&mut self, client: Client, id: u64) {
        let Some(holding) = self.clients.get_mut(&client) else { return };
        let Some(held) = holding.uploads.remove(&id) else { return };
        self.used -= held.bytes;
        holding.bytes -= held.bytes;
        if holding.uploads.is_empty() {
            self.clients.remove(&client);
        }
    }
}

impl Holding {
    /// The largest incomplete upload.
    fn largest(&self) -> Option<(u64, u64)> {
        let incomplete = self.uploads.iter().filter(|(_, held)| held.evict.is_some());
        incomplete.map(|(id, held)| (held.bytes, *id)).max()
    }
}

/// An upload's share of the spool; released when dropped.
#[derive(Debug)]
pub struct SpoolShare {
    spool: Arc<Spool>,
    client: Client,
    id: u64,
    evicted: Option<oneshot::Receiver<()>>,
}

impl SpoolShare {
    /// Reserves `more` bytes.
    ///
    /// # Errors
    /// The spool is full, or the upload was evicted.
    pub fn grow(&mut self, more: u64) -> Result<(), NoRoom> {
        self.spool.lock().grow(self.spool.most, self.client, self.id, more)
    }

    /// Ready once, when the upload is evicted.
    pub fn poll_evicted(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(evicted) = &mut self.evicted else { return Poll::Pending };
        std::pin::Pin::new(evicted).poll(cx).map(|_| self.evicted = None)
    }

    /// Marks the upload as complete: it can no longer be evicted.
    ///
    /// # Errors
    /// It was evicted before.
    pub fn complete(&mut self) -> Result<(), NoRoom> {
        let mut state = self.spool.lock();
        let holding = state.clients.get_mut(&self.client);
        let held = holding.and_then(|holding| holding.uploads.get_mut(&self.id)).ok_or(NoRoom::Evicted)?;
        held.evict = None;
        self.evicted = None;
        Ok(())
    }
}

impl Drop for SpoolShare {
    fn drop(&mut self) {
        self.spool.lock().release(self.client, self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn client(last: u8) -> Client {
        Client(Some([10, 0, 0, last].into()))
    }

    fn is_evicted(share: &mut SpoolShare) -> bool {
        share.poll_evicted(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_client_that_holds_little_ends_the_largest_upload_of_the_one_that_holds_most() {
        let spool = Arc::new(Spool::new(1000));
        let shares = [700, 200, 100].map(|bytes| (spool.share(client(1)), bytes));
        let [mut large, mut middle, mut small] = shares.map(|(mut share, bytes)| {
            share.grow(bytes).expect("it fits");
            share
        });
        let mut newcomer = spool.share(client(2));
        assert_eq!(newcomer.grow(126), Err(NoRoom::Full), "more than an eighth");
        newcomer.grow(125).expect("an eighth");
        assert!(is_evicted(&mut large) && !is_evicted(&mut middle) && !is_evicted(&mut small));
        assert_eq!((large.grow(1), large.complete()), (Err(NoRoom::Evicted), Err(NoRoom::Evicted)));
        assert_eq!(spool.lock().used, 425);
        drop((large, middle, small, newcomer));
        let state = spool.lock();
        assert_eq!((state.used, state.clients.len()), (0, 0));
    }

    #[test]
    fn many_small_uploads_of_a_client_do_not_lock_others_out() {
        let spool = Arc::new(Spool::new(1000));
        let mut many: Vec<_> = (0..100).map(|_| spool.share(client(1))).collect();
        many.iter_mut().for_each(|share| share.grow(10).expect("it fits"));
        assert_eq!(spool.share(client(1)).grow(10), Err(NoRoom::Full), "none of them holds more");
        let mut other = spool.share(client(2));
        other.grow(100).expect("room is made");
        assert_eq!(many.iter_mut().map(is_evicted).filter(|evicted| *evicted).count(), 10);
    }

    #[test]
    fn of_one_client_a_small_upload_ends_the_largest() {
        let spool = Arc::new(Spool::new(1000));
        let (mut large, mut small) = (spool.share(client(1)), spool.share(client(1)));
        large.grow(1000).expect("all of it");
        small.grow(100).expect("room is made");
        assert!(is_evicted(&mut large));
    }

    #[test]
    fn a_complete_upload_is_not_ended() {
        let spool = Arc::new(Spool::new(1000));
        let mut complete = spool.share(client(1));
        complete.grow(1000).expect("all of it");
        complete.complete().expect("nobody ended it");
        assert_eq!(spool.share(client(2)).grow(1), Err(NoRoom::Full));
        assert!(!is_evicted(&mut complete));
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        let of = |text: &str| Client::from(&Address::Ip(text.parse().expect("an address")));
        assert_eq!(of("[2001:db8::1]:1"), of("[2001:db8::2]:2"));
        assert_ne!(of("[2001:db8::1]:1"), of("[2001:db8:0:1::1]:1"));
        assert_eq!(of("[::ffff:10.0.0.1]:1"), client(1));
    }
}
