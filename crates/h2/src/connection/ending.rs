//! How streams and the connection end: errors, resets, GOAWAY (RFC 9113 §5.4, §6.8).

use super::{Core, Phase, Role, Step};
use crate::abuse::Kind;
use crate::code::ErrorCode;
use crate::config::Config;
use crate::event::Key;
use crate::fault::Fault;
use crate::frame;

/// The progress of this side's GOAWAY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Going {
    No,
    /// The peer has been notified; its requests in transit are still answered (RFC 9113 §6.8).
    Announced,
    /// The last stream has been named.
    Final,
}

impl Going {
    pub(super) fn is_final(self) -> bool {
        self == Self::Final
    }
}

/// The streams that this side reset last while the peer could still send: frames on them were sent before the
/// peer knew (RFC 9113 §5.1). Only connections on which that happens allocate this.
#[derive(Debug, Default)]
pub(crate) struct ResetStreams {
    ids: Vec<u32>,
    oldest: usize,
}

impl ResetStreams {
    /// More than a round trip of a well-behaved client needs.
    const MOST: usize = 128;

    #[inline]
    pub(super) fn contains(&self, id: u32) -> bool {
        self.ids.contains(&id)
    }

    fn remember(&mut self, id: u32) {
        if self.ids.len() < Self::MOST {
            self.ids.push(id);
        } else {
            self.ids[self.oldest] = id;
            self.oldest = (self.oldest + 1) % Self::MOST;
        }
    }
}

impl<T: Default> Core<T> {
    /// Ends the connection for a fault: GOAWAY is written.
    #[cold]
    pub(crate) fn fail(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        if self.phase != Phase::Failed {
            self.phase = Phase::Failed;
            frame::goaway(self.last_of_peer(), code, out);
        }
    }

    /// Resets a stream because of a peer's fault (RFC 9113 §5.4.2). `id` may be that of a stream that was
    /// never opened.
    #[cold]
    pub(crate) fn stream_error(
        &mut self,
        config: &Config,
        id: u32,
        fault: Fault,
        out: &mut Vec<u8>,
    ) -> Result<Step<T>, Fault> {
        frame::rst_stream(id, fault.code(), out);
        if self.role == Role::Server {
            self.abuse.spend(Kind::ProvokedReset, &config.budgets, self.now)?;
        }
        let Some(slot) = self.streams.find(id) else { return Ok(Step::Handled) };
        if self.streams[slot].halves.peer_sends() {
            self.expect_discarded(id, self.streams[slot].receive_window.available());
        }
        let key = self.streams.key(slot);
        let data = self.close(slot, out);
        Ok(Step::Reset { key, data, code: fault.code(), fault: Some(fault) })
    }

    /// Resets a stream before it was opened; the peer may not have ended it.
    #[cold]
    pub(crate) fn refuse(
        &mut self,
        config: &Config,
        id: u32,
        ended: bool,
        code: ErrorCode,
        out: &mut Vec<u8>,
    ) {
        frame::rst_stream(id, code, out);
        if !ended {
            self.expect_discarded(id, self.first_window(config));
        }
    }

    /// The peer may still send on a stream that this side has closed, as much as its window allows: what it
    /// sent before it received RST_STREAM is discarded. If it sends more, it ignores RST_STREAM.
    fn expect_discarded(&mut self, id: u32, window: u32) {
        if self.role == Role::Server {
            self.reset.remember(id);
        }
        self.allow_discarded(window);
    }

    /// This many bytes may come on closed streams, and no more in all than the larger of one stream's and the
    /// connection's window: more cannot be in transit.
    pub(crate) fn allow_discarded(&mut self, window: u32) {
        let most = self.receive_window.size().max(window);
        self.discardable = self.discardable.saturating_add(window).min(most);
    }

    /// Resets a stream at the caller's request. Returns the caller's data.
    pub(crate) fn reset(&mut self, key: Key, code: ErrorCode, out: &mut Vec<u8>) -> Option<T> {
        let slot = self.streams.slot(key)?;
        let halves = self.streams[slot].halves;
        if halves.we_send() || halves.peer_sends() {
            frame::rst_stream(key.id, code, out);
        }
        if halves.peer_sends() {
            self.expect_discarded(key.id, self.streams[slot].receive_window.available());
        }
        Some(self.close(slot, out))
    }

    /// Frees a stream's slot. Its unconsumed content is granted to the connection again.
    #[inline]
    pub(super) fn close(&mut self, slot: u32, out: &mut Vec<u8>) -> T {
        self.unready(slot);
        self.abuse.earn(Kind::Stale, 4);
        self.grown -= std::mem::take(&mut self.streams[slot].grown);
        let unconsumed = std::mem::take(&mut self.streams[slot].unconsumed);
        if unconsumed > 0 {
            self.credit_connection(unconsumed, 0, out);
        }
        if self.finished.is_some_and(|finished| finished.slot == slot) {
            self.finished = None;
        }
        self.streams.close(slot)
    }

    /// Frees the slot of the stream that the last event ended.
    #[inline]
    pub(super) fn drop_finished(&mut self, out: &mut Vec<u8>) {
        if let Some(finished) = self.finished {
            self.abuse.earn(Kind::RapidReset, 1);
            self.close(finished.slot, out);
        }
    }

    /// GOAWAY in two steps (RFC 9113 §6.8): the first call announces it; the second, to be made after a round
    /// trip, says that streams beyond the last one seen are not answered.
    pub(crate) fn go_away(&mut self, out: &mut Vec<u8>) {
        match (self.phase, self.going) {
            (Phase::Failed, _) | (_, Going::Final) => {}
            (_, Going::No) if self.role == Role::Server => {
                self.going = Going::Announced;
                frame::goaway(0x7fff_ffff, ErrorCode::NO_ERROR, out);
            }
            (_, Going::No | Going::Announced) => {
                self.going = Going::Final;
                frame::goaway(self.last_of_peer(), ErrorCode::NO_ERROR, out);
            }
        }
    }

    /// The highest stream that the peer opened; servers open none.
    fn last_of_peer(&self) -> u32 {
        if self.role == Role::Server { self.last } else { 0 }
    }

    /// Whether a client may open streams: neither side is going away.
    pub(crate) fn takes_streams(&self) -> bool {
        self.phase != Phase::Failed && self.going == Going::No && self.peer_goes.is_none()
    }

    /// Closes and returns a stream beyond the last one that the peer processes.
    pub(crate) fn next_beyond_goaway(&mut self) -> Option<(Key, T)> {
        let last = self.peer_goes?.last;
        let slot = self.streams.slots().find(|slot| self.streams[*slot].id > last)?;
        let key = self.streams.key(slot);
        Some((key, self.close(slot, &mut Vec::new())))
    }

    /// Whether nothing more is to come in either direction: the transport may be closed.
    pub(crate) fn is_over(&self) -> bool {
        let nothing_new = self.going.is_final() || self.peer_goes.is_some();
        self.phase == Phase::Failed || (nothing_new && self.open_count() == 0)
    }

    /// Closes all streams and returns the caller's data.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.finished = None;
        (self.ready, self.grown) = (0, 0);
        self.schedule = Default::default();
        self.phase = Phase::Failed;
        self.streams.drain()
    }
}
