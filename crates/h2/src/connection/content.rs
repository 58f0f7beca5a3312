//! DATA: received content, and the windows it moves (RFC 9113 §6.1, §6.9).

use super::{Core, Role, Step};
use crate::abuse::Kind;
use crate::config::Config;
use crate::event::Key;
use crate::fault::Fault;
use crate::frame::{self, Header, Padded, flag};
use crate::state::{Action, Frame};
use crate::stream::{Halves, UNKNOWN_LENGTH};

/// DATA frames on closed streams are counted if they have fewer bytes.
const LITTLE: u32 = 256;

/// Content in the input, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) key: Key,
    /// Index in the input.
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) end: bool,
}

impl<T: Default> Core<T> {
    pub(super) fn receive_data(
        &mut self,
        config: &Config,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step<T>, Fault> {
        if header.stream == 0 {
            return Err(Fault::OnStreamZero);
        }
        let padded = frame::unpad(header, payload)?;
        let (state, slot) = self.state_of(header.stream);
        let action = state.on(Frame::Data);
        if let Action::ConnectionError(fault) = action {
            return Err(fault);
        }
        // RFC 9113 §6.9.1: the connection's window counts even if the stream is gone.
        self.receive_window.take(header.len as u32).ok_or(Fault::WindowExceeded)?;
        match (action, slot) {
            (Action::Accept, Some(slot)) => self.accept_data(config, header, padded, slot, out),
            (Action::StreamError(fault), _) => {
                self.credit_connection(header.len as u32, config.max_connection_window, out);
                self.stream_error(config, header.stream, fault, out)
            }
            _ => self.discard_data(config, header.len as u32, out),
        }
    }

    /// DATA on a closed stream. A whole window may have been in transit when this side closed the stream; a
    /// peer that sends more is disconnected, and small frames are also counted.
    #[cold]
    fn discard_data(&mut self, config: &Config, len: u32, out: &mut Vec<u8>) -> Result<Step<T>, Fault> {
        self.discardable = self.discardable.checked_sub(len).ok_or(Fault::DiscardedFlood)?;
        self.credit_connection(len, config.max_connection_window, out);
        if len >= LITTLE { Ok(Step::Handled) } else { self.count(Kind::Stale, config) }
    }

    fn accept_data(
        &mut self,
        config: &Config,
        header: Header,
        padded: Padded,
        slot: u32,
        out: &mut Vec<u8>,
    ) -> Result<Step<T>, Fault> {
        let (bytes, end) = (padded.len as u32, header.has(flag::END_STREAM));
        let stream = &mut self.streams[slot];
        let taken = match self.role {
            // RFC 9113 §8.1: a response begins with its head.
            Role::Client if !stream.flags.answered => Err(Fault::MissingResponse),
            _ => stream.take(header.len as u32, bytes, end),
        };
        if let Err(fault) = taken {
            self.credit_connection(header.len as u32, config.max_connection_window, out);
            return self.stream_error(config, header.stream, fault, out);
        }
        stream.unconsumed += bytes;
        self.abuse.earn(Kind::Ping, u32::from(bytes > 0));
        let key = self.streams.key(slot);
        // Padding has no consumer, so it's granted again at once.
        let padding = header.len as u32 - bytes;
        if padding > 0 {
            self.credit_connection(padding, config.max_connection_window, out);
            self.credit_stream(slot, padding, 0, out);
        }
        if end {
            self.end_received(slot);
        } else if bytes == 0 {
            return self.count(Kind::EmptyData, config);
        }
        Ok(Step::Content(Content { key, start: Header::LEN + padded.start, len: padded.len, end }))
    }

    /// The peer has ended its side.
    pub(crate) fn end_received(&mut self, slot: u32) {
        let stream = &mut self.streams[slot];
        if stream.halves == Halves::Open {
            stream.halves = Halves::HalfClosedRemote;
        } else {
            stream.halves = Halves::Closed;
            self.finished = Some(self.streams.key(slot));
        }
    }

    /// The caller has consumed content.
    pub(crate) fn consumed(&mut self, config: &Config, key: Key, bytes: usize, out: &mut Vec<u8>) {
        let Some(slot) = self.streams.slot(key) else { return };
        let bytes = self.settle(slot, bytes);
        self.credit_connection(bytes, config.max_connection_window, out);
        self.credit_stream(slot, bytes, config.max_stream_window, out);
    }

    /// The caller buffers content, and reports its consumption later.
    pub(crate) fn release_connection_window(
        &mut self,
        config: &Config,
        key: Key,
        bytes: usize,
        out: &mut Vec<u8>,
    ) {
        let Some(slot) = self.streams.slot(key) else { return };
        let bytes = self.settle(slot, bytes);
        self.credit_connection(bytes, config.max_connection_window, out);
    }

    /// The caller has consumed buffered content.
    ///
    /// Buffered content takes memory, so the windows of one connection's streams grow together no further
    /// than [`Config::max_windows_grown`].
    pub(crate) fn release_stream_window(
        &mut self,
        config: &Config,
        key: Key,
        bytes: usize,
        out: &mut Vec<u8>,
    ) {
        let Some(slot) = self.streams.slot(key) else { return };
        let before = self.streams[slot].receive_window.size();
        let left = config.max_windows_grown.saturating_sub(self.grown);
        let most = config.max_stream_window.min(before.saturating_add(left));
        self.credit_stream(slot, bytes as u32, most, out);
        let grown = self.streams[slot].receive_window.size() - before;
        self.streams[slot].grown += grown;
        self.grown += grown;
    }

    /// The unconsumed bytes of a closed stream were granted to the connection when it closed: these bytes are
    /// not granted twice.
    fn settle(&mut self, slot: u32, bytes: usize) -> u32 {
        let stream = &mut self.streams[slot];
        let bytes = (bytes as u32).min(stream.unconsumed);
        stream.unconsumed -= bytes;
        bytes
    }

    /// Grants bytes again to a stream, if more content is to come. `most`: see
    /// [`Growth`](crate::window::Growth).
    fn credit_stream(&mut self, slot: u32, bytes: u32, most: u32, out: &mut Vec<u8>) {
        let growth = self.growth(most);
        let stream = &mut self.streams[slot];
        if !stream.halves.peer_sends() {
            return;
        }
        if let Some(increment) = stream.receive_window.consume(bytes, growth) {
            frame::window_update(stream.id, increment, out);
        }
    }

    /// Grants bytes again to the connection alone. `most`: see [`Growth`](crate::window::Growth).
    pub(super) fn credit_connection(&mut self, bytes: u32, most: u32, out: &mut Vec<u8>) {
        let growth = self.growth(most);
        if let Some(increment) = self.receive_window.consume(bytes, growth) {
            frame::window_update(0, increment, out);
        }
    }
}

impl<T> crate::stream::Stream<T> {
    /// A DATA frame of `len` bytes with padding, `bytes` without.
    fn take(&mut self, len: u32, bytes: u32, end: bool) -> Result<(), Fault> {
        self.receive_window.take(len).ok_or(Fault::WindowExceeded)?;
        if self.expected != UNKNOWN_LENGTH {
            // RFC 9113 §8.1.1: the sum has to equal Content-Length.
            self.expected = self.expected.checked_sub(u64::from(bytes)).ok_or(Fault::ContentLengthDiffers)?;
        }
        self.check_end(end)
    }

    /// No content may be missing at the end (RFC 9113 §8.1.1).
    pub(crate) fn check_end(&self, end: bool) -> Result<(), Fault> {
        let missing = self.expected != UNKNOWN_LENGTH && self.expected != 0;
        if end && missing { Err(Fault::ContentLengthDiffers) } else { Ok(()) }
    }
}
