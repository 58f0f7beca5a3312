//! Subrequests: requests that this server makes itself on behalf of one that is under way.
//!
//! A subrequest passes the same router and handlers as a client's request, and its response is handed to the caller.
//! The configuration names its target, not the client: the access phase does not apply, and paths that are `internal` are
//! found. It has no content, no log line, no filters and no error page, and its interim responses do not reach the client.
//! It ends when the request on whose behalf it is made ends.
//!
//! Steps of phases start subrequests by [`Subrequests`]; error pages are subrequests of the service itself. For targets
//! that no host of this server has, [`RemoteServers`] answers.

use crate::handler::{Handler, Outcome};
use hayami_http::{RequestHead, Response};
use hayami_net::service::{Address, ConnectionInfo};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// How deep subrequests of subrequests go. Error pages and authorization need one level; a feature that is configured to
/// ask for itself ends here.
pub const MAX_DEPTH: u8 = 8;

/// What is asked for.
pub struct Subrequest {
    /// Its head; the version, the authority and those fields of the client's that the caller wants to pass on.
    pub head: RequestHead,
    /// What answers instead of the handlers of the path.
    pub handler: Option<Rc<dyn Handler>>,
}

/// What came of a subrequest.
pub struct SubResponse {
    /// The response; its content may be read or dropped.
    pub response: Response,
    /// Why it was not answered as it should have been, on one line. It is not logged: that is up to the caller.
    pub reason: Option<String>,
}

/// A subrequest under way. Dropping it cancels it.
pub type Responding = Pin<Box<dyn Future<Output = SubResponse>>>;

/// Starts subrequests on behalf of one request.
pub trait Subrequests {
    /// Starts one. It makes progress as it is polled, by the request's connection.
    fn start(&self, subrequest: Subrequest) -> Responding;
}

/// Servers that no host of this one stands for.
pub trait RemoteServers {
    /// Asks the one that `head` names, whose target is a URL. `early`: the request came before the TLS handshake was
    /// complete.
    fn ask(&self, head: &RequestHead, connection: &ConnectionInfo, client: &Address, early: bool) -> Outcome;
}
