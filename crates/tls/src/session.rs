//! One connection's TLS, without its socket.

use crate::Lookup;

/// How far a session is.
#[derive(Debug)]
pub enum Progress {
    /// More octets of the peer are needed.
    Handshaking,
    /// A remote store may have the client's session.
    NeedsLookup(Lookup),
    /// The handshake is over; said once.
    Established,
    /// In use.
    Open,
    /// The peer sends no more.
    PeerClosed,
}

/// One connection's TLS.
#[derive(Debug)]
pub struct Session;
