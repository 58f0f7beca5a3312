//! Making a descriptor known to the loop.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the loop of the current worker.
///
/// # Errors
/// The kernel has no room for one more (`fs.epoll.max_user_watches`); the descriptor is closed then.
pub(crate) fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned by the AsyncFd from here on, so it is open and the same one until
    // the AsyncFd is dropped; nothing else closes or replaces it.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(|error| error.into_parts().1)
}
