//! A cached file through host, path, filters and the access log.

use hayami_http::{RequestHead, Span, Status, request::RequestLine};
use hayami_net::service::{Address, ConnectionInfo, Ended, Outcome, Request, Service};
use hayami_net::{Clock, Instant};
use hayami_server::Generation;
use hayami_server::config::settings::Settings;
use hayami_server::features::load_text;
use hayami_server::service::{Site, objects};
use std::rc::Rc;
use std::sync::Arc;

const SITE: &str = "
listen: 80
header.set: 'x-content-type-options: nosniff'
error-doc: {status: 404, url: /404.html}
access-log: /dev/null
hosts:
  other.example: {paths: {/: {file.dir: ROOT}}}
  '*.example.org': {paths: {/: {file.dir: ROOT}, /static: {expires: 1 day, file.dir: ROOT}}}
";

pub(super) fn cached_file(times: u32) {
    let folder = std::env::temp_dir().join(format!("hayami-instructions-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("page.html"), [b'x'; 612]).expect("a file");
    let text = SITE.replace("ROOT", &folder.display().to_string());
    let settings = load_text("site", &text).unwrap_or_else(|errors| panic!("{errors}")).settings;
    let (site, connection) = (site(settings), connection());
    warm_up(&site, &connection);
    let mut head = page();
    (0..times).for_each(|_| answer(&site, &mut head, &connection));
    std::fs::remove_dir_all(folder).expect("removed");
}

/// The service of these settings.
pub(super) fn site(settings: Arc<Settings>) -> impl Service + use<> {
    let mut generation = Generation::new(settings).expect("a generation");
    generation.open_logs().expect("logs");
    let worker = objects::first(&generation, &Rc::new(Clock::default()), None, 1);
    Site::new(&Arc::new(generation), worker)
}

pub(super) fn connection() -> Rc<ConnectionInfo> {
    Rc::new(ConnectionInfo {
        id: 1,
        listener: 0,
        peer: Address::Ip(([192, 0, 2, 1], 4000).into()),
        local: Address::Unix,
        accepted: Instant::now(),
        tls: None,
        ends: Default::default(),
        cancel_on_close: Default::default(),
        outdated: Default::default(),
    })
}

/// Has the file read into the cache, by a thread of its own if the kernel has it not in memory.
fn warm_up(site: &impl Service, connection: &Rc<ConnectionInfo>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    // The head goes with the answer that comes later.
    while let Outcome::Later(later) = site.respond(&mut request(&mut page(), connection)) {
        runtime.block_on(later);
    }
}

fn answer(site: &impl Service, head: &mut RequestHead, connection: &Rc<ConnectionInfo>) {
    let now = connection.accepted;
    let Outcome::Ready(answer) = site.respond(&mut request(head, connection)) else {
        panic!("the file is in the cache")
    };
    assert_eq!(answer.response.head.status(), Status::OK);
    if let Some(observer) = answer.observer {
        observer.ended(&Ended { content_bytes: 612, began: now, ended: now, aborted: None });
    }
}

pub(super) fn request<'a>(head: &'a mut RequestHead, connection: &'a Rc<ConnectionInfo>) -> Request<'a> {
    Request {
        head,
        content_length: Some(0),
        connection,
        index: 0,
        stream: None,
        early: false,
        content: None,
        interim: None,
        upgrade: None,
        begun: connection.accepted,
        received: connection.accepted,
    }
}

/// The head of a request for the page.
fn page() -> RequestHead {
    head("/static/page.html", "www.example.org")
}

/// The head of a request for a path of a host.
pub(super) fn head(path: &str, host: &str) -> RequestHead {
    let target = Span::new(4, 4 + path.len());
    let name = target.start as usize + path.len() + 1;
    let mut head = RequestHead::default();
    head.reset_to(format!("GET {path} host{host}").as_bytes());
    head.fields_mut().push_span(Span::new(name, name + 4), Span::new(name + 4, name + 4 + host.len()));
    head.set_line(RequestLine { method: Span::new(0, 3), target, path: target, ..RequestLine::default() });
    head
}
