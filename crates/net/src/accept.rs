//! Accepting connections, as many as there may be.

use crate::service::{Address, ConnectionInfo, Service};
use crate::socket::Socket;
use crate::transport::Transport;
use crate::worker::{Listener, Worker};
use hayami_tls::Acceptor as TlsAcceptor;
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How many connections the process may have, and has.
#[derive(Debug)]
pub struct Quota {
    /// Above it connections wait in the kernel's queue.
    most: usize,
    /// Above it idle connections are closed early; with how long an idle one is left alone at least.
    soft: Option<(usize, Duration)>,
    live: AtomicUsize,
    next_id: AtomicU64,
    starved: AtomicU64,
}

impl Quota {
    /// A quota of `most` connections, with idle ones closed early above `soft`.
    pub fn new(most: usize, soft: Option<(usize, Duration)>) -> Self {
        let none = AtomicU64::new(0);
        Self { most, soft, live: AtomicUsize::new(0), next_id: AtomicU64::new(1), starved: none }
    }

    /// Connections at the moment.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// How often a connection could not be accepted for want of descriptors or memory.
    pub fn starved(&self) -> u64 {
        self.starved.load(Ordering::Relaxed)
    }

    /// How long an idle connection is left alone when the soft limit is passed.
    pub(crate) fn min_age(&self) -> Duration {
        self.soft.map_or(Duration::ZERO, |(_, min_age)| min_age)
    }

    /// How many of a worker's `own` connections are above the soft limit: its share of the excess.
    pub(crate) fn excess(&self, own: usize) -> usize {
        let Some((soft, _)) = self.soft else { return 0 };
        let live = self.live();
        if live <= soft { 0 } else { ((live - soft) * own).div_ceil(live) }
    }

    fn enter(&self) -> Option<u64> {
        if self.live.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.leave();
            return None;
        }
        Some(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn leave(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The queue of one listener, as one worker sees it.
pub(crate) struct Acceptor {
    pub(crate) fd: OwnedFd,
    index: usize,
    address: Address,
    tls: Option<Arc<TlsAcceptor>>,
    proxy_protocol: bool,
    /// Connections may wait in the kernel's queue.
    pub(crate) ready: bool,
}

/// What asking for a connection led to.
pub(crate) enum Accepted {
    /// A connection.
    New(Transport, ConnectionInfo),
    /// One that was lost before we took it (accept(2)).
    Lost,
    /// None is waiting.
    None,
    /// The quota is used up: some may be waiting.
    NoRoom,
    /// No descriptors or no memory: some may be waiting.
    Starved,
}

impl Acceptor {
    pub(crate) fn new(listener: Listener) -> Self {
        let Listener { fd, index, address, tls, proxy_protocol } = listener;
        Self { fd, index, address, tls, proxy_protocol, ready: true }
    }

    /// Takes one connection.
    pub(crate) fn accept<S: Service>(&mut self, worker: &Worker<S>) -> Accepted {
        let Some(id) = worker.quota.enter() else { return Accepted::NoRoom };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let error = match rustix::net::acceptfrom_with(&self.fd, flags) {
            Ok((fd, peer)) => return self.accepted(fd, peer, id, worker),
            Err(error) => error,
        };
        worker.quota.leave();
        match error {
            Errno::AGAIN => {
                self.ready = false;
                Accepted::None
            }
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => {
                worker.quota.starved.fetch_add(1, Ordering::Relaxed);
                Accepted::Starved
            }
            _ => Accepted::Lost,
        }
    }

    fn accepted<S: Service>(
        &self,
        fd: OwnedFd,
        peer: Option<SocketAddrAny>,
        id: u64,
        worker: &Worker<S>,
    ) -> Accepted {
        let info = ConnectionInfo {
            id,
            listener: self.index,
            peer: peer.and_then(|p| SocketAddr::try_from(p).ok()).map_or(Address::Unix, Address::Ip),
            local: self.local(&fd, worker),
            accepted: worker.clock.now(),
            tls: None,
            ends: Default::default(),
        };
        let mut transport = Transport::new(Socket::new(fd), self.tls.as_ref());
        if self.proxy_protocol {
            transport.expect_announcement();
        }
        Accepted::New(transport, info)
    }

    /// Our end of a connection. Of a socket bound to any address it costs a system call, so it is asked
    /// for only when somebody wants it.
    fn local<S: Service>(&self, fd: &OwnedFd, worker: &Worker<S>) -> Address {
        match &self.address {
            Address::Ip(a) if a.ip().is_unspecified() && worker.service.wants_local_address() => {
                crate::listen::bound_address(fd)
            }
            known => known.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quota_is_never_passed_and_room_is_given_back() {
        let quota = Quota::new(2, None);
        assert!(quota.enter().is_some() && quota.enter().is_some());
        assert_eq!(quota.enter(), None);
        quota.leave();
        assert!(quota.enter().is_some());
        assert_eq!(quota.live(), 2);
    }

    #[test]
    fn each_worker_sheds_its_share_of_the_excess() {
        let quota = Quota::new(100, Some((10, Duration::from_secs(30))));
        for _ in 0..20 {
            quota.enter();
        }
        assert_eq!(quota.excess(15), 8);
        assert_eq!(quota.excess(5), 3);
        for _ in 0..10 {
            quota.leave();
        }
        assert_eq!(quota.excess(10), 0);
    }
}
