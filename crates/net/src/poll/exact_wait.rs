//! epoll_pwait2(2): waiting with nanosecond resolution. `rustix` rounds up to milliseconds wherever the older call
//! suffices; with a schedule of 2,000 requests per second, each would be sent half a millisecond late.
#![allow(unsafe_code)]

use rustix::event::Timespec;
use rustix::event::epoll::Event;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Waits, and stores events in `events` up to its capacity; previous contents are discarded.
///
/// # Errors
/// `Unsupported` on kernels before 5.11; `Interrupted` by a signal.
pub(super) fn wait(epoll: &OwnedFd, events: &mut Vec<Event>, timeout: Timespec) -> io::Result<usize> {
    events.clear();
    // The kernel's layout on every architecture; libc's differs on 32-bit ones.
    let timeout: [i64; 2] = [timeout.tv_sec, timeout.tv_nsec];
    // SAFETY: the descriptor is open; the kernel writes at most `capacity` events, whose layout `Event` has by
    // definition, and reads a timeout of two 64-bit numbers; there is no signal mask.
    let count = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            events.as_mut_ptr(),
            events.capacity().min(1 << 16) as libc::c_int,
            timeout.as_ptr(),
            std::ptr::null::<libc::c_void>(),
            0_usize,
        )
    };
    let Ok(count) = usize::try_from(count) else { return Err(io::Error::last_os_error()) };
    // SAFETY: the kernel has initialized this many events, which is within the capacity.
    unsafe { events.set_len(count) };
    Ok(count)
}
