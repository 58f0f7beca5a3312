//! The system's resolver: getaddrinfo(3), which uses /etc/hosts and /etc/nsswitch.conf.
#![allow(unsafe_code)]

use super::{Family, no_such_name, temporary};
use std::ffi::{CStr, CString};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// The addresses of a host, of one family or both, in the order of RFC 6724.
///
/// # Errors
/// The name does not exist or has no such address, or the lookup failed for now.
pub(super) fn addresses(host: &str, port: u16, family: Option<Family>) -> io::Result<Vec<SocketAddr>> {
    let name = CString::new(host).map_err(|_| no_such_name(host))?;
    // SAFETY: all-zero bytes are a valid `addrinfo`.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    hints.ai_socktype = libc::SOCK_STREAM;
    hints.ai_family = match family {
        None => libc::AF_UNSPEC,
        Some(Family::V4) => libc::AF_INET,
        Some(Family::V6) => libc::AF_INET6,
    };
    let mut list = std::ptr::null_mut();
    // SAFETY: the name ends in NUL, and all pointers are valid for the call.
    let code = unsafe { libc::getaddrinfo(name.as_ptr(), std::ptr::null(), &raw const hints, &raw mut list) };
    if code != 0 {
        return Err(error(host, code));
    }
    let list = List(list);
    let mut addresses = Vec::new();
    let mut next = list.0;
    // SAFETY: every pointer of the list is null or to an element that lives as long as the list.
    while let Some(element) = unsafe { next.as_ref() } {
        addresses.extend(address(element, port).filter(|address| !addresses.contains(address)));
        next = element.ai_next;
    }
    if addresses.is_empty() { Err(no_such_name(host)) } else { Ok(addresses) }
}

/// The list allocated by getaddrinfo.
struct List(*mut libc::addrinfo);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: it was allocated by getaddrinfo, and there are no pointers into it left.
        unsafe { libc::freeaddrinfo(self.0) };
    }
}

fn address(element: &libc::addrinfo, port: u16) -> Option<SocketAddr> {
    match element.ai_family {
        libc::AF_INET => {
            // SAFETY: the family determines the type of the address.
            let address = unsafe { element.ai_addr.cast::<libc::sockaddr_in>().as_ref() }?;
            let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, port).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let address = unsafe { element.ai_addr.cast::<libc::sockaddr_in6>().as_ref() }?;
            let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
            Some(SocketAddrV6::new(ip, port, 0, address.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Converts an error code of getaddrinfo.
#[cold]
fn error(host: &str, code: libc::c_int) -> io::Error {
    /// The name has no address of the family; glibc only.
    const EAI_NODATA: libc::c_int = -5;
    const EAI_ADDRFAMILY: libc::c_int = -9;
    match code {
        libc::EAI_NONAME | EAI_NODATA | EAI_ADDRFAMILY => no_such_name(host),
        libc::EAI_AGAIN => temporary("no name server responded"),
        libc::EAI_SYSTEM => io::Error::last_os_error(),
        code => {
            // SAFETY: the C library returns a static string for any code.
            let text = unsafe { CStr::from_ptr(libc::gai_strerror(code)) };
            io::Error::other(text.to_string_lossy().into_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_its_own_addresses() {
        let both = addresses("localhost", 80, None).expect("every machine has it");
        let of = |family| addresses("localhost", 80, Some(family)).unwrap_or_default();
        let (v4, v6) = (of(Family::V4), of(Family::V6));
        assert!(v4.iter().all(SocketAddr::is_ipv4) && v6.iter().all(SocketAddr::is_ipv6), "{v4:?} {v6:?}");
        assert!(both.iter().all(|own| v4.contains(own) || v6.contains(own)), "{both:?}");
        assert_eq!(both[0].port(), 80);
    }

    #[test]
    fn a_name_that_is_none_is_told_from_one_that_cannot_be_looked_up_now() {
        // Longer than a label may be: no name server is queried.
        for name in ["a".repeat(64), "a\0b".to_owned()] {
            let error = addresses(&name, 80, None).expect_err("no name");
            assert!(!super::super::is_temporary(&error), "{error}");
        }
        let told = |code| error("a", code).to_string();
        assert_eq!(told(libc::EAI_NONAME), "`a` does not exist or has no address");
        assert_eq!(told(libc::EAI_AGAIN), "temporary failure: no name server responded");
        assert!(super::super::is_temporary(&error("a", libc::EAI_AGAIN)));
    }
}
