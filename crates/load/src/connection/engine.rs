//! The protocol of a connection: requests out, responses in, for each protocol.

use super::http1::Http1;
use super::http2::Http2;
use super::why::Broken;
use super::{Cx, TlsName};
use crate::plan::Protocol;
use hayami_tls::Alpn;

/// One of the client engines, and its requests.
#[derive(Default)]
pub(super) struct Engine {
    kind: Kind,
    /// Kept for the next connection of the slot.
    http1: Option<Box<Http1>>,
    http2: Option<Box<Http2>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Undecided,
    Http1,
    Http2,
}

/// Calls a method of the engine in use.
macro_rules! engine {
    ($self:ident, $default:expr, $engine:ident => $call:expr) => {
        match $self.kind {
            Kind::Undecided => $default,
            Kind::Http1 => match &mut $self.http1 {
                Some($engine) => $call,
                None => $default,
            },
            Kind::Http2 => match &mut $self.http2 {
                Some($engine) => $call,
                None => $default,
            },
        }
    };
}

impl Engine {
    /// Decides on a protocol: by what TLS agreed on, or without TLS. Whether the plan allows it.
    pub(super) fn choose(&mut self, cx: &Cx<'_>, alpn: Option<Option<Alpn>>) -> bool {
        let http2 = match (cx.job.protocol, alpn) {
            (Protocol::Http2, None | Some(Some(Alpn::H2))) => true,
            (Protocol::Http2, _) => return false,
            (Protocol::Auto, Some(Some(Alpn::H2))) => true,
            _ => false,
        };
        if http2 {
            match &mut self.http2 {
                Some(engine) => engine.renew(cx),
                None => self.http2 = Some(Box::new(Http2::new(cx))),
            }
        } else {
            self.http1.get_or_insert_default().renew();
        }
        self.kind = if http2 { Kind::Http2 } else { Kind::Http1 };
        true
    }

    pub(super) fn is_http1(&self) -> bool {
        self.kind == Kind::Http1
    }

    /// Whether the connection became usable.
    pub(super) fn is_used(&self) -> bool {
        self.kind != Kind::Undecided
    }

    /// Clears everything and keeps the memory.
    pub(super) fn reset(&mut self) {
        self.kind = Kind::Undecided;
    }

    /// Writes the connection preface.
    pub(super) fn start(&mut self, cx: &mut Cx<'_>) {
        if let (Kind::Http2, Some(engine)) = (self.kind, &mut self.http2) {
            engine.start(cx);
        }
    }

    /// Writes the GOAWAY of an HTTP/2 connection.
    pub(super) fn say_goodbye(&mut self, cx: &mut Cx<'_>) {
        if let (Kind::Http2, Some(engine)) = (self.kind, &mut self.http2) {
            engine.say_goodbye(cx);
        }
    }

    /// Parses responses and counts them. Returns the bytes consumed.
    pub(super) fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        input: &[u8],
        tls: TlsName<'_>,
    ) -> Result<usize, Broken> {
        engine!(self, Ok(input.len()), engine => engine.receive(cx, input, tls))
    }

    /// Handles the end of the stream; returns why it is a failure, if it is one.
    pub(super) fn eof(&mut self, cx: &mut Cx<'_>) -> Option<Broken> {
        engine!(self, None, engine => engine.eof(cx))
    }

    /// Appends as many requests to `cx.out` as the pace and the connection allow; `left` counts them.
    pub(super) fn fill(&mut self, cx: &mut Cx<'_>, left: &mut u64) {
        engine!(self, (), engine => engine.fill(cx, left));
    }

    /// Puts back requests that were generated but not sent.
    pub(super) fn take_back(&mut self, cx: &mut Cx<'_>) {
        let unsent = self.unanswered();
        cx.pace.put_back(unsent);
        cx.count.tally.requests -= unsent;
        self.forget();
        self.reset();
    }

    /// Requests that were sent and whose responses are not complete.
    pub(super) fn unanswered(&mut self) -> u64 {
        engine!(self, 0, engine => engine.unanswered())
    }

    /// Forgets the requests that were sent.
    pub(super) fn forget(&mut self) {
        engine!(self, (), engine => engine.forget());
    }

    /// When the oldest of them was sent.
    pub(super) fn oldest(&mut self) -> Option<u64> {
        engine!(self, None, engine => engine.oldest())
    }

    /// Whether a response has begun that is not complete.
    pub(super) fn has_begun(&mut self) -> bool {
        engine!(self, false, engine => engine.has_begun())
    }

    /// Whether the connection takes another request now.
    pub(super) fn has_room(&self, cx: &Cx<'_>) -> bool {
        match self.kind {
            Kind::Undecided => false,
            Kind::Http1 => self.http1.as_ref().is_some_and(|engine| engine.has_room(cx)),
            Kind::Http2 => self.http2.as_ref().is_some_and(|engine| engine.has_room(cx)),
        }
    }

    /// Whether no more requests or responses are expected; `left` requests might still be made.
    pub(super) fn is_done(&mut self, left: u64) -> bool {
        engine!(self, true, engine => engine.is_done(left))
    }
}
