//! Asserts with a counting allocator that a cached file is served without an allocation.

mod counting;

use hayami_http::{Content, Known, RequestHead, Response, Span, request::RequestLine};
use hayami_net::Clock;
use hayami_net::Instant;
use hayami_net::service::{Address, ConnectionInfo};
use hayami_server::client::Client;
use hayami_server::config::feature_settings::FeatureSettings;
use hayami_server::config::settings::Settings;
use hayami_server::feature::RouteContext;
use hayami_server::features::FEATURES;
use hayami_server::handler::{Exchange, Handler, Outcome};
use hayami_server::modules::file;
use hayami_server::modules::file::{DirSettings, SendCompressed, build_dir};
use hayami_server::worker::WorkerContext;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// A handler and a request for one path.
struct Asking {
    handler: Box<dyn Handler>,
    head: RequestHead,
    path: Vec<u8>,
    connection: Rc<ConnectionInfo>,
}

impl Asking {
    fn new(root: &Path, path: &str, fields: &[(&str, &str)], inherited: &FeatureSettings) -> Self {
        let worker = WorkerContext::new(&Rc::new(Clock::default()), None, 1);
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
        let settings = Settings::default();
        let route = RouteContext::new(FEATURES, &settings, inherited, &worker);
        Self {
            handler: build_dir(&DirSettings { path: root.into() }, &route).expect("a directory"),
            head: head(path, fields),
            path: path.as_bytes().to_vec(),
            connection: Rc::new(connection),
        }
    }

    fn ask(&mut self) -> Outcome {
        let env = Rc::default();
        self.ask_with(&env)
    }

    fn ask_with(&mut self, env: &Rc<hayami_server::environment::Environment>) -> Outcome {
        self.handler.handle(&mut Exchange {
            head: &mut self.head,
            path: &self.path,
            below: 1,
            connection: &self.connection,
            client: &Client::default(),
            env,
            content: &mut None,
            upgrade: &mut None,
            interims: None,
            trace: None,
            early: false,
            asked: None,
            script: None,
        })
    }

    /// Warms up the cache, then counts the allocations of a thousand requests.
    fn allocations(&mut self) -> (Response, usize) {
        let response = self.warm_up();
        let env = Rc::default();
        let before = counting::allocations();
        for _ in 0..1000 {
            assert!(matches!(self.ask_with(&env), Outcome::Ready(_)));
        }
        (response, counting::allocations() - before)
    }

    fn warm_up(&mut self) -> Response {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut outcome = self.ask();
        loop {
            match outcome {
                Outcome::Ready(response) => return response,
                Outcome::Later(later) => outcome = runtime.block_on(later),
                _ => panic!("the file is there"),
            }
        }
    }
}

fn head(path: &str, fields: &[(&str, &str)]) -> RequestHead {
    let mut bytes = format!("GET {path} ").into_bytes();
    let mut spans = Vec::new();
    for (name, value) in fields {
        let start = bytes.len();
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(value.as_bytes());
        let middle = start + name.len();
        spans.push((Span::new(start, middle), Span::new(middle, bytes.len())));
    }
    let mut head = RequestHead::default();
    head.reset_to(&bytes);
    spans.into_iter().for_each(|(name, value)| head.fields_mut().push_span(name, value));
    let target = Span::new(4, 4 + path.len());
    head.set_line(RequestLine { method: Span::new(0, 3), target, path: target, ..RequestLine::default() });
    head
}

/// A temporary directory with one file in it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn with(name: &str, size: usize) -> Self {
        let path = std::env::temp_dir().join(format!("hayami-allocations-{}-{size}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        std::fs::write(path.join(name), vec![b'x'; size]).expect("a file");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_hit_allocates_nothing() {
    let small = Folder::with("index.html", 612);
    let large = Folder::with("large", 100_000);
    type Case<'a> = (&'a Folder, &'a str, &'a [(&'a str, &'a str)]);
    let cases: [Case<'_>; 4] = [
        (&small, "/", &[]),
        (&small, "/index.html", &[("accept-encoding", "gzip, br"), ("if-modified-since", "x")]),
        (&small, "/", &[("if-none-match", "\"other\"")]),
        (&large, "/large", &[]),
    ];
    for (folder, path, fields) in cases {
        let mut inherited = FeatureSettings::default();
        inherited.get_mut::<file::Settings>().send_compressed = SendCompressed::On;
        let (response, allocations) = Asking::new(&folder.0, path, fields, &inherited).allocations();
        assert!(!response.content.is_empty());
        assert_eq!(allocations, 0, "{path} {fields:?}");
    }
}

#[test]
fn what_the_client_has_already_is_told_without_an_allocation() {
    let folder = Folder::with("a", 10);
    let first = Asking::new(&folder.0, "/a", &[], &FeatureSettings::default()).warm_up();
    let etag = String::from_utf8(first.head.get(Known::ETag).unwrap().to_vec()).unwrap();
    let mut asking = Asking::new(&folder.0, "/a", &[("if-none-match", &etag)], &FeatureSettings::default());
    let (response, allocations) = asking.allocations();
    assert_eq!((response.head.status().code(), allocations), (304, 0));
}

#[test]
fn validating_an_unchanged_file_allocates_nothing() {
    let mut inherited = FeatureSettings::default();
    inherited.get_mut::<file::Settings>().revalidate = Duration::ZERO;
    // A file of the system: a newly created one would be too recent to be cached without checks.
    let mut asking = Asking::new(Path::new("/usr/bin"), "/env", &[], &inherited);
    let (response, allocations) = asking.allocations();
    assert!(!matches!(response.content, Content::Empty));
    assert_eq!(allocations, 0);
}
