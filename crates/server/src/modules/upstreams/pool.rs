//! One worker's view of an upstream group: selects the upstream for the next request.

use super::balance::{Balancer, Candidate, Policy};
use super::health::{FailureKind, Standing};
use super::member::Member;
use super::shared::{Permit, Shared, SharedGroup};
use super::transport::Transport;
use super::uploads::Uploads;
use super::watch::Watch;
use crate::observe::{Reporter, Severity, Subject};
use hayami_http::RequestHead;
use hayami_net::service::Address;
use hayami_net::upstream_io::UpstreamIo;
use hayami_net::{Clock, Instant};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The groups of one worker, created on first use; all paths that use a group share its pool.
#[derive(Default)]
pub struct Pools {
    shared: Arc<Shared>,
    /// By the index of the group.
    pools: RefCell<HashMap<usize, Rc<Pool>>>,
    /// The worker is leaving: other workers watch its groups.
    is_leaving: Rc<Cell<bool>>,
}

impl Pools {
    /// Creates the pools of one worker.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, ..Self::default() }
    }

    /// Creates the pools of the same worker after a reload: unchanged groups keep their connections.
    pub fn after(shared: Arc<Shared>, before: &Self) -> Self {
        let known = before.pools.borrow();
        let numbers: HashMap<_, _> =
            shared.groups.iter().enumerate().map(|(number, group)| (Arc::as_ptr(group), number)).collect();
        let number_of = |pool: &Pool| numbers.get(&Arc::as_ptr(&pool.group)).copied();
        let kept = known.values().filter_map(|pool| Some((number_of(pool)?, Rc::clone(pool))));
        let pools = RefCell::new(kept.collect());
        Self { shared, pools, is_leaving: Rc::clone(&before.is_leaving) }
    }

    /// Leaves the groups that this worker watches to the others.
    pub fn leave(&self) {
        self.is_leaving.set(true);
        self.pools.borrow().values().for_each(|pool| drop(pool.watch.take()));
    }

    /// The limits of buffered request content.
    pub fn uploads(&self) -> &Arc<Uploads> {
        &self.shared.uploads
    }

    /// The configured name servers; if empty, the system resolver is used.
    pub fn resolver(&self) -> Arc<[SocketAddr]> {
        Arc::clone(&self.shared.resolver)
    }

    /// Whether a worker maintains names and health of the group at that index.
    pub fn is_watched(&self, index: usize) -> bool {
        self.shared.groups.get(index).is_none_or(|group| group.is_watched())
    }

    /// The group at that index of the configuration.
    pub fn get(&self, index: usize, outbound: &UpstreamIo, clock: &Rc<Clock>) -> Rc<Pool> {
        let mut pools = self.pools.borrow_mut();
        let pool = pools.entry(index);
        Rc::clone(pool.or_insert_with(|| {
            let pool = Pool::new(Arc::clone(&self.shared.groups[index]), outbound, clock);
            Rc::new(Pool { is_leaving: Rc::clone(&self.is_leaving), ..pool })
        }))
    }
}

/// An upstream group.
pub struct Pool {
    pub(super) group: Arc<SharedGroup>,
    members: RefCell<Rc<[Rc<Member>]>>,
    /// The generation of the group that `members` reflects.
    generation: Cell<u32>,
    balancer: RefCell<Balancer>,
    transports: RefCell<Vec<Transport>>,
    outbound: UpstreamIo,
    reporter: Reporter,
    clock: Rc<Clock>,
    /// The tasks that watch the group, if this worker does.
    watch: RefCell<Option<Watch>>,
    /// As of [`Pools`].
    is_leaving: Rc<Cell<bool>>,
}

/// The upstream chosen for a request.
pub struct Chosen {
    pub(super) member: Rc<Member>,
    pub(super) permit: Option<Permit>,
}

impl Chosen {
    /// The upstream.
    pub fn member(&self) -> &Rc<Member> {
        &self.member
    }
}

