//! The states of a connection and all valid transitions, in two tables.
//!
//! [`Stage`] is how far a connection is from its end; [`Event`]s change it. Within a turn, what the session
//! [needs](Need) and how far the output could be flushed determine the next [`Step`], or what to wait for if there is
//! none.

use crate::output::Flushed;
use std::task::Poll;

/// Bytes discarded after the last response, so that the peer can read it: closing with unread bytes makes the kernel
/// reset the connection (RFC 9112 §9.6).
const LINGER: u32 = 1024 * 1024;

/// How far a connection is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Requests are answered.
    Open,
    /// Pending output is still sent; `linger`: bytes from the peer may be in transit.
    Closing { linger: bool },
    /// All output is sent; up to `left` bytes are discarded until the peer closes.
    Lingering { left: u32 },
    /// Closed.
    Over,
}

/// Events that change the stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The connection is to end once all output is sent; `linger`: bytes from the peer may be in transit.
    Close { linger: bool },
    /// All output is sent.
    Sent,
    /// This many bytes were received and discarded.
    Discarded(u32),
    /// The peer has closed or timed out, or the transport has failed.
    Lost,
}

impl Stage {
    /// The stage after an event.
    #[rustfmt::skip] // a table reads best as one
    pub(crate) fn on(self, event: Event) -> Self {
        use {Event::*, Stage::*};
        match (self, event) {
            (Over, _) | (_, Lost)                         => Over,
            (Open,                 Close { linger })      => Closing { linger },
            (Open,                 Sent | Discarded(_))   => Open,
            (Closing { linger },   Close { linger: too }) => Closing { linger: linger || too },
            (Closing { linger: true },  Sent)             => Lingering { left: LINGER },
            (Closing { linger: false }, Sent)             => Over,
            (Closing { linger },   Discarded(_))          => Closing { linger },
            (Lingering { left },   Discarded(bytes)) if bytes < left => Lingering { left: left - bytes },
            (Lingering { .. },     Discarded(_))          => Over,
            (Lingering { left },   Close { .. } | Sent)   => Lingering { left },
        }
    }
}

/// What a session needs to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A request: everything received is answered.
    Request,
    /// The rest of a request that is already answered.
    Rest,
    /// The response.
    Answer,
    /// The response, which needs more request content.
    Content,
    /// Frames, at any time; `idle`: no stream is open.
    Frames { idle: bool },
    /// Room: too much output is pending.
    Room,
    /// Room, and frames at any time.
    RoomOrFrames,
    /// In a tunnel: data from the other end; from the client if it `reads`; and room if it is `full`.
    Tunnel { reads: bool, full: bool },
    /// In a tunnel: to shut down the sending side once all output is sent; `reads`: while reading from the client.
    HalfClose { reads: bool },
    /// To switch to HTTP/2, with the request in the worker's head as its first.
    Upgrade,
    /// Another turn: the budget of this one is used up.
    Turn,
    /// To close the connection.
    Close,
}

/// The next step of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The session continues.
    Answer,
    /// Reads from the client; if there is nothing, waits.
    Read { or: Wait },
    /// The turn ends.
    Wait(Wait),
    /// Other connections have a turn first.
    Yield,
    /// The next file content is read into the page cache.
    Warm,
    /// The sending side is shut down.
    HalfClose,
    /// The session switches to HTTP/2.
    Upgrade,
    /// The connection is closed, or waits for the peer to close.
    Close,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The preamble: a PROXY protocol header, a TLS handshake.
    Preamble,
    /// A request, while none is being processed.
    Request,
    /// The client, within the deadlines of exchanges.
    Client,
    /// The service, or a file, independently of what the client sends.
    Answer,
    /// The peer to read.
    Room,
    /// The peer to close.
    Close,
    /// Its next turn.
    Turn,
}

