//! The session of a connection: HTTP/1.1 or HTTP/2.

use crate::connection::Need;
use crate::http1::Http1;
use crate::http2::{self, Http2};
use crate::link::Link;
use crate::service::{Refusal, Service};
use crate::session::Session;
use crate::worker::Worker;
use hayami_tls::{Alpn, Info};
use std::rc::Rc;

/// The session of a connection. Without TLS it starts as HTTP/1.1; a client selects HTTP/2 with its preface (RFC 9113
/// §3.3) or by Upgrade (RFC 7540 §3.2).
pub(crate) enum AnySession {
    Http1(Http1),
    Http2(Box<Http2>),
}

/// Calls a method of whichever session this is: `ask!(session, own => own.deadline(now))`.
macro_rules! ask {
    ($session:expr, $own:ident => $question:expr) => {
        match $session {
            $crate::any_session::AnySession::Http1($own) => $question,
            $crate::any_session::AnySession::Http2($own) => $question,
        }
    };
}
pub(crate) use ask;

impl AnySession {
    pub(crate) fn new() -> Self {
        Self::Http1(Http1::new())
    }

    /// Answers what has been received while there is room for output. The first bytes select the protocol.
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

    /// The TLS handshake is complete, and ALPN has selected the protocol (RFC 7301).
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

    /// Answers plain HTTP received on a TLS port.
    #[cold]
    pub(crate) fn refuse_plain<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        match self {
            Self::Http1(http1) => http1.refuse_unread(link, worker, &Refusal::PlainHttp),
            Self::Http2(http2) => http2.expire(link, worker),
        }
    }

    /// Switches to HTTP/2 with the request in the worker's head.
    #[cold]
    pub(crate) fn upgrade<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        *self = Self::Http2(Box::new(Http2::upgraded(link, worker)));
    }
}
