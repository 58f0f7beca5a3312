//! Accepting connections, as many as there may be.

use crate::connection::Connection;
use crate::register::register;
use crate::service::{Address, ConnectionInfo, Service};
use crate::socket::Socket;
use crate::worker::{Listener, Phase, Worker};
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

/// Connections accepted before others get their turn.
const BATCH: usize = 64;
/// How long to wait before trying again when the process has no room for a connection. The kernel
/// keeps those that come in the meantime in its queue.
const PAUSE: Duration = Duration::from_millis(20);

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

/// Accepts the connections of one listener for one worker.
pub(crate) struct Acceptor<S> {
    worker: Rc<Worker<S>>,
    fd: AsyncFd<OwnedFd>,
    index: usize,
    address: Address,
}

/// What a round of accepting ended with.
enum Round {
    /// The queue is empty.
    Empty,
    /// The batch is full.
    Batch,
    /// There is no room for more.
    NoRoom,
}

impl<S: Service> Acceptor<S> {
    pub(crate) fn new(worker: Rc<Worker<S>>, listener: Listener) -> io::Result<Self> {
        let fd = register(listener.fd, Interest::READABLE)?;
        Ok(Self { worker, fd, index: listener.index, address: listener.address })
    }

    /// Accepts until told to drain; then empties the queue once more, since the kernel resets what is
    /// left in it, and closes the listener.
    pub(crate) async fn run(self, mut phase: watch::Receiver<Phase>) {
        loop {
            tokio::select! {
                biased;
                _ = phase.wait_for(|phase| *phase == Phase::Drain) => break,
                ready = self.fd.readable() => {
                    let Ok(mut ready) = ready else { return };
                    match self.round().await {
                        Round::Empty => ready.clear_ready(),
                        Round::Batch => tokio::task::yield_now().await,
                        Round::NoRoom => tokio::time::sleep(PAUSE).await,
                    }
                }
            }
        }
        while let Round::Batch = self.round().await {}
    }

    async fn round(&self) -> Round {
        std::future::poll_fn(|cx| std::task::Poll::Ready(self.accept_batch(cx))).await
    }

    fn accept_batch(&self, cx: &mut std::task::Context<'_>) -> Round {
        self.worker.clock.refresh();
        for _ in 0..BATCH {
            let Some(id) = self.worker.quota.enter() else { return Round::NoRoom };
            let accepted =
                rustix::net::acceptfrom_with(self.fd.get_ref(), SocketFlags::NONBLOCK | SocketFlags::CLOEXEC);
            match accepted {
                Ok((fd, peer)) => self.begin(fd, peer, id, cx),
                Err(error) => {
                    self.worker.quota.leave();
                    match error {
                        Errno::AGAIN => return Round::Empty,
                        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => return self.starve(),
                        // The connection was lost before we took it (accept(2)): on to the next.
                        _ => {}
                    }
                }
            }
        }
        Round::Batch
    }

    /// Serves a new connection's first turn; only if it is not over then, it becomes a task.
    fn begin(&self, fd: OwnedFd, peer: Option<SocketAddrAny>, id: u64, cx: &mut std::task::Context<'_>) {
        let info = ConnectionInfo {
            id,
            listener: self.index,
            peer: peer.and_then(|p| SocketAddr::try_from(p).ok()).map_or(Address::Unix, Address::Ip),
            local: self.local(&fd),
            accepted: self.worker.clock.now(),
        };
        let mut connection = Connection::new(Rc::clone(&self.worker), Socket::new(fd), info);
        if connection.turn(cx).is_pending() {
            connection.spawn();
        }
    }

    /// Our end of a connection. Of a socket bound to any address it costs a system call, so it is asked
    /// for only when somebody wants it.
    fn local(&self, fd: &OwnedFd) -> Address {
        match &self.address {
            Address::Ip(a) if a.ip().is_unspecified() && self.worker.service.wants_local_address() => {
                crate::listen::bound_address(fd)
            }
            known => known.clone(),
        }
    }

    /// No descriptors or no memory: idle connections make room.
    #[cold]
    fn starve(&self) -> Round {
        self.worker.quota.starved.fetch_add(1, Ordering::Relaxed);
        self.worker.shed.set(BATCH);
        self.worker.timers.wake_all();
        Round::NoRoom
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
