//! One origin, per worker, except for its HTTP/2 sessions: its addresses, its idle connections and
//! statistics.

use super::connection::Connection;
use super::engine::Engine;
use super::io_stream::IoStream;
use super::origin::{Origin, Protocol, Timeouts, Tls};
use hayami_h1::Limits;
use hayami_net::clock::Millis;
use hayami_net::dial::Peer;
use hayami_net::upstream_io::{Driver, SocketHandle, UpstreamIo};
use hayami_tls::Alpn;
use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Deref;
use std::rc::Rc;

/// Connection statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections established.
    pub opened: u64,
    /// Calls sent on a reused connection.
    pub reused: u64,
    /// Connections that failed.
    pub failed: u64,
    /// TLS connections that resumed an earlier session.
    pub resumed: u64,
}

/// One origin and the connections that serve one call at a time.
pub(super) struct Upstream {
    pub(super) outbound: UpstreamIo,
    pub(super) limits: Limits,
    pub(super) timeouts: Timeouts,
    pub(super) protocol: Protocol,
    tls: Option<Tls>,
    peers: RefCell<Rc<[Peer]>>,
    /// Index of the address tried first.
    first: Cell<usize>,
    /// Generation of the address list.
    lists: Cell<u32>,
    /// Idle connections, the most recently used last, so that superfluous ones time out.
    #[expect(clippy::vec_box, reason = "a connection goes from pool to exchange and back as one pointer")]
    idle: RefCell<Vec<Box<Connection>>>,
    most_idle: usize,
    in_flight: Cell<usize>,
    counters: Cell<Counters>,
}

/// As the owner of the idle connections.
impl Driver for Upstream {
    fn on_event(self: Rc<Self>, socket: &SocketHandle) {
        self.lose(socket);
    }

    fn turn(self: Rc<Self>) {}

    fn queues(&self) -> bool {
        false
    }

    fn collapse(&self) {}
}

impl Upstream {
    /// Creates an upstream without open connections.
    pub(super) fn new(outbound: &UpstreamIo, origin: Origin) -> Rc<Self> {
        Rc::new(Self {
            outbound: outbound.clone(),
            limits: origin.limits,
            timeouts: origin.timeouts,
            protocol: origin.protocol,
            tls: origin.tls,
            peers: RefCell::new(origin.peers.into()),
            first: Cell::new(0),
            lists: Cell::new(0),
            idle: RefCell::default(),
            most_idle: origin.idle,
            in_flight: Cell::new(0),
            counters: Cell::default(),
        })
    }

    /// Number of calls in flight; a call counts until its response content has been read or dropped.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    /// Number of idle connections.
    pub(super) fn idle(&self) -> usize {
        self.idle.borrow().len()
    }

    /// Connection statistics so far.
    pub(super) fn counters(&self) -> Counters {
        self.counters.get()
    }

    /// Replaces the addresses of the origin; returns whether they changed. If so, open connections finish
    /// their current calls and take no new ones.
    pub(super) fn set_peers(&self, peers: Vec<Peer>) -> bool {
        if self.peers.borrow()[..] == peers[..] {
            return false;
        }
        *self.peers.borrow_mut() = peers.into();
        self.first.set(0);
        self.lists.set(self.lists.get().wrapping_add(1));
        let idle = self.idle.take();
        drop(idle);
        true
    }

    /// Takes an idle connection.
    #[inline]
    pub(super) fn take(&self) -> Option<Box<Connection>> {
        loop {
            let connection = self.idle.borrow_mut().pop()?;
            connection.channel.wire.set_deadline(Millis::NEVER);
            if connection.is_fit() && !connection.channel.wire.is_late() {
                self.count(|counters| counters.reused += 1);
                return Some(connection);
            }
        }
    }

    /// Returns a connection to the idle pool if it can be reused.
    #[inline]
    pub(super) fn give(self: &Rc<Self>, mut connection: Box<Connection>) {
        connection.channel.settle();
        let wire = &connection.channel.wire;
        let keep_alive = connection.kept_for.min(self.timeouts.keep_alive);
        let room = self.idle.borrow().len() < self.most_idle && !keep_alive.is_zero();
        let wanted = room && connection.peers == self.lists.get();
        // A connection that never had to wait is not watched yet.
        if !wanted || !connection.is_fit() || self.outbound.watch(wire).is_err() {
            return;
        }
        wire.driven_by(self);
        wire.set_deadline(self.outbound.clock().millis().after(keep_alive));
        connection.input.release(self.outbound.pool());
        connection.channel.release();
        self.idle.borrow_mut().push(connection);
    }

