//! The loop of a worker: an epoll of its own, so that a connection is neither a task nor a registration.
//!
//! The worker's runtime sees one descriptor that is readable when any connection is. Everything else of
//! the runtime (timers, signals, tasks, other sockets) goes on beside it. Per request this saves the
//! wakers, locks and queues of a task; per connection, its memory.

use crate::accept::{Accepted, Acceptor};
use crate::connection::{Connection, Turn};
use crate::service::{ConnectionInfo, Service};
use crate::slots::Slots;
use crate::timer::{Deadlines, NEVER, SWEEP};
use crate::transport::Transport;
use crate::upstream::{Outbound, UPSTREAMS};
use crate::waker::Who;
use crate::worker::{Listener, Worker};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Events taken from the kernel at once; then the other tasks of the worker get their turn.
const EVENTS: usize = 256;
/// Connections accepted before those that are there get their turn.
const BATCH: usize = 64;
/// Idle connections closed at once to make room for new ones.
const SHED: usize = 64;
/// Milliseconds for which a connection is left alone that has not asked for anything yet or has just been
/// answered: those that want to come in wait for as long in the kernel's queue.
const GRACE: u32 = 1000;
/// Event data of listeners start here; below are connections, and above [`UPSTREAMS`] connections to upstreams.
const LISTENERS: u64 = 1 << 32;

pub(crate) struct Reactor<S: Service> {
    worker: Rc<Worker<S>>,
    epoll: AsyncFd<Rc<OwnedFd>>,
    outbound: Outbound,
    events: Vec<Event>,
    connections: Slots<Connection>,
    deadlines: Deadlines,
    acceptors: Vec<Acceptor>,
    /// Connections that want another turn at once, and those whose waker was woken.
    again: Vec<Who>,
    /// Connections that the kernel is asked to watch with the next sweep, if they are still there.
    unwatched: Vec<u32>,
    sweep: Interval,
}

