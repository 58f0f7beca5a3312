//! Waiting for kernel events and for timeouts.
//!
//! ```text
//! epoll ── Poll ── Events: (Token, Readiness) ── Slots: the entry with that token, unless its slot was reused
//!            └ Interest                            ▲
//!                                 wake-ups: (Token, stream)
//! timeouts ┬ Deadlines  100 ms: two stores to move one; every connection has one and almost none expires
//!          └ Timers     1 ms: a timing wheel; a task creates one and awaits it
//! ```
//!
//! Everything that is registered, woken or waited for is named by a [`Token`]: its kind, its slot, and a generation
//! that distinguishes successive entries in that slot. A late event or wake-up, whose connection is gone and whose
//! slot is in use again, is dropped in one place: [`Slots::get_mut`] finds nothing for it.
//!
//! The server's loop, upstream connections and the load generator share this module. It contains no sockets,
//! protocols or tasks.

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

/// An epoll instance of one thread, for descriptors it does not own. The kernel itself removes a descriptor that is
/// closed.
pub struct Poll {
    epoll: OwnedFd,
    /// The kernel supports epoll_pwait2(2).
    is_exact: Cell<bool>,
}

/// The events to report for a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Once when it becomes readable or the peer has shut down its side.
    Read,
    /// As `Read`, and once when it becomes writable. Every new connection is writable and would cause an event at
    /// once, so this is requested only after a write would have blocked.
    ReadWrite,
    /// As long as it is readable: for listeners, which accept one connection at a time.
    Level,
    /// Once per write to it: for eventfds, which are never read.
    Notifier,
    /// No events.
    None,
}

impl Interest {
    /// Edge-triggered (epoll(7)) except for `Level`.
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

/// The events reported for a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness(EventFlags);

impl Readiness {
    /// The peer has shut down its side, or the connection is broken.
    #[inline]
    pub fn ended(self) -> bool {
        self.0.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR)
    }

    /// A read will not block; it may return end of file or an error.
    #[inline]
    pub fn readable(self) -> bool {
        self.0.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR)
    }

    /// A write may succeed or return an error.
    #[inline]
    pub fn writable(self) -> bool {
        self.0.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR)
    }
}

impl Poll {
    /// Creates an instance that watches nothing.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)?, is_exact: Cell::new(true) })
    }

    /// Starts watching a descriptor; conditions that already hold are reported too.
    ///
    /// # Errors
    /// The limit of epoll watches is reached (`fs.epoll.max_user_watches`).
    pub fn register(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token.to_bits()), interest.flags())?)
    }

    /// Changes the interest in a descriptor, and reports again what holds. This needs no memory.
    ///
    /// # Errors
    /// The descriptor is not registered.
    pub fn reregister(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(token.to_bits()), interest.flags())?)
    }

    /// Stops watching a descriptor that is open elsewhere in the process too: closing it here would not be enough.
    pub fn deregister(&self, fd: impl AsFd) {
        // This fails only if the descriptor is not registered.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits for events, at most for `timeout`, and stores them in `events`.
    ///
    /// Timeouts of whole milliseconds use epoll_wait(2), others epoll_pwait2(2), whose precision is the thread's
    /// timer slack (`PR_SET_TIMERSLACK`).
    ///
    /// # Errors
    /// A signal interrupted the wait; the next call reports the same events.
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
            // Older kernels, and sandboxes that block the system call.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                self.is_exact.set(false);
                epoll::wait(&self.epoll, spare_capacity(&mut events.0), Some(&timeout))?;
                Ok(())
            }
            waited => waited.map(|_| ()),
        }
    }
}

/// The events returned by one wait.
pub struct Events(Vec<epoll::Event>);

impl Events {
    /// Creates a buffer for at most this many events.
    pub fn with_capacity(most: usize) -> Self {
        Self(Vec::with_capacity(most))
    }

    /// Number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the wait timed out.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns one event.
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

    /// The events that have already occurred.
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
