//! From a request to an application: finds the script, and builds the parameters.

use super::Application;
use super::Settings;
use super::attempt::Attempt;
use super::params::{Facts, params};
use super::search::{Found, Search};
use super::spool::Room;
use crate::client::Client;
use crate::environment::{self, Environment};
use crate::feature::RouteContext;
use crate::handler::{Exchange, Handler, Outcome};
use crate::modules::error_log;
use crate::modules::proxy::Upload;
use crate::modules::upstreams::Pools;
use crate::modules::upstreams::{Dispatch, Pool, Transport, Uploads};
use crate::script::Script;
use crate::upstream_trace::UpstreamTrace;
use hayami_client::Call;
use hayami_http::{RequestHead, Source};
use hayami_net::service::{ConnectionInfo, Refusals};
use std::rc::Rc;
use std::sync::Arc;

/// Forwards requests to an application; `None` without an event loop, where nothing can connect.
struct FastCgi(Option<Rc<FastcgiRoute>>);

/// Settings of a path, prepared for its requests.
pub(super) struct FastcgiRoute {
    pub(super) pool: Rc<Pool>,
    transport: usize,
    /// The limits of buffered content of all requests.
    uploads: Arc<Uploads>,
    /// `fastcgi.document_root`
    search: Option<Search>,
    send_delegated_uri: bool,
    underscores: bool,
    /// Whether errors of requests go to the error log.
    pub(super) reports_errors: bool,
    /// The changes of `setenv` and `unsetenv` in `file.custom-handler`.
    env: environment::Changes,
}

/// Builds the handler of an application.
pub fn build(application: &Application, route: &RouteContext<'_>) -> Box<dyn Handler> {
    let settings = route.innermost().get::<Settings>();
    // The environment set for the path comes with the request.
    let env = route
        .extension
        .map_or_else(environment::Changes::default, |own| environment::Changes::new(own.get()));
    let reports_errors = route.inherited.get::<error_log::Settings>().emit_request_errors;
    let worker = route.worker;
    let passing = worker.outbound.as_ref().map(|outbound| {
        let pool = worker.get::<Pools>().get(application.group, outbound, &worker.clock);
        Rc::new(FastcgiRoute {
            transport: pool.transport(Transport::FastCgi(Box::new(settings.of_connections()))),
            pool,
            uploads: Arc::clone(worker.get::<Pools>().uploads()),
            search: settings.document_root.as_deref().map(Search::new),
            send_delegated_uri: settings.send_delegated_uri,
            underscores: settings.underscores,
            reports_errors,
            env,
        })
    });
    Box::new(FastCgi(passing))
}

impl Handler for FastCgi {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let Some(passing) = &self.0 else { return Outcome::Declined };
        let content = exchange.content.take().map(|content| Upload::new(content, passing.underscores));
        let trace = exchange.trace.map(Rc::clone);
        let request = Request {
            head: exchange.head,
            path: exchange.path,
            asked: exchange.asked,
            connection: exchange.connection,
            client: exchange.client,
            env: exchange.env,
        };
        let found = match (exchange.script, &passing.search) {
            (Some(script), _) => Found::Known(Some(script.clone())),
            (None, Some(search)) => search.find(exchange.path, exchange.below, passing.pool.clock().now()),
            (None, None) => Found::Known(None),
        };
        match found {
            Found::Known(script) => passing.ask(&request, script, content, trace),
            Found::Unknown => passing.ask_later(&request, exchange.below, content, trace),
        }
    }
}

/// A script's name for logs. Most contain no character that must be escaped.
fn shown(name: &[u8]) -> Box<str> {
    match str::from_utf8(name) {
        Ok(plain) if plain.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(&byte)) => {
            plain.into()
        }
        _ => String::from_utf8_lossy(name).escape_default().to_string().into(),
    }
}

/// The parts of a request that an application gets.
struct Request<'a> {
    head: &'a RequestHead,
    path: &'a [u8],
    asked: Option<&'a [u8]>,
    connection: &'a Rc<ConnectionInfo>,
    client: &'a Client,
    env: &'a Rc<Environment>,
}

/// The content of a request, and what reports its refusal.
type Content = Option<(Upload, Refusals)>;

impl FastcgiRoute {
    /// Sends the request to the application.
    fn ask(
        &self,
        request: &Request<'_>,
        script: Option<Script>,
        content: Content,
        trace: Option<Rc<UpstreamTrace>>,
    ) -> Outcome {
        let (upload, refusals) = content.unzip();
        let length = upload.as_ref().map(Source::length);
        let call = self.call(request, script.as_ref(), length.flatten());
        let dispatch = Dispatch {
            pool: Rc::clone(&self.pool),
            transport: self.transport,
            key: self.pool.key(request.head, request.client.address(request.connection)),
            trace,
            subject: script.map(|script| shown(&script.name)),
        };
        let attempt = Attempt { dispatch, refusals, reports_errors: self.reports_errors };
        match (upload, length) {
            // The application needs the length, which is unknown until all content has arrived.
            (Some(upload), Some(None)) => {
                let client = request.client.address(request.connection);
                let room = Room::new(Arc::clone(&self.uploads), client.into());
                Outcome::from_upstream(attempt.collect(upload, call, room))
            }
            (Some(upload), _) => Outcome::from_upstream(attempt.run_with(upload, call)),
            (None, _) => Outcome::from_upstream(attempt.run(call)),
        }
    }

    /// Sends the request to the application once a thread has found the script on disk.
    #[cold]
    fn ask_later(
        self: &Rc<Self>,
        request: &Request<'_>,
        below: usize,
        content: Content,
        trace: Option<Rc<UpstreamTrace>>,
    ) -> Outcome {
        let passing = Rc::clone(self);
        let (head, path) = (request.head.clone(), request.path.to_vec());
        let asked = request.asked.map(<[u8]>::to_vec);
        let (connection, client) = (Rc::clone(request.connection), request.client.clone());
        let env = Rc::clone(request.env);
        Outcome::from_upstream(async move {
            let script = match &passing.search {
                Some(search) => search.find_on_disk(&path, below, passing.pool.clock().now()).await,
                None => None,
            };
            let request = Request {
                head: &head,
                path: &path,
                asked: asked.as_deref(),
                connection: &connection,
                client: &client,
                env: &env,
            };
            match passing.ask(&request, script, content, trace) {
                Outcome::Later(answer) => answer.await,
                outcome => outcome,
            }
        })
    }

    /// The call to the application, without content.
    fn call(&self, request: &Request<'_>, script: Option<&Script>, content: Option<u64>) -> Call {
        let head = request.head;
        let changed = self.env.apply(request.env);
        let fields = params(&Facts {
            head,
            path: request.path,
            asked: request.asked.filter(|_| !self.send_delegated_uri),
            script,
            root: self.search.as_ref().map(Search::root),
            connection: request.connection,
            client: request.client,
            content,
            env: changed.as_ref().unwrap_or(request.env),
            underscores: self.underscores,
        });
        let repeatable = head.method().is_idempotent();
        Call { repeatable, ..Call::new(head.method_name(), b"/".to_vec(), fields) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_logs_keep_to_their_line() {
        let cases: [(&[u8], &str); 4] = [
            (b"/a/b.php", "/a/b.php"),
            (b"/a b", "/a b"),
            (b"/a\n\x1b", "/a\\n\\u{1b}"),
            (b"/\"\\", "/\\\"\\\\"),
        ];
        for (name, want) in cases {
            assert_eq!(&*shown(name), want);
        }
    }
}
