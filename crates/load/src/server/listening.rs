//! Listening sockets of this machine, as /proc/net shows them (proc_net(5)).

use crate::plan::Address;
use std::collections::HashSet;
use std::fs::read_to_string;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

/// TCP_LISTEN of the kernel's states.
const LISTEN: &str = "0A";

/// Whether connections to this address stay on this machine.
pub(super) fn is_local(address: &Address) -> bool {
    match address {
        Address::Unix(_) => true,
        // Only an address of this machine can be bound. No packet is sent.
        Address::Tcp(address) => address.ip().is_loopback() || UdpSocket::bind((address.ip(), 0)).is_ok(),
    }
}

/// Inodes of the sockets that listen there.
pub(super) fn inodes(address: &Address) -> HashSet<u64> {
    match address {
        Address::Tcp(address) => {
            let texts =
                ["/proc/net/tcp", "/proc/net/tcp6"].map(|file| read_to_string(file).unwrap_or_default());
            texts.iter().flat_map(|text| tcp(text, *address)).collect()
        }
        Address::Unix(path) => unix(&read_to_string("/proc/net/unix").unwrap_or_default(), path),
    }
}

/// The sockets of a table that accept connections to `wanted`.
fn tcp(table: &str, wanted: SocketAddr) -> HashSet<u64> {
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let listening = rows.filter(|row| row.get(3) == Some(&LISTEN));
    let rows =
        listening.filter(|row| row.get(1).and_then(|text| local(text)).is_some_and(|own| takes(own, wanted)));
    rows.filter_map(|row| row.get(9)?.parse().ok()).collect()
}

/// Whether a socket that listens on `own` takes connections to `wanted`.
fn takes(own: SocketAddr, wanted: SocketAddr) -> bool {
    // An IPv6 socket for all addresses takes IPv4 too, unless IPV6_V6ONLY is set (RFC 3493 §5.3).
    let all = own.ip().is_unspecified() && (own.is_ipv6() || wanted.is_ipv4());
    own.port() == wanted.port() && (all || own.ip().to_canonical() == wanted.ip().to_canonical())
}

/// `0100007F:1F90`: 32-bit words in native byte order, then the port.
fn local(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words: Option<Vec<[u8; 4]>> = (0..address.len() / 8)
        .map(|word| Some(u32::from_str_radix(address.get(8 * word..8 * word + 8)?, 16).ok()?.to_ne_bytes()))
        .collect();
    let bytes = words?.concat();
    let ip: IpAddr = match bytes.len() {
        4 => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into(),
        _ => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into(),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// `Num RefCount Protocol Flags Type St Inode Path`: a listening socket has `__SO_ACCEPTCON` in its flags.
fn unix(table: &str, wanted: &Path) -> HashSet<u64> {
    const ACCEPTS: u32 = 1 << 16;
    let wanted = std::path::absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let flags = u32::from_str_radix(words.nth(3)?, 16).ok()?;
        let inode = words.nth(2)?.parse().ok()?;
        // The path is the one that the server passed to bind, possibly relative.
        let path = Path::new(words.next()?);
        (flags & ACCEPTS != 0 && wanted.ends_with(path.strip_prefix("./").unwrap_or(path))).then_some(inode)
    };
    table.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode\n\
        0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 11 1 x 100 0 0 10 0\n\
        1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 12 1 x 100 0 0 10 0\n\
        2: 0100007F:1F90 0100007F:ABCD 01 00000000:00000000 00:00000000 00000000 0 0 13 1 x 100 0 0 10 0\n";

    #[test]
    #[cfg(target_endian = "little")]
    fn listeners_of_the_table_are_found_by_address_and_port() {
        let found = |wanted: &str| tcp(TCP, wanted.parse().expect("an address"));
        assert_eq!(found("127.0.0.1:8080"), HashSet::from([11]), "connections are none");
        assert_eq!(found("127.0.0.1:80"), HashSet::from([12]), "listens on all");
        assert_eq!(found("127.0.0.2:8080"), HashSet::new());
        assert_eq!(found("[::1]:80"), HashSet::new());
    }

    #[test]
    fn a_socket_for_all_of_ipv6_takes_ipv4_too() {
        let address = |text: &str| text.parse().expect("an address");
        assert!(takes(address("[::]:80"), address("127.0.0.1:80")));
        assert!(takes(address("[::ffff:127.0.0.1]:80"), address("127.0.0.1:80")));
        assert!(!takes(address("[::1]:80"), address("127.0.0.1:80")));
        assert!(!takes(address("0.0.0.0:80"), address("[::1]:80")));
    }

    #[test]
    fn listening_unix_sockets_are_found_by_path() {
        let table = "Num RefCount Protocol Flags Type St Inode Path\n\
            0: 00000002 00000000 00010000 0001 01 21 /run/a.sock\n\
            1: 00000003 00000000 00000000 0001 03 22 /run/a.sock\n\
            2: 00000002 00000000 00010000 0001 01 23\n";
        assert_eq!(unix(table, Path::new("/run/a.sock")), HashSet::from([21]));
        assert_eq!(unix(table, Path::new("/run/b.sock")), HashSet::new());
    }
}
