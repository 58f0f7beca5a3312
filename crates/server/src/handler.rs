//! The two contracts of this layer: a [`Handler`] answers a request, a [`Filter`] changes a response.

use crate::client::Client;
use crate::script::Script;
use crate::upstream_trace::UpstreamTrace;
use hayami_http::{RequestHead, Response};
use hayami_net::service::{Address, ConnectionInfo, RequestBody, Upgrade};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

mod interims;
pub use interims::Interims;
#[cfg(test)]
pub(crate) mod testing;

/// One request on its way through hosts, paths and handlers.
pub struct Exchange<'a> {
    /// The request's head. A handler that answers later and needs more of it than a few fields takes it
    /// (`std::mem::take`).
    pub head: &'a mut RequestHead,
    /// The whole path, decoded once, without dot segments (`hayami_http::target::normalize`).
    pub path: &'a [u8],
    /// Where in `path` the part behind the configured path prefix begins: with path `/img/a.png` it is the
    /// index of `a.png` for the prefix `/img/` and of `/a.png` for the prefix `/img`.
    pub below: usize,
    /// The connection.
    pub connection: &'a Rc<ConnectionInfo>,
    /// What is known of the client beyond that.
    pub client: &'a Client,
    /// The request's environment (`setenv`), innermost level last; shared by all requests of a path.
    pub env: &'a Rc<crate::environment::Environment>,
    /// Its content, `None` if there is none. Nothing of it is read before a handler asks for it; what no handler takes is
    /// thrown away.
    pub content: &'a mut Option<RequestBody>,
    /// The tunnel that the client asks for instead of an ordinary answer.
    pub upgrade: &'a mut Option<Upgrade>,
    /// Where interim responses go, if the client may have them.
    pub interims: Option<Interims<'a>>,
    /// Records the upstreams that are called, if a log or `server-timing` needs it.
    pub trace: Option<&'a Rc<UpstreamTrace>>,
    /// It came before the TLS handshake was complete (RFC 8470).
    pub early: bool,
    /// Path and query that the client asked for, if an internal redirect has changed them.
    pub asked: Option<&'a [u8]>,
    /// The file for which the handler stands in (`file.custom-handler`).
    pub script: Option<&'a Script>,
}

impl Exchange<'_> {
    /// The client's address: the connection's own, unless a trusted proxy has named another one (`real-ip`).
    #[inline]
    pub fn client_address(&self) -> &Address {
        self.client.address(self.connection)
    }
}

/// What a handler says to a request.
pub enum Outcome {
    /// Not mine: ask the next handler of the path.
    Declined,
    /// Answered now.
    Ready(Response),
    /// Cannot be answered as it should: the client gets the response, the logs the reason.
    Failed {
        /// An error.
        response: Response,
        /// What went wrong, on one line.
        reason: String,
    },
    /// As `Failed`, and the error log has had a line about the same a moment ago: only the access log gets the reason.
    FailedAgain {
        /// An error.
        response: Response,
        /// What went wrong, on one line.
        reason: String,
    },
    /// Answered elsewhere in this server: start over with another target (`redirect` with `internal: YES`).
    Internal {
        /// A path and query, still percent-encoded, or `http://host/path` for another host of this server.
        target: Vec<u8>,
        /// Whether the method stays; if not, all but HEAD become GET.
        keep_method: bool,
    },
    /// Answered with the index file of the directory that the path names, unless a path of the configuration stands for
    /// that file itself.
    Index(Box<IndexFile>),
    /// It is for a file that another handler answers for (`file.custom-handler`).
    Delegated(Box<Delegated>),
    /// Needs I/O; the connection's task polls it. What comes is treated like an answer given at once: a
    /// file that turns out not to exist once the disk has spoken is still declined to the next handler.
    Later(Later),
}

impl Outcome {
    /// An outcome that this server makes by itself: a client that has closed its half of the connection still gets it.
    pub fn later(outcome: impl Future<Output = Self> + 'static) -> Self {
        Self::Later(Later { outcome: Box::pin(outcome), cancel_on_close: false })
    }

    /// An outcome that costs other servers or applications work: it is given up as soon as the client closes its
    /// connection, even if only its half of it.
    pub fn from_upstream(outcome: impl Future<Output = Self> + 'static) -> Self {
        Self::Later(Later { outcome: Box::pin(outcome), cancel_on_close: true })
    }
}

/// An outcome that comes later.
pub struct Later {
    outcome: Pin<Box<dyn Future<Output = Outcome>>>,
    /// Over HTTP/1.1, whether it is given up when the client closes its half of the connection.
    pub cancel_on_close: bool,
}

impl Future for Later {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        self.outcome.as_mut().poll(cx)
    }
}

/// The answer to a request for a directory.
pub struct IndexFile {
    /// The name of the index file.
    pub name: Arc<[u8]>,
    /// The answer.
    pub response: Response,
}

/// A request for a file that a handler answers for.
pub struct Delegated {
    /// Who answers.
    pub handler: Rc<dyn Handler>,
    /// The file.
    pub script: Script,
}

/// Answers requests of one path. Made once per worker.
pub trait Handler {
    /// Answers, declines, or promises an answer.
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome;

    /// Whether it is asked for ways to other servers: CONNECT, which has no path.
    fn connects(&self) -> bool {
        false
    }
}

impl<H: Handler + ?Sized> Handler for Rc<H> {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        (**self).handle(exchange)
    }

    fn connects(&self) -> bool {
        (**self).connects()
    }
}

/// What filters and logs may know of the request when its response is there.
pub struct RequestInfo<'a> {
    /// The request's head.
    pub head: &'a RequestHead,
    /// The decoded path.
    pub path: &'a [u8],
    /// Whether the response grants it a tunnel, whose bytes are not content.
    pub tunnel: bool,
}

/// Changes a response before it leaves. Made once per worker.
pub trait Filter {
    /// Changes `response`, or leaves it alone.
    fn apply(&self, request: &RequestInfo<'_>, response: &mut Response);
}
