//! Requests through the whole service, from a configuration's text to the answer, without a connection.

use super::{Site, objects};
use crate::features::load_text;
use crate::generation::Generation;
use crate::handler::testing;
use crate::modules::access_log::Logs;
use crate::modules::file::scratch::Scratch as Folder;
use hayami_http::{Content, RequestHead, Response};
use hayami_net::Clock;
use hayami_net::Instant;
use hayami_net::service::{Address, Answer, ConnectionInfo, Ended, Outcome, Refusal, Request, Service};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

struct Server {
    site: Site,
    logs: Arc<Logs>,
}

impl Server {
    /// A server with this configuration, in which `ROOT` stands for the folder.
    fn new(configuration: &str, folder: &Folder) -> Self {
        let text = configuration.replace("ROOT", &folder.path("").display().to_string());
        let settings = load_text("test", &text).unwrap_or_else(|errors| panic!("{errors}")).settings;
        let mut generation = Generation::new(Arc::clone(&settings)).expect("a generation");
        generation.open_logs().expect("logs");
        let generation = Arc::new(generation);
        let worker = objects::first(&generation, &Rc::new(Clock::default()), None, 1);
        Self { site: Site::new(&generation, worker), logs: Arc::clone(generation.logs()) }
    }

    /// The answer to a request on a listener.
    fn ask_on(&self, listener: usize, mut head: RequestHead) -> Answer {
        let now = Instant::now();
        let connection = Rc::new(ConnectionInfo {
            id: 7,
            listener,
            peer: Address::Ip(([192, 0, 2, 1], 4000).into()),
            local: Address::Ip(([198, 51, 100, 1], 80).into()),
            accepted: now,
            tls: None,
            ends: Default::default(),
            cancel_on_close: Default::default(),
            outdated: Default::default(),
        });
        let mut request = request(&mut head, &connection, now);
        match self.site.respond(&mut request) {
            Outcome::Ready(answer) => answer,
            Outcome::Later(answer) => run(answer),
        }
    }

    fn ask(&self, method: &str, host: &str, target: &str) -> Answer {
        let mut head = testing::head(method, target);
        head.fields_mut().append(b"host", host.as_bytes());
        self.ask_on(0, head)
    }

    fn get(&self, target: &str) -> (u16, String) {
        shown(&self.ask("GET", "a", target).response)
    }
}

fn request<'a>(head: &'a mut RequestHead, connection: &'a Rc<ConnectionInfo>, now: Instant) -> Request<'a> {
    let (stream, early) = (None, false);
    Request {
        head,
        content_length: Some(0),
        connection,
        index: 0,
        stream,
        early,
        content: None,
        interim: None,
        upgrade: None,
        begun: now,
        received: now,
    }
}

/// Runs a future that does I/O to its end.
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

/// Status and content; a piece of a file stands as `<file>`.
fn shown(response: &Response) -> (u16, String) {
    let content = match &response.content {
        Content::Empty => String::new(),
        Content::Shared(bytes) => String::from_utf8_lossy(bytes.as_slice()).into_owned(),
        _ => "<file>".to_owned(),
    };
    (response.head.status().code(), content)
}

fn field(response: &Response, name: &str) -> Option<String> {
    response.head.get_named(name.as_bytes()).map(|v| String::from_utf8_lossy(v).into_owned())
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.folder("sub");
    for (name, content) in [
        ("index.html", "home"),
        ("a.txt", "text"),
        ("404.html", "gone"),
        ("sub/404.html", "sub gone"),
        ("sub/x", "x"),
    ] {
        folder.write(name, content);
    }
    folder
}

#[test]
fn a_file_is_served_and_what_is_missing_is_not() {
    let folder = folder();
    let server = Server::new("listen: 80\nhosts: {default: {paths: {/: {file.dir: ROOT}}}}", &folder);
    let cases = [
        ("/", 200, "home"),
        ("/a.txt", 200, "text"),
        ("/a.txt?q", 200, "text"),
        ("/%61.txt", 200, "text"),
        ("/sub/../a.txt", 200, "text"),
        ("/nothing", 404, "Not Found\n"),
        ("/%", 400, "Bad Request: a percent sign in the path is not followed by two hexadecimal digits\n"),
        ("/%00", 400, "Bad Request: the path holds a NUL byte\n"),
    ];
    for (target, code, content) in cases {
        assert_eq!(server.get(target), (code, content.to_owned()), "{target}");
    }
}