/// Why no upstream was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectError {
    /// All are at their `max-connections`.
    Full,
    /// All are ejected or down, for at least this long.
    Down(Duration),
    /// No addresses are known: their names cannot be resolved.
    Unresolved,
}

/// Order of preference.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rank {
    doubtful: bool,
    backup: bool,
}

const RANKS: [Rank; 4] = [
    Rank { doubtful: false, backup: false },
    Rank { doubtful: false, backup: true },
    Rank { doubtful: true, backup: false },
    Rank { doubtful: true, backup: true },
];

impl Pool {
    fn new(group: Arc<SharedGroup>, outbound: &UpstreamIo, clock: &Rc<Clock>) -> Self {
        let pool = Self {
            members: RefCell::new(Rc::new([])),
            generation: Cell::new(group.generation()),
            balancer: RefCell::new(Balancer::new(group.settings.policy, 0)),
            transports: RefCell::default(),
            outbound: outbound.clone(),
            reporter: Reporter::new(Rc::clone(clock)),
            clock: Rc::clone(clock),
            group,
            watch: RefCell::default(),
            is_leaving: Rc::default(),
        };
        pool.renew();
        pool
    }

    /// The index of a transport, added on first use. The first one is used for health checks.
    pub fn transport(&self, transport: Transport) -> usize {
        let known = self.transports.borrow().iter().position(|own| *own == transport);
        let number = known.unwrap_or_else(|| {
            self.transports.borrow_mut().push(transport);
            self.renew();
            self.transports.borrow().len() - 1
        });
        self.watch();
        number
    }

    /// Watches the group, unless a worker does already. Without a runtime, a configuration is only checked.
    fn watch(&self) {
        if !self.is_leaving.get() && !self.group.is_watched() && tokio::runtime::Handle::try_current().is_ok()
        {
            let transport = &self.transports.borrow()[0];
            if let Some(watch) = Watch::claim(&self.group, &self.outbound, &self.clock, transport) {
                self.watch.replace(Some(watch));
            }
        }
    }

    /// The hash key of a request, if the balancer hashes.
    #[inline]
    pub fn key(&self, head: &RequestHead, client: &Address) -> Option<u64> {
        match self.group.settings.policy {
            Policy::Hash => self.group.settings.key.of(head, client),
            _ => None,
        }
    }

    /// Any upstream, to write a request that still waits in the queue for its own.
    pub fn any(&self) -> Option<Rc<Member>> {
        self.members.borrow().first().map(Rc::clone)
    }

    /// Whether there is only one upstream.
    pub(super) fn has_one(&self) -> bool {
        self.members.borrow().len() == 1
    }

    /// Chooses the upstream for a request with that key. The queue is FIFO: nothing overtakes queued requests.
    ///
    /// # Errors
    /// No upstream is available at the moment.
    #[inline]
    pub fn choose(&self, key: Option<u64>) -> Result<Chosen, SelectError> {
        if self.group.is_bounded && self.group.queue.is_waited_in() {
            return Err(SelectError::Full);
        }
        self.choose_but(&[], key)
    }

    /// Like [`choose`](Self::choose), but for a retry or the first in the queue: excludes the upstreams in `tried`.
    pub(super) fn choose_but(&self, tried: &[Rc<Member>], key: Option<u64>) -> Result<Chosen, SelectError> {
        if self.generation.get() != self.group.generation() {
            self.renew();
        }
        let members = Rc::clone(&self.members.borrow());
        if members.is_empty() {
            return Err(SelectError::Unresolved);
        }
        let now = self.clock.now();
        for rank in RANKS {
            // One round per upstream that fills up between being chosen and admitting the request.
            for _ in 0..members.len() {
                let candidate = |index: usize| self.candidate(&members[index], rank, tried, now);
                let chosen = self.balancer.borrow_mut().choose(key, candidate);
                let Some(member) = chosen.map(|index| &members[index]) else { break };
                if let Ok(permit) = Permit::new(&self.group, &member.shared) {
                    return Ok(Chosen { member: Rc::clone(member), permit });
                }
            }
            // A busy upstream is waited for before one of a lower rank is tried.
            if members.iter().any(|own| own.shared.is_full() && self.suits(own, rank, tried, now)) {
                return Err(SelectError::Full);
            }
        }
        Err(SelectError::Down(self.shortest_wait(&members, now)))
    }

