//! A connected socket: read and written directly, asking the loop only when the kernel says "not now".

use crate::register::register;
use hayami_http::FileSlice;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A socket, known to the loop or not yet.
///
/// A fresh connection is read at once; if its request can be answered and the connection closed in the
/// same turn, the loop never hears of it and three system calls are saved.
#[derive(Debug)]
pub enum Socket {
    /// Accepted, not registered; `emptied` once a read found nothing more.
    Fresh {
        /// The descriptor.
        fd: OwnedFd,
        /// The next read waits for the loop.
        emptied: Cell<bool>,
    },
    /// Registered with the loop.
    Registered(AsyncFd<OwnedFd>),
    /// Nothing any more.
    Closed,
}

impl Socket {
    /// A socket the loop does not know; it must be non-blocking.
    pub fn new(fd: OwnedFd) -> Self {
        Self::Fresh { fd, emptied: Cell::new(false) }
    }

    /// Registers the socket with the loop of the current worker.
    ///
    /// # Errors
    /// The kernel has no room for one more (`fs.epoll.max_user_watches`); the socket is closed then.
    pub fn register(&mut self) -> io::Result<()> {
        *self = match std::mem::replace(self, Self::Closed) {
            Self::Fresh { fd, .. } => {
                Self::Registered(register(fd, Interest::READABLE | Interest::WRITABLE)?)
            }
            other => other,
        };
        Ok(())
    }

    /// Reads into the spare capacity of `buffer`: `Ok(0)` is the end of the stream.
    ///
    /// A read that does not fill the buffer has emptied the socket, so the next one waits for the loop
    /// instead of asking the kernel in vain (epoll(7), edge-triggered).
    pub fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        let fd = match self {
            Self::Fresh { fd, emptied } => return read_fresh(fd, emptied, buffer),
            Self::Registered(fd) => fd,
            Self::Closed => return Poll::Ready(Ok(0)),
        };
        loop {
            let mut guard = ready!(fd.poll_read_ready(cx))?;
            let room = buffer.capacity() - buffer.len();
            match receive(fd.get_ref(), buffer) {
                Ok(octets) => {
                    if octets < room {
                        guard.clear_ready();
                    }
                    return Poll::Ready(Ok(octets));
                }
                Err(Errno::AGAIN) => guard.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// Sends one piece. `more`: something follows at once, so the kernel may hold back a partial segment.
    pub fn poll_send(&self, cx: &mut Context<'_>, octets: &[u8], more: bool) -> Poll<io::Result<usize>> {
        let flags = send_flags(more);
        self.poll_write(cx, |fd| rustix::net::send(fd, octets, flags))
    }

    /// Sends several pieces in one system call.
    pub fn poll_send_vectored(
        &self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
        more: bool,
    ) -> Poll<io::Result<usize>> {
        let flags = send_flags(more);
        let none = || rustix::net::SendAncillaryBuffer::default();
        self.poll_write(cx, |fd| rustix::net::sendmsg(fd, pieces, &mut none(), flags))
    }

    /// Sends a piece of a file without it passing through this process. `Ok(0)`: the file is shorter
    /// than it was.
    pub fn poll_sendfile(
        &self,
        cx: &mut Context<'_>,
        slice: &FileSlice,
        most: u64,
    ) -> Poll<io::Result<usize>> {
        let count = usize::try_from(slice.len.min(most)).unwrap_or(usize::MAX);
        self.poll_write(cx, |fd| {
            let mut offset = slice.offset;
            rustix::fs::sendfile(fd, &*slice.file, Some(&mut offset), count)
        })
    }

    /// Tells the peer that nothing more will come.
    pub fn shut_down_sending(&self) {
        if let Some(fd) = self.fd() {
            // It fails only if the peer is gone already, which is as good.
            let _ = rustix::net::shutdown(fd, rustix::net::Shutdown::Write);
        }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Fresh { fd, .. } => Some(fd.as_fd()),
            Self::Registered(fd) => Some(fd.get_ref().as_fd()),
            Self::Closed => None,
        }
    }

    fn poll_write(
        &self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(BorrowedFd<'_>) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let Some(socket) = self.fd() else { return Poll::Ready(Err(io::ErrorKind::NotConnected.into())) };
        loop {
            match write(socket) {
                Ok(octets) => return Poll::Ready(Ok(octets)),
                Err(Errno::AGAIN) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Poll::Ready(Err(error.into())),
            }
            let Self::Registered(fd) = self else { return Poll::Pending };
            // The loop thinks the socket writable until told otherwise; then it tells us of the change.
            ready!(fd.poll_write_ready(cx))?.clear_ready();
            if fd.poll_write_ready(cx)?.is_pending() {
                return Poll::Pending;
            }
        }
    }
}

fn send_flags(more: bool) -> SendFlags {
    if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL }
}

/// recv(2) and not read(2), which takes the longer way through the kernel's file layer.
fn receive(fd: &OwnedFd, buffer: &mut Vec<u8>) -> rustix::io::Result<usize> {
    rustix::net::recv(fd, spare_capacity(buffer), RecvFlags::empty()).map(|(octets, _)| octets)
}

fn read_fresh(fd: &OwnedFd, emptied: &Cell<bool>, buffer: &mut Vec<u8>) -> Poll<io::Result<usize>> {
    if emptied.get() {
        return Poll::Pending;
    }
    let room = buffer.capacity() - buffer.len();
    let result = receive(fd, buffer);
    emptied.set(!matches!(result, Ok(octets) if octets == room));
    match result {
        Err(Errno::AGAIN | Errno::INTR) => Poll::Pending,
        other => Poll::Ready(other.map_err(Into::into)),
    }
}
