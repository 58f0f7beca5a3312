//! Which worker serves a new connection.
//!
//! The kernel spreads connections over the workers' queues by a hash of their addresses: with few connections, the busiest
//! worker has several times its share. So a worker that accepts a connection while another one has fewer hands it to that one,
//! before anything of it was read. What is handed over is the descriptor; the other worker begins with it as if it had
//! accepted it.
//!
//! Each worker publishes how many connections it has in a cache line of its own, by a plain store. Others read it when they
//! accept a connection and have some already. Nothing here happens for a request, nor for a connection that is answered and
//! closed in the turn in which it was accepted.

use crate::waker::Woken;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A worker with that many connections has, for each of them, one more than another before it hands some over: with
/// hundreds of connections a few do not matter, and what matters less should cost less.
const SLACK: usize = 16;
/// Connections that have ended, of which it is remembered how short they were.
const MEMORY: u32 = 16;

/// A connection that another worker has accepted.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// Of its listener.
    pub(crate) listener: usize,
    pub(crate) fd: OwnedFd,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) id: u64,
}

/// All workers of the process.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    seats: Mutex<Arc<[Arc<Seat>]>>,
    /// Grows when workers begin or end.
    version: AtomicUsize,
}

/// What others see of a worker. Cache lines come in pairs (x86's prefetcher takes both).
#[derive(Debug)]
#[repr(align(128))]
struct Seat {
    connections: AtomicUsize,
    inbox: Inbox,
}

#[derive(Debug)]
#[repr(align(128))]
struct Inbox {
    any: AtomicBool,
    state: Mutex<State>,
    woken: Arc<Woken>,
}

#[derive(Debug, Default)]
struct State {
    arrivals: Vec<Arrival>,
    /// The listeners of the worker; none before it begins and from its end on.
    listeners: Vec<usize>,
}

/// A worker's part in it.
pub(crate) struct Placement {
    workers: Arc<Workers>,
    own: Arc<Seat>,
    others: Arc<[Arc<Seat>]>,
    version: usize,
    /// The other worker that is looked at first.
    first: usize,
    /// Connections that are accepted before the others are looked at again.
    pause: usize,
    /// Of the last [`MEMORY`] connections that have ended, those that were for one request only, in sixteenths.
    short: u32,
    /// Connections that others have handed over and that have not begun yet.
    arriving: usize,
}

impl Placement {
    /// For a worker that begins.
    pub(crate) fn new(workers: &Arc<Workers>, woken: &Arc<Woken>) -> Self {
        let inbox = Inbox { any: AtomicBool::new(false), state: Mutex::default(), woken: Arc::clone(woken) };
        let own = Arc::new(Seat { connections: AtomicUsize::new(0), inbox });
        workers.change(|seats| seats.push(Arc::clone(&own)));
        Self {
            workers: Arc::clone(workers),
            own,
            others: Arc::default(),
            version: 0,
            first: 0,
            pause: 0,
            short: 0,
            arriving: 0,
        }
    }

    /// The worker has so many connections.
    #[inline]
    pub(crate) fn publish(&self, connections: usize) {
        self.own.connections.store(connections + self.arriving, Ordering::Relaxed);
    }

    /// A connection has ended that was for one request only, or was not.
    #[inline]
    pub(crate) fn ended(&mut self, was_short: bool) {
        self.short -= self.short.div_ceil(MEMORY);
        self.short += if was_short { MEMORY } else { 0 };
    }

    /// Takes a connection that was accepted by a worker with `connections` of them, and gives it to a worker that has fewer.
    /// `Some`: there is none, so that it stays.
    #[inline]
    pub(crate) fn place(&mut self, connections: usize, arrival: Arrival) -> Option<Arrival> {
        if connections == 0 || self.pause > 0 {
            self.pause = self.pause.saturating_sub(1);
            return Some(arrival);
        }
        self.look_around(connections, arrival)
    }

    fn look_around(&mut self, connections: usize, mut arrival: Arrival) -> Option<Arrival> {
        self.renew();
        let most = connections.saturating_sub(self.slack(connections));
        for ahead in 0..self.others.len() {
            let at = (self.first + ahead) % self.others.len();
            if self.others[at].connections.load(Ordering::Relaxed) >= most {
                continue;
            }
            match self.others[at].inbox.put(arrival, || self.others[at].room(most)) {
                Ok(()) => {
                    self.first = at;
                    return None;
                }
                Err(refused) => arrival = refused,
            }
        }
        self.pause = connections / (2 * SLACK);
        Some(arrival)
    }

