//! The worker loop's part of upstream connections: their sockets, the tasks that wait for them, and their deadlines.
//! The protocols are implemented by the crate `hayami-client`.

use crate::buffer::Pool;
use crate::clock::{Clock, Millis};
use crate::contain::contained;
use crate::dial::{self, Peer};
use crate::liveness::Liveness;
use crate::output::COPY_SIZE;
use crate::poll::{Interest, Kind, Poll, Readiness, Slots, Timers, Token, Tokened};
use crate::socket::Socket;
use hayami_http::{FieldSection, Shared};
use std::cell::{Cell, RefCell};
use std::io;
use std::ops::RangeInclusive;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;

/// Lengths of content for which a block of memory is kept: smaller ones are cheap to allocate, and larger ones are
/// not copied but held by the client's output.
const SPARE: RangeInclusive<usize> = 512..=COPY_SIZE;

/// A worker's handle for the connections it opens itself; created by [`run`](crate::run).
#[derive(Clone)]
pub struct UpstreamIo(Rc<Inner>);

struct Inner {
    clock: Rc<Clock>,
    pool: Rc<Pool>,
    /// How dead upstreams are detected.
    liveness: Liveness,
    /// The loop's epoll instance.
    poll: Rc<Poll>,
    timers: Timers,
    wires: RefCell<Slots<Rc<SocketHandle>>>,
    /// No deadline expires before this.
    earliest: Earliest,
    spare: RefCell<Arc<[u8]>>,
    /// Drivers that get a turn at the end of the round.
    queue: RefCell<Vec<Rc<dyn Driver>>>,
    /// The loop is within a round.
    in_round: Cell<bool>,
    /// The worker's task.
    task: RefCell<Option<Waker>>,
}

/// No deadline of an upstream connection expires before this.
type Earliest = Rc<Cell<Millis>>;

/// A socket to an upstream, shared by the loop and its user.
pub struct SocketHandle {
    /// The socket.
    pub socket: Socket,
    token: Token,
    /// The events registered with epoll.
    watched: Cell<Interest>,
    /// The task that uses it and waits.
    waker: RefCell<Option<Waker>>,
    /// In milliseconds of the worker's clock.
    deadline: Cell<Millis>,
    earliest: Earliest,
    /// A deadline has expired.
    expired: Cell<bool>,
    /// Receives events while no task waits.
    driver: RefCell<Option<Weak<dyn Driver>>>,
}

/// Drives connections that no task waits for: a pool of idle connections, or a session shared by many calls.
pub trait Driver {
    /// An event has occurred on this socket, or its deadline has expired.
    fn on_event(self: Rc<Self>, socket: &SocketHandle);

    /// Its turn at the end of a round, after [`UpstreamIo::queue`].
    fn turn(self: Rc<Self>);

    /// Marks the driver as queued; returns false if it already was.
    fn queues(&self) -> bool;

    /// It has panicked; the worker's other drivers continue without it.
    fn collapse(&self);
}

impl UpstreamIo {
    pub(crate) fn new(clock: &Rc<Clock>, pool: &Rc<Pool>, liveness: Liveness) -> io::Result<Self> {
        Ok(Self(Rc::new(Inner {
            clock: Rc::clone(clock),
            pool: Rc::clone(pool),
            liveness,
            poll: Rc::new(Poll::new()?),
            timers: Timers::default(),
            wires: RefCell::new(Slots::new(Kind::Upstream)),
            earliest: Rc::new(Cell::new(Millis::NEVER)),
            spare: RefCell::new(Arc::default()),
            queue: RefCell::default(),
            in_round: Cell::default(),
            task: RefCell::default(),
        })))
    }

    pub(crate) fn loop_poll(&self) -> Rc<Poll> {
        Rc::clone(&self.0.poll)
    }

    /// The worker's timers, for timeouts that cannot wait for a sweep.
    pub fn timers(&self) -> &Timers {
        &self.0.timers
    }

    /// The worker's clock.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// An empty field section for a call; memory of completed calls is reused.
    pub fn fields(&self) -> Box<FieldSection> {
        self.pool().take_fields()
    }

    /// The worker's buffers.
    pub fn pool(&self) -> &Pool {
        &self.0.pool
    }

    /// Copies response content. Most content is copied on to the client's output and dropped in the same turn, so its
    /// memory can be reused for the next response.
    pub fn share(&self, bytes: &[u8]) -> Shared {
        if !SPARE.contains(&bytes.len()) {
            return Shared::new(Arc::from(bytes));
        }
        let mut spare = self.0.spare.borrow_mut();
        if Arc::get_mut(&mut spare).is_none_or(|memory| memory.is_empty()) {
            *spare = Arc::from([0; COPY_SIZE]);
        }
        if let Some(memory) = Arc::get_mut(&mut spare) {
            memory[..bytes.len()].copy_from_slice(bytes);
        }
        Shared::new(Arc::clone(&spare)).slice(0, bytes.len())
    }

