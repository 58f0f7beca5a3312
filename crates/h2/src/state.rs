//! What each frame means in each state of its stream: the whole table.
//!
//! CONTINUATION isn't here: it belongs to the frame before it (RFC 9113 §6.10). Nor are frames of the
//! connection.

use crate::fault::Fault;

/// The state of a stream, as seen by received frames (RFC 9113 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The peer may open it.
    Idle,
    /// The peer may not open it: the number belongs to this side, or to servers.
    Foreign,
    /// The peer may still send: open, or half-closed (local).
    Receiving,
    /// The peer has ended its side: half-closed (remote).
    Ended,
    /// This side reset it while the peer could still send: frames in transit still arrive.
    Reset,
    /// The peer opened it, ended or reset it, and it's closed.
    Closed,
    /// The peer never opened it and can't any more, because it opened a higher one (RFC 9113 §5.1.1).
    Skipped,
    /// It's closed, and its history is forgotten.
    Forgotten,
    /// It was opened after GOAWAY was sent (RFC 9113 §6.8).
    Late,
}

/// A frame on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Headers,
    Data,
    RstStream,
    WindowUpdate,
}

/// What to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It opens the stream.
    Open,
    /// It's meant for the stream.
    Accept,
    /// It's dropped; the decoder and the connection's window stay in sync.
    Discard,
    /// The stream is reset; the decoder and the connection's window stay in sync.
    StreamError(Fault),
    /// The connection ends.
    ConnectionError(Fault),
}

impl State {
    /// The action for a frame. PRIORITY is ignored in every state (RFC 9113 §5.3.2).
    #[rustfmt::skip] // a table reads best as one
    pub(crate) fn on(self, frame: Frame) -> Action {
        use {Action::*, Fault as F, Frame::*, State::*};
        match (self, frame) {
            (Idle,      Headers)                  => Open,
            (Idle,      _)                        => ConnectionError(F::IdleStream),
            (Foreign,   Headers)                  => ConnectionError(F::StreamIdParity),
            (Foreign,   _)                        => ConnectionError(F::IdleStream),
            (Receiving, _)                        => Accept,
            (Ended,     Headers | Data)           => StreamError(F::StreamClosed),
            (Ended,     RstStream | WindowUpdate) => Accept,
            (Reset,     _)                        => Discard,
            (Closed,    Headers | Data)           => ConnectionError(F::StreamClosed),
            // RFC 9113 §5.1.1: a number that was skipped can't be used later.
            (Skipped,   Headers)                  => ConnectionError(F::StreamIdOrder),
            (Skipped,   Data)                     => ConnectionError(F::StreamClosed),
            (Forgotten, Headers | Data)           => StreamError(F::StreamClosed),
            // They cross with END_STREAM or RST_STREAM in transit (RFC 9113 §5.1).
            (Closed | Skipped | Forgotten, _)     => Discard,
            (Late,      _)                        => Discard,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 9] = [
        State::Idle,
        State::Foreign,
        State::Receiving,
        State::Ended,
        State::Reset,
        State::Closed,
        State::Skipped,
        State::Forgotten,
        State::Late,
    ];
    const FRAMES: [Frame; 4] = [Frame::Headers, Frame::Data, Frame::RstStream, Frame::WindowUpdate];

    #[test]
    fn every_frame_has_its_action_in_every_state() {
        use Action::*;
        const CLOSED: Fault = Fault::StreamClosed;
        let idle = ConnectionError(Fault::IdleStream);
        // In the order of FRAMES.
        let table = [
            [Open, idle, idle, idle],
            [ConnectionError(Fault::StreamIdParity), idle, idle, idle],
            [Accept; 4],
            [StreamError(CLOSED), StreamError(CLOSED), Accept, Accept],
            [Discard; 4],
            [ConnectionError(CLOSED), ConnectionError(CLOSED), Discard, Discard],
            [ConnectionError(Fault::StreamIdOrder), ConnectionError(CLOSED), Discard, Discard],
            [StreamError(CLOSED), StreamError(CLOSED), Discard, Discard],
            [Discard; 4],
        ];
        for (state, row) in STATES.into_iter().zip(table) {
            assert_eq!(FRAMES.map(|frame| state.on(frame)), row, "{state:?}");
        }
    }

    #[test]
    fn only_an_idle_stream_is_opened_and_only_an_open_one_accepts() {
        for (state, frame) in STATES.into_iter().flat_map(|state| FRAMES.map(|frame| (state, frame))) {
            let action = state.on(frame);
            assert_eq!(action == Action::Open, state == State::Idle && frame == Frame::Headers);
            assert!(action != Action::Accept || matches!(state, State::Receiving | State::Ended));
        }
    }
}
