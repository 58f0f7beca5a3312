//! A connected socket: read and written directly, asking the loop only when the kernel says "not now".

use crate::poll::Readiness;
use hayami_http::FileSlice;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode};
use rustix::net::{RecvFlags, SendFlags};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::Poll;

/// A non-blocking socket and what is known of its readiness (epoll(7), edge-triggered).
///
/// A fresh connection is read at once; if its request can be answered and the connection closed in the
/// same turn, the loop never hears of it and two system calls are saved.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// A read may find something.
    readable: Cell<bool>,
    /// The peer will send no more: a read finds the rest, then the end.
    ended: Cell<bool>,
    /// A write was refused; the loop has to tell when to try again.
    blocked: Cell<bool>,
    /// The kernel holds back segments that are not full (`TCP_CORK`).
    corked: Cell<bool>,
    /// The loop watches it.
    watched: Cell<bool>,
    /// Bytes that the kernel has taken to send.
    written: Cell<u64>,
}

impl Socket {
    /// A socket of which nothing is known yet; it must be non-blocking.
    pub fn new(fd: OwnedFd) -> Self {
        let no = || Cell::new(false);
        let written = Cell::new(0);
        Self {
            fd,
            readable: Cell::new(true),
            ended: no(),
            blocked: no(),
            corked: no(),
            watched: no(),
            written,
        }
    }

    /// The descriptor alone.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// The loop says that there is something to read; with `ended`, that it is the last.
    pub fn may_read(&self, ended: bool) {
        self.readable.set(true);
        self.ended.set(self.ended.get() || ended);
    }

    /// The loop has an event for it.
    #[inline]
    pub fn may(&self, readiness: Readiness) {
        if readiness.readable() {
            self.may_read(readiness.ended());
        }
        if readiness.writable() {
            self.may_write();
        }
    }