impl<S: Service> Reactor<S> {
    pub(crate) fn new(
        worker: Rc<Worker<S>>,
        outbound: Outbound,
        listeners: Vec<Listener>,
    ) -> io::Result<Self> {
        let epoll = outbound.epoll();
        let acceptors: Vec<Acceptor> = listeners.into_iter().map(Acceptor::new).collect();
        for (index, acceptor) in acceptors.iter().enumerate() {
            let data = EventData::new_u64(LISTENERS + index as u64);
            epoll::add(&epoll, &acceptor.fd, data, EventFlags::IN | EventFlags::ET)?;
        }
        let mut sweep = interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            worker,
            epoll: register(epoll)?,
            outbound,
            events: Vec::with_capacity(EVENTS),
            connections: Slots::default(),
            deadlines: Deadlines::default(),
            acceptors,
            again: Vec::new(),
            unwatched: Vec::new(),
            sweep,
        })
    }

    /// Serves. `Ready` when the worker drains and its last connection has ended.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.worker.clock.refresh();
        self.worker.woken.at_work();
        self.outbound.begin_round();
        let more = self.take_events(cx);
        self.take_woken();
        let waiting = self.accept();
        while self.sweep.poll_tick(cx).is_ready() {
            self.sweep();
        }
        self.outbound.end_round(cx.waker());
        let woken = self.worker.woken.at_rest(cx.waker());
        if more || waiting || woken || !self.again.is_empty() {
            cx.waker().wake_by_ref();
        }
        if self.worker.draining.get() && self.connections.len() == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Stops accepting, once the kernel's queue is empty: what is left in it would be reset.
    pub(crate) fn drain(&mut self) {
        for acceptor in &mut self.acceptors {
            acceptor.ready = true;
        }
        while self.accept() {}
        self.acceptors.clear();
        self.worker.draining.set(true);
        // Those that speak HTTP/2 say goodbye first, and tunnels learn how long they have, in a turn of their own.
        let leaving = self.connections.iter().filter(|(_, c)| c.takes_leave());
        self.again.extend(leaving.map(|(index, _)| (index as u32, 0)));
        self.close_idle(usize::MAX, 0);
    }

    /// Gives every connection that the kernel names its turn. Whether there may be more at once.
    fn take_events(&mut self, cx: &mut Context<'_>) -> bool {
        let Poll::Ready(Ok(mut guard)) = self.epoll.poll_read_ready(cx) else { return false };
        self.events.clear();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // It can only be interrupted; then the next call finds the same.
        let taken =
            epoll::wait(self.epoll.get_ref(), spare_capacity(&mut self.events), Some(&now)).unwrap_or(EVENTS);
        if taken < EVENTS {
            guard.clear_ready();
            // Registers the task for the next edge; the answer is "not yet" by construction.
            if self.epoll.poll_read_ready(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
        for index in 0..self.events.len() {
            let Event { data, flags } = self.events[index];
            self.dispatch(data.u64(), flags);
        }
        taken == EVENTS
    }

    fn dispatch(&mut self, data: u64, flags: EventFlags) {
        if data >= UPSTREAMS {
            // Who waits for it is woken, and has its turn when the events are through.
            return self.outbound.happened(data, flags);
        }
        if data >= LISTENERS {
            if let Some(acceptor) = self.acceptors.get_mut((data - LISTENERS) as usize) {
                acceptor.ready = true;
            }
            return;
        }
        let Some(connection) = self.connections.get_mut(data as usize) else { return };
        let ended = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        if ended || flags.contains(EventFlags::IN) {
            connection.socket().may_read(ended);
        }
        if flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR) {
            connection.socket().may_write();
        }
        self.turn(data as usize);
    }

    fn take_woken(&mut self) {
        let mut woken = std::mem::take(&mut self.again);
        self.worker.woken.take(&mut woken);
        for (index, stream) in woken.drain(..) {
            if let Some(connection) = self.connections.get_mut(index as usize) {
                connection.woken(stream);
            }
            self.turn(index as usize);
        }
        if self.again.is_empty() {
            self.again = woken;
        }
    }

    fn turn(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        self.worker.clock.refresh_if_exact();
        let blocked = connection.socket().is_blocked();
        let turn = contained(|| connection.turn(&self.worker));
        self.deadlines.set(index, connection.deadline());
        let turn = match connection.socket().is_watched() {
            false if turn != Turn::Over => watch_unless_answered_soon(&self.epoll, connection, turn),
            false => turn,
            true => {
                if !blocked && connection.socket().is_blocked() {
                    watch_writes(&self.epoll, connection);
                }
                turn
            }
        };
        match turn {
            Turn::Waits => {}
            Turn::Again => self.again.push((index as u32, 0)),
            Turn::Over => self.end(index),
        }
    }

    fn end(&mut self, index: usize) {
        if let Some(connection) = self.connections.get_mut(index) {
            connection.end(&self.worker);
        }
        self.connections.remove(index);
        self.deadlines.set(index, NEVER);
        self.worker.quota.leave();
    }

    /// Accepts a batch from each listener. Whether more may be waiting that there is room for.
    fn accept(&mut self) -> bool {
        let mut waiting = false;
        for index in 0..self.acceptors.len() {
            waiting |= self.acceptors[index].ready && self.accept_batch(index);
        }
        waiting
    }

    fn accept_batch(&mut self, index: usize) -> bool {
        for _ in 0..BATCH {
            match self.acceptors[index].accept(&self.worker) {
                Accepted::New(transport, info) => self.begin(transport, info),
                Accepted::Lost => {}
                Accepted::None => return false,
                // If nobody is idle, the next turn of the loop finds the listener still ready.
                Accepted::NoRoom | Accepted::Starved => return self.make_room(),
            }
        }
        true
    }

    /// Serves a new connection's first turn; only if it is not over then, the kernel is asked to watch it. If
    /// it only waits for its answer, that may be its last: the kernel is asked later.
    fn begin(&mut self, transport: Transport, info: ConnectionInfo) {
        let index = self.connections.next();
        let mut connection = Connection::new(&self.worker, transport, info, index);
        let turn = contained(|| connection.turn(&self.worker));
        let turn = match turn {
            Turn::Over => turn,
            turn => watch_unless_answered_soon(&self.epoll, &connection, turn),
        };
        if turn == Turn::Over {
            connection.end(&self.worker);
            self.worker.quota.leave();
            return;
        }
        self.deadlines.set(index, connection.deadline());
        if !connection.socket().is_watched() {
            self.unwatched.push(index as u32);
        }
        self.connections.insert(connection);
        if turn == Turn::Again {
            self.again.push((index as u32, 0));
        }
    }

    /// Notices deadlines, and closes idle connections above the soft limit.
    fn sweep(&mut self) {
        self.outbound.sweep();
        self.watch_late();
        let mut passed = Vec::new();
        self.deadlines.take_passed(self.worker.clock.millis(), &mut passed);
        for index in passed {
            let Some(connection) = self.connections.get_mut(index) else { continue };
            match contained(|| connection.expire(&self.worker)) {
                Turn::Over => self.end(index),
                Turn::Waits | Turn::Again => self.turn(index),
            }
        }
        let excess = self.worker.quota.excess(self.connections.len());
        if excess > 0 {
            let min_age = self.worker.quota.min_age().as_millis();
            self.close_idle(excess, u32::try_from(min_age).unwrap_or(u32::MAX));
        }
    }

    /// Has the kernel watch those that have waited for their answers for a while: their clients may leave.
    fn watch_late(&mut self) {
        for index in std::mem::take(&mut self.unwatched) {
            let Some(connection) = self.connections.get_mut(index as usize) else { continue };
            if !connection.socket().is_watched() && !watch(&self.epoll, connection) {
                self.end(index as usize);
            }
        }
    }

    /// Closes those that have been idle longest, so that a new connection need not wait for their
    /// timeouts. Whether there is room now.
    #[cold]
    fn make_room(&mut self) -> bool {
        self.close_idle(SHED, GRACE) > 0
    }

    /// Closes connections that have been idle for `min_age` milliseconds, `most` of them, the longest
    /// idle first. How many.
    fn close_idle(&mut self, most: usize, min_age: u32) -> usize {
        let now = self.worker.clock.millis();
        // Those that speak HTTP/2 leave by themselves, after a goodbye.
        let leaves = |c: &Connection| self.worker.draining.get() && c.is_multiplexed();
        let age =
            |(index, c): (usize, &Connection)| Some((c.idle_millis(now)?, index)).filter(|_| !leaves(c));
        let mut idle: Vec<(u32, usize)> = self.connections.iter().filter_map(age).collect();
        idle.retain(|(age, _)| *age >= min_age);
        if idle.len() > most {
            idle.select_nth_unstable_by(most, |a, b| b.cmp(a));
            idle.truncate(most);
        }
        idle.into_iter().filter(|(_, index)| self.close_if_idle(*index)).count()
    }

    /// Closes a connection, unless a request has arrived in the meantime.
    fn close_if_idle(&mut self, index: usize) -> bool {
        let over = self.connections.get_mut(index).is_some_and(|c| c.close_if_idle(&self.worker));
        if over {
            self.end(index)
        } else {
            self.turn(index)
        }
        over
    }
}

