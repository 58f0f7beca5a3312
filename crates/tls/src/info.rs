//! What a finished handshake agreed on.

/// The protocol within (RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpn {
    /// `h2`
    H2,
    /// `http/1.1`
    Http11,
}

/// What a finished handshake agreed on.
#[derive(Clone, Debug)]
pub struct Info;