    /// Handles an event on an idle connection: it is closed if the peer has closed it, on unsolicited bytes
    /// or on a timeout, but kept if the event was only a TLS message.
    #[cold]
    fn lose(&self, wire: &SocketHandle) {
        let at =
            self.idle.borrow().iter().position(|connection| std::ptr::eq(&*connection.channel.wire, wire));
        let Some(at) = at else { return };
        let mut lost = self.idle.borrow_mut().remove(at);
        if !wire.is_late() {
            lost.channel.settle();
            if lost.is_fit() {
                self.idle.borrow_mut().insert(at, lost);
            }
        }
    }

    /// Starts a connection to the address at index `at`; `None` if there is no such address.
    pub(super) fn open(&self, at: usize) -> Option<io::Result<Box<Connection>>> {
        let peers = Rc::clone(&self.peers.borrow());
        let connection = self.channel(self.nth(&peers, at)?, false);
        Some(connection.map(|channel| Connection::new(channel, Engine::new(self.protocol), self.lists.get())))
    }

    /// Starts a connection for HTTP/2 to the address at index `at`; `None` if there is no such address.
    pub(super) fn open_shared(&self, at: usize) -> Option<io::Result<IoStream>> {
        let peers = Rc::clone(&self.peers.borrow());
        self.nth(&peers, at).map(|peer| self.channel(peer, true))
    }

    /// Adds a connection on which HTTP/2 was offered and declined to the pool, for the next call.
    pub(super) fn give_unshared(self: &Rc<Self>, channel: IoStream) {
        self.give(Connection::new(channel, Engine::new(self.protocol), self.lists.get()));
    }

    /// The scheme of requests (RFC 9110 §4.2).
    pub(super) fn scheme(&self) -> &'static [u8] {
        if self.tls.is_some() { b"https" } else { b"http" }
    }

    /// The address at index `at`, in the order in which they are tried.
    fn nth<'a>(&self, peers: &'a [Peer], at: usize) -> Option<&'a Peer> {
        (at < peers.len()).then(|| &peers[(self.first.get() + at) % peers.len()])
    }

    /// Whether there is an address at index `at`.
    #[inline]
    pub(super) fn has(&self, at: usize) -> bool {
        at < self.peers.borrow().len()
    }

    /// Tries the address at index `at` first from now on, because it was faster than those before it
    /// (RFC 8305 §5 allows using the history of connections).
    pub(super) fn prefer(&self, at: usize) {
        if at > 0 {
            self.first.set((self.first.get() + at) % self.peers.borrow().len().max(1));
        }
    }

    /// Starts a connection to an address; `shared` for HTTP/2.
    fn channel(&self, peer: &Peer, shared: bool) -> io::Result<IoStream> {
        let alpn: &[Alpn] = match self.protocol {
            Protocol::FastCgi => &[],
            _ if !shared => &[Alpn::Http11],
            Protocol::Http2 => &[Alpn::H2],
            Protocol::Http1 | Protocol::Negotiated(_) => &[Alpn::H2, Alpn::Http11],
        };
        let channel = IoStream::open(&self.outbound, peer, self.tls.as_ref(), alpn)?;
        let now = self.outbound.clock().millis();
        channel.wire.set_deadline(now.after(self.timeouts.connect));
        Ok(channel)
    }

    /// Whether each connection serves only one request.
    pub(super) fn closes(&self) -> bool {
        self.most_idle == 0 || self.timeouts.keep_alive.is_zero()
    }

    /// Counts an established connection.
    pub(super) fn count_opened(&self, resumed: bool) {
        self.count(|counters| {
            counters.opened += 1;
            counters.resumed += u64::from(resumed);
        });
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Counters)) {
        let mut counters = self.counters.get();
        count(&mut counters);
        self.counters.set(counters);
    }
}

/// A call in flight.
pub(super) struct InFlight(Rc<Upstream>);

impl InFlight {
    pub(super) fn new(upstream: &Rc<Upstream>) -> Self {
        upstream.in_flight.set(upstream.in_flight.get() + 1);
        Self(Rc::clone(upstream))
    }
}

impl Deref for InFlight {
    type Target = Rc<Upstream>;

    fn deref(&self) -> &Rc<Upstream> {
        &self.0
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.set(self.0.in_flight.get() - 1);
    }
}
