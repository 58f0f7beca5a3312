//! The phases that a request passes before the handlers of its path, and the contract of their steps.
//!
//! ```text
//! route found ─▶ early ─▶ (log record begins) ─▶ access ─▶ handlers
//! ```
//!
//! **early**: what is known of the client is put right (`real-ip`). Once for each request of a client, on the route
//! that its own target leads to.
//!
//! **access**: whether the client may have what is there: `allow` and `deny`, then `auth.basic`, then `auth.request`.
//! Again on every route that an internal redirect leads to; not for subrequests, which the server itself makes.
//!
//! A route has a slice of steps for each phase, made when the router is built. An empty slice costs a comparison.

use crate::client::Client;
use crate::handler::Outcome;
use crate::subrequest::Subrequests;
use hayami_http::{RequestHead, Response};
use hayami_net::service::ConnectionInfo;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// The steps of a route, by phase.
#[derive(Default)]
pub struct Phases {
    /// Before the log record begins.
    pub early: Box<[Box<dyn Step>]>,
    /// Before the handlers.
    pub access: Box<[Box<dyn Step>]>,
    /// How many steps of `access` have to agree.
    pub satisfy: Satisfy,
}

/// How many steps of the access phase have to agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Satisfy {
    /// None may refuse the request.
    #[default]
    All,
    /// If one refuses the request, another one has to admit it.
    Any,
}

/// A request, as the steps of a phase see it.
pub struct PhaseRequest<'a> {
    /// Its head.
    pub head: &'a mut RequestHead,
    /// The connection.
    pub connection: &'a Rc<ConnectionInfo>,
    /// What is known of the client.
    pub client: &'a mut Client,
    /// Path and query that the client asked for, if an internal redirect has changed them.
    pub asked: Option<&'a [u8]>,
    /// Starts subrequests on its behalf.
    pub subrequests: &'a dyn Subrequests,
}

impl PhaseRequest<'_> {
    /// Whether the client asks for a tunnel to another server, for which this one is a proxy: CONNECT without
    /// `:protocol` (RFC 9110 §9.3.6, RFC 8441 §4).
    pub fn is_for_proxy(&self) -> bool {
        let head = &*self.head;
        head.method() == hayami_http::Method::Connect && head.fields().get_named(b":protocol").is_none()
    }
}

/// One step of a phase. Made once per worker and route.
pub trait Step {
    /// Lets the request go on, refuses or answers it, or waits.
    fn check(&self, request: &mut PhaseRequest<'_>) -> Verdict;
}

/// What a step says to a request.
pub enum Verdict {
    /// Nothing: the others decide.
    Pass,
    /// The request is admitted; where one step is enough (`satisfy: any`), no other is asked.
    Admit,
    /// The request is refused; where one step is enough, another one may still admit it.
    Refuse(Box<Reply>),
    /// The request is answered, whatever other steps would say.
    Answer(Box<Reply>),
    /// It takes I/O.
    Wait(Waiting),
}

/// What a step waits for; polled by the request's connection.
pub type Waiting = Pin<Box<dyn Future<Output = Resumption>>>;

/// What a step does with the request when the wait is over.
pub type Resumption = Box<dyn FnOnce(&mut PhaseRequest<'_>) -> Verdict>;

/// The answer of a step.
pub struct Reply {
    /// What the client gets.
    pub response: Response,
    /// What the logs get, on one line; empty if the answer is part of the protocol and nothing is wrong.
    pub reason: String,
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        let Reply { response, reason } = reply;
        if reason.is_empty() { Self::Ready(response) } else { Self::Failed { response, reason } }
    }
}