#[test]
fn the_second_request_of_a_file_is_ready_at_once_and_is_not_observed() {
    let folder = folder();
    let server = Server::new("listen: 80\nhosts: {default: {paths: {/: {file.dir: ROOT}}}}", &folder);
    server.get("/a.txt");
    let (mut head, connection) = (testing::get("/a.txt"), testing::connection());
    let mut request = request(&mut head, &connection, Instant::now());
    match server.site.respond(&mut request) {
        Outcome::Ready(answer) => assert!(answer.observer.is_none()),
        Outcome::Later(_) => panic!("a cached file takes no time"),
    }
}

#[test]
fn handlers_are_asked_in_order_and_the_longest_path_wins() {
    let folder = folder();
    let text = "
listen: 80
hosts:
  default:
    paths:
      /:
        - file.dir: ROOT/sub
        - file.dir: ROOT
        - redirect: /elsewhere
      /moved: {redirect: {url: /new, status: 308}}
";
    let server = Server::new(text, &folder);
    assert_eq!(server.get("/x"), (200, "x".to_owned()));
    assert_eq!(server.get("/a.txt"), (200, "text".to_owned()));
    let location = |target| field(&server.ask("GET", "a", target).response, "location");
    assert_eq!(location("/nothing?q").as_deref(), Some("/elsewhere/nothing?q"));
    assert_eq!(location("/moved/on").as_deref(), Some("/new/on"));
    assert_eq!(location("/moved.html").as_deref(), Some("/elsewhere/moved.html"));
}

#[test]
fn hosts_and_listeners_tell_sites_apart() {
    let folder = folder();
    let text = "
listen: 80
hosts:
  first: {paths: {/: {file.dir: ROOT}}}
  second: {paths: {/: {file.dir: ROOT/sub}}, listen: 81}
  third: {strict-match: ON, paths: {/only: {file.dir: ROOT/sub}}}
";
    let server = Server::new(text, &folder);
    let on = |listener, host: &str, target| {
        let mut head = testing::get(target);
        head.fields_mut().append(b"host", host.as_bytes());
        shown(&server.ask_on(listener, head).response)
    };
    let x = (200, "x".to_owned());
    let none = (404, "Not Found\n".to_owned());
    assert_eq!(on(0, "Second", "/x"), x);
    assert_eq!(on(0, "unknown", "/a.txt"), (200, "text".to_owned()));
    assert_eq!(on(0, "third", "/only/x"), x);
    assert_eq!(on(0, "third", "/x"), none);
    assert_eq!(on(1, "first", "/x"), x, "a listener of the second host serves no other");
    assert_eq!(on(9, "first", "/a.txt"), none, "no such listener");
}

#[test]
fn methods_no_file_has_are_answered_by_the_server() {
    let folder = folder();
    let server = Server::new("listen: 80\nhosts: {default: {paths: {/: {file.dir: ROOT}}}}", &folder);
    for (method, target, code) in [("TRACE", "/", 405), ("CONNECT", "a:80", 405)] {
        let response = server.ask(method, "a", target).response;
        assert_eq!(response.head.status().code(), code, "{method}");
        assert_eq!(field(&response, "allow").as_deref(), Some("GET, HEAD, OPTIONS"));
    }
}

#[test]
fn internal_redirects_start_over_and_end() {
    let folder = folder();
    let text = "
listen: 80
max-reprocesses: 3
hosts:
  first:
    paths:
      /: {file.dir: ROOT}
      /in: {redirect: {url: /, internal: YES}}
      /other: {redirect: {url: 'http://second/', internal: YES}}
      /nowhere: {redirect: {url: 'http://nowhere/', internal: YES}}
      /loop: {redirect: {url: /loop, internal: YES}}
  second: {paths: {/: {file.dir: ROOT/sub}}}
";
    let server = Server::new(text, &folder);
    assert_eq!(server.get("/in/a.txt"), (200, "text".to_owned()));
    assert_eq!(server.get("/other/x"), (200, "x".to_owned()));
    assert_eq!(server.get("/nowhere/x"), (404, "Not Found\n".to_owned()));
    assert_eq!(server.get("/loop"), (502, "Bad Gateway: too many internal redirects\n".to_owned()));
}

