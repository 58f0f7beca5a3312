//! Options of sockets that `rustix` does not have.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

/// Sets an option that is a number. Kernels that do not know it do without: only what nothing becomes wrong without
/// is set here.
pub fn set(socket: impl AsFd, level: libc::c_int, option: libc::c_int, value: u32) {
    // SAFETY: the descriptor is open for the length of the call, and the kernel only reads as many bytes behind the pointer
    // as `value` has.
    unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        );
    }
}
