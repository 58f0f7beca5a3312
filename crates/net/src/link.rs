//! What the session of a connection works on: its bytes in and out, and how far it is from its end.

use crate::buffer::Input;
use crate::clock::{Instant, Millis};
use crate::connection::{Event, Stage};
use crate::exchange::Reports;
use crate::output::Output;
use crate::poll::Token;
use crate::service::{ConnectionInfo, Request, Service};
use crate::worker::Worker;
use hayami_http::RequestHead;
use std::rc::Rc;
use std::task::Waker;

/// A connection as its session sees it.
pub(crate) struct Link {
    pub(crate) info: Rc<ConnectionInfo>,
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) stage: Stage,
    pub(crate) reports: Reports,
    /// When the first byte of the request at hand was seen.
    pub(crate) begun: Instant,
    /// When the connection became idle, in milliseconds of the worker's clock.
    pub(crate) idle_since: Millis,
    /// Requests so far.
    pub(crate) requests: u32,
    /// What is being answered came before the TLS handshake was complete.
    pub(crate) early: bool,
    /// It takes no more requests: its listener is gone.
    pub(crate) leaves: bool,
    /// The connection's end is a reset: in a tunnel it could be taken for a proper one otherwise.
    pub(crate) resets: bool,
    /// Wakes this connection; made when something has to be waited for that is not the socket.
    waker: Option<Waker>,
    /// Names the connection among those of its worker.
    pub(crate) token: Token,
}

impl Link {
    pub(crate) fn new<S: Service>(worker: &Worker<S>, info: ConnectionInfo, token: Token) -> Self {
        Self {
            input: Input::default(),
            output: Output::default(),
            stage: Stage::Open,
            reports: Reports::default(),
            begun: info.accepted,
            idle_since: worker.clock.millis(),
            requests: 0,
            early: false,
            leaves: false,
            resets: false,
            waker: None,
            token,
            info: Rc::new(info),
        }
    }

    /// The waker of this connection.
    pub(crate) fn waker<S>(&mut self, worker: &Worker<S>) -> Waker {
        self.own_waker(worker).clone()
    }

    /// The same, as the connection keeps it.
    pub(crate) fn own_waker<S>(&mut self, worker: &Worker<S>) -> &Waker {
        self.waker.get_or_insert_with(|| worker.woken.waker(self.token, 0))
    }

    /// Whether it ends as soon as what is under way is answered.
    #[inline]
    pub(crate) fn is_leaving<S>(&self, worker: &Worker<S>) -> bool {
        self.leaves || worker.draining.get()
    }

    /// The request in `head` as the service wants it.
    #[inline]
    pub(crate) fn as_request<'a, S>(
        &'a mut self,
        worker: &Worker<S>,
        head: &'a mut RequestHead,
        content_length: Option<u64>,
    ) -> Request<'a> {
        let index = self.requests;
        self.requests += 1;
        let received = worker.clock.refresh_if_exact();
        let connection = &self.info;
        Request {
            head,
            content_length,
            connection,
            index,
            stream: None,
            early: self.early,
            content: None,
            upgrade: None,
            interim: None,
            begun: self.begun,
            received,
        }
    }

    /// Something happens to the connection.
    #[inline]
    pub(crate) fn on(&mut self, event: Event) {
        self.stage = self.stage.on(event);
    }

    /// Ends the connection when everything is sent; `linger`: bytes of the peer's may be on the way.
    #[inline]
    pub(crate) fn close(&mut self, linger: bool) {
        self.on(Event::Close { linger });
    }

    /// Ends the connection with responses unfinished.
    pub(crate) fn abort<S>(&mut self, worker: &Worker<S>, why: &'static str) {
        self.reports.aborted(why, self.output.sent(), &worker.clock);
        self.on(Event::Lost);
    }
}
