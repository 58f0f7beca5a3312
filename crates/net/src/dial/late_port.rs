//! `IP_BIND_ADDRESS_NO_PORT` (ip(7)): a source address without the port that bind(2) would take for it.
//!
//! With it the kernel chooses the port when it knows the peer, so that a port serves once for each peer and
//! not once for all; without it a source address is good for 28,000 connections, whatever they go to.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, OwnedFd};

/// Asks for it. Kernels that do not know it take a port at once, and that is no error.
pub(super) fn set(fd: &OwnedFd) {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the kernel reads as many octets behind the pointer as `on` has.
    unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        );
    }
}
