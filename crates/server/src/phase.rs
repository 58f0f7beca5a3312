//! The phases that a request passes before the handlers of its path, and the contract of their steps.
//!
//! ```text
//! route found ─▶ early ─▶ (log record begins) ─▶ limit ─▶ access ─▶ handlers
//! ```
//!
//! **early**: what is known of the client is put right (`real-ip`). Once for each request of a client, on the route
//! that its own target leads to.
//!
//! **limit**: whether the client makes more requests than it may (`limit.requests`, `limit.connections`). Before the access
//! phase, so that guesses of passwords are limited as well, and whatever `satisfy` says. Again on every route that an
//! internal redirect leads to, but each limit counts a request once ([`PassedLimits`]); not for subrequests, nor where
//! an answer leads (`reproxy`).
//!
//! **access**: whether the client may have what is there: `allow` and `deny`, then `auth.basic`, then `auth.request`.
//! Again on every route that an internal redirect leads to; not for subrequests, which the server itself makes.
//!
//! A route has a slice of steps for each phase, made when the router is built. An empty slice costs a comparison.

use crate::client::Client;
use crate::handler::Outcome;
use crate::passed_limits::PassedLimits;
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
    /// Before the access phase.
    pub limit: Box<[Box<dyn Step>]>,
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

impl Phases {
    /// Whether a request has to pass anything between the route and its handlers.
    #[inline]
    pub fn guard_handlers(&self) -> bool {
        !self.limit.is_empty() || !self.access.is_empty()
    }
}

/// A request, as the steps of a phase see it.
pub struct PhaseRequest<'a> {
    /// Its head.
    pub head: &'a mut RequestHead,
    /// The connection.
    pub connection: &'a Rc<ConnectionInfo>,
    /// What is known of the client.
    pub client: &'a mut Client,
    /// The limits that have counted it.
    pub passed_limits: &'a mut PassedLimits,
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
    /// The error log has had a line about the same a moment ago: only the access log gets the reason.
    pub is_repeated: bool,
}

impl Reply {
    /// An answer with this reason.
    pub fn new(response: Response, reason: String) -> Self {
        Self { response, reason, is_repeated: false }
    }
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        let Reply { response, reason, is_repeated } = reply;
        match is_repeated {
            _ if reason.is_empty() => Self::Ready(response),
            true => Self::FailedAgain { response, reason },
            false => Self::Failed { response, reason },
        }
    }
}
