//! Sends on streams: frames field blocks and content, and picks the next stream.

use super::Core;
use crate::abuse::Kind;
use crate::encode;
use crate::event::Key;
use crate::frame::{self, Header, Kind as FrameKind, flag};
use crate::stream::Halves;
use hayami_http::FieldSection;

impl<T: Default> Core<T> {
    /// Slot of a stream on which this side may send.
    #[inline]
    pub(crate) fn sending_slot(&self, key: Key) -> Option<u32> {
        self.streams.slot(key).filter(|slot| self.streams[*slot].halves.we_send())
    }

    /// Bytes of content that a stream may send now.
    #[inline]
    pub(crate) fn room(&self, key: Key) -> usize {
        self.sending_slot(key).map_or(0, |slot| self.room_of(slot))
    }

    /// Bytes of content that all streams together may send now.
    pub(crate) fn connection_room(&self) -> usize {
        self.send_window.room()
    }

    fn room_of(&self, slot: u32) -> usize {
        self.streams[slot].send_window.room().min(self.send_window.room())
    }

    /// Writes content, in as many frames as the peer's largest frame asks for.
    #[inline]
    pub(crate) fn send_data(&mut self, key: Key, bytes: &[u8], end: bool, out: &mut Vec<u8>) {
        let Some(slot) = self.sending_slot(key) else { return };
        let most = self.peer.max_frame as usize;
        out.reserve(bytes.len() + Header::LEN);
        let mut rest = bytes;
        while rest.len() > most {
            let (frame, behind) = rest.split_at(most);
            out.extend_from_slice(&frame::header(most, FrameKind::Data, 0, key.id));
            out.extend_from_slice(frame);
            rest = behind;
        }
        if !rest.is_empty() || end {
            let flags = if end { flag::END_STREAM } else { 0 };
            out.extend_from_slice(&frame::header(rest.len(), FrameKind::Data, flags, key.id));
            out.extend_from_slice(rest);
        }
        self.data_sent(slot, bytes.len(), end, out);
    }

    /// Writes the header of a DATA frame whose payload the caller appends.
    pub(crate) fn begin_data(&mut self, key: Key, len: usize, end: bool, out: &mut Vec<u8>) {
        debug_assert!(len <= self.peer.max_frame as usize);
        let Some(slot) = self.sending_slot(key) else { return };
        let flags = if end { flag::END_STREAM } else { 0 };
        out.extend_from_slice(&frame::header(len, FrameKind::Data, flags, key.id));
        self.data_sent(slot, len, end, out);
    }

    #[inline]
    fn data_sent(&mut self, slot: u32, bytes: usize, end: bool, out: &mut Vec<u8>) {
        // The peer grants windows for sent content, possibly after the stream's end: at most once for 4 KiB.
        let grants = (bytes as u32 >> 12) + 1;
        self.abuse.earn(Kind::TinyWindow, grants * 16);
        self.abuse.earn(Kind::Stale, grants * 2);
        // gRPC measures the bandwidth-delay product with a PING whenever content arrives.
        self.abuse.earn(Kind::Ping, grants);
        self.send_window.spend(bytes);
        let stream = &mut self.streams[slot];
        stream.send_window.spend(bytes);
        if end {
            self.end_sent(slot, out);
        } else if stream.flags.queued && stream.send_window.room() == 0 {
            self.schedule.remove(&mut self.streams, slot);
        }
    }

    /// This side has ended. The caller's data is dropped if the peer's side has ended too.
    #[inline]
    pub(crate) fn end_sent(&mut self, slot: u32, out: &mut Vec<u8>) {
        let stream = &mut self.streams[slot];
        if stream.halves == Halves::HalfClosedRemote {
            self.abuse.earn(Kind::RapidReset, 1);
            self.close(slot, out);
            return;
        }
        stream.halves = Halves::HalfClosedLocal;
        self.unready(slot);
    }

