//! What both roles of a connection have in common: the meaning of frames, streams, windows, settings.
//!
//! [`receive`](Core::receive) is here; the frames it parses are handled in `control`, `content` and `block`;
//! `sending` writes, and `ending` closes streams and the connection.

mod block;
mod content;
mod control;
mod ending;
mod sending;
mod settings;

pub(crate) use block::Block;
pub(crate) use content::Content;

use crate::PREFACE;
use crate::abuse::Abuse;
use crate::code::ErrorCode;
use crate::config::Config;
use crate::event::Key;
use crate::fault::Fault;
use crate::frame::{GoAway, Header, Kind};
use crate::priority::Priority;
use crate::schedule::Schedule;
use crate::state::State;
use crate::stream::{Halves, Streams};
use crate::window::{DEFAULT_WINDOW, Growth, ReceiveWindow, SendWindow};
use block::Pending;
use ending::{Going, ResetStreams};
use hayami_hpack::{Decoder, Encoder};
use settings::PeerSettings;

/// Which side of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Server,
    Client,
}

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waiting for the client's preface (RFC 9113 §3.4).
    Preface,
    /// Waiting for the first frame, which has to be SETTINGS.
    FirstFrame,
    Open,
    /// A rule was broken, or this side gave up: nothing more is read.
    Failed,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Core<T> {
    role: Role,
    phase: Phase,
    pub(crate) decoder: Decoder,
    pub(crate) encoder: Encoder,
    pub(crate) streams: Streams<T>,
    schedule: Schedule,
    /// Streams with content waiting to be sent.
    ready: u32,
    send_window: SendWindow,
    receive_window: ReceiveWindow,
    /// Bytes by which windows of open streams have grown in [`release_stream_window`](Self::release_stream_window).
    grown: u32,
    pub(crate) peer: PeerSettings,
    /// The field block that CONTINUATION frames have yet to complete.
    pending: Option<Box<Pending>>,
    /// The highest stream that was opened, by the peer of a server, by a client itself.
    last: u32,
    /// Bit n: the stream n numbers below `last` was opened.
    opened: u64,
    reset: ResetStreams,
    /// Bytes of content that may still come on closed streams.
    discardable: u32,
    /// The stream of the last event, if both sides have ended it.
    finished: Option<Key>,
    /// Priorities of streams that are not open yet (RFC 9218 §7.1).
    early: Vec<(u32, Priority)>,
    going: Going,
    pub(crate) peer_goes: Option<GoAway>,
    pub(crate) abuse: Abuse,
    now: u32,
    /// When the first byte arrived; later the time from sending SETTINGS to their acknowledgement.
    began: Option<u32>,
    round_trip: u32,
    acknowledged: bool,
}

/// What [`Core::receive`] found: the bytes consumed, and what they were.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub(crate) consumed: usize,
    pub(crate) step: Step<T>,
}

/// What a frame was.
#[derive(Debug)]
pub(crate) enum Step<T> {
    /// An incomplete frame.
    More,
    /// A frame that was handled completely.
    Handled,
    /// A whole field block, to be decoded by the role.
    Block(Block),
    /// Content, or its end.
    Content(Content),
    /// A stream was closed early.
    Reset { key: Key, data: T, code: ErrorCode, fault: Option<Fault> },
    /// GOAWAY.
    GoAway(GoAway),
    /// SETTINGS that were applied.
    Settings,
}

impl<T: Default> Core<T> {
    pub(crate) fn new(role: Role, config: &Config) -> Self {
        Self {
            role,
            phase: if role == Role::Server { Phase::Preface } else { Phase::FirstFrame },
            decoder: Decoder::new(config.table_size),
            encoder: Encoder::new(),
            streams: Streams::default(),
            schedule: Schedule::default(),
            ready: 0,
            send_window: SendWindow::new(DEFAULT_WINDOW),
            receive_window: ReceiveWindow::new(
                config.connection_window.max(DEFAULT_WINDOW),
                DEFAULT_WINDOW,
                0,
            ),
            grown: 0,
            peer: PeerSettings::default(),
            pending: None,
            last: 0,
            opened: 0,
            reset: ResetStreams::default(),
            // A client forgets streams that have ended, and so tolerates a frame that a server sends on one
            // of them.
            discardable: if role == Role::Client { DEFAULT_WINDOW } else { 0 },
            finished: None,
            early: Vec::new(),
            going: Going::No,
            peer_goes: None,
            abuse: Abuse::default(),
            now: 0,
            began: None,
            round_trip: 0,
            acknowledged: false,
        }
    }

