//! What comes of a call: a response, or none.

use super::call::Call;
use super::cause::{Cause, Phase};
use super::tunnel::Tunnel;
use hayami_http::{Content, ResponseHead};
use std::fmt;
use std::time::Duration;

/// A response.
#[derive(Debug)]
pub struct Reply {
    /// Status and fields as they came, those of framing and connection among them.
    pub head: ResponseHead,
    /// Its content. To a HEAD request it is what GET would have got, as far as that was said: it has a
    /// length and no bytes.
    pub content: Content,
    /// The connection, if the upstream goes on in another protocol: the status is 101 then, and no other time.
    pub tunnel: Option<Tunnel>,
    /// The upstream closes the connection behind it.
    pub closes: bool,
    /// How long what took.
    pub timing: Timing,
}

/// How long the parts of a call took, from its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Until there was a connection; `None` if one was used again.
    pub connected: Option<Duration>,
    /// Until the request had left; that of the head if it was answered before.
    pub sent: Duration,
    /// Until the response's head was there.
    pub head: Duration,
    /// Bytes of the request's head, as they were sent; zero if they are not counted (HTTP/2).
    pub request_head: usize,
    /// Bytes of the response's heads, interim ones included; likewise.
    pub response_head: usize,
}

/// No response.
pub struct Failure {
    /// How far it had come.
    pub phase: Phase,
    /// What was wrong.
    pub cause: Cause,
    /// Since the call began.
    pub elapsed: Duration,
    /// The call, if it may be sent elsewhere: nothing of it can have arrived, or it is repeatable, and its
    /// content is untouched.
    pub call: Option<Call>,
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({}: {}, after {:?})", self.phase, self.cause, self.elapsed)
    }
}
