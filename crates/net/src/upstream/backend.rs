//! One origin as one worker sees it: where it is, and the connections to it that wait for their next request.

use super::Outbound;
use crate::dial::Peer;
use hayami_h1::Limits;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Where requests go, and how patiently.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Addresses of one name, tried in this order until a connection is made.
    pub peers: Vec<Peer>,
    /// Limits of responses.
    pub limits: Limits,
    /// How long is waited for what.
    pub timeouts: Timeouts,
    /// Connections that may wait for a request; with 0, every connection serves one.
    pub idle: usize,
}

/// How long an upstream may take for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To take a connection, for each address that is tried.
    pub connect: Duration,
    /// From the end of the request to the end of the response's head.
    pub first_byte: Duration,
    /// Between two reads or two writes that get anywhere.
    pub io: Duration,
    /// For the next request of a connection; then we close it.
    pub keep_alive: Duration,
}

/// What became of connections so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that were made.
    pub opened: u64,
    /// Calls that were sent on a connection that had served others.
    pub reused: u64,
    /// Connections that could not be made.
    pub failed: u64,
}

/// One origin and its connections.
pub struct Backend {
    pub(super) outbound: Outbound,
    pub(super) origin: RefCell<Origin>,
    pub(super) in_flight: Cell<usize>,
    pub(super) counters: Cell<Counters>,
}

impl Backend {
    /// An origin to which nothing is open yet.
    pub fn new(outbound: &Outbound, origin: Origin) -> Rc<Self> {
        Rc::new(Self {
            outbound: outbound.clone(),
            origin: RefCell::new(origin),
            in_flight: Cell::new(0),
            counters: Cell::default(),
        })
    }

    /// Calls that are not over: their response's content counts until it was taken or given up.
    pub fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    /// What became of connections so far.
    pub fn counters(&self) -> Counters {
        self.counters.get()
    }

    /// The origin's name has other addresses now. Connections to those that are gone serve no other call.
    pub fn set_peers(&self, peers: Vec<Peer>) {
        self.origin.borrow_mut().peers = peers;
    }
}