impl Need {
    /// The next step, given the result of flushing the output; `Pending`: the peer does not read.
    #[inline]
    #[rustfmt::skip] // a table reads best as one
    pub(crate) fn step(self, flushed: Poll<Flushed>) -> Step {
        use {Need::*, Poll::{Pending, Ready}};
        match (self, flushed) {
            (_,                                 Ready(Flushed::Cold))  => Step::Warm,
            (_,                                 Ready(Flushed::Share)) => Step::Yield,
            (Turn,                              _)                     => Step::Yield,
            (Request | Frames { idle: true },   Ready(Flushed::All))   => Step::Read { or: Wait::Request },
            (Rest | Content,                    Ready(Flushed::All))   => Step::Read { or: Wait::Client },
            (Frames { idle: false },            Ready(Flushed::All))   => Step::Read { or: Wait::Client },
            (Answer,                            Ready(Flushed::All))   => Step::Wait(Wait::Answer),
            (Room | RoomOrFrames,               Ready(Flushed::All))   => Step::Answer,
            (Tunnel { full: true, .. },         Ready(Flushed::All))   => Step::Answer,
            (HalfClose { .. },                  Ready(Flushed::All))   => Step::HalfClose,
            (Upgrade,                           Ready(Flushed::All))   => Step::Upgrade,
            (Close,                             Ready(Flushed::All))   => Step::Close,
            // Frames are multiplexed, or the response depends on what the client sends: not reading could deadlock.
            (Frames { .. } | RoomOrFrames,      Pending)               => Step::Read { or: Wait::Room },
            (Content,                           Pending)               => Step::Read { or: Wait::Room },
            // The client of a tunnel need not read as long as any data moves.
            (Tunnel { reads: true, .. },        _)                     => Step::Read { or: Wait::Client },
            (Tunnel { reads: false, .. },       _)                     => Step::Wait(Wait::Client),
            (HalfClose { reads: true },         Pending)               => Step::Read { or: Wait::Client },
            (HalfClose { reads: false },        Pending)               => Step::Wait(Wait::Client),
            (Request | Rest | Answer | Room,    Pending)               => Step::Wait(Wait::Room),
            (Upgrade | Close,                   Pending)               => Step::Wait(Wait::Room),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_its_stage_in_every_stage() {
        use Stage::*;
        const FLUSHING: [Stage; 2] = [Closing { linger: false }, Closing { linger: true }];
        let [closes, lingers] = FLUSHING;
        let (full, less) = (Lingering { left: LINGER }, Lingering { left: LINGER - 1 });
        let events = [
            Event::Close { linger: false },
            Event::Close { linger: true },
            Event::Sent,
            Event::Discarded(1),
            Event::Discarded(LINGER),
            Event::Lost,
        ];
        // In the order of the events.
        let table = [
            (Open, [closes, lingers, Open, Open, Open, Over]),
            (closes, [closes, lingers, Over, closes, closes, Over]),
            (lingers, [lingers, lingers, full, lingers, lingers, Over]),
            (full, [full, full, full, less, Over, Over]),
            (Over, [Over; 6]),
        ];
        for (stage, row) in table {
            assert_eq!(events.map(|event| stage.on(event)), row, "{stage:?}");
        }
    }

    #[test]
    fn a_connection_never_goes_back() {
        let rank = |stage| match stage {
            Stage::Open => 0,
            Stage::Closing { .. } => 1,
            Stage::Lingering { .. } => 2,
            Stage::Over => 3,
        };
        let stages =
            [Stage::Open, Stage::Closing { linger: true }, Stage::Lingering { left: 1 }, Stage::Over];
        let events = [Event::Close { linger: true }, Event::Sent, Event::Discarded(1), Event::Lost];
        for (stage, event) in stages.into_iter().flat_map(|stage| events.map(|event| (stage, event))) {
            assert!(rank(stage.on(event)) >= rank(stage), "{stage:?} {event:?}");
        }
    }

    #[test]
    fn every_need_has_its_step_however_far_the_output_is() {
        use {Need::*, Step::Read};
        let flushed = [
            Poll::Ready(Flushed::All),
            Poll::Pending,
            Poll::Ready(Flushed::Share),
            Poll::Ready(Flushed::Cold),
        ];
        let (room, client) = (Step::Wait(Wait::Room), Step::Wait(Wait::Client));
        let hears = Read { or: Wait::Client };
        // All output sent; the peer does not read.
        let table = [
            (Request, Read { or: Wait::Request }, room),
            (Rest, hears, room),
            (Answer, Step::Wait(Wait::Answer), room),
            (Content, hears, Read { or: Wait::Room }),
            (Frames { idle: true }, Read { or: Wait::Request }, Read { or: Wait::Room }),
            (Frames { idle: false }, hears, Read { or: Wait::Room }),
            (Room, Step::Answer, room),
            (RoomOrFrames, Step::Answer, Read { or: Wait::Room }),
            (Tunnel { reads: false, full: false }, client, client),
            (Tunnel { reads: false, full: true }, Step::Answer, client),
            (Tunnel { reads: true, full: false }, hears, hears),
            (Tunnel { reads: true, full: true }, Step::Answer, hears),
            (HalfClose { reads: false }, Step::HalfClose, client),
            (HalfClose { reads: true }, Step::HalfClose, hears),
            (Upgrade, Step::Upgrade, room),
            (Turn, Step::Yield, Step::Yield),
            (Close, Step::Close, room),
        ];
        for (need, all, blocked) in table {
            let want = [all, blocked, Step::Yield, Step::Warm];
            assert_eq!(flushed.map(|flushed| need.step(flushed)), want, "{need:?}");
        }
    }
}
