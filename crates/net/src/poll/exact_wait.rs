//! epoll_pwait2(2): waiting for nanoseconds. `rustix` rounds up to milliseconds wherever that can be had from the
//! older call; a schedule of 2,000 requests a second would send each of them half a millisecond late.
#![allow(unsafe_code)]

use rustix::event::Timespec;
use rustix::event::epoll::Event;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Waits, and puts what happened into `events`, which has to be empty, as far as its capacity goes.
///
/// # Errors
/// `Unsupported` with kernels before 5.11; `Interrupted` by a signal.
pub(super) fn wait(epoll: &OwnedFd, events: &mut Vec<Event>, timeout: Timespec) -> io::Result<usize> {
    events.clear();
    // The kernel's form of it on every architecture, which libc's is not on those of 32 bits.
    let timeout: [i64; 2] = [timeout.tv_sec, timeout.tv_nsec];
    // SAFETY: the descriptor is open; the kernel writes at most `capacity` events of the layout that `Event`
    // has by its definition, and reads a timeout of two 64-bit numbers; there is no signal mask.
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
    // SAFETY: the kernel has written so many events, and no more than the capacity.
    unsafe { events.set_len(count) };
    Ok(count)
}
