//! Subrequests: how they are started, and how they are answered.

use super::request_context::DetachedRequest;
use super::request_context::{Faults, Progress, RequestContext, Scratch};
use super::{Core, plain};
use crate::client::Client;
use crate::handler::Outcome;
use crate::internal_target as target;
use crate::router::{HostIndex, Route};
use crate::subrequest::{MAX_DEPTH, RemoteServers, Responding, SubResponse, Subrequest, Subrequests};
use hayami_http::{RequestHead, Status, TargetForm, normalize};
use hayami_net::service::ConnectionInfo;
use std::rc::Rc;

/// The request on whose behalf subrequests are made.
pub(super) struct Parent<'a> {
    pub(super) core: &'a Rc<Core>,
    pub(super) host: HostIndex,
    pub(super) route: &'a Rc<Route>,
    pub(super) connection: &'a Rc<ConnectionInfo>,
    pub(super) client: Client,
    /// How many requests it is made on behalf of itself.
    pub(super) depth: u8,
    /// It came before the TLS handshake was complete.
    pub(super) early: bool,
}

impl Subrequests for Parent<'_> {
    fn start(&self, subrequest: Subrequest) -> Responding {
        let mut context = self.enter(&subrequest.head);
        context.faults = Faults::Kept(None);
        let (core, route) = (Rc::clone(self.core), Rc::clone(self.route));
        Box::pin(async move {
            let (mut request, progress) = core.run(context, &route, subrequest);
            let response = match progress {
                Progress::Ready(response) => response,
                Progress::Later(pending) => request.response(&core, pending).await,
            };
            SubResponse { response, reason: request.context.faults.take() }
        })
    }
}

impl Parent<'_> {
    /// The subrequest's way, which begins at the host that its target names: this one, if it names none.
    pub(super) fn enter(&self, head: &RequestHead) -> RequestContext {
        let host = match head.form() {
            TargetForm::Absolute => self.core.router.named_host(target::is_https(head), head.authority()),
            _ => self.host,
        };
        let mut context = self.core.enter(host, self.connection);
        (context.client, context.depth, context.early) =
            (self.client.clone(), self.depth.saturating_add(1), self.early);
        context
    }
}

impl Core {
    /// Answers a subrequest of a request that is answered by this route.
    pub(super) fn run(
        self: &Rc<Self>,
        mut context: RequestContext,
        parent: &Route,
        subrequest: Subrequest,
    ) -> (DetachedRequest, Progress) {
        let Subrequest { mut head, handler } = subrequest;
        let mut scratch = Scratch::default();
        let outcome = if context.depth > MAX_DEPTH {
            too_deep()
        } else if let Some(handler) = handler {
            // A target that the configuration names is normal; if it is not, the handler gets the raw one only.
            let path = normalize(head.path(), &mut Vec::new()).map(<[u8]>::to_vec);
            context.ask_only(&*handler, &mut head, &path.unwrap_or_default(), 0)
        } else if let Some(remote) = elsewhere(&head, context.host, parent) {
            remote.ask(&head, &context.connection, context.client.address(&context.connection), context.early)
        } else {
            self.locate(&mut context, &head, &mut scratch)
        };
        let progress = self.advance(&mut context, &mut head, &mut scratch, outcome);
        (DetachedRequest { context, head, scratch }, progress)
    }
}

/// What answers for a target that names a host which this server does not have.
pub(super) fn elsewhere<'a>(
    head: &RequestHead,
    host: HostIndex,
    route: &'a Route,
) -> Option<&'a dyn RemoteServers> {
    route.remote.as_deref().filter(|_| host.is_none() && head.form() == TargetForm::Absolute)
}

#[cold]
fn too_deep() -> Outcome {
    let reason = format!("subrequests are nested more than {MAX_DEPTH} deep");
    Outcome::Failed { response: plain(Status::INTERNAL_SERVER_ERROR, ""), reason }
}
