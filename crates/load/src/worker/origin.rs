//! The local addresses of a worker's connections: source addresses in turn, and ports that have not been used recently.
//!
//! The kernel could choose ports itself, but it searches for them: when half of the range is in use (the even ports),
//! each further connection costs it a millisecond. And if it goes through the whole range within a second, the server's
//! kernel keeps 28,000 ends in TIME-WAIT, which fit no cache. A port is not reused immediately: while the server is
//! busy closing the previous connection, it ignores another one from there.

use super::Share;
use crate::limits;
use crate::plan::{Address, Plan, Target};
use std::collections::VecDeque;
use std::net::IpAddr;

/// Ports that rest, at least.
const RESTING: usize = 256;

/// Our end of a connection. The kernel chooses what is not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) source: Option<IpAddr>,
    pub(crate) port: Option<u16>,
}

/// What of a plan decides on origins.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    addresses: Vec<Option<IpAddr>>,
    /// Ports are chosen, and not left to the kernel.
    chooses: bool,
    /// Ports of an address that take turns, of all workers together.
    ports: Vec<u16>,
}

impl Sources {
    pub(crate) fn new(plan: &Plan, target: &Target) -> Self {
        let addresses: Vec<_> = match plan.sources.as_slice() {
            [] => vec![None],
            sources => sources.iter().copied().map(Some).collect(),
        };
        let range = limits::port_range();
        let each = plan.connections.div_ceil(addresses.len());
        let is_near = matches!(target.address, Address::Tcp(address) if address.ip().is_loopback());
        // Devices between us and a remote host may track ports and prefer fresh ones.
        let count = if is_near { range.len().min(2 * each + RESTING * plan.threads) } else { range.len() };
        // Two generators at the same time do not begin with the same port.
        let first = std::process::id() as usize * 7919 % range.len();
        let ports = range.clone().cycle().skip(first).take(count).collect();
        Self { addresses, chooses: is_near || 4 * each > range.len(), ports }
    }

    /// Those of a worker.
    pub(crate) fn share(&self, share: &Share) -> Origins {
        let origin = |port| self.addresses.iter().map(move |&source| Origin { source, port });
        let free = if self.chooses {
            self.ports
                .iter()
                .skip(share.index)
                .step_by(share.of)
                .flat_map(|&port| origin(Some(port)))
                .collect()
        } else {
            origin(None).collect()
        };
        Origins { free }
    }

    /// Whether all connections come from the same address.
    pub(crate) fn is_one(&self) -> bool {
        self.addresses.len() == 1
    }
}

/// The origins that are free, the one that has rested longest first.
#[derive(Debug)]
pub(crate) struct Origins {
    free: VecDeque<Origin>,
}

impl Origins {
    pub(crate) fn take(&mut self) -> Origin {
        let origin = self.free.pop_front().unwrap_or_default();
        if origin.port.is_none() {
            self.free.push_back(origin); // an address alone is never in use
        }
        origin
    }

    /// Takes back the address of a closed connection.
    pub(crate) fn give_back(&mut self, origin: Origin) {
        if origin.port.is_some() {
            self.free.push_back(origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::plan;

    fn origins(plan: &Plan, of: usize) -> Vec<Origins> {
        let sources = Sources::new(plan, &plan.targets[0]);
        let share = |index| Share { index, of, connections: 1, requests: None, rate: None };
        (0..of).map(|index| sources.share(&share(index))).collect()
    }

    #[test]
    fn nearby_each_connection_has_a_port_of_its_own_that_then_rests() {
        let mut plan = Plan { connections: 100, threads: 2, ..plan() };
        plan.targets[0].address = Address::Tcp(([127, 0, 0, 1], 80).into());
        let mut workers = origins(&plan, 2);
        let mut used: Vec<_> = workers.iter_mut().flat_map(|own| (0..100).map(|_| own.take())).collect();
        used.sort_by_key(|origin| origin.port);
        used.dedup();
        assert_eq!(used.len(), 200, "nobody has the same");
        assert!(used.iter().all(|origin| origin.port.is_some() && origin.source.is_none()));
        let first = workers[0].take();
        workers[0].give_back(first);
        assert!((0..100).all(|_| workers[0].take() != first));
    }

    #[test]
    fn elsewhere_addresses_take_turns_and_ports_are_chosen_only_when_they_are_scarce() {
        let addresses: [IpAddr; 2] = [[10, 0, 0, 2].into(), [10, 0, 0, 3].into()];
        let mut plan = Plan { connections: 100, sources: addresses.into(), ..plan() };
        plan.targets[0].address = Address::Tcp(([10, 0, 0, 1], 80).into());
        let own = &mut origins(&plan, 1)[0];
        let taken: Vec<_> = (0..4).map(|_| own.take()).collect();
        let want = [0, 1, 0, 1].map(|at| Origin { source: Some(addresses[at]), port: None });
        assert_eq!(taken, want);
        plan.connections = 2 * limits::port_range().len();
        let own = &mut origins(&plan, 1)[0];
        let mut taken: Vec<_> = (0..plan.connections).map(|_| own.take()).collect();
        assert_eq!(own.take(), Origin::default(), "there are no more");
        taken.sort_by_key(|origin| (origin.source, origin.port));
        taken.dedup();
        assert_eq!(taken.len(), plan.connections);
    }
}