    /// Ends this side with trailers (RFC 9113 §8.1).
    pub(crate) fn send_trailers(&mut self, key: Key, trailers: &FieldSection, out: &mut Vec<u8>) {
        let Some(slot) = self.sending_slot(key) else { return };
        let start = out.len();
        out.extend_from_slice(&[0; Header::LEN]);
        self.encoder.begin(out);
        encode::fields(&mut self.encoder, trailers, out);
        self.frame_block(start, key.id, true, out);
        self.end_sent(slot, out);
    }

    /// Fills in the length of the frame begun at `start`; a block that is longer than the peer's largest
    /// frame is continued (RFC 9113 §6.10).
    #[inline]
    pub(crate) fn frame_block(&self, start: usize, id: u32, end: bool, out: &mut Vec<u8>) {
        let most = self.peer.max_frame as usize;
        let len = out.len() - start - Header::LEN;
        let end = if end { flag::END_STREAM } else { 0 };
        if len <= most {
            let header = frame::header(len, FrameKind::Headers, end | flag::END_HEADERS, id);
            out[start..start + Header::LEN].copy_from_slice(&header);
        } else {
            split_block(start, most, id, end, out);
        }
    }

    /// The stream whose turn it is, and how much it may send.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Key, usize)> {
        if self.schedule.is_empty() || self.send_window.room() == 0 {
            return None;
        }
        let slot = self.schedule.next(&self.streams)?;
        Some((self.streams.key(slot), self.room_of(slot)))
    }

    /// Whether a stream may send several frames in its turn.
    pub(crate) fn may_send_on(&self, key: Key) -> bool {
        let shares = |slot: u32| self.streams[slot].priority.incremental && self.schedule.len() > 1;
        self.sending_slot(key).is_some_and(|slot| !shares(slot))
    }

    /// The caller has content for a stream, or currently has none.
    pub(crate) fn set_ready(&mut self, key: Key, ready: bool) {
        let Some(slot) = self.sending_slot(key) else { return };
        if !ready {
            return self.unready(slot);
        }
        if !std::mem::replace(&mut self.streams[slot].flags.ready, true) {
            self.ready += 1;
        }
        self.requeue(slot);
    }

    /// Removes a stream from the schedule.
    #[inline]
    pub(super) fn unready(&mut self, slot: u32) {
        let flags = &mut self.streams[slot].flags;
        if std::mem::replace(&mut flags.ready, false) {
            self.ready -= 1;
            self.schedule.remove(&mut self.streams, slot);
        }
    }

    /// Adds a stream to the schedule or removes it after its window has changed.
    pub(super) fn requeue(&mut self, slot: u32) {
        let stream = &self.streams[slot];
        if stream.flags.ready && stream.send_window.room() > 0 {
            self.schedule.insert(&mut self.streams, slot);
        } else {
            self.schedule.remove(&mut self.streams, slot);
        }
    }

    /// Whether content of a stream waits only for a window.
    pub(crate) fn has_stalled(&self) -> bool {
        self.ready > self.schedule.len() || self.is_all_stalled()
    }

    /// Whether content waits only for the connection's window.
    pub(crate) fn is_all_stalled(&self) -> bool {
        self.ready > 0 && self.send_window.room() == 0
    }

    /// Whether the content of a stream waits for its own window.
    pub(crate) fn is_stalled(&self, key: Key) -> bool {
        self.sending_slot(key).is_some_and(|slot| {
            let stream = &self.streams[slot];
            stream.flags.ready && stream.send_window.room() == 0
        })
    }
}

#[cold]
fn split_block(start: usize, most: usize, id: u32, end: u8, out: &mut Vec<u8>) {
    let block = out.split_off(start + Header::LEN);
    out.truncate(start);
    let last = block.len().div_ceil(most) - 1;
    for (at, piece) in block.chunks(most).enumerate() {
        let kind = if at == 0 { FrameKind::Headers } else { FrameKind::Continuation };
        let flags = if at == 0 { end } else { 0 } | if at == last { flag::END_HEADERS } else { 0 };
        out.extend_from_slice(&frame::header(piece.len(), kind, flags, id));
        out.extend_from_slice(piece);
    }
}
