//! Accepting connections, as many as there may be.

use crate::placement::Arrival;
use crate::proxy_protocol::{Expectation, Expected, Fault};
use crate::service::{Address, ConnectionInfo, Service};
use crate::socket::Socket;
use crate::transport::{ProxyHeader, Transport};
use crate::worker::Worker;
use hayami_tls::Acceptor as TlsAcceptor;
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Connections accepted before those that are there get their turn.
pub(crate) const BATCH: u32 = 64;

/// A listening socket as one worker gets it.
#[derive(Debug)]
pub struct Listener {
    /// The socket, listening and non-blocking.
    pub fd: OwnedFd,
    /// Its index among all listeners of the program.
    pub index: usize,
    /// Which of the accept queues of that listener it is: with `SO_REUSEPORT` there are several.
    pub queue: usize,
    /// The address it is bound to.
    pub address: Address,
    /// What it answers TLS handshakes with; `None` to serve in clear.
    pub tls: Option<Arc<TlsAcceptor>>,
    /// Connections begin with a header of the PROXY protocol, which is believed; `None`: it is not known here.
    pub proxy_protocol: Option<Expectation>,
}

/// The queue of one listener, as one worker sees it.
pub(crate) struct Acceptor {
    pub(crate) fd: OwnedFd,
    /// Index of the listener among all of the program.
    pub(crate) index: usize,
    /// As in [`Listener`].
    pub(crate) queue: usize,
    address: Address,
    tls: Option<Arc<TlsAcceptor>>,
    /// Which client certificates its connections had to show.
    client_requirement: Option<u64>,
    proxy_protocol: Option<Expectation>,
    /// The kernel tells when connections wait.
    pub(crate) is_watched: bool,
    /// It has told.
    told: bool,
    share: Share,
}

/// What a batch ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// As many as it might be: more may be waiting.
    Full,
    /// No more are waiting.
    Emptied { taken: u32 },
    /// There is no room for those that wait.
    NoRoom,
}

/// How many connections are taken when the kernel says that some wait. It does not say how many: to take all
/// costs a call in vain each time, and to take one costs a round of the loop for each connection of many.
#[derive(Debug)]
struct Share {
    /// Connections that seem to come together.
    size: u32,
    /// Connections taken since the queue was last known to be empty, if more than one was asked for.
    run: u32,
    /// While they come one by one, two are asked for after so many times.
    probe_in: u32,
    /// Doubles each time that this is in vain.
    pause: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { size: 1, run: 0, probe_in: 0, pause: 1 }
    }
}

impl Share {
    /// The next one.
    fn next(&mut self) -> u32 {
        if self.size > 1 || self.probe_in == 0 {
            return self.size.max(2);
        }
        self.probe_in -= 1;
        1
    }

    /// What became of `most`.
    fn ended(&mut self, most: u32, batch: Batch) {
        match batch {
            Batch::Full if most > 1 => {
                self.run += most;
                self.size = (2 * most).min(BATCH);
            }
            // As many may come together the next time.
            Batch::Emptied { taken } => {
                self.size = (self.run + taken).clamp(1, BATCH);
                self.run = 0;
                self.pause = if self.size == 1 { (2 * self.pause).min(BATCH) } else { 1 };
                self.probe_in = self.pause;
            }
            Batch::Full | Batch::NoRoom => {}
        }
    }

    /// The kernel has not told of any.
    fn none(&mut self) {
        self.run = 0;
    }
}

