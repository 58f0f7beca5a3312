//! The loop of a worker: a poll, and a table of connections. A connection is neither a task nor a registration.
//!
//! The worker's thread waits here and nowhere else, until the kernel has something for a connection or a listener,
//! something is woken, or the next timer or sweep is due. Per request this saves the wakers, locks and queues of a task; per
//! connection, its memory.

use crate::accept::{Accepted, Acceptor, BATCH, Batch, Listener};
use crate::clock::Millis;
use crate::connection::{Connection, Turn};
use crate::contain::contained;
use crate::cpu_turn;
use crate::placement::{Arrival, Placement};
use crate::poll::{Deadlines, Events, Interest, Kind, Poll, Readiness, SWEEP, Slots, Timers, Token};
use crate::service::{ConnectionInfo, Service};
use crate::transport::Transport;
use crate::update::{ListenerUpdate, Update};
use crate::upstream_io::UpstreamIo;
use crate::waker::Target;
use crate::worker::Worker;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// Events taken from the kernel at once; then those who were woken and the worker's tasks get their turn.
const EVENTS: usize = 256;
/// Idle connections closed at once to make room for new ones.
const SHED: usize = 64;
/// Milliseconds for which a connection is left alone that has not asked for anything yet or has just been
/// answered: those that want to come in wait for as long in the kernel's queue.
const GRACE: u64 = 1000;
/// Connections of closed listeners that end in a round, and slots that are searched for them: a few tenths of a millisecond.
const LEAVING: usize = 32;
const SEARCHED: usize = 1024;
/// Milliseconds without an event after which a worker counts as idle. Between two requests of one client pass fewer, so
/// that work for idle moments costs a busy worker nothing.
const IDLE: u64 = 5;

pub(crate) struct Reactor<S: Service> {
    worker: Worker<S>,
    poll: Rc<Poll>,
    outbound: UpstreamIo,
    events: Events,
    connections: Slots<Box<Connection>>,
    deadlines: Deadlines,
    timers: Timers,
    placement: Placement,
    acceptors: Vec<Acceptor>,
    /// The worker has no place in the program any more and ends with its last connection.
    retired: bool,
    /// Connections that want another turn at once, and those whose waker was woken.
    again: Vec<Target>,
    /// Connections that the kernel is asked to watch with the next sweep, if they are still there.
    unwatched: Vec<Token>,
    /// When that sweep is due.
    watch_at: Millis,
    /// When the last one was.
    swept: Millis,
    /// There may be room for another connection that was not there before.
    room: bool,
    /// Connections of closed listeners, and outdated ones, that are to be found yet.
    leaving: Option<Leaving>,
}

/// A search for these connections, a part in each round: others have requests meanwhile.
struct Leaving {
    /// Those that are closed. Their numbers do not come again.
    listeners: Vec<usize>,
    /// The slot at which it goes on.
    slot: usize,
}

impl<S: Service> Reactor<S> {
    pub(crate) fn new(worker: Worker<S>, outbound: UpstreamIo, listeners: Vec<Listener>) -> io::Result<Self> {
        cpu_turn::enter_worker();
        let poll = outbound.loop_poll();
        let acceptors: Vec<Acceptor> = listeners.into_iter().map(Acceptor::new).collect();
        acceptors.iter().try_for_each(|acceptor| watch_new(&poll, acceptor))?;
        poll.register(worker.woken.notifier(), Token::new(Kind::Notifier, 0, 0), Interest::Notifier)?;
        outbound.wakes(Waker::from(Arc::clone(&worker.woken)));
        let mut placement = Placement::new(worker.quota.workers(), &worker.woken);
        placement.listen(0, numbers(&acceptors));
        Ok(Self {
            worker,
            poll,
            timers: outbound.timers().clone(),
            outbound,
            events: Events::with_capacity(EVENTS),
            connections: Slots::new(Kind::Connection),
            deadlines: Deadlines::default(),
            placement,
            acceptors,
            retired: false,
            again: Vec::new(),
            unwatched: Vec::new(),
            watch_at: Millis::NEVER,
            swept: Millis::default(),
            room: false,
            leaving: None,
        })
    }

    /// Waits until there is something to do, and does it.
    pub(crate) fn round(&mut self) {
        cpu_turn::begin_round();
        self.wait();
        self.worker.clock.refresh();
        self.outbound.begin_round();
        for index in 0..self.events.len() {
            let Some((token, readiness)) = self.events.get(index) else { break };
            self.dispatch(token, readiness);
        }
        self.timers.wake();
        self.take_woken();
        self.leave_some();
        if self.until_sweep() == Some(0) {
            self.sweep();
        }
        self.take_arrivals();
        self.accept();
        self.outbound.end_round();
    }

