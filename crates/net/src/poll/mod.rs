//! Waiting: for the kernel's events, and for moments.
//!
//! ```text
//! epoll ── Poll ── Events: (Token, Readiness) ── Slots: the entry of that token, unless another one has its slot
//!            └ Interest                            ▲
//!                                 wake-ups: (Token, stream)
//! moments ┬ Deadlines   100 ms: two stores to move one; every connection has one and almost none passes
//!         └ Timers      1 ms: a wheel; a task that asks for one waits for it
//! ```
//!
//! Everything that is registered, woken or waited for is named by a [`Token`], which says what it is, where, and which one of
//! those that were there one after the other. An event or a wake-up that comes late, when its connection is gone and another
//! one has the slot, is dropped in one place: [`Slots::get_mut`] finds nothing for it.
//!
//! The server's loop, connections to upstreams and the load generator share this. Here are no sockets, no protocols, and
//! no tasks.

mod deadlines;
mod exact_wait;
mod slots;
mod timers;
mod token;
mod wheel;

pub use deadlines::{Deadlines, SWEEP};
pub use slots::{Slots, Tokened};
pub use timers::{Sleep, Timers};
pub use token::{Kind, Token};
pub use wheel::{Key, Wheel};

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// An epoll of one thread, for descriptors that it does not own. One that is closed is forgotten by the kernel itself.
pub struct Poll {
    epoll: OwnedFd,
    /// The kernel knows epoll_pwait2(2).
    is_exact: Cell<bool>,
}

/// What the kernel is asked to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Once: that there is something to read, or that the peer has ended.
    Read,
    /// As `Read`, and once that there is room to write. Every new connection has room, and would be told of for it; so it
    /// is asked for when a write was refused.
    ReadWrite,
    /// As long as there is something to read: for listeners, of whose queues one connection is taken at a time.
    Level,
    /// Once for each time that it was written to: for eventfds, which are never read.
    Notifier,
    /// Nothing.
    None,
}

impl Interest {
    /// Edge-triggered (epoll(7)), but for `Level`.
    fn flags(self) -> EventFlags {
        let read = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        match self {
            Self::Read => read,
            Self::ReadWrite => read | EventFlags::OUT,
            Self::Level => EventFlags::IN,
            Self::Notifier => EventFlags::IN | EventFlags::ET,
            Self::None => EventFlags::empty(),
        }
    }
}

/// What happened to a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness(EventFlags);

impl Readiness {
    /// The peer will send no more, or the connection is broken.
    #[inline]
    pub fn ended(self) -> bool {
        self.0.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR)
    }

    /// A read may find something, be it the end or an error.
    #[inline]
    pub fn readable(self) -> bool {
        self.0.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR)
    }

    /// A write may succeed, or find an error.
    #[inline]
    pub fn writable(self) -> bool {
        self.0.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR)
    }
}

impl Poll {
    /// An empty one.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)?, is_exact: Cell::new(true) })
    }

    /// Watches a descriptor from now on; what is true already is told, too.
    ///
    /// # Errors
    /// The system's limit of watches is reached (`fs.epoll.max_user_watches`).
    pub fn register(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token.to_bits()), interest.flags())?)
    }

    /// Changes how a descriptor is watched, and tells again what is true. That needs no memory.
    ///
    /// # Errors
    /// It is not watched.
    pub fn reregister(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(token.to_bits()), interest.flags())?)
    }

    /// Watches a descriptor no more that others of the process have open, too: closing it here would not be enough.
    pub fn deregister(&self, fd: impl AsFd) {
        // It fails only if it is not watched.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits until something happens, at most for `timeout`, and puts what it was into `events`.
    ///
    /// Whole milliseconds are waited for with epoll_wait(2), others with epoll_pwait2(2), exact to what the thread's timer
    /// slack allows (`PR_SET_TIMERSLACK`).
    ///
    /// # Errors
    /// A signal came first; the next call finds the same.
    #[inline]
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().min(1 << 30) as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        });
        if let Some(timeout) = timeout
            && timeout.tv_nsec % 1_000_000 != 0
            && self.is_exact.get()
        {
            return self.wait_exactly(events, timeout);
        }
        epoll::wait(&self.epoll, spare_capacity(&mut events.0), timeout.as_ref())?;
        Ok(())
    }

    fn wait_exactly(&self, events: &mut Events, timeout: Timespec) -> io::Result<()> {
        match exact_wait::wait(&self.epoll, &mut events.0, timeout) {
            // Older kernels, and sandboxes that do not know the call.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                self.is_exact.set(false);
                epoll::wait(&self.epoll, spare_capacity(&mut events.0), Some(&timeout))?;
                Ok(())
            }
            waited => waited.map(|_| ()),
        }
    }
}

