//! Tests of a handler on a real directory, called as the router would.

use super::scratch::Scratch;
use super::*;
use crate::client::Client;
use crate::config::feature_settings::FeatureSettings;
use crate::environment::Environment;
use crate::feature::RouteContext;
use crate::features::FEATURES;
use crate::handler::{Exchange, Outcome};
use crate::worker::WorkerContext;
use hayami_http::request::{RequestLine, TargetForm};
use hayami_http::{Content, Known, RequestHead, Response, Shared, Span, Status, Version};
use hayami_net::Clock;
use hayami_net::Instant;
use hayami_net::service::{Address, ConnectionInfo};
use std::cell::Cell;
use std::rc::Rc;

mod changes;
mod conditions;
mod frequent;
mod paths;
mod refused;

/// A directory and a handler that serves it with prefix `/`.
pub(super) struct Site {
    pub(super) dir: Scratch,
    pub(super) clock: Rc<Clock>,
    handler: Box<dyn Handler>,
    connection: Rc<ConnectionInfo>,
    /// The protocol version of requests.
    pub(super) version: Cell<Version>,
    env: Rc<Environment>,
    runtime: tokio::runtime::Runtime,
}

impl Site {
    /// Serves the files of `fill` with the default settings as modified by `change`.
    pub(super) fn new(fill: impl FnOnce(&Scratch), change: impl FnOnce(&mut Settings)) -> Self {
        let dir = Scratch::new();
        fill(&dir);
        Self::build(dir, change, |dir, route| build_dir(&DirSettings { path: dir.path("") }, route))
    }

    pub(super) fn build(
        dir: Scratch,
        change: impl FnOnce(&mut Settings),
        build: impl FnOnce(&Scratch, &RouteContext<'_>) -> Result<Box<dyn Handler>, String>,
    ) -> Self {
        let mut inherited = FeatureSettings::default();
        change(inherited.get_mut::<super::Settings>());
        let clock = Rc::new(Clock::default());
        let worker = WorkerContext::new(&clock, None, 1);
        let settings = crate::config::settings::Settings::default();
        let route = RouteContext::new(FEATURES, &settings, &inherited, &worker);
        let handler = build(&dir, &route).unwrap();
        let connection = ConnectionInfo {
            id: 1,
            listener: 0,
            peer: Address::Unix,
            local: Address::Unix,
            accepted: Instant::now(),
            tls: None,
            ends: Default::default(),
            cancel_on_close: Default::default(),
            outdated: Default::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let version = Cell::new(Version::Http11);
        Self { dir, clock, handler, connection: Rc::new(connection), version, env: Rc::default(), runtime }
    }

    /// The handler's response; `None` if it declines.
    pub(super) fn ask(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> Option<Response> {
        self.ask_below(method, path, 1, fields)
    }

    pub(super) fn ask_below(
        &self,
        method: &str,
        path: &str,
        below: usize,
        fields: &[(&str, &str)],
    ) -> Option<Response> {
        let mut head = request(self.version.get(), method, path, fields);
        let path = path.split('?').next().unwrap_or_default();
        let mut exchange = Exchange {
            head: &mut head,
            path: path.as_bytes(),
            below,
            connection: &self.connection,
            client: &Client::default(),
            env: &self.env,
            content: &mut None,
            upgrade: &mut None,
            interims: None,
            trace: None,
            early: false,
            asked: None,
            script: None,
        };
        let _guard = self.runtime.enter();
        let mut outcome = self.handler.handle(&mut exchange);
        loop {
            match outcome {
                Outcome::Declined => return None,
                Outcome::Ready(response) => return Some(response),
                Outcome::Later(later) => outcome = self.runtime.block_on(later),
                Outcome::Internal { .. }
                | Outcome::Failed { .. }
                | Outcome::FailedAgain { .. }
                | Outcome::Delegated(_)
                | Outcome::Index(_) => {
                    panic!("files do not redirect or fail")
                }
            }
        }
    }

    /// The response to GET.
    pub(super) fn get(&self, path: &str) -> Option<Response> {
        self.ask("GET", path, &[])
    }

    /// The status and the content for GET.
    pub(super) fn text(&self, path: &str) -> (u16, String) {
        self.get(path).map_or((404, String::new()), |r| (r.head.status().code(), text_of(r.content)))
    }

    /// Waits for the cache's revalidation interval.
    pub(super) fn wait(&self) {
        self.clock.advance(Duration::from_secs(1));
    }
}

/// A request head as a parser would leave it.
fn request(version: Version, method: &str, target: &str, fields: &[(&str, &str)]) -> RequestHead {
    let mut bytes = format!("{method} {target} ").into_bytes();
    let mut spans = Vec::new();
    for (name, value) in fields {
        let start = bytes.len();
        bytes.extend_from_slice(name.as_bytes());
        let value_start = bytes.len();
        bytes.extend_from_slice(value.as_bytes());
        spans.push((Span::new(start, value_start), Span::new(value_start, bytes.len())));
    }
    let mut head = RequestHead::default();
    head.reset_to(&bytes);
    for (name, value) in spans {
        head.fields_mut().push_span(name, value);
    }
    let start = method.len() + 1;
    let end = start + target.len();
    let mark = target.find('?').map(|at| start + at);
    head.set_line(RequestLine {
        method: Span::new(0, method.len()),
        target: Span::new(start, end),
        form: TargetForm::Origin,
        path: Span::new(start, mark.unwrap_or(end)),
        query: mark.map(|mark| Span::new(mark + 1, end)),
        authority: None,
        version,
    });
    head
}

/// The content as text.
pub(super) fn text_of(content: Content) -> String {
    String::from_utf8_lossy(&bytes_of(content)).into_owned()
}

fn bytes_of(content: Content) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    match content {
        Content::Empty => Vec::new(),
        Content::Shared(shared) => shared.as_slice().to_vec(),
        Content::File(slice) => {
            let mut bytes = vec![0; slice.len as usize];
            slice.file.read_exact_at(&mut bytes, slice.offset).unwrap();
            bytes
        }
        Content::Parts(parts) => parts.into_iter().flat_map(bytes_of).collect(),
        Content::Stream(mut source) => {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut bytes = Vec::new();
            runtime.block_on(async {
                while !std::future::poll_fn(|cx| source.fill(cx, 1000, &mut bytes)).await.unwrap() {}
            });
            bytes
        }
    }
}

/// The value of a field as text.
pub(super) fn field(response: &Response, name: &str) -> Option<String> {
    response.head.get_named(name.as_bytes()).map(|v| String::from_utf8_lossy(v).into_owned())
}

/// Status, and the fields of these names.
pub(super) fn shape(response: &Response, names: &[&str]) -> (u16, Vec<Option<String>>) {
    (response.head.status().code(), names.iter().map(|n| field(response, n)).collect())
}
