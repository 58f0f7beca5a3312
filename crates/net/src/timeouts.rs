//! Timeouts of connections.

use crate::pace::Patience;
use std::time::Duration;

/// Grace period for tunnels at shutdown if none is configured: unlike responses, they do not end by themselves.
pub(crate) const LEAVE: Duration = Duration::from_secs(30);

/// Timeouts of connections.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a complete request head, and between requests.
    pub request: Duration,
    /// For a client that has to send request content and sends none.
    pub receive: Duration,
    /// For a client that reads nothing of a pending response.
    pub send: Duration,
    /// Bytes per second that restore the time of `receive` and `send` while a client is slow; 0: any byte does.
    pub min_rate: u32,
    /// For an HTTP/2 connection without open streams.
    pub idle: Duration,
    /// For a TLS handshake.
    pub handshake: Duration,
    /// Grace period at shutdown for open HTTP/2 streams and for tunnels; zero: no limit, and a default for tunnels.
    pub graceful: Duration,
    /// For the peer to close after the server has shut down its side, while bytes may be in transit.
    pub linger: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            request: seconds(10),
            receive: seconds(5),
            send: seconds(60),
            min_rate: 256,
            idle: seconds(10),
            handshake: seconds(10),
            graceful: Duration::ZERO,
            linger: seconds(2),
        }
    }
}

impl Timeouts {
    /// Applied to clients that have to send request content.
    pub(crate) fn receiving(&self) -> Patience {
        Patience { timeout: self.receive, min_rate: self.min_rate }
    }

    /// Applied to clients that have to read responses.
    pub(crate) fn sending(&self) -> Patience {
        Patience { timeout: self.send, min_rate: self.min_rate }
    }

    /// Applied to HTTP/2 clients all of whose streams wait for content.
    pub(crate) fn idling(&self) -> Patience {
        Patience { timeout: self.idle, min_rate: self.min_rate }
    }
}
