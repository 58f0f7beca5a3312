//! The PROXY protocol (HAProxy's `proxy-protocol.txt`, versions 1 and 2): a header at the start of a connection by
//! which a load balancer passes on the addresses of the original one. Parses and writes headers; no sockets.

use crate::network::Network;
use crate::service::Address;
use std::fmt;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Bytes of the longest version 1 line, including CRLF (§2.1).
const LONGEST_LINE: usize = 107;
/// The prefix of a version 1 line.
const WORD: &[u8] = b"PROXY ";
/// The prefix of a version 2 header (§2.2).
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Bytes of a version 2 header in front of the addresses.
const FIXED: usize = 16;
/// Bytes of the longest header accepted. Addresses take 216 bytes at most; the TLVs that balancers add (TLS, names,
/// checksums) take a few hundred and are ignored.
pub const LONGEST: usize = 4096;

/// Which connections begin with a header. By default all do, and must.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// The trusted peers; `None`: all peers.
    pub from: Option<Arc<[Network]>>,
    /// The header is optional for trusted peers, and other peers may connect without one.
    pub optional: bool,
}

/// What is expected of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// A header is required.
    Header,
    /// A header is optional.
    Either,
    /// No header: bytes that look like one belong to the connection.
    None,
    /// The peer may not connect at all.
    Nobody,
}

impl Expectation {
    /// What is expected of a connection from this peer.
    pub(crate) fn of(&self, peer: &Address) -> Expected {
        let is_believed = match (&self.from, peer) {
            (None, _) => true,
            (Some(networks), Address::Ip(peer)) => networks.iter().any(|own| own.contains(peer.ip())),
            (Some(_), Address::Unix) => false,
        };
        match (is_believed, self.optional) {
            (true, false) => Expected::Header,
            (true, true) => Expected::Either,
            (false, true) => Expected::None,
            (false, false) => Expected::Nobody,
        }
    }
}

/// Both ends of a connection as announced by a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The client's address.
    pub peer: Address,
    /// The address the client connected to.
    pub local: Address,
}

/// Result of parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// An incomplete header.
    Partial,
    /// A complete header.
    Whole {
        /// Length of the header; what follows belongs to the connection.
        bytes: usize,
        /// The announced addresses. `None`: the connection is the balancer's own (a health check), or the address
        /// family is unknown; the socket's addresses apply.
        ends: Option<Ends>,
    },
}

/// Why a header is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection does not begin with a header.
    Absent,
    /// A malformed version 1 line or address.
    Line,
    /// An unknown version.
    Version,
    /// An unknown command.
    Command,
    /// The header is shorter than its addresses.
    Short,
    /// The header is longer than [`LONGEST`], or a line is longer than 107 bytes.
    Long,
    /// The connection ended within the header.
    Cut,
    /// The header did not arrive in time.
    Late,
    /// The peer is not allowed to send a header.
    Stranger,
}

/// The protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => {
                "the PROXY protocol header is missing: `proxy-protocol` of `listen` requires one on every \
                 connection"
            }
            Self::Line => "the PROXY protocol line is malformed",
            Self::Version => "unsupported PROXY protocol version",
            Self::Command => "unsupported PROXY protocol command",
            Self::Short => "the PROXY protocol header is too short for its addresses",
            Self::Long => "the PROXY protocol header is too long",
            Self::Cut => "the connection ended within the PROXY protocol header",
            Self::Late => "the PROXY protocol header did not arrive in time",
            Self::Stranger => {
                "this address is not in `from` of `proxy-protocol`, and only those may connect here"
            }
        })
    }
}

/// Parses the bytes at the front of a connection. Empty input is an incomplete header.
///
/// # Errors
/// The bytes cannot be a header, whatever follows.
pub fn parse(bytes: &[u8]) -> Result<Parsed, Fault> {
    let begins = |with: &[u8]| bytes.iter().zip(with).all(|(own, wanted)| own == wanted);
    if begins(WORD) {
        return line(bytes);
    }
    if begins(SIGNATURE) {
        return binary(bytes);
    }
    Err(Fault::Absent)
}

/// Parses version 1: `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443` and CRLF.
fn line(bytes: &[u8]) -> Result<Parsed, Fault> {
    let within = &bytes[..bytes.len().min(LONGEST_LINE)];
    let Some(end) = memchr_newline(within) else {
        return if within.len() == LONGEST_LINE { Err(Fault::Long) } else { Ok(Parsed::Partial) };
    };
    let text =
        within[..end].strip_suffix(b"\r").and_then(|text| str::from_utf8(text).ok()).ok_or(Fault::Line)?;
    let words: Vec<&str> = text.split(' ').collect();
    let ends = match words[1..] {
        // The rest of the line is ignored (§2.1).
        ["UNKNOWN", ..] => None,
        ["TCP4", peer, local, from, to] => Some(ends_of::<Ipv4Addr>([peer, local], [from, to])?),
        ["TCP6", peer, local, from, to] => Some(ends_of::<Ipv6Addr>([peer, local], [from, to])?),
        _ => return Err(Fault::Line),
    };
    Ok(Parsed::Whole { bytes: end + 1, ends })
}

