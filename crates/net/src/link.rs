//! The part of a connection that its session works on: input, output, and how far the connection is from its end.

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
    /// When the first byte of the current request was seen.
    pub(crate) begun: Instant,
    /// When the connection became idle, in milliseconds of the worker's clock.
    pub(crate) idle_since: Millis,
    /// Number of requests so far.
    pub(crate) requests: u32,
    /// The current request was received as TLS early data.
    pub(crate) early: bool,
    /// It accepts no more requests: its listener is gone.
    pub(crate) leaves: bool,
    /// Close with a reset: in a tunnel, an ordinary end could be taken for a complete stream.
    pub(crate) resets: bool,
    /// Wakes this connection; created when it first waits for something other than the socket.
    waker: Option<Waker>,
    /// Identifies the connection among those of its worker.
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

    /// Returns a waker of this connection.
    pub(crate) fn waker<S>(&mut self, worker: &Worker<S>) -> Waker {
        self.own_waker(worker).clone()
    }

    /// Like [`waker`](Self::waker), without cloning it.
    pub(crate) fn own_waker<S>(&mut self, worker: &Worker<S>) -> &Waker {
        self.waker.get_or_insert_with(|| worker.woken.waker(self.token, 0))
    }

    /// Whether it ends once pending requests are answered.
    #[inline]
    pub(crate) fn is_leaving<S>(&self, worker: &Worker<S>) -> bool {
        self.leaves || worker.draining.get()
    }

    /// The request in `head`, as passed to the service.
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

    /// Applies an event to the stage of the connection.
    #[inline]
    pub(crate) fn on(&mut self, event: Event) {
        self.stage = self.stage.on(event);
    }

    /// Ends the connection once all output is sent; `linger`: bytes from the peer may be in transit.
    #[inline]
    pub(crate) fn close(&mut self, linger: bool) {
        self.on(Event::Close { linger });
    }

    /// Aborts the connection with responses incomplete.
    pub(crate) fn abort<S>(&mut self, worker: &Worker<S>, why: &'static str) {
        self.reports.aborted(why, self.output.sent(), &worker.clock);
        self.on(Event::Lost);
    }
}
