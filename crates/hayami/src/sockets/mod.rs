//! The sockets: resolved and tried (`wanted`), then bound (`open`) before the program drops its rights. The program keeps every
//! accept queue open and hands copies to the workers (`queues`): a worker that leaves takes no queue with it.

mod failure;
mod open;
mod queues;
mod wanted;

pub(crate) use wanted::{Wanted, wanted};

use crate::exit::Failure;
use hayami_net::ListenerUpdate;
use hayami_net::listen::{self, Endpoint, Options};
use hayami_net::proxy_protocol::Expectation;
use hayami_net::service::Address as BoundAddress;
use hayami_server::modules::listen::Acceptors;
use open::{chosen, has_own_queues, open};
use std::collections::HashMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

/// A bound address.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Its number, for as long as the process lives: connections know their listener by it.
    id: usize,
    endpoint: Endpoint,
    options: Options,
    /// Index of the binding, which determines the hosts that answer here.
    index: usize,
    address: BoundAddress,
    /// Whether it speaks TLS.
    tls: bool,
    /// Whether connections begin with a header of the PROXY protocol.
    proxy_protocol: Option<Expectation>,
    /// Its accept queues: sockets of one SO_REUSEPORT group, or one that all workers share. A UDP port is only reserved.
    queues: Vec<Arc<OwnedFd>>,
}

/// The accept queues that a worker has: numbers of queues by [`Bound::id`].
pub(crate) type Held = HashMap<usize, Vec<usize>>;

/// What is bound while the server runs.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    bound: Vec<Bound>,
    next_id: usize,
}

impl fmt::Display for Bound {
    /// As a user would type it into a browser.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.endpoint, &self.address) {
            (Endpoint::Tcp(_), BoundAddress::Ip(address)) => {
                write!(f, "{}://{address}/", if self.tls { "https" } else { "http" })
            }
            (Endpoint::Udp(_), BoundAddress::Ip(address)) => {
                write!(f, "{address} (UDP; bound, but HTTP/3 is not served yet)")
            }
            (endpoint, _) => endpoint.fmt(f),
        }
    }
}

impl Sockets {
    /// The sockets that are wanted now: sockets that are already bound stay, others are bound, for this many
    /// workers.
    ///
    /// # Errors
    /// An address is in use; then the listeners do not change.
    pub(crate) fn next(&self, wanted: &[Wanted], workers: usize) -> Result<Self, Failure> {
        let mut next = Self { bound: Vec::new(), next_id: self.next_id };
        match self.bind_new(wanted, workers, &mut next) {
            Ok(()) => Ok(next),
            Err(failure) => {
                next.remove_files_unless_of(self);
                Err(failure)
            }
        }
    }

    /// Removes the socket files that other sockets do not have.
    pub(crate) fn remove_files_unless_of(&self, other: &Self) {
        for file in self.files().filter(|file| !other.files().any(|own| own == *file)) {
            // Without the rights of the start it may be impossible to remove; the next start replaces it.
            let _ = std::fs::remove_file(file);
        }
    }

    fn bind_new(&self, wanted: &[Wanted], workers: usize, next: &mut Self) -> Result<(), Failure> {
        for wanted in wanted {
            let known = self.bound.iter().find(|own| own.endpoint == wanted.endpoint);
            let (id, address, queues) = match known {
                Some(own) => (own.id, own.address.clone(), own.queues_for(workers)),
                None => {
                    let (address, queues) =
                        open(wanted, workers, self.overlapped(&wanted.endpoint).is_some())?;
                    let id = next.next_id;
                    next.next_id += 1;
                    (id, address, queues.into_iter().map(Arc::new).collect())
                }
            };
            next.bound.push(Bound {
                id,
                endpoint: wanted.endpoint.clone(),
                // A socket keeps the options it was created with.
                options: known.map_or_else(|| wanted.options.clone(), |own| own.options.clone()),
                index: wanted.index,
                address,
                tls: wanted.tls,
                proxy_protocol: wanted.proxy_protocol.clone(),
                queues,
            });
        }
        Ok(())
    }

    /// A bound address that contains this one, or is contained in it: 0.0.0.0:80 contains 127.0.0.1:80.
    fn overlapped(&self, endpoint: &Endpoint) -> Option<&Bound> {
        self.bound.iter().find(|own| match (&own.endpoint, endpoint) {
            (Endpoint::Tcp(own), Endpoint::Tcp(other)) => {
                let is_any = own.ip().is_unspecified() || other.ip().is_unspecified();
                own.port() == other.port() && own.is_ipv4() == other.is_ipv4() && is_any
            }
            _ => false,
        })
    }

