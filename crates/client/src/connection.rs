//! One connection to an upstream: used by one exchange at a time, and idle in its backend's pool in between.

use super::engine::Engine;
use super::io_stream::IoStream;
use hayami_http::{Known, ResponseHead};
use hayami_net::buffer::Input;
use std::time::Duration;

/// A connection; dropping it closes it.
pub(super) struct Connection {
    pub(super) channel: IoStream,
    pub(super) engine: Engine,
    /// Bytes received but not yet parsed. Holds no memory while empty.
    pub(super) input: Input,
    /// The generation of the address list that it was made from.
    pub(super) peers: u32,
    /// How long the upstream keeps the idle connection by its own account, less one second for a request to arrive.
    pub(super) kept_for: Duration,
}

impl Connection {
    /// Creates a connection that has served no request yet.
    pub(super) fn new(channel: IoStream, engine: Engine, peers: u32) -> Box<Self> {
        Box::new(Self { channel, engine, input: Input::default(), peers, kept_for: Duration::MAX })
    }

    /// Notes the Keep-Alive timeout of a response. Node.js and Apache close idle connections after five
    /// seconds and announce that (RFC 2068 §19.7.1.1); reusing a connection at the last moment loses requests
    /// that cannot be retried.
    #[inline]
    pub(super) fn note_response_head(&mut self, head: &ResponseHead) {
        if let Some(value) = head.get(Known::KeepAlive) {
            self.kept_for = kept_for(value);
        }
    }

    /// Whether the connection can be reused. Unsolicited bytes would be taken for the next response
    /// (RFC 9112 §11.2).
    pub(super) fn is_fit(&self) -> bool {
        self.engine.is_idle() && self.input.is_empty() && self.channel.is_at_rest()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.input.end(self.channel.pool());
    }
}

/// Parses `timeout=5, max=100` and subtracts one second.
#[cold]
fn kept_for(value: &[u8]) -> Duration {
    let seconds = value.split(|byte| *byte == b',').find_map(|parameter| {
        let digits = parameter.trim_ascii().to_ascii_lowercase();
        std::str::from_utf8(digits.strip_prefix(b"timeout=")?).ok()?.parse().ok()
    });
    seconds
        .map_or(Duration::MAX, |seconds| Duration::from_secs(seconds).saturating_sub(Duration::from_secs(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_upstream_says_of_its_patience_is_understood() {
        let cases: [(&[u8], Option<u64>); 7] = [
            (b"timeout=5", Some(4)),
            (b"Timeout=60, max=100", Some(59)),
            (b"max=100,timeout=2 ", Some(1)),
            (b"timeout=0", Some(0)),
            (b"300", None),
            (b"timeout=-1", None),
            (b"", None),
        ];
        for (value, seconds) in cases {
            let want = seconds.map_or(Duration::MAX, Duration::from_secs);
            assert_eq!(kept_for(value), want, "{}", value.escape_ascii());
        }
    }
}
