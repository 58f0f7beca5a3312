//! From a request to a response: the route, its handlers, internal redirects.

use super::phases::Passed;
use super::request_context::{Faults, Pending, PendingPhase, Progress, RequestContext, Scratch};
use super::{Core, plain};
use crate::client::Client;
use crate::handler::{Delegated, Exchange, Handler, IndexFile, Interims, Outcome};
use crate::internal_target as target;
use crate::modules::early_hints::Recipients;
use crate::modules::server_timing::Timing;
use crate::passed_limits::PassedLimits;
use crate::router::HostIndex;
use crate::script::Script;
use hayami_http::{Method, RequestHead, Response, Status, TargetForm, Version, encode_path, normalize};
use hayami_net::service::{ConnectionInfo, Interim, Limit, Request};
use std::rc::Rc;

/// What a server as a whole allows (RFC 9110 §10.2.1).
const ALLOWED: &[u8] = b"GET, HEAD, OPTIONS";

impl Core {
    /// Starts a request on its way at a host.
    #[inline]
    pub(super) fn enter(&self, host: HostIndex, connection: &Rc<ConnectionInfo>) -> RequestContext {
        let route = Rc::clone(self.router.pathless(host));
        let connection = Rc::clone(connection);
        RequestContext {
            host,
            route,
            connection,
            client: Client::default(),
            record: None,
            timing: None,
            content: None,
            upgrade: None,
            interim: None,
            interim_responses: false,
            early: false,
            below: 0,
            next: 0,
            unchecked: false,
            passed_limits: PassedLimits::default(),
            depth: 0,
            faults: Faults::Logged,
            redirects: 0,
            delegations: 0,
            kept: None,
            asked: None,
            fault: None,
        }
    }

    /// Why a request cannot be answered before the handshake of its connection is complete.
    #[inline]
    pub(super) fn too_early(&self, request: &Request<'_>) -> Option<(Status, &'static str)> {
        // RFC 8470 §5.2: what was sent early may have been replayed by others.
        let why = "send this request again after the TLS handshake";
        (request.early && !request.head.method().is_safe()).then_some((Status::TOO_EARLY, why))
    }

    /// What the client may be told of the time that the request takes.
    #[inline]
    pub(super) fn timing(&self, context: &RequestContext, request: &Request<'_>) -> Option<Box<Timing>> {
        let clock = self.timing.as_ref()?;
        let logged = context.record.as_ref().and_then(|record| record.upstreams());
        Some(Box::new(Timing::new(request, logged, clock)))
    }

    /// Takes what handlers may use of a request besides its head.
    #[inline]
    pub(super) fn take(&self, context: &mut RequestContext, request: &mut Request<'_>) {
        context.content = request.content.take();
        context.upgrade = request.upgrade.take();
        context.interim_responses = self.accepts_interim(request.head);
        context.early = request.early;
    }

    /// Whether the client gets interim responses.
    fn accepts_interim(&self, head: &RequestHead) -> bool {
        match self.informational {
            Recipients::Nobody => false,
            Recipients::ExceptHttp1 => matches!(head.version(), Version::Http2 | Version::Http3),
            Recipients::Everybody => head.version() != Version::Http10,
        }
    }

    /// Whether the client has use for being told what to fetch while its answer is being made.
    #[cold]
    pub(super) fn supports_early_hints(&self, head: &RequestHead) -> bool {
        // Browsers say what they load things for, and heed hints for pages only.
        let page = head.fields().get_named(b"sec-fetch-mode").is_none_or(|mode| mode == b"navigate");
        self.accepts_interim(head) && page && head.method() == Method::Get
    }

    /// Finds the route of a request. `Declined` so far, or answered by the server itself.
    ///
    /// Every request passes here, whether a client or this server itself sends it to a host.
    #[inline]
    pub(super) fn locate(
        &self,
        context: &mut RequestContext,
        head: &RequestHead,
        scratch: &mut Scratch,
    ) -> Outcome {
        if !self.router.admits(context.host, &context.connection) {
            scratch.path.clear();
            scratch.path.push(b'/');
            return not_admitted(context);
        }
        if let Some(response) = without_path(head) {
            return context.lead_connect(head, scratch).unwrap_or(Outcome::Ready(response));
        }
        scratch.path.clear();
        match normalize(head.path(), &mut scratch.decoded) {
            Ok(path) => scratch.path.extend_from_slice(path),
            Err(fault) => {
                context.fault = Some(fault);
                return Outcome::Ready(plain(Status::BAD_REQUEST, &fault.to_string()));
            }
        }
        let (route, below) = self.router.route(context.host, &scratch.path);
        (context.below, context.next) = (below, 0);
        if !Rc::ptr_eq(&context.route, route) {
            context.route = Rc::clone(route);
        }
        context.require_guards();
        Outcome::Declined
    }