/// What asking for a connection led to.
pub(crate) enum Accepted {
    /// A connection.
    New(Arrival),
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
        let Listener { fd, index, queue, address, tls, proxy_protocol } = listener;
        Self {
            fd,
            index,
            queue,
            address,
            client_requirement: requirement(tls.as_ref()),
            tls,
            proxy_protocol,
            is_watched: true,
            told: false,
            share: Share::default(),
        }
    }

    /// What its next connections begin with. Whether they have to show other client certificates than those that are there.
    pub(crate) fn renew(
        &mut self,
        tls: Option<Arc<TlsAcceptor>>,
        proxy_protocol: Option<Expectation>,
    ) -> bool {
        let before = std::mem::replace(&mut self.client_requirement, requirement(tls.as_ref()));
        (self.tls, self.proxy_protocol) = (tls, proxy_protocol);
        self.client_requirement.is_some() && before != self.client_requirement
    }

    /// The kernel says that connections wait.
    pub(crate) fn connections_wait(&mut self) {
        self.told = true;
    }

    /// How many connections to accept now. While the kernel does not tell, it is tried whenever there may be
    /// `room`.
    pub(crate) fn begin_batch(&mut self, room: bool) -> u32 {
        if std::mem::take(&mut self.told) || room && !self.is_watched {
            return self.share.next();
        }
        self.share.none();
        0
    }

    /// That is what became of it.
    pub(crate) fn end_batch(&mut self, most: u32, batch: Batch) {
        self.share.ended(most, batch);
    }

    /// Takes one connection.
    pub(crate) fn accept<S: Service>(&self, worker: &Worker<S>) -> Accepted {
        let Some(id) = worker.quota.enter() else { return Accepted::NoRoom };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let error = match rustix::net::acceptfrom_with(&self.fd, flags) {
            Ok((fd, peer)) => {
                let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
                return Accepted::New(Arrival { listener: self.index, fd, peer, id });
            }
            Err(error) => error,
        };
        worker.quota.leave();
        match error {
            Errno::AGAIN => Accepted::None,
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => {
                worker.quota.note_starved();
                Accepted::Starved
            }
            _ => Accepted::Lost,
        }
    }

    /// What a connection begins with, whichever worker has accepted it. `None`: it is not wanted.
    pub(crate) fn begin<S: Service>(
        &self,
        arrival: Arrival,
        worker: &Worker<S>,
    ) -> Option<(Transport, ConnectionInfo)> {
        let Arrival { fd, peer, id, .. } = arrival;
        let info = ConnectionInfo {
            id,
            listener: self.index,
            peer: peer.map_or(Address::Unix, Address::Ip),
            local: self.local(&fd, worker),
            accepted: worker.clock.now(),
            tls: None,
            ends: Default::default(),
            cancel_on_close: Default::default(),
            outdated: Default::default(),
        };
        let mut transport = Transport::new(Socket::new(fd), self.tls.as_ref());
        match self.proxy_protocol.as_ref().map(|own| own.of(&info.peer)) {
            None | Some(Expected::None) => {}
            Some(Expected::Header) => transport.expect_proxy_header(ProxyHeader::Required),
            Some(Expected::Either) => transport.expect_proxy_header(ProxyHeader::Optional),
            Some(Expected::Nobody) => {
                worker.quota.leave();
                worker.service.report(&info, &Fault::Stranger);
                return None;
            }
        }
        Some((transport, info))
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

fn requirement(tls: Option<&Arc<TlsAcceptor>>) -> Option<u64> {
    tls.and_then(|acceptor| acceptor.client_requirement())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has connections come in bunches of these sizes; how often the kernel is asked in vain, and how many rounds
    /// of the loop are needed.
    fn vain_and_rounds(bunches: impl IntoIterator<Item = u32>) -> (u32, u32) {
        let (mut share, mut vain, mut rounds) = (Share::default(), 0, 0);
        for mut waiting in bunches {
            while waiting > 0 {
                rounds += 1;
                let most = share.next();
                let taken = most.min(waiting);
                waiting -= taken;
                let emptied = taken < most;
                vain += u32::from(emptied);
                share.ended(most, if emptied { Batch::Emptied { taken } } else { Batch::Full });
            }
            share.none();
        }
        (vain, rounds)
    }

    #[test]
    fn the_kernel_is_hardly_asked_in_vain_by_connections_that_come_one_by_one() {
        let (vain, rounds) = vain_and_rounds([1; 6400]);
        assert!(vain <= 110 && rounds == 6400, "{vain} {rounds}");
    }

    #[test]
    fn many_connections_at_once_are_taken_in_few_rounds() {
        assert_eq!(vain_and_rounds([126]), (0, 6));
        let (vain, rounds) = vain_and_rounds([50; 10]);
        assert!(vain <= 10 && rounds <= 20, "{vain} {rounds}");
    }

    #[test]
    fn after_many_at_once_it_learns_that_they_come_one_by_one() {
        let mixed = [60, 60].into_iter().chain([1; 100]);
        let (vain, rounds) = vain_and_rounds(mixed);
        assert!(vain <= 12 && rounds <= 110, "{vain} {rounds}");
    }
}