#[test]
fn error_pages_come_from_the_site_itself_with_the_errors_status() {
    let folder = folder();
    let text = "
listen: 80
hosts:
  first:
    error-doc: {status: [404, 400], url: /404.html}
    header.set: 'x-seen: yes'
    paths:
      /: {file.dir: ROOT}
      /sub: {file.dir: ROOT/sub, error-doc: {status: 404, url: 404.html}}
      /lost: {file.dir: ROOT, error-doc: {status: 404, url: /missing.html}}
      /loop: {redirect: {url: /loop, internal: YES}, error-doc: {status: 502, url: /loop}}
      /far: {file.dir: ROOT, error-doc: {status: 404, url: 'http://second/x'}}
      /folder: {file.dir: ROOT, error-doc: {status: 404, url: /pages}}
      /moved: {file.dir: ROOT, error-doc: {status: 404, url: /elsewhere}}
      /elsewhere: {redirect: 'http://second/'}
      /circle: {file.dir: ROOT, error-doc: {status: 404, url: /round}}
      /round: {redirect: /round}
      /away: {file.dir: ROOT, error-doc: {status: 404, url: /abroad}}
      /abroad: {redirect: 'http://third/'}
  second: {paths: {/: {file.dir: ROOT/sub}}}
";
    folder.folder("pages");
    folder.write("pages/index.html", "page of a folder");
    folder.write("sub/index.html", "front of second");
    let server = Server::new(text, &folder);
    assert_eq!(server.get("/nothing"), (404, "gone".to_owned()));
    assert_eq!(server.get("/%00"), (400, "gone".to_owned()));
    assert_eq!(server.get("/sub/nothing"), (404, "sub gone".to_owned()), "relative to the path asked for");
    assert_eq!(server.get("/lost/nothing"), (404, "Not Found\n".to_owned()), "no page, no replacement");
    assert_eq!(server.get("/loop").0, 502);
    assert_eq!(server.get("/far/nothing"), (404, "x".to_owned()));
    assert_eq!(server.get("/folder/nothing"), (404, "page of a folder".to_owned()), "without its slash");
    assert_eq!(server.get("/moved/nothing"), (404, "front of second".to_owned()), "redirects are followed");
    for target in ["/circle/nothing", "/away/nothing"] {
        assert_eq!(server.get(target), (404, "Not Found\n".to_owned()), "{target}");
    }
    let response = server.ask("GET", "a", "/nothing").response;
    assert_eq!(field(&response, "x-seen").as_deref(), Some("yes"));
    assert_eq!(field(&response, "content-type").as_deref(), Some("text/html"));
    assert_eq!(field(&response, "etag"), None, "the page's tag is not the error's");
}

#[test]
fn refusals_are_answered_with_their_reason_or_the_sites_page() {
    let folder = folder();
    let refuse = |text| {
        let server = Server::new(text, &folder);
        let (mut head, connection) = (RequestHead::default(), testing::connection());
        server.get("/404.html");
        shown(
            &server
                .site
                .refuse(&Refusal::Timeout, &mut request(&mut head, &connection, Instant::now()))
                .response,
        )
    };
    let plain = "listen: 80\nhosts: {default: {paths: {/: {file.dir: ROOT}}}}";
    assert_eq!(refuse(plain), (408, "Request Timeout: the request did not arrive in time\n".to_owned()));
    let page = "listen: 80\nerror-doc: {status: 408, url: /404.html}\nhosts: {default: {paths: {/: {file.dir: ROOT}}}}";
    assert_eq!(refuse(page), (408, "gone".to_owned()));
}

#[test]
fn filters_change_every_answer_in_the_order_of_the_configuration() {
    let folder = folder();
    let text = "
listen: 80
expires: 1 hour
header.merge: 'cache-control: public'
hosts: {default: {paths: {/: {file.dir: ROOT}}}}
";
    let server = Server::new(text, &folder);
    let cached = |target| field(&server.ask("GET", "a", target).response, "cache-control");
    assert_eq!(cached("/a.txt").as_deref(), Some("max-age=3600, public"));
    assert_eq!(cached("/nothing").as_deref(), Some("public"));
}

/// Ends the sending of an answer as the connection would.
fn end(answer: Answer) {
    let began = Instant::now();
    let ended = Ended { content_bytes: 4, began, ended: began + Duration::from_millis(2), aborted: None };
    answer.observer.expect("an observer").ended(&ended);
}

#[test]
fn requests_are_logged_as_the_client_sent_them_and_once_per_log() {
    let folder = folder();
    let text = r#"
listen: 80
access-log: {path: ROOT/log, format: '%h %v %V "%r" %s %<s %b %{x-a}o|%<{x-a}o %{A}e %u %l %q %U %p %{remote}p %{response-time}x'}
hosts:
  Site:
    header.set: 'x-a: 1'
    setenv: {A: env}
    error-doc: {status: 404, url: /404.html}
    paths:
      /: {file.dir: ROOT}
      /in: {redirect: {url: /, internal: YES}, access-log: {path: ROOT/log2, format: '%m %{error}x'}}
"#;
    let server = Server::new(text, &folder);
    for target in ["/a.txt?q=\"", "/in/a.txt", "/nothing", "/%00"] {
        end(server.ask("GET", "named", target));
    }
    server.site.core.logs.flush();
    server.logs.close(Duration::from_secs(10));
    let lines = std::fs::read_to_string(folder.path("log")).unwrap();
    let want = [
        r#"192.0.2.1 Site named "GET /a.txt?q=\x22 HTTP/1.1" 200 200 4 1|- env - - ?q=\x22 /a.txt 80 4000 0.002000"#,
        r#"192.0.2.1 Site named "GET /in/a.txt HTTP/1.1" 200 200 4 1|- env - -  /in/a.txt 80 4000 0.002000"#,
        r#"192.0.2.1 Site named "GET /nothing HTTP/1.1" 404 404 4 1|- env - -  /nothing 80 4000 0.002000"#,
        r#"192.0.2.1 Site named "GET /%00 HTTP/1.1" 400 400 4 1|- env - -  /%00 80 4000 0.002000"#,
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), want);
    assert_eq!(std::fs::read_to_string(folder.path("log2")).unwrap(), "GET \n");
}