/// What happened, as the kernel told it at once.
pub struct Events(Vec<epoll::Event>);

impl Events {
    /// Room for so many at a time.
    pub fn with_capacity(most: usize) -> Self {
        Self(Vec::with_capacity(most))
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the time was over first.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One of them.
    #[inline]
    pub fn get(&self, index: usize) -> Option<(Token, Readiness)> {
        let epoll::Event { data, flags } = *self.0.get(index)?;
        Some((Token::from_bits(data.u64()), Readiness(flags)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn poll() -> (Poll, Events) {
        (Poll::new().expect("a descriptor"), Events::with_capacity(8))
    }

    /// What has happened already.
    fn told(poll: &Poll, events: &mut Events) -> Vec<(Token, [bool; 3])> {
        poll.wait(events, Some(Duration::ZERO)).expect("no signal");
        let told = |at| events.get(at).map(|(token, r)| (token, [r.readable(), r.ended(), r.writable()]));
        (0..events.len()).filter_map(told).collect()
    }

    #[test]
    fn what_was_asked_for_is_told_once_and_by_its_token() {
        let (poll, mut events) = poll();
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let token = Token::new(Kind::Connection, 7, 3);
        poll.register(&ours, token, Interest::Read).expect("watched");
        assert_eq!(told(&poll, &mut events), []);
        theirs.write_all(b"x").expect("sent");
        assert_eq!(told(&poll, &mut events), [(token, [true, false, false])]);
        assert_eq!(told(&poll, &mut events), [], "nothing more has come");
        poll.reregister(&ours, token, Interest::ReadWrite).expect("watched");
        assert_eq!(told(&poll, &mut events), [(token, [true, false, true])]);
        drop(theirs);
        assert_eq!(told(&poll, &mut events), [(token, [true, true, true])]);
        poll.reregister(&ours, token, Interest::Read).expect("watched");
        poll.deregister(&ours);
        assert_eq!(told(&poll, &mut events), []);
    }

    #[test]
    fn a_queue_is_told_of_as_long_as_something_is_in_it_and_not_while_nothing_is_asked() {
        let (poll, mut events) = poll();
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let token = Token::new(Kind::Listener, 1, 0);
        poll.register(&ours, token, Interest::Level).expect("watched");
        theirs.write_all(b"x").expect("sent");
        for _ in 0..2 {
            assert_eq!(told(&poll, &mut events), [(token, [true, false, false])]);
        }
        poll.reregister(&ours, token, Interest::None).expect("watched");
        assert_eq!(told(&poll, &mut events), []);
    }

    #[test]
    fn waiting_is_exact_to_less_than_a_millisecond() {
        let (poll, mut events) = poll();
        let waits = (0..50).map(|_| {
            let began = std::time::Instant::now();
            poll.wait(&mut events, Some(Duration::from_micros(200))).expect("no signal");
            assert!(events.is_empty());
            began.elapsed()
        });
        let shortest = waits.min().expect("some");
        assert!(
            shortest >= Duration::from_micros(200) && shortest < Duration::from_micros(900),
            "{shortest:?}"
        );
    }
}
