//! TCP_DEFER_ACCEPT, the one socket option of the race that rustix does not provide.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Seconds a connection may wait for its first bytes before the kernel shows it anyway; any small number.
const SECONDS: libc::c_int = 1;

/// Lets `accept` see a connection only when its first bytes are there (`tcp(7)`).
pub(crate) fn set(listener: &OwnedFd) -> io::Result<()> {
    let seconds = SECONDS;
    // SAFETY: the pointer is to a live c_int and the length is its size; the descriptor is open.
    let result = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
