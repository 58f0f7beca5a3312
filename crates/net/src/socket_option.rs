//! Socket options that `rustix` does not support.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

/// Sets an integer option. Errors are ignored, as on kernels without the option: only use it for options that are not
/// needed for correctness.
pub fn set(socket: impl AsFd, level: libc::c_int, option: libc::c_int, value: u32) {
    // SAFETY: the descriptor is open during the call, and the kernel reads only `size_of_val(&value)` bytes behind
    // the pointer.
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
