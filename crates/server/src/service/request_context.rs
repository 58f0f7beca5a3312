//! A request and how far it has been processed: plain data, which dispatch, phases, subrequests and `finish` work on.

use crate::client::Client;
use crate::handler::{Later, Outcome};
use crate::modules::access_log::Record;
use crate::modules::reproxy::Kept;
use crate::modules::server_timing::Timing;
use crate::passed_limits::PassedLimits;
use crate::phase::{Reply, Waiting};
use crate::router::{HostIndex, Route};
use hayami_http::{PathFault, RequestHead, Response};
use hayami_net::service::{ConnectionInfo, Interim, RequestBody, Upgrade};
use std::rc::Rc;

/// Buffers that every request uses again.
#[derive(Default)]
pub(super) struct Scratch {
    /// The normalized path.
    pub(super) path: Vec<u8>,
    pub(super) decoded: Vec<u8>,
}

/// How far a request has been processed.
pub(super) struct RequestContext {
    pub(super) host: HostIndex,
    pub(super) route: Rc<Route>,
    pub(super) connection: Rc<ConnectionInfo>,
    /// What the phases have learnt about the client.
    pub(super) client: Client,
    pub(super) record: Option<Box<Record>>,
    /// What the client may be told of the time that the request took.
    pub(super) timing: Option<Box<Timing>>,
    /// The request's content, until a handler takes it.
    pub(super) content: Option<RequestBody>,
    /// The tunnel that the client asks for, until a handler takes it.
    pub(super) upgrade: Option<Upgrade>,
    /// Where interim responses of handlers go, once one has asked.
    pub(super) interim: Option<Interim>,
    /// Whether the client gets interim responses.
    pub(super) interim_responses: bool,
    /// The request came before the TLS handshake was complete.
    pub(super) early: bool,
    /// Length of the path's prefix.
    pub(super) below: usize,
    /// The handler to ask next.
    pub(super) next: usize,
    /// The limit and access phases of the route have not been passed yet.
    pub(super) unchecked: bool,
    /// The limits that have counted the request.
    pub(super) passed_limits: PassedLimits,
    /// On behalf of how many requests, one of the other, the server itself asks; 0: a client asks.
    pub(super) depth: u8,
    /// Where it is said why the request is not answered as it should be.
    pub(super) faults: Faults,
    /// Internal redirects so far.
    pub(super) redirects: u32,
    /// Answers followed so far that said where the real one is.
    pub(super) delegations: u32,
    /// What stays of an answer that said where the real one is.
    pub(super) kept: Option<Kept>,
    /// Path and query that the client asked for, if a redirect has changed them.
    pub(super) asked: Option<Vec<u8>>,
    /// Why the target has no route.
    pub(super) fault: Option<PathFault>,
}

/// What happens to the reason why a request is not answered as it should be.
pub(super) enum Faults {
    /// Logs and error log get it.
    Logged,
    /// The request that this one is made for gets it.
    Kept(Option<String>),
}

impl Faults {
    /// The reason, if it was kept.
    pub(super) fn take(&mut self) -> Option<String> {
        match self {
            Self::Logged => None,
            Self::Kept(reason) => reason.take(),
        }
    }
}

/// What comes next on the way.
pub(super) enum Progress {
    Ready(Response),
    Later(Pending),
}

/// What a request waits for.
pub(super) enum Pending {
    /// The answer of a handler.
    Handler(Later),
    /// A step of a phase.
    Phase(PendingPhase),
}

/// A request that outlives the call that brought it.
pub(super) struct DetachedRequest {
    pub(super) context: RequestContext,
    pub(super) head: RequestHead,
    pub(super) scratch: Scratch,
}

/// A phase one of whose steps waits.
pub(super) struct PendingPhase {
    /// The phase.
    pub(super) walk: Box<Walk>,
    /// What the step waits for.
    pub(super) waiting: Waiting,
}

/// A phase under way.
pub(super) struct Walk {
    pub(super) route: Rc<Route>,
    pub(super) phase: Phase,
    /// The step to ask next.
    pub(super) next: usize,
    /// What refuses the request unless another step admits it.
    pub(super) refused: Option<Box<Reply>>,
    /// What comes when all steps let the request go on.
    pub(super) then: Outcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Early,
    Limit,
    Access,
}
