//! Which protocol a connection speaks.

use crate::clock::Millis;
use crate::connection::Wait;
use crate::http1::Http1;
use crate::http2::{self, Http2};
use crate::link::{Link, Need, Stage};
use crate::service::{Refusal, Service};
use crate::worker::{Timeouts, Worker};
use hayami_tls::{Alpn, Info};
use std::rc::Rc;

/// The protocol of a connection. In clear it begins as HTTP/1.1; a client that knows better says so by
/// its first octets (RFC 9113 §3.3) or asks for it (RFC 7540 §3.2).
pub(crate) enum Protocol {
    Http1(Http1),
    Http2(Box<Http2>),
}

impl Protocol {
    pub(crate) fn new() -> Self {
        Self::Http1(Http1::new())
    }

    /// Answers what has been received, as far as there is room.
    #[inline]
    pub(crate) fn answer<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
        match self {
            Self::Http2(http2) => http2.answer(link, worker),
            Self::Http1(http1) if link.requests > 0 => http1.answer(link, worker),
            Self::Http1(_) => self.begin(link, worker),
        }
    }

    /// The first octets decide.
    fn begin<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
        match http2::preface(worker, &link.info, link.input.unread()) {
            http2::Preface::Partial => return Need::Input,
            http2::Preface::Whole => *self = Self::Http2(Box::new(Http2::new(link, worker))),
            http2::Preface::Absent => {}
        }
        match self {
            Self::Http1(http1) => http1.answer(link, worker),
            Self::Http2(http2) => http2.answer(link, worker),
        }
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

    /// Answers what is no request, and closes.
    #[cold]
    pub(crate) fn refuse<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, refusal: &Refusal) {
        match self {
            Self::Http1(http1) => {
                let mut head = worker.head.borrow_mut();
                head.reset_to(b"");
                http1.refuse(link, worker, refusal, &mut head);
            }
            Self::Http2(http2) => http2.expire(link, worker),
        }
    }

    /// Goes on in HTTP/2 with the request in the worker's head.
    #[cold]
    pub(crate) fn upgrade<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        *self = Self::Http2(Box::new(Http2::upgraded(link, worker)));
    }

    pub(crate) fn woken(&mut self, stream: u32) {
        match self {
            Self::Http1(_) => {}
            Self::Http2(http2) => http2.woken(stream),
        }
    }

    /// Nothing happens for a while: gives memory back that holds nothing.
    #[inline]
    pub(crate) fn rest(&mut self) {
        if let Self::Http2(http2) = self {
            http2.rest();
        }
    }

    /// Whether what is being answered is given up when the client closes its half of the connection.
    #[inline]
    pub(crate) fn ends_with_client(&self, link: &Link) -> bool {
        match self {
            Self::Http1(http1) => http1.ends_with_client(link),
            // It reads at all times, and so finds the end itself.
            Self::Http2(_) => false,
        }
    }

    /// Whether the connection is a tunnel: octets go both ways at any time.
    #[inline]
    pub(crate) fn is_tunnel(&self) -> bool {
        matches!(self, Self::Http1(http1) if http1.is_tunnel())
    }

    /// The client's half of the connection has ended. Whether that leaves the other.
    #[cold]
    pub(crate) fn half_closed(&mut self) -> bool {
        match self {
            Self::Http1(http1) => http1.half_closed(),
            Self::Http2(_) => false,
        }
    }

    /// The client was told that nothing more will come.
    #[cold]
    pub(crate) fn told_end(&mut self) {
        if let Self::Http1(http1) = self {
            http1.told_end();
        }
    }

    /// Whether several exchanges go on at a time.
    pub(crate) fn is_multiplexed(&self) -> bool {
        matches!(self, Self::Http2(_))
    }

    /// Whether no request is at hand.
    pub(crate) fn is_between_requests(&self) -> bool {
        match self {
            Self::Http1(http1) => http1.is_reading(),
            Self::Http2(http2) => http2.is_idle(),
        }
    }

    /// Whether the client knows which of its requests will not be answered.
    pub(crate) fn may_end(&self) -> bool {
        match self {
            Self::Http1(_) => true,
            Self::Http2(http2) => http2.is_over(),
        }
    }

    /// What is waited for when everything received is answered and everything made is sent.
    pub(crate) fn wait(&self) -> Wait {
        match self {
            Self::Http1(http1) => http1.wait(),
            Self::Http2(http2) => http2.wait(),
        }
    }

    /// When [`expire`](Self::expire) has to be called whatever is waited for.
    #[inline]
    pub(crate) fn latest(&mut self, now: Millis, timeouts: &Timeouts) -> Millis {
        match self {
            Self::Http1(http1) => http1.latest(now, timeouts),
            Self::Http2(http2) => http2.latest(now, timeouts),
        }
    }

    /// Whether the deadline was one of streams, or of content that a handler waits for: then it is dealt with.
    #[cold]
    pub(crate) fn streams_are_late<S>(&mut self, link: &mut Link, worker: &Worker<S>) -> bool {
        match self {
            Self::Http1(http1) => http1.content_is_late(worker),
            Self::Http2(http2) => http2.streams_are_late(link, worker),
        }
    }

    /// What was waited for did not come in time.
    #[cold]
    pub(crate) fn expire<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        match self {
            Self::Http1(http1) if http1.is_reading() && !link.input.is_empty() => {
                self.refuse(link, worker, &Refusal::Timeout);
            }
            Self::Http1(http1) if http1.is_tunnel() => http1.leave_tunnel(link, worker),
            Self::Http1(http1) if http1.wait() == Wait::Answer => {}
            Self::Http1(http1) if http1.is_reading() || http1.discarding_is_late(worker.clock.millis()) => {
                link.stage = Stage::Over;
            }
            Self::Http1(_) => {}
            Self::Http2(http2) => http2.expire(link, worker),
        }
    }

    /// The connection is over, and what is being answered stays incomplete.
    #[inline]
    pub(crate) fn abort<S>(&mut self, link: &Link, worker: &Worker<S>, why: &'static str) {
        match self {
            Self::Http1(http1) => http1.abort(link, worker, why),
            Self::Http2(http2) => http2.abort(worker, why),
        }
    }
}
