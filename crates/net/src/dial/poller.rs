//! An epoll of one thread, for sockets that it does not own.

use super::exact_wait;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Events taken from the kernel at once.
const EVENTS: usize = 128;

/// Watches sockets, edge-triggered (epoll(7)): what happens is told once. A socket that is closed is
/// forgotten by the kernel itself.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
    /// The kernel knows epoll_pwait2(2).
    is_exact: bool,
}

/// What happened to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// What it is watched by.
    pub token: u64,
    /// A read may find something, be it the end or an error.
    pub readable: bool,
    /// The peer will send no more, or the connection is broken.
    pub ended: bool,
    /// A write may succeed, or find an error.
    pub writable: bool,
}

impl Poller {
    /// An empty one.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, events: Vec::with_capacity(EVENTS), is_exact: true })
    }

    /// Watches a socket from now on; what is true already is told, too. To be told that it can be written
    /// costs a wake-up on every new connection, so it has to be asked for.
    ///
    /// # Errors
    /// The system's limit of watches is reached.
    pub fn watch(&self, socket: impl AsFd, token: u64, writable: bool) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token), flags(writable))?)
    }

    /// Changes how a socket is watched, and tells again what is true.
    ///
    /// # Errors
    /// It is not watched.
    pub fn watch_again(&self, socket: impl AsFd, token: u64, writable: bool) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(token), flags(writable))?)
    }

    /// Waits until something happens, at most for `timeout`, exact to what the thread's timer slack allows
    /// (`PR_SET_TIMERSLACK`). Gives how much happened; [`get`](Self::get) says what.
    ///
    /// # Errors
    /// None that a caller could do something about.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().min(1 << 30) as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        });
        match self.wait_for(timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            result => result,
        }
    }

    fn wait_for(&mut self, timeout: Option<Timespec>) -> io::Result<usize> {
        if let (true, Some(timeout)) = (self.is_exact, timeout) {
            match exact_wait::wait(&self.epoll, &mut self.events, timeout) {
                // Older kernels, and sandboxes that do not know the call.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                    self.is_exact = false;
                }
                result => return result,
            }
        }
        self.events.clear();
        Ok(epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref())?)
    }

    /// One of the things that happened.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Ready> {
        let Event { data, flags } = *self.events.get(index)?;
        let broken = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let ended = broken || flags.contains(EventFlags::RDHUP);
        Some(Ready {
            token: data.u64(),
            readable: ended || flags.contains(EventFlags::IN),
            ended,
            writable: broken || flags.contains(EventFlags::OUT),
        })
    }
}

fn flags(writable: bool) -> EventFlags {
    let both = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    if writable { both | EventFlags::OUT } else { both }
}
