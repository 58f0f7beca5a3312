//! How long a connection may take for what.

use crate::pace::Patience;
use std::time::Duration;

/// How long tunnels may go on while the worker ends, if nothing is said of it: other than answers, they come to no end
/// by themselves.
pub(crate) const LEAVE: Duration = Duration::from_secs(30);

/// How long a connection may take for what.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a whole request head, and between two requests.
    pub request: Duration,
    /// For a client that owes request content and sends none.
    pub receive: Duration,
    /// For a client that takes nothing of the response that waits for it.
    pub send: Duration,
    /// Bytes per second that restore the time of `receive` and `send` while a client is slow; 0: any byte does.
    pub min_rate: u32,
    /// Without a stream, over HTTP/2.
    pub idle: Duration,
    /// For a TLS handshake.
    pub handshake: Duration,
    /// For the streams that are open when the worker is told to end, over HTTP/2; zero: for ever.
    pub graceful: Duration,
    /// For the peer to close after we said that we do, when bytes of its may still be on the way.
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
    /// With clients that owe content of requests.
    pub(crate) fn receiving(&self) -> Patience {
        Patience { timeout: self.receive, min_rate: self.min_rate }
    }

    /// With clients that take responses.
    pub(crate) fn sending(&self) -> Patience {
        Patience { timeout: self.send, min_rate: self.min_rate }
    }

    /// Over HTTP/2, with clients whose only streams wait for content.
    pub(crate) fn idling(&self) -> Patience {
        Patience { timeout: self.idle, min_rate: self.min_rate }
    }
}
