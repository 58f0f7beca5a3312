//! What differs for tunnels (RFC 9110 §7.8, §9.3.6; RFC 8441; RFC 9113 §8.5).
//!
//! Their content goes both ways at a time, so what the client sends must move even if it takes nothing: asking the
//! answer's content for bytes, be it for none, moves both directions (see [`Upgrade`](crate::service::Upgrade)). The end
//! of either direction leaves the other.

use super::protocol::{Protocol, Reset};
use super::{Exchange, Progress};
use crate::request_body::BodySender;

impl Exchange {
    /// Whether it is a tunnel.
    #[inline]
    pub(crate) fn is_tunnel(&self) -> bool {
        self.tunnel && !self.awaits_answer()
    }

    /// Whether the client of a tunnel still sends, and that has a reader.
    pub(super) fn is_heard(&self) -> bool {
        self.tunnel && self.content.as_ref().is_some_and(BodySender::is_open)
    }

    /// Only the client still sends.
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