    /// Goes on from `outcome` until there is a response or nothing to do but wait.
    #[inline]
    pub(super) fn advance(
        self: &Rc<Self>,
        context: &mut RequestContext,
        head: &mut RequestHead,
        scratch: &mut Scratch,
        mut outcome: Outcome,
    ) -> Progress {
        loop {
            outcome = match outcome {
                Outcome::Declined if context.unchecked => match context.pass_guards(self, head) {
                    Passed::Now(outcome) => outcome,
                    Passed::Later(pending) => return Progress::Later(Pending::Phase(pending)),
                },
                Outcome::Declined => context.ask_next(head, &scratch.path),
                Outcome::Internal { target, .. } if target.len() > LONGEST_TARGET => too_long(target.len()),
                Outcome::Internal { target, keep_method } => {
                    context.asked.get_or_insert_with(|| target::path_and_query(head));
                    *head = target::redirected(head, &target, keep_method);
                    self.redirect(context, head, scratch)
                }
                Outcome::Ready(response) => match self.follow(context, head, scratch, response) {
                    Ok(response) => return Progress::Ready(response),
                    Err(outcome) => outcome,
                },
                Outcome::Index(index) => self.index(context, head, scratch, *index),
                Outcome::Delegated(delegated) => {
                    let Delegated { handler, script } = *delegated;
                    context.ask(&*handler, head, &scratch.path, Some(&script))
                }
                Outcome::Failed { mut response, mut reason } => {
                    if response.head.status() == Status::CONTENT_TOO_LARGE {
                        response = plain(Status::CONTENT_TOO_LARGE, &self.limits.too_large());
                        reason.push_str(&format!(" (`{}`)", self.limits.directive(Limit::Content)));
                    }
                    self.report(context, head, response.head.status(), &reason);
                    return Progress::Ready(response);
                }
                Outcome::FailedAgain { response, reason } => {
                    context.note_failure(reason);
                    return Progress::Ready(response);
                }
                Outcome::Later(later) => {
                    context.connection.cancel_on_close.set(later.cancel_on_close);
                    return Progress::Later(Pending::Handler(later));
                }
            }
        }
    }

    /// The answer to a request for a directory: its index file, if that belongs to the same route. Otherwise the request
    /// starts over, so that neither the requirements nor the handlers of the file's own path are passed by.
    #[cold]
    fn index(
        &self,
        context: &RequestContext,
        head: &RequestHead,
        scratch: &mut Scratch,
        index: IndexFile,
    ) -> Outcome {
        let directory = scratch.path.len();
        scratch.path.extend_from_slice(&index.name);
        let is_same = Rc::ptr_eq(self.router.route(context.host, &scratch.path).0, &context.route);
        let outcome = if is_same {
            Outcome::Ready(index.response)
        } else {
            let mut target = Vec::with_capacity(scratch.path.len());
            encode_path(&scratch.path, &mut target);
            if let Some(query) = head.query() {
                target.push(b'?');
                target.extend_from_slice(query);
            }
            Outcome::Internal { target, keep_method: true }
        };
        scratch.path.truncate(directory);
        outcome
    }

    /// Waits for what is pending, and goes on from there.
    pub(super) async fn proceed(
        self: &Rc<Self>,
        context: &mut RequestContext,
        head: &mut RequestHead,
        scratch: &mut Scratch,
        pending: Pending,
    ) -> Progress {
        let passed = match pending {
            Pending::Handler(outcome) => Passed::Now(outcome.await),
            Pending::Phase(PendingPhase { walk, waiting }) => {
                let resumption = waiting.await;
                context.resume(self, head, *walk, resumption)
            }
        };
        self.go_on(context, head, scratch, passed)
    }

    /// Goes on from where a phase has ended.
    #[inline]
    pub(super) fn go_on(
        self: &Rc<Self>,
        context: &mut RequestContext,
        head: &mut RequestHead,
        scratch: &mut Scratch,
        passed: Passed,
    ) -> Progress {
        match passed {
            Passed::Now(outcome) => self.advance(context, head, scratch, outcome),
            Passed::Later(pending) => Progress::Later(Pending::Phase(pending)),
        }
    }

    /// Starts over with another head; the log stays that of the path which the client asked for.
    #[cold]
    fn redirect(&self, context: &mut RequestContext, head: &RequestHead, scratch: &mut Scratch) -> Outcome {
        if !self.may_redirect(context) {
            let reason = format!("too many internal redirects (`max-reprocesses: {}`)", self.max_reprocesses);
            let response = plain(Status::BAD_GATEWAY, "too many internal redirects");
            return Outcome::Failed { response, reason };
        }
        if head.form() == TargetForm::Absolute {
            context.host = self.router.named_host(target::is_https(head), head.authority());
        }
        self.locate(context, head, scratch)
    }

    /// Whether the request may start over once more.
    pub(super) fn may_redirect(&self, context: &mut RequestContext) -> bool {
        context.redirects += 1;
        context.redirects <= self.max_reprocesses
    }

    /// Whether the request may go once more where an answer says.
    pub(super) fn may_delegate(&self, context: &mut RequestContext) -> bool {
        context.delegations += 1;
        context.delegations <= self.max_delegations
    }

