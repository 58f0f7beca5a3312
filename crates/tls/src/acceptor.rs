//! What a listener answers handshakes with.

/// Settings by server name.
#[derive(Debug)]
pub struct Acceptor;
