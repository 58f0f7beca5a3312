//! Events in transit, in the worker's wheel.

use hayami_net::poll;

/// A step of the wheel is 2^16 ns: 66 µs, the maximum delay of an entry.
const STEP_BITS: u32 = 16;
/// Steps of a turn: 2.1 seconds. Anything due later stays for another turn.
const STEPS: usize = 1 << 15;

/// The event that an entry triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A connection is opened, after this many consecutive failures.
    Open(u32),
    /// The first segment of a connection reaches the server.
    Dial,
    /// The client learns that it is connected.
    Known,
    /// The client learns that the connection was refused.
    Refused,
    /// This many bytes reach the client.
    Arrived(u32),
    /// The server's end reaches the client.
    Ended,
    /// The client learns that the connection is broken.
    Broken,
    /// This many bytes reach the server.
    Leave(u32),
    /// The client's end reaches the server.
    Close,
}

/// Something in transit. The generation identifies entries of connections that no longer exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
    pub(crate) what: Due,
}

/// Entries by the time at which they are due, in nanoseconds.
pub(crate) type Wheel = poll::Wheel<Entry>;

/// A wheel whose time is `now`.
pub(crate) fn wheel(now: u64) -> Wheel {
    Wheel::new(now, STEP_BITS, STEPS)
}
