//! How a peer breaks the protocol.

/// Why a session is over before its time. The alert for it is in the octets to be sent already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The first octets are an HTTP request in clear.
    PlainHttp,
    /// The first octets are neither a TLS record nor HTTP.
    NotTls,
    /// No certificate for this name, and no default.
    UnknownName,
    /// The peer gave up with this alert (RFC 8446 §6).
    Alert(u8),
    /// The peer broke a rule; which, in words.
    Protocol(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Fault {}
