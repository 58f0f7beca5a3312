//! A connected socket that is read and written directly; epoll is used only after the kernel returned EAGAIN.

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

/// A non-blocking socket and its cached readiness (epoll(7), edge-triggered).
///
/// A new connection is read at once; if its request can be answered and the connection closed in the same turn, it is
/// never registered with epoll, which saves two system calls.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// A read may return something.
    readable: Cell<bool>,
    /// The peer has shut down its side: a read returns the rest, then end of file.
    ended: Cell<bool>,
    /// A write returned EAGAIN; it is retried after a writability event.
    blocked: Cell<bool>,
    /// The kernel holds back partial segments (`TCP_CORK`).
    corked: Cell<bool>,
    /// Registered with the loop's epoll.
    watched: Cell<bool>,
    /// Bytes that the kernel has accepted for sending.
    written: Cell<u64>,
}

impl Socket {
    /// Creates a socket of unknown readiness; the descriptor must be non-blocking.
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

    /// Returns the descriptor.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// Records a readiness event: the socket is readable; `ended` means the peer has shut down its side.
    pub fn may_read(&self, ended: bool) {
        self.readable.set(true);
        self.ended.set(self.ended.get() || ended);
    }

    /// Records a readiness event.
    #[inline]
    pub fn may(&self, readiness: Readiness) {
        if readiness.readable() {
            self.may_read(readiness.ended());
        }
        if readiness.writable() {
            self.may_write();
        }
    }

    /// Whether it is registered with the loop's epoll.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.get()
    }

    /// Records that it is registered with the loop's epoll.
    pub(crate) fn set_watched(&self) {
        self.watched.set(true);
    }

    /// Defers reads until a readiness event: the peer does not speak first.
    pub fn must_not_read(&self) {
        self.readable.set(false);
    }

    /// Whether an event has reported that the peer has shut down its side or is gone.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Whether a read may return something.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.readable.get()
    }

    /// Records a readiness event: the socket is writable.
    pub fn may_write(&self) {
        self.blocked.set(false);
    }

    /// Whether writes wait for a writability event.
    pub fn is_blocked(&self) -> bool {
        self.blocked.get()
    }

    /// Bytes that the peer has received, as reported by the kernel: for a slow peer, megabytes less than were
    /// written.
    #[cold]
    #[allow(unsafe_code)]
    pub(crate) fn delivered(&self) -> u64 {
        // SAFETY: TIOCOUTQ writes one int, the number of bytes not sent or not acknowledged (tcp(7), unix(7)).
        let waiting = unsafe {
            let unsent = Getter::<{ libc::TIOCOUTQ as Opcode }, libc::c_int>::new();
            rustix::ioctl::ioctl(&self.fd, unsent)
        };
        // If the kernel cannot report it, all accepted bytes count.
        self.written.get().saturating_sub(u64::try_from(waiting.unwrap_or(0)).unwrap_or(0))
    }

    /// Reads into the spare capacity of `buffer`: `Ok(0)` is end of file. `Pending`: nothing to read until a
    /// readiness event.
    ///
    /// A read that does not fill the buffer has drained the socket, so the next one waits for an event instead of
    /// making a system call in vain.
    #[inline]
    pub fn read(&self, buffer: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        while self.readable.get() {
            let room = buffer.capacity() - buffer.len();
            // recv(2) instead of read(2), which takes a longer path through the kernel's file layer.
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

    /// Like [`read`](Self::read), but reads at most `most` bytes, for which it reserves room.
    #[allow(unsafe_code)]
    pub fn read_at_most(&self, buffer: &mut Vec<u8>, most: usize) -> Poll<io::Result<usize>> {
        while self.readable.get() {
            buffer.reserve(most);
            let spare = &mut buffer.spare_capacity_mut()[..most];
            match rustix::net::recv(&self.fd, spare, RecvFlags::empty()) {
                Ok(((filled, _), _)) => {
                    let bytes = filled.len();
                    // SAFETY: the kernel has initialized this many bytes at the front of the spare capacity.
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

    /// Reads without consuming. The next read waits for a readiness event.
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

    /// Consumes bytes that were seen by [`peek`](Self::peek). More may follow.
    ///
    /// # Errors
    /// The peer is gone.
    pub(crate) fn take_seen(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.readable.set(true);
        let (taken, _) =
            rustix::io::retry_on_intr(|| rustix::net::recv(&self.fd, &mut *bytes, RecvFlags::empty()))?;
        if taken == bytes.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Asks the kernel, not just the cached readiness, whether the peer has neither sent anything nor shut down. If
    /// so, the next read waits for an event.
    pub fn is_quiet(&self) -> bool {
        let peek = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let quiet = matches!(rustix::net::recv(&self.fd, &mut [0; 1], peek), Err(Errno::AGAIN));
        self.readable.set(self.readable.get() && !quiet);
        quiet
    }

    /// Sends one piece. `more`: more data follows at once, so the kernel may hold back a partial segment.
    #[inline]
    pub fn send(&self, bytes: &[u8], more: bool) -> Poll<io::Result<usize>> {
        self.write(|fd| rustix::net::send(fd, bytes, send_flags(more)))
    }

    /// Sends several pieces in one system call.
    pub fn send_vectored(&self, pieces: &[IoSlice<'_>], more: bool) -> Poll<io::Result<usize>> {
        let none = || rustix::net::SendAncillaryBuffer::default();
        self.write(|fd| rustix::net::sendmsg(fd, pieces, &mut none(), send_flags(more)))
    }

    /// Sends a piece of a file without copying it through this process. `Ok(0)`: the file became shorter.
    pub fn sendfile(&self, slice: &FileSlice, most: u64) -> Poll<io::Result<usize>> {
        let count = usize::try_from(slice.len.min(most)).unwrap_or(usize::MAX);
        self.write(|fd| {
            let mut offset = slice.offset;
            rustix::fs::sendfile(fd, &*slice.file, Some(&mut offset), count)
        })
    }

    /// Makes the kernel send only full segments until this is turned off: for files sent in many pieces.
    #[inline]
    pub fn cork(&self, on: bool) {
        if self.corked.replace(on) != on {
            // Unix sockets have no segments and reject the option.
            let _ = rustix::net::sockopt::set_tcp_cork(&self.fd, on);
        }
    }

    /// Shuts down the sending side.
    pub fn shut_down_sending(&self) {
        // This fails only if the peer is already gone, which is just as well.
        let _ = rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Write);
    }

    /// Makes closing the socket send a reset, which tells the peer that the connection was aborted.
    #[cold]
    pub fn reset_on_close(&self) {
        // If this fails, the peer sees an ordinary end of file.
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