    fn candidate(&self, member: &Rc<Member>, rank: Rank, tried: &[Rc<Member>], now: Instant) -> Candidate {
        Candidate {
            weight: member.weight(&self.group, now),
            number: member.shared.number,
            in_flight: member.in_flight(),
            fit: self.suits(member, rank, tried, now) && !member.shared.is_full(),
        }
    }

    #[inline]
    fn suits(&self, member: &Rc<Member>, rank: Rank, tried: &[Rc<Member>], now: Instant) -> bool {
        let stands = match member.standing(&self.group, now) {
            Standing::Good => !rank.doubtful,
            Standing::Doubtful => rank.doubtful,
            Standing::Down(_) => false,
        };
        stands && member.shared.backup == rank.backup && !tried.iter().any(|own| Rc::ptr_eq(own, member))
    }

    fn shortest_wait(&self, members: &[Rc<Member>], now: Instant) -> Duration {
        let rests = members.iter().filter_map(|member| match member.standing(&self.group, now) {
            Standing::Down(rest) => Some(rest),
            Standing::Good | Standing::Doubtful => None,
        });
        rests.min().unwrap_or_default()
    }

    /// Adopts changes of the group. Members that stay keep their connections.
    #[cold]
    fn renew(&self) {
        self.generation.set(self.group.generation());
        let known = Rc::clone(&self.members.borrow());
        let transports = self.transports.borrow();
        let member = |shared| match known.iter().find(|own| Arc::ptr_eq(&own.shared, &shared)) {
            Some(own) => Rc::clone(own),
            None => Rc::new(Member::new(shared)),
        };
        let members: Rc<[_]> = self.group.members().into_iter().map(member).collect();
        members.iter().for_each(|own| own.renew(&self.outbound, &transports));
        if members.len() != known.len() {
            self.balancer.borrow_mut().renew(members.len());
        }
        *self.members.borrow_mut() = members;
    }

    /// A connection to a member was made, whatever the response.
    #[inline]
    pub(super) fn note_success(&self, member: &Member) {
        if member.worked() {
            self.group.mark_recovered(&member.shared, self.now());
            self.report(Severity::Notice, format_args!("{}: accepts connections again", member.shown()));
        }
    }

    /// A connection to a member could not be made.
    pub(super) fn note_failure(&self, member: &Member, failure_kind: FailureKind, cause: &dyn fmt::Display) {
        let news = member.failed(self.now(), failure_kind, self.group.settings.patience);
        // An only upstream is tried all the same, if it rejects connections at once.
        let Some(wait) = news.filter(|_| !self.has_one() || failure_kind == FailureKind::Silent) else {
            return;
        };
        let seconds = wait.as_millis() as f64 / 1000.0;
        self.report(Severity::Warn, format_args!("{}: {cause}; ejected for {seconds} s", member.shown()));
    }

    /// Writes a line about a member to the error log, subject to the rate limit.
    #[cold]
    pub fn report(&self, severity: Severity, text: fmt::Arguments<'_>) {
        self.reporter.line(severity, Subject::Upstream, text);
    }

    /// Writes a line from an application's standard error to the error log, subject to the rate limit.
    #[cold]
    pub fn report_application(&self, text: fmt::Arguments<'_>) {
        self.reporter.line(Severity::Error, Subject::Application, text);
    }

    pub(in crate::modules) fn outbound(&self) -> &UpstreamIo {
        &self.outbound
    }

    pub(in crate::modules) fn clock(&self) -> &Rc<Clock> {
        &self.clock
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }
}