    /// How many connections more than another worker are no reason to hand one over. Where connections come and go with each
    /// request, their number says little, and handing over would be paid for by each request.
    fn slack(&self, connections: usize) -> usize {
        let are_short = self.short > MEMORY * MEMORY / 2;
        let few = connections / SLACK;
        if are_short { few.max(connections / 2).max(SLACK) } else { few }
    }

    /// Looks which workers there are.
    fn renew(&mut self) {
        let version = self.workers.version.load(Ordering::Acquire);
        if version != self.version {
            let seats = self.workers.seats().clone();
            self.others = seats.iter().filter(|seat| !Arc::ptr_eq(seat, &self.own)).cloned().collect();
            // Workers that begin together do not all look at the same one first.
            let own = seats.iter().position(|seat| Arc::ptr_eq(seat, &self.own));
            (self.version, self.first) = (version, own.unwrap_or(0));
        }
    }

    /// Whether other workers have handed something over.
    #[inline]
    pub(crate) fn has_arrivals(&self) -> bool {
        self.own.inbox.any.load(Ordering::SeqCst)
    }

    /// What other workers have handed over, which counts among the `connections` from now on.
    pub(crate) fn arrivals(&mut self, connections: usize) -> Vec<Arrival> {
        self.take(connections, |_| ())
    }

    /// From now on the worker has these listeners: it takes connections of theirs only. What others have handed over until now.
    pub(crate) fn listen(&mut self, connections: usize, listeners: Vec<usize>) -> Vec<Arrival> {
        self.take(connections, |state| state.listeners = listeners)
    }

    /// One of them begins.
    pub(crate) fn arrived(&mut self) {
        self.arriving -= 1;
    }

    fn take(&mut self, connections: usize, then: impl FnOnce(&mut State)) -> Vec<Arrival> {
        let own = Arc::clone(&self.own);
        let mut state = own.inbox.state();
        then(&mut state);
        own.inbox.any.store(false, Ordering::Relaxed);
        let arrivals = std::mem::take(&mut state.arrivals);
        // Before others look into the inbox again.
        self.arriving += arrivals.len();
        self.publish(connections);
        arrivals
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        self.own.inbox.state().listeners.clear();
        self.workers.change(|seats| seats.retain(|seat| !Arc::ptr_eq(seat, &self.own)));
    }
}

impl Workers {
    fn seats(&self) -> MutexGuard<'_, Arc<[Arc<Seat>]>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Seat>>)) {
        let mut seats = self.seats();
        let mut changed = seats.to_vec();
        change(&mut changed);
        *seats = changed.into();
        self.version.fetch_add(1, Ordering::Release);
    }
}

impl Seat {
    /// How many connections it may have in its inbox to stay below `most`.
    fn room(&self, most: usize) -> usize {
        most.saturating_sub(self.connections.load(Ordering::Relaxed))
    }
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a connection over, unless the worker does not have its listener, or its `room` is full by now.
    fn put(&self, arrival: Arrival, room: impl FnOnce() -> usize) -> Result<(), Arrival> {
        let mut state = self.state();
        if !state.listeners.contains(&arrival.listener) || state.arrivals.len() >= room() {
            return Err(arrival);
        }
        state.arrivals.push(arrival);
        self.any.store(true, Ordering::SeqCst);
        drop(state);
        self.woken.notify();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker, its waker, and its connections.
    struct Simulated {
        placement: Placement,
        connections: usize,
    }

    struct Simulation {
        workers: Vec<Simulated>,
        random: u64,
        handed: usize,
    }

    impl Simulation {
        fn new(workers: usize) -> Self {
            let all = Arc::<Workers>::default();
            let begin = |_| {
                let mut placement = Placement::new(&all, &Woken::new().expect("an eventfd"));
                placement.listen(0, vec![7]);
                Simulated { placement, connections: 0 }
            };
            Self { workers: (0..workers).map(begin).collect(), random: 1, handed: 0 }
        }

        fn any(&mut self, below: usize) -> usize {
            self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.random >> 33) as usize % below
        }

        /// The kernel gives a connection to some worker.
        fn accept(&mut self) {
            let at = self.any(self.workers.len());
            self.accept_at(at);
        }

        fn accept_at(&mut self, at: usize) {
            let worker = &mut self.workers[at];
            if worker.placement.place(worker.connections, arrival(7)).is_some() {
                worker.begin();
            } else {
                self.handed += 1;
            }
            for worker in self.workers.iter_mut().filter(|worker| worker.placement.has_arrivals()) {
                for _ in worker.placement.arrivals(worker.connections) {
                    worker.placement.arrived();
                    worker.begin();
                }
            }
        }

        /// Some connection ends.
        fn end(&mut self, was_short: bool) {
            loop {
                let at = self.any(self.workers.len());
                let worker = &mut self.workers[at];
                if worker.connections > 0 {
                    worker.connections -= 1;
                    worker.placement.publish(worker.connections);
                    return worker.placement.ended(was_short);
                }
            }
        }

        fn range(&self) -> (usize, usize) {
            let counts = || self.workers.iter().map(|worker| worker.connections);
            (counts().min().expect("workers"), counts().max().expect("workers"))
        }
    }