    /// Whether the worker accepts no more connections and ends with the last one.
    pub(crate) fn is_draining(&self) -> bool {
        self.worker.draining.get()
    }

    /// Whether the worker accepts no more connections, nor updates.
    pub(crate) fn is_ending(&self) -> bool {
        self.retired || self.is_draining()
    }

    /// Whether the worker is ending and its last connection is closed.
    pub(crate) fn is_over(&self) -> bool {
        self.is_ending() && self.connections.is_empty()
    }

    /// What answers the requests that come.
    pub(crate) fn service(&self) -> &S {
        &self.worker.service
    }

    /// Goes over to another service and other listeners.
    pub(crate) fn update(&mut self, update: Update<S>) {
        let Update { limits, http2, timeouts, listeners, leaves, make, done } = update;
        self.close_inbox();
        let service = make(&self.worker.clock, &self.outbound, &self.worker.service);
        self.worker.renew(service, limits, http2, timeouts);
        if leaves {
            self.retire();
            return done(Ok(()));
        }
        done(self.update_listeners(listeners));
        self.placement.listen(self.connections.len(), numbers(&self.acceptors));
    }

    fn update_listeners(&mut self, listeners: Vec<ListenerUpdate>) -> io::Result<()> {
        let mut result = Ok(());
        let mut kept = Vec::with_capacity(listeners.len());
        let mut outdated = false;
        for listener in listeners {
            match listener {
                ListenerUpdate::Open(listener) => {
                    let acceptor = Acceptor::new(listener);
                    match watch_new(&self.poll, &acceptor) {
                        Ok(()) => kept.push(acceptor),
                        Err(error) => result = Err(error),
                    }
                }
                ListenerUpdate::Keep { index, queue, tls, proxy_protocol } => {
                    let is_it = |own: &Acceptor| (own.index, own.queue) == (index, queue);
                    let Some(at) = self.acceptors.iter().position(is_it) else { continue };
                    let mut acceptor = self.acceptors.swap_remove(at);
                    if acceptor.renew(tls, proxy_protocol) {
                        self.outdate(index);
                        outdated = true;
                    }
                    kept.push(acceptor);
                }
            }
        }
        // Queues of a listener that stays belong to other workers now.
        let stays = numbers(&kept);
        for acceptor in self.acceptors.extract_if(.., |own| stays.contains(&own.index)) {
            self.poll.deregister(&acceptor.fd);
        }
        let gone = numbers(&self.acceptors);
        self.close_listeners();
        self.acceptors = kept;
        self.leave(gone, outdated);
        result
    }

    /// Releases all accept queues. Open connections are closed when their current exchanges are complete, and the worker ends
    /// with the last of them. Tunnels and long responses are not limited in time, unlike when the program drains.
    pub(crate) fn retire(&mut self) {
        self.close_inbox();
        let gone = numbers(&self.acceptors);
        for acceptor in self.acceptors.drain(..) {
            self.poll.deregister(&acceptor.fd);
        }
        self.leave(gone, false);
        self.retired = true;
    }

    /// Connections of a listener have not shown the client certificates that it requires now.
    #[cold]
    fn outdate(&self, listener: usize) {
        let own = self.connections.iter().filter(|connection| connection.link.info.listener == listener);
        own.for_each(|connection| connection.link.info.outdated.set(true));
    }

    /// Closes all listeners, each once the kernel's queue is empty: what is left in it would be reset.
    fn close_listeners(&mut self) {
        for at in 0..self.acceptors.len() {
            while self.accept_batch(at, BATCH) == Batch::Full {}
            // Closing is not enough if other workers have the same socket.
            self.poll.deregister(&self.acceptors[at].fd);
        }
        self.acceptors.clear();
    }

    /// Has the connections of closed listeners take no more requests, and those that are outdated. Of a listener that stays,
    /// new ones come while they are searched for: these stay.
    fn leave(&mut self, gone: Vec<usize>, outdated: bool) {
        if outdated || !gone.is_empty() {
            let before = self.leaving.take().map(|leaving| leaving.listeners).unwrap_or_default();
            self.leaving = Some(Leaving { listeners: [before, gone].concat(), slot: 0 });
        }
    }