    /// Starts a connection. It is registered with epoll once a task waits for it.
    pub fn connect(&self, peer: &Peer) -> io::Result<Rc<SocketHandle>> {
        let socket = dial::connect(peer)?;
        if let Peer::Tcp(_) = peer {
            // A connection without these options is better than none.
            let _ = self.0.liveness.apply(&socket);
        }
        socket.must_not_read();
        Ok(self.insert(socket))
    }

    /// Registers the socket with epoll for the events it waits for; for writability only after a write returned
    /// EAGAIN.
    ///
    /// # Errors
    /// The limit of epoll watches is reached (`fs.epoll.max_user_watches`).
    #[inline]
    pub fn watch(&self, wire: &SocketHandle) -> io::Result<()> {
        let wanted = if wire.socket.is_blocked() { Interest::ReadWrite } else { Interest::Read };
        match (wire.watched.get(), wanted) {
            (Interest::None, _) => self.0.poll.register(&wire.socket, wire.token, wanted)?,
            (Interest::Read, Interest::ReadWrite) => {
                self.0.poll.reregister(&wire.socket, wire.token, wanted)?;
            }
            _ => return Ok(()),
        }
        wire.watched.set(wanted);
        Ok(())
    }

    /// Removes a closed connection.
    pub fn forget(&self, wire: &SocketHandle) {
        self.0.wires.borrow_mut().remove(wire.token);
    }

    /// Handles an event of one of the sockets.
    #[inline]
    pub(crate) fn happened(&self, token: Token, readiness: Readiness) {
        let wire = self.0.wires.borrow().get(token).map(Rc::clone);
        let Some(wire) = wire else { return };
        wire.socket.may(readiness);
        self.tell(&wire);
    }

    /// Notifies the user of `wire`. If that panics, the connection and its calls are lost, but no others of the
    /// worker.
    fn tell(&self, wire: &SocketHandle) {
        if contained(|| wire.tell()).is_none() {
            if let Some(driver) = wire.driver() {
                driver.collapse();
            }
            self.forget(wire);
        }
    }

    /// Sets the task to wake when a driver is queued between rounds, including before the first one.
    pub(crate) fn wakes(&self, task: Waker) {
        *self.0.task.borrow_mut() = Some(task);
    }

    /// A round of the loop begins.
    #[inline]
    pub(crate) fn begin_round(&self) {
        self.0.in_round.set(true);
    }

    /// Ends a round: drivers send what calls have written to them.
    #[inline]
    pub(crate) fn end_round(&self) {
        self.0.in_round.set(false);
        let queue = self.0.queue.take();
        for driver in queue {
            if contained(|| Rc::clone(&driver).turn()).is_none() {
                driver.collapse();
            }
        }
    }

    /// Gives `driver` a turn at the end of this round, or of the next one.
    pub fn queue<D: Driver + 'static>(&self, driver: &Rc<D>) {
        if !driver.queues() {
            return;
        }
        let driver: Rc<dyn Driver> = Rc::clone(driver) as Rc<dyn Driver>;
        self.0.queue.borrow_mut().push(driver);
        if !self.0.in_round.get()
            && let Some(task) = &*self.0.task.borrow()
        {
            task.wake_by_ref();
        }
    }

    /// No deadline expires before this.
    pub(crate) fn earliest(&self) -> Millis {
        self.0.earliest.get()
    }

    fn insert(&self, socket: Socket) -> Rc<SocketHandle> {
        let mut wires = self.0.wires.borrow_mut();
        let wire = Rc::new(SocketHandle {
            socket,
            token: wires.announce(),
            watched: Cell::new(Interest::None),
            waker: RefCell::default(),
            deadline: Cell::new(Millis::NEVER),
            earliest: Rc::clone(&self.0.earliest),
            expired: Cell::new(false),
            driver: RefCell::new(None),
        });
        wires.insert(Rc::clone(&wire));
        wire
    }

    /// The sockets whose deadline has expired at `now`; recomputes the earliest deadline of the others.
    fn passed(&self, now: Millis) -> Vec<Rc<SocketHandle>> {
        let (mut passed, mut earliest) = (Vec::new(), Millis::NEVER);
        for wire in self.0.wires.borrow().iter() {
            match wire.deadline.get() {
                deadline if deadline <= now => passed.push(Rc::clone(wire)),
                deadline => earliest = earliest.min(deadline),
            }
        }
        self.0.earliest.set(earliest);
        passed
    }

    /// Notifies the sockets whose deadline has expired.
    pub(crate) fn sweep(&self) {
        let now = self.0.clock.millis();
        for wire in self.passed(now) {
            wire.deadline.set(Millis::NEVER);
            wire.expired.set(true);
            self.tell(&wire);
        }
    }
}