#[test]
fn a_refusal_without_a_request_is_logged_with_its_reason() {
    let folder = folder();
    let text = r#"
listen: 80
access-log: {path: ROOT/log, escape: json, format: '{"r":"%r","m":"%m","s":%s,"e":"%{error}x","a":"%{user-agent}i"}'}
hosts: {default: {paths: {/: {file.dir: ROOT}}}}
"#;
    let server = Server::new(text, &folder);
    let (mut head, connection) = (RequestHead::default(), testing::connection());
    end(server.site.refuse(&Refusal::Timeout, &mut request(&mut head, &connection, Instant::now())));
    run(server.site.stop());
    server.logs.close(Duration::from_secs(10));
    assert_eq!(
        std::fs::read_to_string(folder.path("log")).unwrap(),
        "{\"r\":null,\"m\":null,\"s\":408,\"e\":\"the request did not arrive in time\",\"a\":null}\n"
    );
}

#[test]
fn an_abandoned_request_is_logged_without_its_end() {
    let folder = folder();
    let text = "
listen: 80
access-log: {path: ROOT/log, format: '%m %s %b %{response-time}x'}
hosts: {default: {paths: {/: {file.dir: ROOT}}}}
";
    let server = Server::new(text, &folder);
    drop(server.ask("GET", "a", "/a.txt"));
    run(server.site.stop());
    server.logs.close(Duration::from_secs(10));
    assert_eq!(std::fs::read_to_string(folder.path("log")).unwrap(), "GET 200 - -\n");
}

#[test]
fn the_server_field_is_as_configured() {
    let folder = folder();
    let hosts = "\nlisten: 80\nhosts: {default: {paths: {/: {file.dir: ROOT}}}}";
    for (line, want) in [
        ("server-name: x", Some("x")),
        ("send-server-name: OFF", None),
        ("{}", Some(concat!("hayami/", env!("CARGO_PKG_VERSION")))),
    ] {
        let text = if line == "{}" { hosts.to_owned() } else { format!("{line}{hosts}") };
        assert_eq!(Server::new(&text, &folder).site.server_name(), want.map(str::as_bytes), "{line}");
    }
}

#[test]
fn early_data_is_for_safe_methods_only() {
    let folder = folder();
    let server = Server::new("listen: 80\nhosts: {default: {paths: {/: {file.dir: ROOT}}}}", &folder);
    for (method, early, want) in [
        ("GET", true, 200),
        ("HEAD", true, 200),
        ("POST", false, 405),
        ("POST", true, 425),
        ("PURGE", true, 425),
    ] {
        let (mut head, connection) = (testing::head(method, "/a.txt"), testing::connection());
        let mut request = request(&mut head, &connection, Instant::now());
        request.early = early;
        let answer = match server.site.respond(&mut request) {
            Outcome::Ready(answer) => answer,
            Outcome::Later(answer) => run(answer),
        };
        assert_eq!(answer.response.head.status().code(), want, "{method} {early}");
    }
}

#[test]
fn hints_are_for_clients_that_load_pages_and_understand_them() {
    let folder = folder();
    let hosts = "listen: 80\nhosts: {default: {paths: {/: {file.dir: ROOT}}}}";
    for (recipients, method, mode, want) in [
        ("all", "GET", "", true),
        ("all", "GET", "navigate", true),
        ("all", "GET", "no-cors", false),
        ("all", "HEAD", "", false),
        // These requests are of HTTP/1.1.
        ("except-h1", "GET", "", false),
        ("none", "GET", "", false),
    ] {
        let server = Server::new(&format!("send-informational: {recipients}\n{hosts}"), &folder);
        let mut head = testing::head(method, "/a.txt");
        if !mode.is_empty() {
            head.fields_mut().append(b"sec-fetch-mode", mode.as_bytes());
        }
        assert_eq!(server.site.core.supports_early_hints(&head), want, "{recipients} {method} {mode}");
    }
}
