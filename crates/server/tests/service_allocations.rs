//! Asserts with a counting allocator that requests are served without an allocation, logs included.

mod counting;

use hayami_http::{RequestHead, Span, request::RequestLine};
use hayami_net::Clock;
use hayami_net::Instant;
use hayami_net::service::{Address, Answer, ConnectionInfo, Ended, Outcome, Request, Service};
use hayami_server::Generation;
use hayami_server::features::load_text;
use hayami_server::service::{Site, objects};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// The head of `GET path` with a Host field.
fn head(path: &str, host: &str) -> RequestHead {
    let bytes = format!("GET {path} host{host}");
    let target = Span::new(4, 4 + path.len());
    let name = target.start as usize + path.len() + 1;
    let mut head = RequestHead::default();
    head.reset_to(bytes.as_bytes());
    head.fields_mut().push_span(Span::new(name, name + 4), Span::new(name + 4, bytes.len()));
    head.set_line(RequestLine { method: Span::new(0, 3), target, path: target, ..RequestLine::default() });
    head
}

/// Requests a small file 2000 times; returns the allocations of the second thousand.
fn allocations(configuration: &str, host: &str) -> usize {
    let folder = Folder::new();
    let text = configuration.replace("ROOT", &folder.0.display().to_string());
    let settings = load_text("test", &text).unwrap_or_else(|errors| panic!("{errors}")).settings;
    let mut generation = Generation::new(Arc::clone(&settings)).expect("a generation");
    generation.open_logs().expect("logs");
    let generation = Arc::new(generation);
    let worker = objects::first(&generation, &Rc::new(Clock::default()), None, 1);
    let site = Site::new(&generation, worker);
    let connection = Rc::new(ConnectionInfo {
        id: 1,
        listener: 0,
        peer: Address::Ip(([192, 0, 2, 1], 4000).into()),
        local: Address::Unix,
        accepted: Instant::now(),
        tls: None,
        ends: Default::default(),
        cancel_on_close: Default::default(),
        outdated: Default::default(),
    });
    let mut head = head("/a", host);
    (0..1000).for_each(|_| ask(&site, &mut head, &connection));
    let before = counting::allocations();
    (0..1000).for_each(|_| ask(&site, &mut head, &connection));
    let made = counting::allocations() - before;
    generation.logs().close(Duration::from_secs(10));
    made
}

fn ask(site: &impl Service, head: &mut RequestHead, connection: &Rc<ConnectionInfo>) {
    let now = Instant::now();
    let mut request = Request {
        head,
        content_length: Some(0),
        connection,
        index: 0,
        stream: None,
        early: false,
        content: None,
        interim: None,
        upgrade: None,
        begun: now,
        received: now,
    };
    match site.respond(&mut request) {
        Outcome::Ready(answer) => finish(answer, now),
        Outcome::Later(_) => panic!("a small file takes no time"),
    }
}

fn finish(answer: Answer, now: Instant) {
    assert_eq!(answer.response.head.status().code(), 200);
    if let Some(observer) = answer.observer {
        observer.ended(&Ended { content_bytes: 1, began: now, ended: now, aborted: None });
    }
}

/// A temporary directory with the file `a` in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let id = std::thread::current().id();
        let path = std::env::temp_dir().join(format!("hayami-service-{}-{id:?}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        std::fs::write(path.join("a"), "a").expect("a file");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_cached_file_is_answered_without_an_allocation() {
    let one = "listen: 80\nhosts: {a: {paths: {/: {file.dir: ROOT}}}}";
    assert_eq!(allocations(one, "a"), 0);
    let many = "
listen: 80
hosts:
  a: {paths: {/: {file.dir: /usr}}}
  '*.example.org': {paths: {/: {file.dir: ROOT}, /b: {file.dir: /usr}}}
  b: {strict-match: ON, paths: {/: {file.dir: /usr}}}
";
    assert_eq!(allocations(many, "WWW.example.org:80"), 0);
}

#[test]
fn filters_that_do_not_match_cost_no_allocation() {
    let text = "
listen: 80
header.unset: x-powered-by
header.cookie.unset: a
header.add: {header: 'x-a: 1', when: early}
error-doc: {status: 404, url: /404.html}
hosts: {a: {paths: {/: {file.dir: ROOT}}}}
";
    assert_eq!(allocations(text, "a"), 0);
}

#[test]
fn a_logged_request_costs_no_allocation_but_for_the_buffers_that_go_to_the_writer() {
    let text = "listen: 80\naccess-log: ROOT/log\nhosts: {a: {paths: {/: {file.dir: ROOT}}}}";
    // A thousand lines of some 80 bytes fill one or two buffers, each grown by doubling.
    let made = allocations(text, "a");
    assert!(made < 40, "{made}");
}

#[test]
fn a_request_that_is_admitted_by_its_address_costs_no_allocation() {
    let text = "
listen: 80
real-ip: {from: 10.0.0.0/8}
deny: [10.0.0.7, '2001:db8::/32']
allow: 192.0.2.0/24
deny: all
hosts: {a: {paths: {/: {file.dir: ROOT}}}}
";
    assert_eq!(allocations(text, "a"), 0);
}