    /// Tells log and error log why a request was refused.
    #[cold]
    pub(super) fn report(
        &self,
        context: &mut RequestContext,
        head: &RequestHead,
        status: Status,
        reason: &str,
    ) {
        let is_logged = matches!(context.faults, Faults::Logged);
        context.note_failure(reason.to_owned());
        if is_logged && context.route.reports_errors {
            self.reporter.request_error(head, context.client.address(&context.connection), status, reason);
        }
    }
}

impl RequestContext {
    /// A CONNECT (RFC 9110 §9.3.6) has no path; it goes to the handler of `/` that is there for it, if there is one.
    #[cold]
    fn lead_connect(&mut self, head: &RequestHead, scratch: &mut Scratch) -> Option<Outcome> {
        let connects = || self.route.handlers.iter().position(|handler| handler.connects());
        self.next = if head.method() == Method::Connect { connects()? } else { return None };
        scratch.path.clear();
        scratch.path.push(b'/');
        self.below = 0;
        self.require_guards();
        Some(Outcome::Declined)
    }

    /// Tells the access log, or the request that this one is made for, why it was refused.
    #[cold]
    fn note_failure(&mut self, reason: String) {
        match (&mut self.faults, &mut self.record) {
            (Faults::Kept(kept), _) => *kept = Some(reason),
            (Faults::Logged, Some(record)) => record.set_error(&reason),
            (Faults::Logged, None) => {}
        }
    }

    /// Where interim responses go while the answer is awaited, if the client may have them: the answer may ask for it yet.
    pub(super) fn interim(&mut self) -> Option<Interim> {
        self.interim_responses.then(|| self.interim.get_or_insert_default().clone())
    }

    /// A route was found: its limit and access phases come before its handlers.
    #[inline]
    fn require_guards(&mut self) {
        self.unchecked = self.route.phases.guard_handlers() && self.depth == 0;
    }

    /// Asks the next handler.
    #[inline]
    fn ask_next(&mut self, head: &mut RequestHead, path: &[u8]) -> Outcome {
        let route = Rc::clone(&self.route);
        let Some(handler) = route.handlers.get(self.next) else {
            return Outcome::Ready(plain(Status::NOT_FOUND, ""));
        };
        self.next += 1;
        self.ask(&**handler, head, path, None)
    }

    #[inline]
    fn ask(
        &mut self,
        handler: &dyn Handler,
        head: &mut RequestHead,
        path: &[u8],
        script: Option<&Script>,
    ) -> Outcome {
        let trace = self.record.as_ref().and_then(|record| record.upstreams());
        let trace = trace.or_else(|| self.timing.as_ref().map(|timing| timing.trace()));
        handler.handle(&mut Exchange {
            head,
            path,
            below: self.below,
            connection: &self.connection,
            client: &self.client,
            env: &self.route.env,
            content: &mut self.content,
            upgrade: &mut self.upgrade,
            interims: self
                .interim_responses
                .then(|| Interims::new(&mut self.interim, self.route.early.as_ref())),
            trace,
            early: self.early,
            asked: self.asked.as_deref(),
            script,
        })
    }
}

/// Bytes of a target that this server makes. Rules that match their own targets could make them ever longer.
const LONGEST_TARGET: usize = 64 << 10;

/// The answer to a request whose target has become longer than that.
#[cold]
fn too_long(bytes: usize) -> Outcome {
    let reason =
        format!("the target of an internal redirect has {bytes} bytes; {LONGEST_TARGET} are allowed");
    Outcome::Failed { response: plain(Status::URI_TOO_LONG, ""), reason }
}

/// The answer to a request for a host whose client certificate the connection has not shown.
#[cold]
fn not_admitted(context: &RequestContext) -> Outcome {
    // RFC 9110 §15.5.20: another connection may be admitted. Behind a redirect inside the server the client
    // cannot know for which host it would have to open one.
    let (status, hint) = match context.redirects + context.delegations {
        0 => (Status::MISDIRECTED_REQUEST, "open a new connection for this host"),
        _ => (Status::FORBIDDEN, ""),
    };
    let reason = "the host requires a client certificate, which this connection has not presented".to_owned();
    Outcome::Failed { response: plain(status, hint), reason }
}

/// The answer to what has no path to look up, or asks for what this server never does.
#[inline]
fn without_path(head: &RequestHead) -> Option<Response> {
    let mut response = match head.method() {
        // RFC 8441 §4: it names a path.
        Method::Connect if head.fields().get_named(b":protocol").is_some() => return None,
        // RFC 9110 §9.3.7: `*` asks about the server as a whole.
        Method::Options if head.form() == TargetForm::Asterisk => Response::empty(Status::OK),
        // RFC 9110 §15.5.6: the methods that are allowed go with the refusal.
        Method::Connect | Method::Trace => plain(Status::METHOD_NOT_ALLOWED, ""),
        _ => return None,
    };
    response.head.append(b"allow", ALLOWED);
    Some(response)
}