    /// Whether it is bound.
    fn has(&self, endpoint: &Endpoint) -> bool {
        self.bound.iter().any(|own| own.endpoint == *endpoint)
    }

    /// Everything that is bound.
    pub(crate) fn bound(&self) -> &[Bound] {
        &self.bound
    }

    /// Numbers of the listeners, each with the index of its binding.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = (usize, usize)> {
        self.bound.iter().map(|bound| (bound.id, bound.index))
    }

    /// Bound sockets whose options have changed.
    pub(crate) fn outdated<'a>(&'a self, wanted: &'a [Wanted]) -> impl Iterator<Item = &'a Endpoint> {
        let differs = |own: &&Bound| {
            wanted.iter().any(|wanted| wanted.endpoint == own.endpoint && wanted.options != own.options)
        };
        self.bound.iter().filter(differs).map(|own| &own.endpoint)
    }

    /// The socket files, which are removed at the end.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.bound.iter().filter_map(|bound| match &bound.endpoint {
            Endpoint::Unix(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// The accept queues of each worker, if they have those in `held` now.
    ///
    /// # Errors
    /// No descriptors are left.
    pub(crate) fn share_out(&self, held: &[Held], acceptors: &Acceptors) -> Result<Vec<Share>, Failure> {
        let mut shares: Vec<Share> = held.iter().map(|_| Share::default()).collect();
        for bound in self.bound.iter().filter(|bound| !matches!(bound.endpoint, Endpoint::Udp(_))) {
            let held: Vec<_> =
                held.iter().map(|held| held.get(&bound.id).map_or(&[][..], |own| own)).collect();
            let assigned = queues::assign(&held, bound.queues.len());
            for ((share, held), assigned) in shares.iter_mut().zip(held).zip(assigned) {
                for queue in &assigned {
                    share.listeners.push(match held.contains(queue) {
                        true => bound.keep(*queue, acceptors),
                        false => bound.open(*queue, acceptors)?,
                    });
                }
                share.held.insert(bound.id, assigned);
            }
        }
        Ok(shares)
    }

    /// Has the kernel put connections into all accept queues, also those for additional workers.
    pub(crate) fn listen(&self) {
        for bound in self.bound.iter().filter(|bound| !matches!(bound.endpoint, Endpoint::Udp(_))) {
            // It fails only for queues that nothing is lost with: others of the listener are open.
            bound.queues.iter().for_each(|queue| _ = listen::listen(queue));
        }
    }

    /// Leaves the accept queues to the workers, which close them when they drain.
    pub(crate) fn release(&mut self) {
        self.bound.iter_mut().for_each(|bound| bound.queues.clear());
    }
}

/// The listeners of a worker.
#[derive(Debug, Default)]
pub(crate) struct Share {
    pub(crate) listeners: Vec<ListenerUpdate>,
    /// The queues that it has with these.
    pub(crate) held: Held,
}

impl Bound {
    /// Its queues, and new ones for additional workers where possible: of a privileged port, or after a change of user, only
    /// the process as it was started could open them. Workers share queues then. New ones take no connections before
    /// [`Sockets::listen`].
    fn queues_for(&self, workers: usize) -> Vec<Arc<OwnedFd>> {
        let mut queues = self.queues.clone();
        let chosen = chosen(&self.endpoint, &self.address);
        while has_own_queues(&self.endpoint, &self.options) && queues.len() < workers {
            match listen::reserve(&chosen, &self.options) {
                Ok(queue) => queues.push(Arc::new(queue)),
                Err(_) => break,
            }
        }
        queues
    }

    /// A worker keeps this queue.
    fn keep(&self, queue: usize, acceptors: &Acceptors) -> ListenerUpdate {
        ListenerUpdate::Keep {
            index: self.id,
            queue,
            tls: acceptors.get(self.index).cloned(),
            proxy_protocol: self.proxy_protocol.clone(),
        }
    }

    /// A worker opens this queue.
    fn open(&self, queue: usize, acceptors: &Acceptors) -> Result<ListenerUpdate, Failure> {
        let fd = self.queues[queue].try_clone().map_err(|error| {
            let endpoint = &self.endpoint;
            Failure::System(format!(
                "cannot share {endpoint} among the workers: {error}; raise the limit of open files (`ulimit -n`)"
            ))
        })?;
        Ok(ListenerUpdate::Open(hayami_net::Listener {
            fd,
            index: self.id,
            queue,
            address: self.address.clone(),
            tls: acceptors.get(self.index).cloned(),
            proxy_protocol: self.proxy_protocol.clone(),
        }))
    }
}