fn memchr_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

fn ends_of<A: std::str::FromStr + Into<IpAddr>>(hosts: [&str; 2], ports: [&str; 2]) -> Result<Ends, Fault> {
    let end = |host: &str, digits: &str| {
        let host: A = host.parse().ok()?;
        let plain = digits == "0" || !digits.starts_with(['0', '+']);
        let port: u16 = digits.parse().ok().filter(|_| plain)?;
        Some(Address::Ip(SocketAddr::new(host.into(), port)))
    };
    let [peer, local] = [0, 1].map(|at| end(hosts[at], ports[at]));
    Ok(Ends { peer: peer.ok_or(Fault::Line)?, local: local.ok_or(Fault::Line)? })
}

/// Parses version 2.
fn binary(bytes: &[u8]) -> Result<Parsed, Fault> {
    if bytes.get(12).is_some_and(|byte| byte >> 4 != 2) {
        return Err(Fault::Version);
    }
    if bytes.get(12).is_some_and(|byte| byte & 15 > 1) {
        return Err(Fault::Command);
    }
    let Some(fixed) = bytes.get(..FIXED) else { return Ok(Parsed::Partial) };
    let len = FIXED + usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if len > LONGEST {
        return Err(Fault::Long);
    }
    let Some(body) = bytes.get(FIXED..len) else { return Ok(Parsed::Partial) };
    let is_local = fixed[12] & 15 == 0;
    let ends = if is_local { None } else { binary_ends(fixed[13], body)? };
    Ok(Parsed::Whole { bytes: len, ends })
}

/// Reads the addresses; the TLVs behind them are skipped.
fn binary_ends(family: u8, body: &[u8]) -> Result<Option<Ends>, Fault> {
    let ip = |address: IpAddr, port: &[u8]| {
        Address::Ip(SocketAddr::new(address, u16::from_be_bytes([port[0], port[1]])))
    };
    Ok(Some(match family {
        // AF_INET, SOCK_STREAM
        0x11 => {
            let own: [u8; 12] = front(body)?;
            let v4 = |at: usize| IpAddr::from([own[at], own[at + 1], own[at + 2], own[at + 3]]);
            Ends { peer: ip(v4(0), &own[8..]), local: ip(v4(4), &own[10..]) }
        }
        // AF_INET6, SOCK_STREAM
        0x21 => {
            let own: [u8; 36] = front(body)?;
            let v6 = |at: usize| front::<16>(&own[at..]).map(IpAddr::from);
            Ends { peer: ip(v6(0)?, &own[32..]), local: ip(v6(16)?, &own[34..]) }
        }
        // AF_UNIX, SOCK_STREAM: two paths of 108 bytes.
        0x31 => {
            front::<216>(body)?;
            Ends { peer: Address::Unix, local: Address::Unix }
        }
        // §2.2: receivers treat unsupported families as unspecified.
        _ => return Ok(None),
    }))
}

fn front<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Fault> {
    bytes.first_chunk().copied().ok_or(Fault::Short)
}

/// Appends a header that announces these addresses.
pub fn write(version: Version, peer: &Address, local: &Address, out: &mut Vec<u8>) {
    let ips = match (peer, local) {
        (Address::Ip(peer), Address::Ip(local)) => same_family(*peer, *local),
        _ => None,
    };
    match version {
        Version::V1 => write_line(ips, out),
        Version::V2 => write_binary(ips, out),
    }
}

/// Both addresses as IPv4, or both as IPv6.
fn same_family(peer: SocketAddr, local: SocketAddr) -> Option<(SocketAddr, SocketAddr)> {
    let plain = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
    let mapped = |end: SocketAddr| match end.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), end.port()),
        IpAddr::V6(_) => end,
    };
    let (peer, local) = (plain(peer), plain(local));
    Some(if peer.is_ipv4() == local.is_ipv4() { (peer, local) } else { (mapped(peer), mapped(local)) })
}

fn write_line(ends: Option<(SocketAddr, SocketAddr)>, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = match ends {
        None => write!(out, "PROXY UNKNOWN\r\n"),
        Some((peer, local)) => {
            let family = if peer.is_ipv4() { "TCP4" } else { "TCP6" };
            let (from, to) = (peer.port(), local.port());
            write!(out, "PROXY {family} {} {} {from} {to}\r\n", peer.ip(), local.ip())
        }
    };
}

fn write_binary(ends: Option<(SocketAddr, SocketAddr)>, out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    let Some((peer, local)) = ends else {
        // PROXY, AF_UNSPEC.
        return out.extend_from_slice(&[0x21, 0, 0, 0]);
    };
    out.extend_from_slice(if peer.is_ipv4() { &[0x21, 0x11, 0, 12] } else { &[0x21, 0x21, 0, 36] });
    for end in [peer, local] {
        match end.ip() {
            IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
            IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
        }
    }
    out.extend_from_slice(&peer.port().to_be_bytes());
    out.extend_from_slice(&local.port().to_be_bytes());
}