    /// Finds some of them, and gives each a turn, which sends GOAWAY or sets an earlier deadline.
    fn leave_some(&mut self) {
        let Some(mut leaving) = self.leaving.take() else { return };
        let mut found = 0;
        for _ in 0..SEARCHED {
            if leaving.slot >= self.connections.end() {
                return;
            }
            if found == LEAVING {
                break;
            }
            let at = self.connections.at(leaving.slot);
            leaving.slot += 1;
            let Some(connection) = at.and_then(|token| self.connections.get_mut(token)) else { continue };
            let (token, info) = (connection.link.token, &connection.link.info);
            if info.outdated.get() || leaving.listeners.contains(&info.listener) {
                found += 1;
                connection.leave();
                self.again.push((token, 0));
            }
        }
        self.leaving = Some(leaving);
    }

    /// Stops accepting.
    pub(crate) fn drain(&mut self) {
        self.close_inbox();
        self.close_listeners();
        self.worker.draining.set(true);
        // Those that speak HTTP/2 say goodbye first, and tunnels learn how long they have, in a turn of their own.
        let leaving = self.connections.iter().filter(|connection| connection.takes_leave());
        self.again.extend(leaving.map(|connection| (connection.link.token, 0)));
        self.close_idle(usize::MAX, 0);
    }

    /// Takes events from the kernel: what is there, if somebody has a turn anyway, or else the next.
    fn wait(&mut self) {
        let timeout = match self.until_sweep() {
            _ if !self.again.is_empty() || self.leaving.is_some() => Some(0),
            _ if !self.worker.woken.may_rest() || self.placement.has_arrivals() => Some(0),
            timeout => timeout,
        };
        // The wait itself tells whether the worker is idle: one that is busy has its next event sooner.
        let waits_for_idle =
            timeout.is_none_or(|millis| millis > IDLE) && self.worker.service.has_idle_work();
        let timeout = if waits_for_idle { Some(IDLE) } else { timeout };
        let timeout = timeout.map(Duration::from_millis);
        let timeout = match self.timers.pause() {
            None => timeout,
            Some(pause) => Some(timeout.map_or(pause, |timeout| timeout.min(pause))),
        };
        // It can only be interrupted; then the next call finds the same.
        let waited = self.poll.wait(&mut self.events, timeout);
        self.worker.woken.at_work();
        if waits_for_idle && waited.is_ok() && self.events.is_empty() {
            contained(|| self.worker.service.on_idle());
        }
    }

    /// Milliseconds until the next sweep; `None`: nobody has a deadline.
    fn until_sweep(&self) -> Option<u64> {
        let now = self.worker.clock.millis();
        let heeds_others = self.worker.quota.is_soft() && !self.connections.is_empty();
        let due = match heeds_others || self.acceptors.iter().any(|acceptor| !acceptor.is_watched) {
            true => now,
            false => self.deadlines.earliest().min(self.outbound.earliest()).min(self.watch_at),
        };
        let pause = (SWEEP.as_millis() as u64).saturating_sub(now.since(self.swept));
        (due != Millis::NEVER).then(|| due.since(now).max(pause))
    }

    fn dispatch(&mut self, token: Token, readiness: Readiness) {
        match token.kind() {
            Kind::Connection => {
                let Some(connection) = self.connections.get_mut(token) else { return };
                connection.socket().may(readiness);
                self.turn(token);
            }
            // What waits for it is woken, and has its turn when the events are through.
            Kind::Upstream => self.outbound.happened(token, readiness),
            Kind::Listener => {
                if let Some(acceptor) = self.acceptors.iter_mut().find(|own| listener(own) == token) {
                    acceptor.connections_wait();
                }
            }
            Kind::Datagram | Kind::Notifier => {}
        }
    }

    fn take_woken(&mut self) {
        let mut woken = std::mem::take(&mut self.again);
        self.worker.woken.take(&mut woken);
        // All that a connection waited for is known before its turn: its answers leave together.
        for (token, stream) in &woken {
            if let Some(connection) = self.connections.get_mut(*token) {
                connection.woken(*stream);
            }
        }
        if woken.len() > 1 {
            woken.sort_unstable();
            woken.dedup_by_key(|(token, _)| *token);
        }
        for (token, _) in woken.drain(..) {
            self.turn(token);
        }
        if self.again.is_empty() {
            self.again = woken;
        }
    }

