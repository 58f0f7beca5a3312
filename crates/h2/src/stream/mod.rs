//! One stream: its slot, of which a connection has a slab.

mod index;
mod table;

pub(crate) use table::Streams;

use crate::priority::Priority;
use crate::window::{ReceiveWindow, SendWindow};

/// "No slot" in links between slots.
pub(crate) const NONE: u32 = u32::MAX;

/// Which sides of an open stream still send (RFC 9113 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halves {
    /// Both.
    Open,
    /// Only the peer: this side has ended.
    HalfClosedLocal,
    /// Only this side: the peer has ended.
    HalfClosedRemote,
    /// None: the caller's data stays until the next call of `receive`.
    Closed,
}

impl Halves {
    /// Whether this side may still send.
    pub(crate) fn we_send(self) -> bool {
        matches!(self, Self::Open | Self::HalfClosedRemote)
    }

    /// Whether the peer may still send.
    pub(crate) fn peer_sends(self) -> bool {
        matches!(self, Self::Open | Self::HalfClosedLocal)
    }
}

/// The remaining content of a message has no known length.
pub(crate) const UNKNOWN_LENGTH: u64 = u64::MAX;

/// A stream. It's kept small, since a connection may have a thousand of them.
#[derive(Debug)]
pub(crate) struct Stream<T> {
    /// Its number; 0 is a free slot.
    pub(crate) id: u32,
    pub(crate) halves: Halves,
    pub(crate) priority: Priority,
    pub(crate) flags: Flags,
    /// Neighbours in the queue of the schedule; `next` links free slots too.
    pub(crate) next: u32,
    pub(crate) previous: u32,
    pub(crate) send_window: SendWindow,
    pub(crate) receive_window: ReceiveWindow,
    /// The window's growth, taken from the budget that a connection's streams share.
    pub(crate) grown: u32,
    /// Bytes that were handed to the caller and are not yet consumed.
    pub(crate) unconsumed: u32,
    /// Bytes of content that are still to come by Content-Length, or [`UNKNOWN_LENGTH`].
    pub(crate) expected: u64,
    pub(crate) data: T,
}

/// Further properties of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// The request is HEAD: its response has no content (RFC 9110 §9.3.2).
    pub(crate) is_head: bool,
    /// The request is CONNECT: what follows a 2xx is a tunnel (RFC 9113 §8.5).
    pub(crate) is_connect: bool,
    /// A final response head was sent, or received.
    pub(crate) answered: bool,
    /// The caller has content to send.
    pub(crate) ready: bool,
    /// It is in a queue of the schedule.
    pub(crate) queued: bool,
    /// Interim responses received.
    pub(crate) interim: u16,
}
