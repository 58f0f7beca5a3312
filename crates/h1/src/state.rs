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
    /// It broke a rule, or was refused: nothing more is read.
    Failed,
}

/// How much of the response has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// There is nothing to answer yet.
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

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// A request head without content came.
    WholeRequest,
    /// A request head came, content follows.
    RequestHead,
    /// The request's content is complete.
    RequestEnd,
    /// The request broke a rule, or the server refuses to read on.
    Refuse,
    /// An interim response goes out (RFC 9110 §15.2).
    Interim,
    /// A response without content goes out.
    WholeResponse,
    /// A response head goes out, content follows.
    ResponseHead,
    /// The response's content is complete.
    ResponseEnd,
    /// The next exchange of the connection begins (RFC 9112 §9.3).
    Again,
}

impl State {
    /// Before the first octet of a request.
    pub(crate) const START: Self = Self { receiving: Receiving::Head, sending: Sending::Nothing };

    /// The state after a move; `None` if the move is not legal.
    #[rustfmt::skip] // a table reads best as one
    pub(crate) fn after(self, step: Move) -> Option<Self> {
        use {Move::*, Receiving as R, Sending as S};
        let (receiving, sending) = match (self.receiving, self.sending, step) {
            (R::Head,     S::Nothing,  WholeRequest)  => (R::Complete, S::Head),
            (R::Head,     S::Nothing,  RequestHead)   => (R::Content,  S::Head),
            (R::Content,  sending,     RequestEnd)    => (R::Complete, sending),
            (R::Head,     S::Nothing,  Refuse)        => (R::Failed,   S::Head),
            (R::Content,  sending,     Refuse)        => (R::Failed,   sending),
            (receiving,   S::Head,     Interim)       => (receiving,   S::Head),
            // The response need not wait for the end of the request (RFC 9112 §9.5, RFC 9110 §7.5).
            (receiving,   S::Head,     WholeResponse) => (receiving,   S::Complete),
            (receiving,   S::Head,     ResponseHead)  => (receiving,   S::Content),
            (receiving,   S::Content,  ResponseEnd)   => (receiving,   S::Complete),
            (R::Complete, S::Complete, Again)         => (R::Head,     S::Nothing),
            _ => return None,
        };
        Some(Self { receiving, sending })
    }
}
