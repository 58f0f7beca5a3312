//! The steps of the access phase: forged fields are removed, then the authorization server is consulted.

use super::{AuthRequest, Settings, fields};
use crate::config::settings::HandlerSettings;
use crate::feature::RouteContext;
use crate::handler::Handler;
use crate::modules::upstreams::Reference;
use crate::phase::{PhaseRequest, Reply, Resumption, Step, Verdict};
use crate::service::plain;
use crate::subrequest::{SubResponse, Subrequest};
use hayami_http::{Known, Response, Status};
use std::rc::Rc;
use std::sync::Arc;

/// The step that removes client fields with the names of copied ones; `None` if none are copied. It precedes all other
/// steps: with `satisfy: any` another step may admit the request.
pub(super) fn build_guard(settings: &Settings) -> Option<Box<dyn Step>> {
    let own = settings.0.as_ref().filter(|own| !own.copy.is_empty())?;
    Some(Box::new(Guard(Arc::clone(own))))
}

/// The step that sends the subrequest; `None` if the settings require none.
///
/// # Errors
/// One line for the user: there is no handler for the upstream that the settings name.
pub(super) fn build(settings: &Settings, route: &RouteContext<'_>) -> Result<Option<Box<dyn Step>>, String> {
    let Some(settings) = settings.0.as_ref().map(Arc::clone) else { return Ok(None) };
    // Without a path, Location fields remain as the upstream sends them: they are for the client, and not below a path.
    let route = RouteContext { path: None, ..*route };
    let forward = |upstreams: &Reference| route.handler(&HandlerSettings::new(upstreams.clone()));
    let handler = settings.upstreams.as_ref().map(forward).transpose()?.map(Rc::from);
    Ok(Some(Box::new(AuthStep(Rc::new(Authorizer { settings, handler })))))
}

struct Guard(Arc<AuthRequest>);

impl Step for Guard {
    fn check(&self, request: &mut PhaseRequest<'_>) -> Verdict {
        fields::remove(request.head.fields_mut(), &self.0.copy);
        Verdict::Pass
    }
}

struct AuthStep(Rc<Authorizer>);

struct Authorizer {
    settings: Arc<AuthRequest>,
    handler: Option<Rc<dyn Handler>>,
}

impl Step for AuthStep {
    fn check(&self, request: &mut PhaseRequest<'_>) -> Verdict {
        let AuthRequest { target, timeout, .. } = &*self.0.settings;
        if fields::loops(request.head.fields()) >= fields::MAX_LOOPS {
            return self
                .0
                .fail(&format!("the server that is asked asks this one, {} times", fields::MAX_LOOPS));
        }
        let Ok(head) = fields::subrequest(request.head, request.asked, target) else {
            let reason = "client: the Connection field has too many elements".to_owned();
            return Verdict::Answer(Box::new(Reply::new(plain(Status::BAD_REQUEST, ""), reason)));
        };
        let handler = self.0.handler.as_ref().map(Rc::clone);
        let responding = request.subrequests.start(Subrequest { head, handler });
        let (authorizer, timeout) = (Rc::clone(&self.0), *timeout);
        Verdict::Wait(Box::pin(async move {
            let responded = tokio::time::timeout(timeout, responding).await;
            Box::new(move |request: &mut PhaseRequest<'_>| match responded {
                Ok(response) => authorizer.judge(request, response),
                Err(_) => authorizer.fail(&format!("no response within {timeout:?}")),
            }) as Resumption
        }))
    }
}

impl Authorizer {
    fn judge(&self, request: &mut PhaseRequest<'_>, answered: SubResponse) -> Verdict {
        let SubResponse { response, reason } = answered;
        match (response.head.status().code(), reason) {
            (200..=299, _) => {
                fields::copy(&response.head, request.head.fields_mut(), &self.settings.copy);
                Verdict::Admit
            }
            // RFC 8470 §5.2: the client must repeat the request sent as early data.
            (401 | 407 | 425, _) => refuse(response, String::new()),
            (301 | 302 | 303 | 307 | 308, _) if response.head.get(Known::Location).is_some() => {
                refuse(response, String::new())
            }
            (403, None) => refuse(response, self.shown("the response is 403")),
            (_, Some(reason)) => self.fail(&reason),
            (status, None) => self.fail(&format!("the response is {status}")),
        }
    }

    /// Responds with 500: the authorization is unknown.
    #[cold]
    fn fail(&self, reason: &str) -> Verdict {
        let response = plain(Status::INTERNAL_SERVER_ERROR, "");
        Verdict::Answer(Box::new(Reply::new(response, self.shown(reason))))
    }

    fn shown(&self, reason: &str) -> String {
        format!("`auth.request` {}: {reason}", self.settings.url)
    }
}

fn refuse(response: Response, reason: String) -> Verdict {
    Verdict::Refuse(Box::new(Reply::new(response, reason)))
}
