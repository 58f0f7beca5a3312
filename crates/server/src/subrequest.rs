//! Subrequests: requests made by this server on behalf of another one.
//!
//! A subrequest passes the same router and handlers as a client's request, and its response is returned to the caller.
//! Its target is set by the configuration, not by the client: the access phase does not apply, and paths that are
//! `internal` are available. It has no content, no log line, no filters and no error page, and its interim responses
//! are not forwarded. It ends when the original request ends.
//!
//! Steps of phases start subrequests by [`Subrequests`]; error pages are subrequests of the service itself. Targets
//! that match no host of this server are handled by [`RemoteServers`].

use crate::handler::{Handler, Outcome};
use hayami_http::{RequestHead, Response};
use hayami_net::service::{Address, ConnectionInfo};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// How deep subrequests may be nested. Error pages and authorization need one level; a feature that is configured to
/// request itself ends here.
pub const MAX_DEPTH: u8 = 8;

/// A subrequest.
pub struct Subrequest {
    /// Its head: the version, the authority and those of the client's fields that the caller forwards.
    pub head: RequestHead,
    /// The handler to call instead of those of the path.
    pub handler: Option<Rc<dyn Handler>>,
}

/// The result of a subrequest.
pub struct SubResponse {
    /// The response; its content may be read or dropped.
    pub response: Response,
    /// Why it failed, on one line, if it did. It is not logged: that is up to the caller.
    pub reason: Option<String>,
}

/// A subrequest in progress. Dropping it cancels it.
pub type Responding = Pin<Box<dyn Future<Output = SubResponse>>>;

/// Starts subrequests on behalf of one request.
pub trait Subrequests {
    /// Starts a subrequest. It makes progress when polled, by the request's connection.
    fn start(&self, subrequest: Subrequest) -> Responding;
}

/// Servers other than the hosts of this one.
pub trait RemoteServers {
    /// Sends a request to the server that `head` names, whose target is a URL. `early`: the request was received before
    /// the TLS handshake was complete.
    fn ask(&self, head: &RequestHead, connection: &ConnectionInfo, client: &Address, early: bool) -> Outcome;
}
