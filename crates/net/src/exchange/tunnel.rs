//! Special handling of tunnels (RFC 9110 §7.8, §9.3.6; RFC 8441; RFC 9113 §8.5).
//!
//! Data flows in both directions at once, so data from the client has to move even if the client does not read:
//! asking the response content for bytes, even for none, moves both directions (see
//! [`Upgrade`](crate::service::Upgrade)). The end of one direction does not affect the other.

use super::protocol::{Protocol, Reset};
use super::{Exchange, Progress};
use crate::request_body::BodySender;

impl Exchange {
    /// Whether it is a tunnel.
    #[inline]
    pub(crate) fn is_tunnel(&self) -> bool {
        self.tunnel && !self.awaits_answer()
    }

    /// Whether the client of a tunnel still sends, and its data has a reader.
    pub(super) fn is_heard(&self) -> bool {
        self.tunnel && self.content.as_ref().is_some_and(BodySender::is_open)
    }

    /// Only the client's side is still open.
    pub(super) fn receive_rest<P: Protocol>(&mut self, protocol: &mut P) -> Progress {
        let Some(feed) = &self.content else { return Progress::Complete };
        if feed.is_open() {
            return Progress::Pending;
        }
        if !feed.is_complete() {
            protocol.stop_receiving(Reset::Tunnel);
        }
        Progress::Complete
    }
}
