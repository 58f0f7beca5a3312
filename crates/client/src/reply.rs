//! The outcome of a call: a response or a failure.

use super::call::Call;
use super::cause::{Cause, Phase};
use super::tunnel::Tunnel;
use hayami_http::{Content, ResponseHead};
use std::fmt;
use std::time::Duration;

/// A response.
#[derive(Debug)]
pub struct Reply {
    /// Status and fields as received, including the framing and connection fields.
    pub head: ResponseHead,
    /// The content. For a HEAD request it carries the length that GET would have returned, if known, and no
    /// bytes.
    pub content: Content,
    /// The connection, if the upstream switches protocols, which is exactly when the status is 101.
    pub tunnel: Option<Tunnel>,
    /// Whether the upstream closes the connection after the response.
    pub closes: bool,
    /// Duration of each part of the call.
    pub timing: Timing,
}

/// Durations since the start of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Until connected; `None` if a connection was reused.
    pub connected: Option<Duration>,
    /// Until the request was sent; equal to `head` if the response arrived earlier.
    pub sent: Duration,
    /// Until the response head arrived.
    pub head: Duration,
    /// Bytes of the request head as sent; zero if not counted (HTTP/2).
    pub request_head: usize,
    /// Bytes of the response heads, interim ones included; zero if not counted.
    pub response_head: usize,
}

/// A failed call.
pub struct Failure {
    /// The phase in which it failed.
    pub phase: Phase,
    /// What went wrong.
    pub cause: Cause,
    /// Time since the call started.
    pub elapsed: Duration,
    /// The call, if it may be sent elsewhere: it cannot have reached the upstream or is repeatable, and its
    /// content is untouched.
    pub call: Option<Call>,
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({}: {}, after {:?})", self.phase, self.cause, self.elapsed)
    }
}
