//! The states of one exchange on a server's connection and every legal move between them.

/// How much of the request has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiving {
    /// Its head is not complete.
    Head,
    /// Its content is not complete.
    Content,
    /// It is complete.
    Complete,
    /// The request is complete, and what follows it is not HTTP (RFC 9110 §7.8, §9.3.6).
    Tunnel,
    /// Nothing more is read: it broke a rule, was refused, or its tunnel has ended.
    Shut,
}

/// How much of the response has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// No request has been received yet.
    Nothing,
    /// The head is due.
    Head,
    /// The head was sent, content follows.
    Content,
    /// It is complete.
    Complete,
}

/// Both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) receiving: Receiving,
    pub(crate) sending: Sending,
}

/// An input to the state machine of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// A request head without content came.
    WholeRequest,
    /// A request head came, content follows.
    RequestHead,
    /// The request's content is complete, or the client has ended its half of a tunnel.
    RequestEnd,
    /// The request broke a rule, or the server refuses to read on.
    Refuse,
    /// An interim response goes out (RFC 9110 §15.2).
    Interim,
    /// A response without content goes out.
    WholeResponse,
    /// A response head goes out, content follows.
    ResponseHead,
    /// The connection becomes a tunnel: 101 to Upgrade, or a 2xx to CONNECT, goes out.
    Switch,
    /// The response's content is complete.
    ResponseEnd,
    /// The next exchange of the connection begins (RFC 9112 §9.3).
    Again,
}

impl State {
    /// Before the first byte of a request.
    pub(crate) const START: Self = Self { receiving: Receiving::Head, sending: Sending::Nothing };

    /// The state after a move; `None` if the move is not legal.
    #[rustfmt::skip] // a table reads best as one
    pub(crate) fn after(self, step: Move) -> Option<Self> {
        use {Move::*, Receiving as R, Sending as S};
        let (receiving, sending) = match (self.receiving, self.sending, step) {
            (R::Head,     S::Nothing,  WholeRequest)  => (R::Complete, S::Head),
            (R::Head,     S::Nothing,  RequestHead)   => (R::Content,  S::Head),
            (R::Content,  sending,     RequestEnd)    => (R::Complete, sending),
            (R::Tunnel,   sending,     RequestEnd)    => (R::Shut,     sending),
            (R::Head,     S::Nothing,  Refuse)        => (R::Shut,     S::Head),
            (R::Content,  sending,     Refuse)        => (R::Shut,     sending),
            (receiving,   S::Head,     Interim)       => (receiving,   S::Head),
            // The response need not wait for the end of the request (RFC 9112 §9.5, RFC 9110 §7.5).
            (receiving,   S::Head,     WholeResponse) => (receiving,   S::Complete),
            (receiving,   S::Head,     ResponseHead)  => (receiving,   S::Content),
            // Bytes before the switch may or may not be HTTP: only a complete request can be switched.
            (R::Complete, S::Head,     Switch)        => (R::Tunnel,   S::Content),
            (receiving,   S::Content,  ResponseEnd)   => (receiving,   S::Complete),
            (R::Complete, S::Complete, Again)         => (R::Head,     S::Nothing),
            _ => return None,
        };
        Some(Self { receiving, sending })
    }
}

/// What a client reads next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A response head.
    Head,
    /// Content of a response.
    Content,
    /// Bytes that are not HTTP, until the server closes.
    Tunnel,
    /// Nothing: the last response is complete, or a rule was broken.
    Closed,
}

/// An input to the client's reading state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadingMove {
    /// An interim response came (RFC 9110 §15.2).
    Interim,
    /// A response without content came.
    Whole,
    /// A response head came, content follows.
    Content,
    /// The response's content is complete.
    End,
    /// CONNECT succeeded (RFC 9110 §9.3.6), or Upgrade did (§7.8).
    Tunnel,
    /// No more responses are to come.
    Close,
}

impl Reading {
    /// The state after a move; `None` if the move is not legal.
    #[rustfmt::skip] // a table reads best as one
    pub(crate) fn after(self, step: ReadingMove) -> Option<Self> {
        use ReadingMove as Move;
        Some(match (self, step) {
            (Self::Head,    Move::Interim | Move::Whole) => Self::Head,
            (Self::Head,    Move::Content)               => Self::Content,
            (Self::Head,    Move::Tunnel)                => Self::Tunnel,
            (Self::Content, Move::End)                   => Self::Head,
            (_,             Move::Close)                 => Self::Closed,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVING: [Receiving; 5] =
        [Receiving::Head, Receiving::Content, Receiving::Complete, Receiving::Tunnel, Receiving::Shut];
    const SENDING: [Sending; 4] = [Sending::Nothing, Sending::Head, Sending::Content, Sending::Complete];
    const MOVES: [Move; 10] = [
        Move::WholeRequest,
        Move::RequestHead,
        Move::RequestEnd,
        Move::Refuse,
        Move::Interim,
        Move::WholeResponse,
        Move::ResponseHead,
        Move::Switch,
        Move::ResponseEnd,
        Move::Again,
    ];

    fn pairs() -> impl Iterator<Item = (State, Move)> {
        let states =
            RECEIVING.into_iter().flat_map(|receiving| SENDING.map(|sending| State { receiving, sending }));
        states.flat_map(|state| MOVES.map(|step| (state, step)))
    }

    #[test]
    fn each_move_is_legal_in_exactly_the_states_it_is_meant_for() {
        for (state, step) in pairs() {
            let State { receiving, sending } = state;
            let legal = match step {
                Move::WholeRequest | Move::RequestHead => state == State::START,
                Move::RequestEnd => matches!(receiving, Receiving::Content | Receiving::Tunnel),
                Move::Switch => receiving == Receiving::Complete && sending == Sending::Head,
                Move::Refuse => receiving == Receiving::Content || state == State::START,
                Move::Interim | Move::WholeResponse | Move::ResponseHead => sending == Sending::Head,
                Move::ResponseEnd => sending == Sending::Content,
                Move::Again => receiving == Receiving::Complete && sending == Sending::Complete,
            };
            assert_eq!(state.after(step).is_some(), legal, "{state:?} {step:?}");
        }
    }

    #[test]
    fn no_move_but_again_goes_back() {
        for (state, step) in pairs().filter(|(_, step)| *step != Move::Again) {
            let Some(after) = state.after(step) else { continue };
            assert!(after.receiving as u8 >= state.receiving as u8, "{state:?} {step:?}");
            assert!(after.sending as u8 >= state.sending as u8, "{state:?} {step:?}");
        }
        assert_eq!(
            State { receiving: Receiving::Complete, sending: Sending::Complete }.after(Move::Again),
            Some(State::START)
        );
    }

    #[test]
    fn a_client_reads_on_only_while_there_is_http_to_read() {
        use ReadingMove::*;
        for reading in [Reading::Head, Reading::Content, Reading::Tunnel, Reading::Closed] {
            for step in [Interim, Whole, Content, End, Tunnel, Close] {
                let legal = match step {
                    Interim | Whole | Content | Tunnel => reading == Reading::Head,
                    End => reading == Reading::Content,
                    Close => true,
                };
                assert_eq!(reading.after(step).is_some(), legal, "{reading:?} {step:?}");
            }
        }
    }
}