impl Tokened for SocketHandle {
    #[inline]
    fn token(&self) -> Token {
        self.token
    }
}

impl SocketHandle {
    /// Notifies the waiting task, or else the driver.
    #[inline]
    fn tell(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            return waker.wake_by_ref();
        }
        if let Some(driver) = self.driver() {
            driver.on_event(self);
        }
    }

    fn driver(&self) -> Option<Rc<dyn Driver>> {
        self.driver.borrow().as_ref()?.upgrade()
    }

    /// Reports events to `driver` while no task waits.
    pub fn driven_by<D: Driver + 'static>(&self, driver: &Rc<D>) {
        *self.waker.borrow_mut() = None;
        let mut known = self.driver.borrow_mut();
        // It usually returns to the same pool.
        let is_known = |known: &Weak<dyn Driver>| std::ptr::addr_eq(known.as_ptr(), Rc::as_ptr(driver));
        if !known.as_ref().is_some_and(is_known) {
            let driver: Weak<D> = Rc::downgrade(driver);
            *known = Some(driver);
        }
    }

    /// Reports events to `waker`.
    #[inline]
    pub fn wakes(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    /// Sets a deadline on the worker's clock.
    #[inline]
    pub fn set_deadline(&self, deadline: Millis) {
        self.deadline.set(deadline);
        self.earliest.set(self.earliest.get().min(deadline));
    }

    /// Clears the deadline: there was progress.
    #[inline]
    pub fn progressed(&self) {
        self.deadline.set(Millis::NEVER);
        self.expired.set(false);
    }

    /// Sets a deadline unless one is set.
    #[inline]
    pub fn set_deadline_once(&self, deadline: Millis) {
        if self.deadline.get() == Millis::NEVER {
            self.set_deadline(deadline);
        }
    }

    /// Sets a deadline unless an earlier one is set.
    #[inline]
    pub fn set_deadline_before(&self, deadline: Millis) {
        self.set_deadline(self.deadline.get().min(deadline));
    }

    /// Whether a deadline has expired.
    #[inline]
    pub fn is_late(&self) -> bool {
        self.expired.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::Events;
    use std::os::unix::net::UnixStream;

    fn socket() -> Socket {
        Socket::new(UnixStream::pair().expect("a pair of sockets").0.into())
    }

    #[test]
    fn content_memory_is_reused_once_unreferenced() {
        let (clock, pool) = (Rc::default(), Rc::default());
        let outbound = UpstreamIo::new(&clock, &pool, Liveness::default()).expect("an epoll");
        let (a, b) = (vec![b'a'; 600], vec![b'b'; 700]);
        let first = outbound.share(&a);
        let second = outbound.share(&b);
        assert_eq!((first.as_slice(), second.as_slice()), (&a[..], &b[..]));
        let place = second.as_slice().as_ptr();
        drop(second);
        let third = outbound.share(&a);
        assert_eq!((third.as_slice(), first.as_slice()), (&a[..], &a[..]));
        assert_eq!(third.as_slice().as_ptr(), place);
    }

    #[test]
    fn the_kernel_notices_when_an_upstream_is_gone() {
        let (clock, pool) = (Rc::default(), Rc::default());
        let outbound = UpstreamIo::new(&clock, &pool, Liveness::default()).expect("an epoll");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let peer = Peer::Tcp(listener.local_addr().expect("bound"));
        let wire = outbound.connect(&peer).expect("begun");
        assert_eq!(crate::liveness::testing::of(&wire.socket), Liveness::default());
    }

    #[test]
    fn a_late_event_does_not_reach_the_next_connection_of_its_slot() {
        let (clock, pool) = (Rc::default(), Rc::default());
        let outbound = UpstreamIo::new(&clock, &pool, Liveness::default()).expect("an epoll");
        let first = outbound.insert(socket());
        first.socket.must_not_read();
        let poll = outbound.loop_poll();
        outbound.watch(&first).expect("watched");
        let mut events = Events::with_capacity(1);
        poll.wait(&mut events, None).expect("no signal");
        let (token, readiness) = events.get(0).expect("its other end is closed");
        outbound.forget(&first);
        let second = outbound.insert(socket());
        second.socket.must_not_read();
        assert_eq!((second.token.slot(), token), (token.slot(), first.token));
        outbound.happened(token, readiness);
        assert!(!second.socket.has_ended() && !second.socket.is_readable());
        outbound.happened(second.token, readiness);
        assert!(second.socket.has_ended());
    }
}
