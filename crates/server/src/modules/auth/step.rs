//! The step of the access phase that authenticates the user.

use super::credentials::Credentials;
use super::htpasswd::shown;
use super::{Basic, Settings, memo};
use crate::client::User;
use crate::phase::{PhaseRequest, Reply, Resumption, Step, Verdict};
use crate::service::plain;
use crate::watched_file::refresh;
use crate::worker::WorkerContext;
use hayami_http::Status;
use hayami_net::Clock;
use hayami_net::blocking::{self, Lane};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// The step for these settings; `None` if they require no password.
pub(super) fn build(settings: &Settings, worker: &WorkerContext) -> Option<Box<dyn Step>> {
    let basic = Arc::clone(settings.0.as_ref()?);
    Some(Box::new(BasicStep(Rc::new(Door { basic, clock: Rc::clone(&worker.clock) }))))
}

struct BasicStep(Rc<Door>);

/// Verifies passwords.
struct Door {
    basic: Arc<Basic>,
    clock: Rc<Clock>,
}

impl Step for BasicStep {
    fn check(&self, request: &mut PhaseRequest<'_>) -> Verdict {
        // RFC 9110 §11.7: proxy authentication uses its own fields.
        let field: &[u8] = if request.is_for_proxy() { b"proxy-authorization" } else { b"authorization" };
        let Some(credentials) = Credentials::of(request.head, field) else {
            return self.0.refuse(request, String::new());
        };
        match self.0.basic.users.is_fresh(self.0.clock.now()) {
            true => self.0.judge(request, credentials),
            false => self.wait(credentials),
        }
    }
}

impl BasicStep {
    /// Decides once the file has been compared with the disk.
    #[cold]
    fn wait(&self, credentials: Credentials) -> Verdict {
        let door = Rc::clone(&self.0);
        Verdict::Wait(Box::pin(async move {
            refresh(Arc::clone(&door.basic.users)).await;
            Box::new(move |request: &mut PhaseRequest<'_>| door.judge(request, credentials)) as Resumption
        }))
    }
}

impl Door {
    /// Admits or refuses the user, if a recent check is cached; otherwise has the password checked.
    fn judge(self: &Rc<Self>, request: &mut PhaseRequest<'_>, credentials: Credentials) -> Verdict {
        let users = self.basic.users.load();
        let user = credentials.user();
        let (stored, is_known) = match (users.get(user), users.decoy(user)) {
            (Some(stored), _) => (stored, true),
            (None, Some(decoy)) => (decoy, false),
            (None, None) => return self.refuse_user(request, &credentials, false),
        };
        let now = self.clock.now();
        let (right, tag) = memo::recall(user, credentials.password(), stored, now);
        if let Some(right) = right {
            return self.conclude(request, &credentials, right && is_known, is_known);
        }
        let (door, stored, work) = (Rc::clone(self), Arc::clone(stored), credentials.clone());
        let checked = blocking::run(Lane::Passwords, move || stored.verify(work.password()));
        Verdict::Wait(Box::pin(async move {
            let checked = checked.await;
            Box::new(move |request: &mut PhaseRequest<'_>| match checked {
                Ok(right) => {
                    // The decoy of an unknown user never authenticates, even if the password happens to match.
                    let right = right && is_known;
                    memo::note(tag, right, door.clock.now());
                    door.conclude(request, &credentials, right, is_known)
                }
                Err(error) => unchecked(&error),
            }) as Resumption
        }))
    }

    fn conclude(
        &self,
        request: &mut PhaseRequest<'_>,
        credentials: &Credentials,
        right: bool,
        is_known: bool,
    ) -> Verdict {
        if !right {
            return self.refuse_user(request, credentials, is_known);
        }
        request.client.set_user(User { name: credentials.user().into(), scheme: "Basic" });
        Verdict::Admit
    }

    #[cold]
    fn refuse_user(&self, request: &PhaseRequest<'_>, credentials: &Credentials, is_known: bool) -> Verdict {
        let (user, file) = (shown(credentials.user()), self.basic.users.path().display());
        self.refuse(
            request,
            match is_known {
                true => format!("wrong password for user `{user}`"),
                false => format!("user `{user}` is not in `{file}`"),
            },
        )
    }

    /// Requests credentials (RFC 9110 §11.6.1, §11.7.1). A first request without credentials is not logged.
    fn refuse(&self, request: &PhaseRequest<'_>, reason: String) -> Verdict {
        let (status, field) = match request.is_for_proxy() {
            true => (Status::PROXY_AUTHENTICATION_REQUIRED, &b"proxy-authenticate"[..]),
            false => (Status::UNAUTHORIZED, &b"www-authenticate"[..]),
        };
        let mut response = plain(status, "");
        response.head.append(field, &self.basic.challenge);
        Verdict::Refuse(Box::new(Reply::new(response, reason)))
    }
}

/// The password could not be checked.
#[cold]
fn unchecked(error: &io::Error) -> Verdict {
    let status = match blocking::is_refused(error) {
        true => Status::SERVICE_UNAVAILABLE,
        false => Status::INTERNAL_SERVER_ERROR,
    };
    let mut response = plain(status, "");
    if status == Status::SERVICE_UNAVAILABLE {
        response.head.append(b"retry-after", b"5");
    }
    let reason = format!("the password cannot be checked: {error}");
    Verdict::Answer(Box::new(Reply::new(response, reason)))
}
