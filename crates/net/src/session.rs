//! What a connection speaks: one session, of HTTP/1.1 or of HTTP/2.

use crate::clock::Millis;
use crate::connection::Need;
use crate::http1::Http1;
use crate::http2::{self, Http2};
use crate::link::Link;
use crate::service::{Refusal, Service};
use crate::worker::{Timeouts, Worker};
use hayami_tls::{Alpn, Info};
use std::rc::Rc;
use std::time::Duration;

/// What a connection asks of its session. It moves bytes; what they mean is the session's affair.
pub(crate) trait Session {
    /// Answers what has been received, as far as there is room.
    fn answer<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need;

    /// Something that one of its streams waits for is there.
    fn woken(&mut self, stream: u32) {
        let _ = stream;
    }

    /// Nothing happens for a while: gives memory back that holds nothing.
    fn release(&mut self) {}

    /// Whether no request is at hand, as far as requests have been taken from the input.
    fn is_idle(&self) -> bool;

    /// How long it may be idle.
    fn idle_timeout(&self, timeouts: &Timeouts) -> Duration;

    /// When [`expire`](Self::expire) has to be called whatever is waited for.
    fn deadline(&mut self, now: Millis, timeouts: &Timeouts) -> Millis;

    /// Deadlines of exchanges may have passed. Whether any had: those are dealt with.
    fn expire_exchanges<S>(&mut self, link: &mut Link, worker: &Worker<S>) -> bool;

    /// What was waited for did not come in time.
    fn expire<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>);

    /// The client's half of the connection has ended, and everything before that is read. Whether the other half goes on.
    fn half_closed(&mut self) -> bool {
        false
    }

    /// The client was told that nothing more will come.
    fn half_close_sent(&mut self) {}

    /// Whether what is being answered is given up when the client closes its half of the connection.
    fn cancels_on_close(&self, link: &Link) -> bool {
        let _ = link;
        false
    }

    /// Whether it says goodbye, and has the connection end by itself, when the worker ends.
    fn says_goodbye(&self) -> bool {
        false
    }

    /// Whether it has something to do when the worker ends, besides its exchanges.
    fn takes_leave(&self) -> bool {
        self.says_goodbye()
    }

    /// Whether the client knows which of its requests will not be answered.
    fn may_end(&self) -> bool {
        true
    }

    /// The connection is over, and what is being answered stays incomplete.
    fn abort<S>(&mut self, link: &Link, worker: &Worker<S>, why: &'static str);
}

/// The session of a connection. In clear it begins as HTTP/1.1; a client that knows better says so by its first bytes
/// (RFC 9113 §3.3) or asks for it (RFC 7540 §3.2).
pub(crate) enum AnySession {
    Http1(Http1),
    Http2(Box<Http2>),
}

/// Asks the session of a connection, whichever it is: `ask!(session, own => own.deadline(now))`.
macro_rules! ask {
    ($session:expr, $own:ident => $question:expr) => {
        match $session {
            $crate::session::AnySession::Http1($own) => $question,
            $crate::session::AnySession::Http2($own) => $question,
        }
    };
}
pub(crate) use ask;

impl AnySession {
    pub(crate) fn new() -> Self {
        Self::Http1(Http1::new())
    }

    /// Answers what has been received, as far as there is room. The first bytes decide which protocol that is.
    #[inline]
    pub(crate) fn answer<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
        match self {
            Self::Http2(http2) => http2.answer(link, worker),
            Self::Http1(http1) if link.requests > 0 => http1.answer(link, worker),
            Self::Http1(_) => self.begin(link, worker),
        }
    }

    fn begin<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
        match http2::preface(worker, &link.info, link.input.unread()) {
            http2::Preface::Partial => return Need::Request,
            http2::Preface::Whole => *self = Self::Http2(Box::new(Http2::new(link, worker))),
            http2::Preface::Absent => {}
        }
        ask!(self, own => own.answer(link, worker))
    }

    /// The TLS handshake is complete, and the protocol agreed on (RFC 7301).
    #[cold]
    pub(crate) fn establish<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, info: Box<Info>) {
        link.idle_since = worker.clock.millis();
        let speaks_http2 = info.alpn == Some(Alpn::H2);
        if let Some(shared) = Rc::get_mut(&mut link.info) {
            shared.tls = Some(info);
        }
        if speaks_http2 {
            *self = Self::Http2(Box::new(Http2::new(link, worker)));
        }
    }

    /// A request in clear has come where TLS was expected.
    #[cold]
    pub(crate) fn refuse_plain<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        match self {
            Self::Http1(http1) => http1.refuse_unread(link, worker, &Refusal::PlainHttp),
            Self::Http2(http2) => http2.expire(link, worker),
        }
    }

    /// Goes on in HTTP/2 with the request in the worker's head.
    #[cold]
    pub(crate) fn upgrade<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        *self = Self::Http2(Box::new(Http2::upgraded(link, worker)));
    }
}