/// What a connection does now, whose panic, a bug of ours, costs that connection and no other. The panic's
/// message is in the error log.
fn contained(run: impl FnOnce() -> Turn) -> Turn {
    // What the worker's connections share is buffers and counters, good at every moment.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(Turn::Over)
}

/// Has the kernel tell when there is something to read, and also when it can be written if that is what
/// the connection waits for. `false`: it has no room (`fs.epoll.max_user_watches`).
fn watch(epoll: &AsyncFd<Rc<OwnedFd>>, connection: &Connection) -> bool {
    let (data, flags) = interest(connection);
    connection.socket().set_watched();
    epoll::add(epoll.get_ref(), connection.socket().as_fd(), data, flags).is_ok()
}

/// As [`watch`], unless the connection only waits for its answer; what its turn comes to.
fn watch_unless_answered_soon(epoll: &AsyncFd<Rc<OwnedFd>>, connection: &Connection, turn: Turn) -> Turn {
    let soon = turn == Turn::Waits && connection.awaits_answer();
    if soon || watch(epoll, connection) { turn } else { Turn::Over }
}

/// From the first refused write on, the kernel also tells of room to write. Most connections never ask.
fn watch_writes(epoll: &AsyncFd<Rc<OwnedFd>>, connection: &Connection) {
    let (data, flags) = interest(connection);
    // Modifying what is there needs no memory.
    let _ = epoll::modify(epoll.get_ref(), connection.socket().as_fd(), data, flags);
}

fn interest(connection: &Connection) -> (EventData, EventFlags) {
    let read = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    let flags = if connection.socket().is_blocked() { read | EventFlags::OUT } else { read };
    (EventData::new_u64(u64::from(connection.link.index)), flags)
}

#[allow(unsafe_code)]
fn register(epoll: Rc<OwnedFd>) -> io::Result<AsyncFd<Rc<OwnedFd>>> {
    // SAFETY: the AsyncFd holds the descriptor by its Rc, so it is open and the same one until the AsyncFd is
    // dropped; nothing else closes or replaces it.
    unsafe { AsyncFd::register_with_interest(epoll, Interest::READABLE) }
        .map_err(|error| error.into_parts().1)
}