    fn turn(&mut self, token: Token) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        self.worker.clock.refresh_if_exact();
        let blocked = connection.socket().is_blocked();
        let turn = contained(|| connection.turn(&self.worker)).unwrap_or(Turn::Over);
        self.deadlines.set(token.slot(), connection.deadline());
        let turn = match connection.socket().is_watched() {
            false if turn != Turn::Over => watch_unless_answered_soon(&self.poll, connection, turn),
            false => turn,
            true => {
                if !blocked && connection.socket().is_blocked() {
                    watch_writes(&self.poll, connection);
                }
                turn
            }
        };
        match turn {
            Turn::Waits => {}
            Turn::Again => self.again.push((token, 0)),
            Turn::Over => self.end(token),
        }
    }

    fn end(&mut self, token: Token) {
        let Some(mut connection) = self.connections.remove(token) else { return };
        self.placement.publish(self.connections.len());
        self.placement.ended(connection.was_short(&self.worker));
        contained(|| {
            connection.end(&self.worker);
            drop(connection);
        });
        self.deadlines.set(token.slot(), Millis::NEVER);
        self.worker.quota.leave();
        self.room = true;
    }

    /// Accepts a batch from each listener in whose queue connections wait.
    fn accept(&mut self) {
        let room = std::mem::take(&mut self.room);
        for index in 0..self.acceptors.len() {
            let most = self.acceptors[index].begin_batch(room);
            if most > 0 {
                let batch = self.accept_batch(index, most);
                self.acceptors[index].end_batch(most, batch);
                self.watch_listener(index, batch != Batch::NoRoom);
            }
        }
    }

    fn accept_batch(&mut self, index: usize, most: u32) -> Batch {
        for taken in 0..most {
            match self.acceptors[index].accept(&self.worker) {
                Accepted::New(arrival) => {
                    if let Some(arrival) = self.placement.place(self.connections.len(), arrival) {
                        self.arrive(index, arrival);
                    }
                }
                Accepted::Lost => {}
                Accepted::None => return Batch::Emptied { taken },
                Accepted::NoRoom | Accepted::Starved if self.make_room() => return Batch::Full,
                Accepted::NoRoom | Accepted::Starved => return Batch::NoRoom,
            }
        }
        Batch::Full
    }

    /// Begins with connections that other workers have accepted.
    fn take_arrivals(&mut self) {
        if self.placement.has_arrivals() {
            let arrivals = self.placement.arrivals(self.connections.len());
            self.arrive_all(arrivals);
        }
    }

    /// From now on other workers keep what they accept.
    fn close_inbox(&mut self) {
        let arrivals = self.placement.listen(self.connections.len(), Vec::new());
        self.arrive_all(arrivals);
    }

    fn arrive_all(&mut self, arrivals: Vec<Arrival>) {
        for arrival in arrivals {
            self.placement.arrived();
            // Its listener is there: the inbox takes no others.
            match self.acceptors.iter().position(|own| own.index == arrival.listener) {
                Some(at) => self.arrive(at, arrival),
                None => self.worker.quota.leave(),
            }
        }
    }

    fn arrive(&mut self, at: usize, arrival: Arrival) {
        if let Some((transport, info)) = self.acceptors[at].begin(arrival, &self.worker) {
            self.begin(transport, info);
        }
    }

    /// While there is no room, the kernel must not tell again and again that connections wait.
    fn watch_listener(&mut self, index: usize, watch: bool) {
        let acceptor = &mut self.acceptors[index];
        if acceptor.is_watched != watch {
            acceptor.is_watched = watch;
            let interest = if watch { Interest::Level } else { Interest::None };
            let _ = self.poll.reregister(&acceptor.fd, listener(acceptor), interest);
        }
    }

    /// Serves a new connection's first turn; only if it is not over then, the kernel is asked to watch it. If
    /// it only waits for its answer, that may be its last: the kernel is asked later.
    fn begin(&mut self, transport: Transport, info: ConnectionInfo) {
        let token = self.connections.announce();
        let mut connection = Box::new(Connection::new(&self.worker, transport, info, token));
        // Before its first answer leaves: a client that opens connections one by one finds them spread evenly.
        self.placement.publish(self.connections.len() + 1);
        let turn = contained(|| connection.turn(&self.worker)).unwrap_or(Turn::Over);
        let turn = match turn {
            Turn::Over => turn,
            turn => watch_unless_answered_soon(&self.poll, &connection, turn),
        };
        if turn == Turn::Over {
            contained(|| connection.end(&self.worker));
            contained(|| drop(connection));
            self.worker.quota.leave();
            self.placement.publish(self.connections.len());
            self.placement.ended(true);
            return;
        }
        self.deadlines.set(token.slot(), connection.deadline());
        if !connection.socket().is_watched() {
            self.unwatched.push(token);
            self.watch_at = self.watch_at.min(self.worker.clock.millis().after(SWEEP));
        }
        self.connections.insert(connection);
        if turn == Turn::Again {
            self.again.push((token, 0));
        }
    }

    /// Notices deadlines, and closes idle connections above the soft limit.
    fn sweep(&mut self) {
        self.swept = self.worker.clock.millis();
        self.room = true;
        self.outbound.sweep();
        self.watch_late();
        let mut passed = Vec::new();
        self.deadlines.take_passed(self.swept, &mut passed);
        for slot in passed {
            let Some(token) = self.connections.at(slot) else { continue };
            let Some(connection) = self.connections.get_mut(token) else { continue };
            match contained(|| connection.expire(&self.worker)).unwrap_or(Turn::Over) {
                Turn::Over => self.end(token),
                Turn::Waits | Turn::Again => self.turn(token),
            }
        }
        let excess = self.worker.quota.excess(self.connections.len());
        if excess > 0 {
            let min_age = self.worker.quota.min_age().as_millis();
            self.close_idle(excess, u64::try_from(min_age).unwrap_or(u64::MAX));
        }
    }

    /// Has the kernel watch those that have waited for their answers for a while: their clients may leave.
    fn watch_late(&mut self) {
        self.watch_at = Millis::NEVER;
        for token in std::mem::take(&mut self.unwatched) {
            let Some(connection) = self.connections.get_mut(token) else { continue };
            if !connection.socket().is_watched() && !watch(&self.poll, connection) {
                self.end(token);
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
    fn close_idle(&mut self, most: usize, min_age: u64) -> usize {
        let now = self.worker.clock.millis();
        // Those that speak HTTP/2 leave by themselves, after a goodbye.
        let leaves = |c: &Connection| self.worker.draining.get() && c.says_goodbye();
        let age = |c: &Connection| Some((c.idle_millis(now)?, c.link.token)).filter(|_| !leaves(c));
        let mut idle: Vec<(u64, Token)> =
            self.connections.iter().filter_map(|connection| age(connection)).collect();
        idle.retain(|(age, _)| *age >= min_age);
        if idle.len() > most {
            idle.select_nth_unstable_by(most, |a, b| b.cmp(a));
            idle.truncate(most);
        }
        idle.into_iter().filter(|(_, token)| self.close_if_idle(*token)).count()
    }

    /// Closes a connection, unless a request has arrived in the meantime.
    fn close_if_idle(&mut self, token: Token) -> bool {
        let connection = self.connections.get_mut(token);
        let over = connection.is_some_and(|c| contained(|| c.close_if_idle(&self.worker)).unwrap_or(true));
        if over {
            self.end(token)
        } else {
            self.turn(token)
        }
        over
    }
}

fn numbers(acceptors: &[Acceptor]) -> Vec<usize> {
    acceptors.iter().map(|acceptor| acceptor.index).collect()
}

/// Has the kernel tell when there is something to read, and also when it can be written if that is what
/// the connection waits for. `false`: it has no room (`fs.epoll.max_user_watches`).
fn watch(poll: &Poll, connection: &Connection) -> bool {
    let socket = connection.socket();
    socket.set_watched();
    poll.register(socket, connection.link.token, interest(connection)).is_ok()
}

/// As [`watch`], unless the connection only waits for its answer; what its turn comes to.
fn watch_unless_answered_soon(poll: &Poll, connection: &Connection, turn: Turn) -> Turn {
    let soon = turn == Turn::Waits && connection.awaits_answer();
    if soon || watch(poll, connection) { turn } else { Turn::Over }
}

/// From the first refused write on, the kernel also tells of room to write. Most connections never ask.
fn watch_writes(poll: &Poll, connection: &Connection) {
    let _ = poll.reregister(connection.socket(), connection.link.token, interest(connection));
}

fn interest(connection: &Connection) -> Interest {
    if connection.socket().is_blocked() { Interest::ReadWrite } else { Interest::Read }
}

/// Has the kernel tell when connections wait. Not edge-triggered: it is told again as long as some do, so that there is no
/// asking in vain whether there is another one.
fn watch_new(poll: &Poll, acceptor: &Acceptor) -> io::Result<()> {
    poll.register(&acceptor.fd, listener(acceptor), Interest::Level)
}

/// An event for a queue that was released and is back is true of it, or costs a call in vain: there are no generations.
fn listener(acceptor: &Acceptor) -> Token {
    Token::new(Kind::Listener, acceptor.index as u32, acceptor.queue as u32)
}