    /// Reads at most one frame. The caller handles errors with [`fail`](Self::fail).
    #[inline]
    pub(crate) fn receive(
        &mut self,
        config: &Config,
        now: u32,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Taken<T>, Fault> {
        self.now = now;
        self.drop_finished(out);
        if self.phase != Phase::Open
            && let Some(taken) = self.before_open(input)?
        {
            return Ok(taken);
        }
        let Some(header) = Header::read(input) else {
            return Ok(Taken { consumed: 0, step: Step::More });
        };
        self.check_header(config, header)?;
        let consumed = Header::LEN + header.len;
        let Some(payload) = input.get(Header::LEN..consumed) else {
            return Ok(Taken { consumed: 0, step: Step::More });
        };
        let step = self.dispatch(config, header, payload, out)?;
        Ok(Taken { consumed, step })
    }

    /// Handles input other than frames; `None` if a frame is expected.
    #[cold]
    fn before_open(&mut self, input: &[u8]) -> Result<Option<Taken<T>>, Fault> {
        self.began = self.began.or(Some(self.now));
        match self.phase {
            Phase::Preface => self.receive_preface(input).map(Some),
            Phase::Failed => Ok(Some(Taken { consumed: input.len(), step: Step::More })),
            Phase::FirstFrame | Phase::Open => Ok(None),
        }
    }

    /// RFC 9113 §3.4.
    fn receive_preface(&mut self, input: &[u8]) -> Result<Taken<T>, Fault> {
        let come = input.len().min(PREFACE.len());
        if input[..come] != PREFACE[..come] {
            return Err(Fault::Preface);
        }
        if come < PREFACE.len() {
            return Ok(Taken { consumed: 0, step: Step::More });
        }
        self.phase = Phase::FirstFrame;
        Ok(Taken { consumed: PREFACE.len(), step: Step::Handled })
    }

    #[inline]
    fn check_header(&self, config: &Config, header: Header) -> Result<(), Fault> {
        // RFC 9113 §4.2 lets some of them be stream errors; a peer that ignores settings won't change its
        // behaviour for that.
        if header.len > config.max_frame as usize {
            return Err(Fault::FrameTooLong);
        }
        if self.phase == Phase::FirstFrame && (header.kind != Kind::Settings || header.flags & 1 != 0) {
            return Err(Fault::FirstNotSettings);
        }
        // RFC 9113 §4.3: nothing may come between HEADERS and its CONTINUATION frames.
        match &self.pending {
            Some(pending) if header.kind != Kind::Continuation || header.stream != pending.id => {
                Err(Fault::BlockInterrupted)
            }
            None if header.kind == Kind::Continuation => Err(Fault::UnexpectedContinuation),
            _ => Ok(()),
        }
    }

    #[inline]
    fn dispatch(
        &mut self,
        config: &Config,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step<T>, Fault> {
        match header.kind {
            Kind::Headers => self.receive_headers(header, payload),
            Kind::Data => self.receive_data(config, header, payload, out),
            Kind::Continuation => self.receive_continuation(config, header, payload),
            Kind::WindowUpdate => self.receive_window_update(config, header, payload, out),
            Kind::RstStream => self.receive_rst_stream(config, header, payload, out),
            Kind::Settings => self.receive_settings(config, header, payload, out),
            Kind::Ping => self.receive_ping(config, header, payload, out),
            Kind::GoAway => self.receive_goaway(header, payload),
            Kind::Priority => self.receive_priority(config, header, payload, out),
            Kind::PriorityUpdate => self.receive_priority_update(config, header, payload),
            Kind::PushPromise => Err(Fault::PushPromise), // RFC 9113 §8.4: settings never allow it
            Kind::Unknown => self.receive_unknown(config),
        }
    }

    /// The state of a stream, and its slot if it's open.
    fn state_of(&self, id: u32) -> (State, Option<u32>) {
        match self.streams.find(id) {
            Some(slot) if self.streams[slot].halves.peer_sends() => (State::Receiving, Some(slot)),
            Some(slot) if self.streams[slot].halves == Halves::Closed => (State::Closed, None),
            Some(slot) => (State::Ended, Some(slot)),
            None => (self.state_of_absent(id), None),
        }
    }

    fn state_of_absent(&self, id: u32) -> State {
        match self.role {
            _ if id.is_multiple_of(2) => State::Foreign, // servers' numbers, and push is not supported
            // The server may still answer a stream that the client has closed; the client knows its own
            // numbers.
            Role::Client if id <= self.last => State::Reset,
            Role::Client => State::Foreign,
            Role::Server if id > self.last && self.going.is_final() => State::Late,
            Role::Server if id > self.last => State::Idle,
            Role::Server if self.reset.contains(id) => State::Reset,
            Role::Server => match (self.last - id) / 2 {
                below @ 0..64 if self.opened >> below & 1 == 1 => State::Closed,
                0..64 => State::Skipped,
                _ => State::Forgotten,
            },
        }
    }

    /// The peer of a server used this stream number, though the stream may not have been opened.
    #[inline]
    pub(crate) fn note_opened(&mut self, id: u32) {
        let passed = (id - self.last).div_ceil(2);
        self.opened = if passed < 64 { self.opened << passed | 1 } else { 1 };
        self.last = id;
    }

    /// Whether the peer's SETTINGS have arrived.
    pub(crate) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// The number of a client's next stream; beyond 31 bits there are no more.
    pub(crate) fn next_id(&self) -> u32 {
        if self.last == 0 { 1 } else { self.last + 2 }
    }

    /// Whether the peer of a server may open a stream of this number.
    pub(crate) fn opens(&self, id: u32) -> bool {
        self.state_of(id).0 == State::Idle
    }

    /// Whether the peer has opened a stream after GOAWAY was sent (RFC 9113 §6.8).
    pub(crate) fn is_late(&self, id: u32) -> bool {
        self.state_of(id).0 == State::Late
    }

    /// Opens a stream with the current window sizes.
    #[inline]
    pub(crate) fn open(&mut self, config: &Config, id: u32) -> (Key, u32) {
        let receive = ReceiveWindow::new(config.initial_window, self.first_window(config), self.now);
        let slot = self.streams.open(id, SendWindow::new(self.peer.initial_window), receive);
        (Key { id, slot }, slot)
    }

    /// What the peer may send on a stream before more is granted. Until it knows the settings, it uses the
    /// default (RFC 9113 §6.9.2).
    pub(crate) fn first_window(&self, config: &Config) -> u32 {
        match self.acknowledged {
            true => config.initial_window,
            false => config.initial_window.max(DEFAULT_WINDOW),
        }
    }

    fn growth(&self, most: u32) -> Growth {
        Growth { now: self.now, round_trip: self.round_trip, most }
    }

    /// Whether the peer has acknowledged the settings.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// The caller's data of a stream.
    #[inline]
    pub(crate) fn get(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.streams.slot(key)?;
        Some(&mut self.streams[slot].data)
    }

    /// Number of streams that at least one side hasn't ended.
    pub(crate) fn open_count(&self) -> usize {
        self.streams.open_count() - usize::from(self.finished.is_some())
    }

    /// The open streams; one that the last event ended is not included.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        let keys = self.streams.slots().map(|slot| self.streams.key(slot));
        keys.filter(|key| key.id != 0 && Some(*key) != self.finished)
    }

    /// Number of streams on which only the peer may still send.
    #[cold]
    pub(crate) fn half_closed_local(&self) -> usize {
        let half_closed = |slot: &u32| {
            let stream = &self.streams[*slot];
            stream.id != 0 && stream.halves == Halves::HalfClosedLocal
        };
        self.streams.slots().filter(half_closed).count()
    }

    /// Frees memory that is not in use.
    pub(crate) fn release(&mut self) {
        self.drop_finished(&mut Vec::new());
        self.streams.release();
        if self.early.is_empty() {
            self.early = Vec::new();
        }
    }
}
