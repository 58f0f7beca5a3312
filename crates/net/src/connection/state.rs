//! The states of a connection, and every legal move between them: two tables.
//!
//! [`Stage`] is how far a connection is from its end; [`Event`]s move it. Within a turn, what its session [needs](Need)
//! and how far its output could be flushed say which [`Step`] is next, and what is waited for when there is none.

use crate::output::Flushed;
use std::task::Poll;

/// Bytes that are thrown away after the last response, so that the peer can read it: closing with unread bytes makes the
/// kernel reset the connection (RFC 9112 §9.6).
const LINGER: u32 = 1024 * 1024;

/// How far a connection is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Requests are answered.
    Open,
    /// What waits is still sent; `linger`: bytes of the peer's may be on the way.
    Closing { linger: bool },
    /// Everything is sent; bytes that come are thrown away until the peer closes, so many at most.
    Lingering { left: u32 },
    /// Over.
    Over,
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It ends when everything is sent; `linger`: bytes of the peer's may be on the way.
    Close { linger: bool },
    /// Everything is sent.
    Sent,
    /// So many bytes have come to be thrown away.
    Discarded(u32),
    /// The peer has closed or is given up, or the transport has failed.
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

/// What a session needs to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A request: everything received is answered.
    Request,
    /// The rest of a request that is answered.
    Rest,
    /// The answer.
    Answer,
    /// The answer, which takes more of the request's content.
    Content,
    /// Frames, at any time; `idle`: no stream is open.
    Frames { idle: bool },
    /// Room: too much waits to be sent.
    Room,
    /// The same, and frames at any time.
    RoomOrFrames,
    /// In a tunnel, the other end; if it `reads`, what the client sends; if it is `full`, room.
    Tunnel { reads: bool, full: bool },
    /// To tell the client of a tunnel, when everything is sent, that nothing more comes; `reads`: it is heard meanwhile.
    HalfClose { reads: bool },
    /// To go on in HTTP/2, with the request in the worker's head as its first.
    Upgrade,
    /// Another turn: the budget of this one is used up.
    Turn,
    /// The end of the connection.
    Close,
}

/// What a turn does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The session goes on.
    Answer,
    /// The client is read; if nothing is there, it is waited for.
    Read { or: Wait },
    /// The turn ends.
    Wait(Wait),
    /// Others have their turns first.
    Yield,
    /// File content that comes next is brought into memory.
    Warm,
    /// The connection's half is closed.
    HalfClose,
    /// The session becomes one of HTTP/2.
    Upgrade,
    /// The connection ends, or waits for the peer to close.
    Close,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The preamble: a header of the PROXY protocol, a TLS handshake.
    Preamble,
    /// A request, while none is at hand.
    Request,
    /// The client, within the deadlines of exchanges.
    Client,
    /// The service, or a file: nothing that the client sends could bring that nearer.
    Answer,
    /// The peer to read.
    Room,
    /// The peer to close.
    Close,
    /// Its next turn.
    Turn,
}

impl Need {
    /// The next step, with the output flushed so far; `Pending`: the peer does not read.
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
            // Many things are to be said at a time, or the answer is made of what the client sends: neither would move.
            (Frames { .. } | RoomOrFrames,      Pending)               => Step::Read { or: Wait::Room },
            (Content,                           Pending)               => Step::Read { or: Wait::Room },
            // That a client of a tunnel does not read is no fault of its own, as long as anything moves.
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
        // Everything sent; the peer does not read.
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
