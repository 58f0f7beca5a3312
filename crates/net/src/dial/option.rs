//! Socket options that `rustix` does not have.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, OwnedFd};

/// `IP_BIND_ADDRESS_NO_PORT` (ip(7)): a source address without the port that bind(2) would take for it.
///
/// With it the kernel chooses the port when it knows the peer, so that a port serves once for each peer and
/// not once for all; without it a source address is good for 28,000 connections, whatever they go to.
pub(super) fn choose_port_late(fd: &OwnedFd) {
    set(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1);
}

/// `TCP_DEFER_ACCEPT` (tcp(7)), which at the end that connects keeps the handshake's last segment back for 200 ms at
/// most, so that it rides on the first octets written. Linux does the same by itself when a write waits for the
/// handshake already.
pub(super) fn acknowledge_with_first_octets(fd: &OwnedFd) {
    set(fd, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, 1);
}

/// `IP_LOCAL_PORT_RANGE` (ip(7), Linux 6.3): the kernel takes this port and looks for no other one. 0: any port.
///
/// The search goes through the even ports first, one after the other: when 14,000 of them are in use, every further
/// connection costs the kernel a millisecond.
pub(super) fn choose_port(fd: &OwnedFd, port: u16) {
    const IP_LOCAL_PORT_RANGE: libc::c_int = 51;
    let (port, low_and_high) = (u32::from(port), 0x0001_0001);
    set(fd, libc::IPPROTO_IP, IP_LOCAL_PORT_RANGE, port * low_and_high);
}

/// Kernels that do not know an option do without: nothing becomes wrong by that.
fn set(fd: &OwnedFd, level: libc::c_int, option: libc::c_int, value: u32) {
    // SAFETY: the descriptor is open, and the kernel reads as many octets behind the pointer as `value` has.
    unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        );
    }
}
