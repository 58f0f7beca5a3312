//! 103 Early Hints of the server's own: `link` fields that `header.*` puts on a response go ahead of it.

use crate::support::h2::{flag, kind};
use crate::support::upstream::{Conn, Upstream};
use crate::support::{Scratch, Server, Wire};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

const LINK: &str = "header.add: \"link: </style.css>; rel=preload; as=style\"";

/// An application that answers on a signal from the test.
fn slow() -> (Upstream, Sender<()>) {
    let (tell, told) = channel();
    let told = Arc::new(Mutex::new(told));
    let upstream = Upstream::scripted(move |conn: &mut Conn| {
        while conn.request().is_some() {
            told.lock().expect("no panic within").recv().expect("the test goes on");
            conn.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage");
        }
    });
    (upstream, tell)
}

#[track_caller]
fn before(dir: &Scratch, upstream: &Upstream, lines: &str) -> Server {
    let url = format!("http://{}", upstream.address);
    let paths = format!("paths: {{/: {{proxy.reverse.url: '{url}'}}}}");
    Server::config(dir, &format!("num-threads: 1\n{LINK}\n{lines}hosts: {{default: {{{paths}}}}}\n"))
}

#[test]
fn links_go_ahead_of_a_page_that_takes_its_time() {
    let (dir, (upstream, go)) = (Scratch::new(), slow());
    let server = before(&dir, &upstream, "");
    let mut wire = Wire::open(&server.address);
    wire.get(1, "/");
    // The application has not answered yet.
    let hints = wire.next_of(kind::HEADERS);
    assert_eq!(hints.flags & flag::END_STREAM, 0);
    assert_eq!(wire.interim, [(1, 103, vec!["</style.css>; rel=preload; as=style".to_owned()])]);
    go.send(()).expect("the application waits");
    let answer = wire.answer(1);
    assert_eq!((answer.status, answer.text().as_str()), (200, "page"));
    assert_eq!(answer.all("link"), ["</style.css>; rel=preload; as=style"], "the page itself has it, too");
    assert_eq!(wire.interim.len(), 1);
}

#[test]
fn hints_are_for_pages_and_for_clients_that_understand_them() {
    let (dir, (upstream, go)) = (Scratch::new(), slow());
    // Lines of the configuration, the method, a field of the request, and whether there are hints over HTTP/2.
    let cases = [
        ("", "GET", ("sec-fetch-mode", "navigate"), true),
        ("", "GET", ("sec-fetch-mode", "cors"), false),
        ("", "POST", ("a", "b"), false),
        ("http2-push-preload: OFF\n", "GET", ("a", "b"), false),
        ("send-informational: none\n", "GET", ("a", "b"), false),
        ("send-informational: all\n", "GET", ("a", "b"), true),
    ];
    for (lines, method, field, hints) in cases {
        let server = before(&dir, &upstream, lines);
        let mut wire = Wire::open(&server.address);
        go.send(()).expect("the application waits");
        let answer = wire.ask(1, method, "/", &[field], true).answer(1);
        assert_eq!((answer.status, !wire.interim.is_empty()), (200, hints), "{lines}{method} {field:?}");
    }
    for (lines, statuses) in [("", &[200][..]), ("send-informational: all\n", &[103, 200])] {
        let server = before(&dir, &upstream, lines);
        go.send(()).expect("the application waits");
        let answers = server.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), statuses, "{lines}");
        go.send(()).expect("the application waits");
        let answers = server.ask("GET / HTTP/1.0\r\n\r\n");
        assert_eq!(
            answers.iter().map(|answer| answer.status).collect::<Vec<_>>(),
            [200],
            "{lines}: HTTP/1.0"
        );
    }
}

#[test]
fn an_answer_that_is_there_at_once_needs_no_hints() {
    let dir = Scratch::new();
    dir.write("site/index.html", "page");
    let server = Server::site(&dir, LINK);
    let mut wire = Wire::open(&server.address);
    assert_eq!(wire.get(1, "/").answer(1).all("link"), ["</style.css>; rel=preload; as=style"]);
    assert!(wire.interim.is_empty(), "{:?}", wire.interim);
}