    impl Simulated {
        fn begin(&mut self) {
            self.connections += 1;
            self.placement.publish(self.connections);
        }
    }

    fn arrival(listener: usize) -> Arrival {
        let fd = std::fs::File::open("/dev/null").expect("a file").into();
        Arrival { listener, fd, peer: None, id: 0 }
    }

    #[test]
    fn few_connections_are_spread_evenly() {
        for workers in [2, 4, 8, 64] {
            let mut simulation = Simulation::new(workers);
            for connections in 1..=4 * workers {
                simulation.accept();
                let (least, most) = simulation.range();
                assert!(most - least <= 1, "{least} to {most} of {connections} with {workers} workers");
            }
            assert_eq!(simulation.range(), (4, 4));
        }
    }

    #[test]
    fn many_connections_are_spread_to_a_fifth() {
        let mut simulation = Simulation::new(8);
        for _ in 0..8 * 500 {
            simulation.accept();
        }
        let (least, most) = simulation.range();
        assert!(most * 10 <= least * 12, "{least} to {most}");
    }

    #[test]
    fn all_connections_may_come_to_one_queue() {
        let mut simulation = Simulation::new(4);
        (0..32).for_each(|_| simulation.accept_at(0));
        assert_eq!((simulation.range(), simulation.handed), ((8, 8), 24));
    }

    #[test]
    fn counts_that_drift_apart_come_together_with_new_connections() {
        let mut simulation = Simulation::new(4);
        (0..40).for_each(|_| simulation.accept());
        let idle = &mut simulation.workers[2];
        idle.connections = 0;
        idle.placement.publish(0);
        (0..10).for_each(|_| simulation.accept());
        let (least, most) = simulation.range();
        assert!(most - least <= 2, "{least} to {most}");
    }

    #[test]
    fn connections_for_one_request_each_stay_where_they_were_accepted() {
        let mut simulation = Simulation::new(4);
        (0..12).for_each(|_| simulation.accept());
        for _ in 0..1000 {
            simulation.accept();
            simulation.end(true);
        }
        simulation.handed = 0;
        for _ in 0..1000 {
            simulation.accept();
            simulation.end(true);
        }
        assert!(simulation.handed < 20, "{}", simulation.handed);
    }

    #[test]
    fn a_worker_gets_connections_only_of_its_listeners_and_none_after_its_end() {
        let mut simulation = Simulation::new(2);
        simulation.workers[1].connections = 5;
        let mut place = |listener| {
            let worker = &mut simulation.workers[1];
            worker.placement.place(5, arrival(listener)).is_some()
        };
        assert!(place(8), "of another listener: it stays");
        assert!(!place(7));
        let first = &mut simulation.workers[0].placement;
        assert_eq!(first.listen(0, Vec::new()).len(), 1, "what was handed over before is not lost");
        let place = |placement: &mut Placement| placement.place(5, arrival(7)).is_some();
        assert!(place(&mut simulation.workers[1].placement), "it takes no more");
        simulation.workers.remove(0);
        assert!(place(&mut simulation.workers[0].placement), "it has ended");
    }
}
