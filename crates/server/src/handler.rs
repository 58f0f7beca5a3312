//! The two traits of this layer: a [`Handler`] responds to a request, a [`Filter`] changes a response.

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

/// A request while it passes hosts, paths and handlers.
pub struct Exchange<'a> {
    /// The request's head. A handler that responds later and needs more of it than a few fields takes it
    /// (`std::mem::take`).
    pub head: &'a mut RequestHead,
    /// The whole path, decoded once, without dot segments (`hayami_http::target::normalize`).
    pub path: &'a [u8],
    /// Where in `path` the part behind the configured path prefix begins: with path `/img/a.png` it is the
    /// index of `a.png` for the prefix `/img/` and of `/a.png` for the prefix `/img`.
    pub below: usize,
    /// The connection.
    pub connection: &'a Rc<ConnectionInfo>,
    /// What else is known about the client.
    pub client: &'a Client,
    /// The request's environment (`setenv`), innermost level last; shared by all requests of a path.
    pub env: &'a Rc<crate::environment::Environment>,
    /// Its content, `None` if there is none. It is not read until a handler asks for it; content that no handler takes
    /// is discarded.
    pub content: &'a mut Option<RequestBody>,
    /// The tunnel that the client requests instead of an ordinary response.
    pub upgrade: &'a mut Option<Upgrade>,
    /// Sends interim responses, if the client accepts them.
    pub interims: Option<Interims<'a>>,
    /// Records the upstreams that are tried, if a log or `server-timing` needs it.
    pub trace: Option<&'a Rc<UpstreamTrace>>,
    /// Whether it was received before the TLS handshake was complete (RFC 8470).
    pub early: bool,
    /// The path and query of the client's request, if an internal redirect has changed them.
    pub asked: Option<&'a [u8]>,
    /// The file that is handled instead of being sent (`file.custom-handler`).
    pub script: Option<&'a Script>,
}

impl Exchange<'_> {
    /// The client's address: the connection's peer, unless a trusted proxy has forwarded another one (`real-ip`).
    #[inline]
    pub fn client_address(&self) -> &Address {
        self.client.address(self.connection)
    }
}

/// The result of a handler.
pub enum Outcome {
    /// The next handler of the path is called.
    Declined,
    /// The response is complete.
    Ready(Response),
    /// An error: the client gets the response, the logs the reason.
    Failed {
        /// An error response.
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
    /// The request is redirected internally to another target (`redirect` with `internal: YES`).
    Internal {
        /// A path and query, still percent-encoded, or `http://host/path` for another host of this server.
        target: Vec<u8>,
        /// Whether the method is kept; if not, all except HEAD become GET.
        keep_method: bool,
    },
    /// The index file of the requested directory, unless the configuration has a path for that file itself.
    Index(Box<IndexFile>),
    /// The file needs another handler (`file.custom-handler`).
    Delegated(Box<Delegated>),
    /// Needs I/O; the connection's task polls it. The result is treated like an immediate one: a file that turns out
    /// not to exist once the disk has been read is still declined to the next handler.
    Later(Later),
}

impl Outcome {
    /// A result made by this server itself: a client that has closed its half of the connection still gets it.
    pub fn later(outcome: impl Future<Output = Self> + 'static) -> Self {
        Self::Later(Later { outcome: Box::pin(outcome), cancel_on_close: false })
    }

    /// A result that other servers or applications have to work for: it is cancelled as soon as the client closes the
    /// connection, even if only its half.
    pub fn from_upstream(outcome: impl Future<Output = Self> + 'static) -> Self {
        Self::Later(Later { outcome: Box::pin(outcome), cancel_on_close: true })
    }
}

/// A result that is available later.
pub struct Later {
    outcome: Pin<Box<dyn Future<Output = Outcome>>>,
    /// Over HTTP/1.1, whether it is cancelled when the client closes its half of the connection.
    pub cancel_on_close: bool,
}

impl Future for Later {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        self.outcome.as_mut().poll(cx)
    }
}

/// The response to a request for a directory.
pub struct IndexFile {
    /// The name of the index file.
    pub name: Arc<[u8]>,
    /// The response.
    pub response: Response,
}

/// A request for a file that needs another handler.
pub struct Delegated {
    /// The handler.
    pub handler: Rc<dyn Handler>,
    /// The file.
    pub script: Script,
}

/// Handles the requests of one path. Created once per worker.
pub trait Handler {
    /// Responds, declines, or returns a future.
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome;

    /// Whether it handles CONNECT, which has no path.
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

/// The properties of a request available to filters and logs along with its response.
pub struct RequestInfo<'a> {
    /// The request's head.
    pub head: &'a RequestHead,
    /// The decoded path.
    pub path: &'a [u8],
    /// Whether the response opens a tunnel, whose bytes are not content.
    pub tunnel: bool,
}

/// Changes a response before it is sent. Created once per worker.
pub trait Filter {
    /// Changes `response`, or leaves it unchanged.
    fn apply(&self, request: &RequestInfo<'_>, response: &mut Response);
}