    /// Whether the loop watches it.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.get()
    }

    /// From now on the loop watches it.
    pub(crate) fn set_watched(&self) {
        self.watched.set(true);
    }

    /// There is nothing to read before the loop says so: the peer speaks second.
    pub fn must_not_read(&self) {
        self.readable.set(false);
    }

    /// Whether the loop has said that the peer will send no more, or is gone.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Whether a read may find something.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.readable.get()
    }

    /// The loop says that there is room to write.
    pub fn may_write(&self) {
        self.blocked.set(false);
    }

    /// Whether a write waits for the loop.
    pub fn is_blocked(&self) -> bool {
        self.blocked.get()
    }

    /// Bytes that the peer has received, as far as the kernel knows: for a slow peer megabytes fewer than were
    /// written.
    #[cold]
    #[allow(unsafe_code)]
    pub(crate) fn delivered(&self) -> u64 {
        // SAFETY: TIOCOUTQ writes one int, the number of bytes that are not sent or not acknowledged (tcp(7), unix(7)).
        let waiting = unsafe {
            let unsent = Getter::<{ libc::TIOCOUTQ as Opcode }, libc::c_int>::new();
            rustix::ioctl::ioctl(&self.fd, unsent)
        };
        // If the kernel cannot tell, what it has taken counts.
        self.written.get().saturating_sub(u64::try_from(waiting.unwrap_or(0)).unwrap_or(0))
    }

    /// Reads into the spare capacity of `buffer`: `Ok(0)` is the end of the stream. `Pending`: nothing
    /// there; the loop tells when there is.
    ///
    /// A read that does not fill the buffer has emptied the socket, so the next one waits for the loop
    /// instead of asking the kernel in vain.
    #[inline]
    pub fn read(&self, buffer: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        while self.readable.get() {
            let room = buffer.capacity() - buffer.len();
            // recv(2) and not read(2), which takes the longer way through the kernel's file layer.
            match rustix::net::recv(&self.fd, spare_capacity(buffer), RecvFlags::empty()) {
                Ok((bytes, _)) => {
                    self.readable.set(bytes == room || self.ended.get());
                    return Poll::Ready(Ok(bytes));
                }
                Err(Errno::AGAIN) => self.readable.set(false),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        Poll::Pending
    }

    /// As [`read`](Self::read), but `most` bytes at most, for which room is made.
    #[allow(unsafe_code)]
    pub fn read_at_most(&self, buffer: &mut Vec<u8>, most: usize) -> Poll<io::Result<usize>> {
        while self.readable.get() {
            buffer.reserve(most);
            let spare = &mut buffer.spare_capacity_mut()[..most];
            match rustix::net::recv(&self.fd, spare, RecvFlags::empty()) {
                Ok(((filled, _), _)) => {
                    let bytes = filled.len();
                    // SAFETY: the kernel has filled so many bytes from the front of the spare capacity.
                    unsafe { buffer.set_len(buffer.len() + bytes) };
                    self.readable.set(bytes == most || self.ended.get());
                    return Poll::Ready(Ok(bytes));
                }
                Err(Errno::AGAIN) => self.readable.set(false),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        Poll::Pending
    }

    /// What is there to read, which stays there. The next one waits for the loop to say that there is more.
    pub(crate) fn peek(&self, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        while self.readable.replace(false) {
            match rustix::net::recv(&self.fd, &mut *buffer, RecvFlags::PEEK) {
                Ok((bytes, _)) => return Poll::Ready(Ok(bytes)),
                Err(Errno::AGAIN) => {}
                Err(Errno::INTR) => self.readable.set(true),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        Poll::Pending
    }

    /// Takes bytes that were seen by [`peek`](Self::peek). There may be more.
    ///
    /// # Errors
    /// The peer is gone.
    pub(crate) fn take_seen(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.readable.set(true);
        let (taken, _) =
            rustix::io::retry_on_intr(|| rustix::net::recv(&self.fd, &mut *bytes, RecvFlags::empty()))?;
        if taken == bytes.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Asks the kernel, and not only the loop, whether the peer has neither sent something nor ended. If so, the next read
    /// waits for the loop.
    pub fn is_quiet(&self) -> bool {
        let peek = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let quiet = matches!(rustix::net::recv(&self.fd, &mut [0; 1], peek), Err(Errno::AGAIN));
        self.readable.set(self.readable.get() && !quiet);
        quiet
    }

    /// Sends one piece. `more`: something follows at once, so the kernel may hold back a partial segment.
    #[inline]
    pub fn send(&self, bytes: &[u8], more: bool) -> Poll<io::Result<usize>> {
        self.write(|fd| rustix::net::send(fd, bytes, send_flags(more)))
    }

    /// Sends several pieces in one system call.
    pub fn send_vectored(&self, pieces: &[IoSlice<'_>], more: bool) -> Poll<io::Result<usize>> {
        let none = || rustix::net::SendAncillaryBuffer::default();
        self.write(|fd| rustix::net::sendmsg(fd, pieces, &mut none(), send_flags(more)))
    }

    /// Sends a piece of a file without it passing through this process. `Ok(0)`: the file is shorter
    /// than it was.
    pub fn sendfile(&self, slice: &FileSlice, most: u64) -> Poll<io::Result<usize>> {
        let count = usize::try_from(slice.len.min(most)).unwrap_or(usize::MAX);
        self.write(|fd| {
            let mut offset = slice.offset;
            rustix::fs::sendfile(fd, &*slice.file, Some(&mut offset), count)
        })
    }

    /// Has the kernel send full segments only, until told otherwise: for files that leave in many pieces.
    #[inline]
    pub fn cork(&self, on: bool) {
        if self.corked.replace(on) != on {
            // A unix socket has no segments, and refuses.
            let _ = rustix::net::sockopt::set_tcp_cork(&self.fd, on);
        }
    }

    /// Tells the peer that nothing more will come.
    pub fn shut_down_sending(&self) {
        // It fails only if the peer is gone already, which is as good.
        let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Write);
    }

    /// Has the peer told by a reset that the connection broke off, when it is closed.
    #[cold]
    pub fn reset_on_close(&self) {
        // Without it the peer finds an ordinary end.
        let _ = rustix::net::sockopt::set_socket_linger(&self.fd, Some(std::time::Duration::ZERO));
    }

    fn write(
        &self,
        mut write: impl FnMut(BorrowedFd<'_>) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        while !self.blocked.get() {
            match write(self.fd.as_fd()) {
                Ok(bytes) => {
                    self.written.set(self.written.get() + bytes as u64);
                    return Poll::Ready(Ok(bytes));
                }
                Err(Errno::AGAIN) => self.blocked.set(true),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        Poll::Pending
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn send_flags(more: bool) -> SendFlags {
    if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    fn pair() -> (Socket, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        ours.set_nonblocking(true).expect("set");
        (Socket::new(ours.into()), theirs)
    }

    #[test]
    fn a_read_that_empties_the_socket_waits_for_the_loop() {
        let (socket, mut theirs) = pair();
        let mut buffer = Vec::with_capacity(8);
        theirs.write_all(b"abc").expect("sent");
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(3))));
        theirs.write_all(b"defghijk").expect("sent");
        assert!(socket.read(&mut buffer).is_pending(), "nobody said that there is more");
        socket.may_read(false);
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(5))));
        buffer.clear();
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(3))), "a filled buffer leaves it readable");
    }

    #[test]
    fn a_socket_that_is_quiet_waits_for_the_loop() {
        let (socket, mut theirs) = pair();
        let mut buffer = Vec::with_capacity(3);
        theirs.write_all(b"abc").expect("sent");
        assert!(!socket.is_quiet() && socket.is_readable());
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(3))));
        assert!(socket.is_readable(), "a filled buffer tells nothing");
        assert!(socket.is_quiet() && !socket.is_readable());
        socket.may_read(false);
        drop(theirs);
        assert!(!socket.is_quiet() && socket.is_readable(), "the end is something to read");
    }

    #[test]
    fn the_end_of_the_stream_is_seen_behind_the_last_bytes() {
        let (socket, mut theirs) = pair();
        theirs.write_all(b"abc").expect("sent");
        drop(theirs);
        socket.may_read(true);
        let mut buffer = Vec::with_capacity(8);
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(3))));
        assert!(matches!(socket.read(&mut buffer), Poll::Ready(Ok(0))));
    }

    #[test]
    fn a_refused_write_waits_until_there_is_room() {
        let (socket, mut theirs) = pair();
        let bytes = vec![7; 1 << 20];
        while socket.send(&bytes, false).is_ready() {}
        assert!(socket.is_blocked());
        theirs.read_exact(&mut vec![0; 1 << 16]).expect("read");
        assert!(socket.send(b"x", false).is_pending(), "nobody said that there is room");
        socket.may_write();
        assert!(socket.send(b"x", false).is_ready());
    }
}
