//! Fields passing through the reverse proxy: hop-by-hop fields, names that applications confuse, lists that
//! cost time.

use crate::support::h2::{flag, frame, kind};
use crate::support::upstream::Upstream;
use crate::support::{Client, Scratch, Server, Wire, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Uses HTTP/2 for an `http` upstream.
const CLEAR: &str = "proxy.http2.force-cleartext: ON";

/// The upstream at `/`, with these lines at the top.
#[track_caller]
fn before(dir: &Scratch, upstream: &Upstream, lines: &str) -> Server {
    let url = format!("http://{}", upstream.address);
    let hosts = format!("hosts: {{default: {{paths: {{/: {{proxy.reverse.url: '{url}'}}}}}}}}");
    Server::config(dir, &format!("num-threads: 1\n{lines}\n{hosts}\n"))
}

fn ok(fields: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n")
}

#[test]
fn names_with_underscores_reach_upstreams_only_if_that_is_wanted() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok("")));
    let fields = "X_Forwarded_For: 10.0.0.1\r\nX-Own: 1\r\nx_own: 2\r\n";
    assert_eq!(before(&dir, &upstream, "").get_with("/", fields).status, 200);
    let asked = upstream.last();
    assert_eq!((asked.all("x_forwarded_for"), asked.all("x_own")), (vec![], vec![]));
    assert_eq!((asked.all("x-forwarded-for"), asked.all("x-own")), (vec!["127.0.0.1"], vec!["1"]));

    let server = before(&dir, &upstream, "underscores-in-headers: ON");
    assert_eq!(server.get_with("/", fields).status, 200);
    let asked = upstream.last();
    assert_eq!((asked.all("x_forwarded_for"), asked.all("x_own")), (vec!["10.0.0.1"], vec!["2"]));
}

#[test]
fn trailers_with_underscores_in_their_names_are_treated_like_fields() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   2\r\nhi\r\n0\r\nX_Sum: 1\r\nX-Sum: 2\r\n\r\n";
    for (lines, want) in [("", "x-sum: 2\n"), ("underscores-in-headers: ON", "x_sum: 1\nx-sum: 2\n")] {
        let server = before(&dir, &upstream, lines);
        assert_eq!(server.connect().send(request).answer().text(), "hi");
        assert_eq!(upstream.last().trailers.to_ascii_lowercase(), want, "{lines}");
    }
}

#[test]
fn what_is_between_a_client_and_its_proxy_does_not_go_on() {
    let fields = "Proxy-Authenticate: Basic\r\nWWW-Authenticate: Basic\r\n";
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok(fields)));
    let server = before(&dir, &upstream, "");
    let asked = "Proxy-Authorization: Basic x\r\nProxy-Authenticate: Basic\r\nAuthorization: Basic y\r\n";
    let answer = server.get_with("/", asked);
    assert_eq!((answer.field("proxy-authenticate"), answer.field("www-authenticate")), (None, Some("Basic")));
    let head = upstream.last();
    assert_eq!((head.all("proxy-authorization"), head.all("proxy-authenticate")), (vec![], vec![]));
    assert_eq!(head.all("authorization"), ["Basic y"]);

    let refusal = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n";
    let upstream = Upstream::answering(refusal);
    let answer = before(&dir, &upstream, "").get("/");
    assert_eq!((answer.status, answer.field("proxy-authenticate")), (407, Some("Basic")));
}

#[test]
fn a_list_of_names_is_refused_beyond_its_bound_from_any_sender() {
    let list = |count: usize| (0..count).map(|number| format!("x-{number}")).collect::<Vec<_>>().join(",");
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok("")));
    let server = before(&dir, &upstream, "");
    let mut client = server.connect();
    let mut ask = |count: usize| {
        let fields = format!("Connection: {}\r\nX-63: 1\r\nX-64: 2\r\n", list(count));
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n")).answer().status
    };
    assert_eq!(ask(64), 200);
    let asked = upstream.last();
    assert_eq!((asked.all("x-63"), asked.all("x-64")), (vec![], vec!["2"]));
    assert_eq!(ask(65), 400);
    server.until_stderr("client: the Connection field has more than 64 elements");
    assert_eq!(upstream.requests().len(), 1);

    let upstream = Upstream::answering(ok(&format!("Connection: {}\r\n", list(65))));
    let server = before(&dir, &upstream, "");
    assert_eq!(server.get("/").status, 502);
    server.until_stderr("its response cannot be forwarded: the Connection field has more than 64 elements");
}

#[test]
fn urls_of_the_upstream_become_paths_of_this_server() {
    let upstream = Upstream::scripted(|conn| {
        while let Some(asked) = conn.request() {
            let host = asked.all("host")[0].to_owned();
            let url = asked.line().split("url=").nth(1).and_then(|rest| rest.split(' ').next());
            let url = url.expect("a URL").replace("HOST", &host);
            let fields = format!("Location: {url}\r\nContent-Location: {url}\r\nRefresh: 5; url={url}\r\n");
            conn.send(format!("HTTP/1.1 302 Found\r\n{fields}Content-Length: 0\r\n\r\n"));
        }
    });
    let dir = Scratch::new();
    let paths = format!("/api: {{proxy.reverse.url: 'http://{}/v1'}}", upstream.address);
    let off =
        format!("/off: {{proxy.rewrite-location: OFF, proxy.reverse.url: 'http://{}'}}", upstream.address);
    let server = Server::config(&dir, &format!("hosts: {{default: {{paths: {{{paths}, {off}}}}}}}\n"));
    let upstream_url = format!("http://{}/v1/a", upstream.address);
    let cases = [
        ("/api?url=http://HOST/v1/a", "/api/a"),
        ("/api?url=http://HOST/v1?b", "/api?b"),
        ("/api?url=http://other.example/v1/a", "http://other.example/v1/a"),
        ("/api?url=/v1/a", "/v1/a"),
        ("/off?url=http://HOST/v1/a", &upstream_url),
    ];
    let mut wire = Wire::open(&server.address);
    for (stream, (path, want)) in (1..).step_by(2).zip(cases) {
        for answer in [server.get(path), wire.ask(stream, "GET", path, &[], true).answer(stream)] {
            assert_eq!((answer.status, answer.all("location")), (302, vec![want]), "{path}");
            assert_eq!(answer.all("content-location"), [want], "{path}");
            assert_eq!(answer.all("refresh"), [format!("5; url={want}")], "{path}");
        }
    }
}

#[test]
fn a_response_without_a_date_gets_one_unless_that_is_not_wanted() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok("")));
    for (lines, dates) in [("", 1), ("proxy.emit-missing-date-header: OFF", 0)] {
        let server = before(&dir, &upstream, lines);
        let mut wire = Wire::open(&server.address);
        for answer in [server.get("/"), wire.get(1, "/").answer(1)] {
            assert_eq!((answer.status, answer.all("date").len()), (200, dates), "{lines}");
            assert_eq!(answer.all("server").len(), 1, "{lines}");
        }
    }
    let upstream = Upstream::answering(ok("Date: Thu, 01 Jan 2015 00:00:00 GMT\r\n"));
    let answer = before(&dir, &upstream, "proxy.emit-missing-date-header: OFF").get("/");
    assert_eq!(answer.all("date"), ["Thu, 01 Jan 2015 00:00:00 GMT"]);
}

/// A minimal HTTP/2 upstream: every request is answered with these frames on its stream.
fn http2_upstream(answer: &'static [(u8, u8, &'static [u8])]) -> Upstream {
    Upstream::scripted(move |conn| {
        conn.bytes(24);
        conn.send(frame(kind::SETTINGS, 0, 0, ""));
        while let Some(head) = conn.bytes(9) {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            conn.bytes(length as usize);
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            match (head[3], head[4] & flag::ACK) {
                (kind::SETTINGS, 0) => _ = conn.send(frame(kind::SETTINGS, flag::ACK, 0, "")),
                (kind::HEADERS, _) => {
                    let frames =
                        answer.iter().map(|(kind, flags, payload)| frame(*kind, *flags, stream, payload));
                    conn.send(frames.collect::<Vec<_>>().concat());
                }
                _ => {}
            }
        }
    })
}

#[test]
fn a_response_without_content_ends_with_its_head_over_http2() {
    /// `:status: 200` (RFC 7541 appendix A), and `content-length: 0` after it.
    const OK: &[u8] = &[0x88];
    const OK_0: &[u8] = &[0x88, 0x0f, 0x0d, 1, b'0'];
    const HEAD: u8 = flag::END_HEADERS;
    const END: u8 = flag::END_STREAM;
    let closing =
        |head: &'static str| Upstream::scripted(move |conn| _ = conn.request().map(|_| conn.send_last(head)));
    let cases = [
        ("a length of 0", "", Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")),
        (
            "no chunk",
            "",
            Upstream::answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ),
        ("204", "", Upstream::answering("HTTP/1.1 204 No Content\r\n\r\n")),
        ("the end of the connection", "", closing("HTTP/1.1 200 OK\r\n\r\n")),
        ("the end with the head", CLEAR, http2_upstream(&[(kind::HEADERS, HEAD | END, OK)])),
        ("the end with the head and a length", CLEAR, http2_upstream(&[(kind::HEADERS, HEAD | END, OK_0)])),
        ("an empty frame", CLEAR, http2_upstream(&[(kind::HEADERS, HEAD, OK), (kind::DATA, END, b"")])),
        (
            "a length of 0 before the end",
            CLEAR,
            http2_upstream(&[(kind::HEADERS, HEAD, OK_0), (kind::DATA, END, b"")]),
        ),
    ];
    for (what, lines, upstream) in cases {
        let dir = Scratch::new();
        let server = before(&dir, &upstream, lines);
        let mut wire = Wire::open(&server.address);
        wire.get(1, "/");
        let head = wire.next_of(kind::HEADERS);
        assert!(head.flags & flag::END_STREAM != 0, "{what}");
        assert!([200, 204].contains(&wire.status(1).expect("an answer")), "{what}");
        wire.ping();
    }
}

#[test]
fn a_response_of_a_fastcgi_application_without_content_ends_with_its_head_over_http2() {
    let application = Upstream::scripted(|conn| {
        while let Some(head) = conn.bytes(8) {
            let length = u16::from_be_bytes([head[4], head[5]]);
            conn.bytes(usize::from(length) + usize::from(head[6]));
            // An empty record of FCGI_STDIN ends the request.
            if (head[1], length) == (5, 0) {
                let fields = b"Status: 303\r\nLocation: /done\r\n\r\n";
                let stdout = [&[1, 6, 0, 1, 0, fields.len() as u8, 0, 0][..], fields].concat();
                conn.send_last([&stdout[..], &[1, 3, 0, 1, 0, 8, 0, 0], &[0; 8]].concat());
                return;
            }
        }
    });
    let (dir, port) = (Scratch::new(), application.address.rsplit(':').next().expect("a port"));
    let hosts = format!("hosts: {{default: {{paths: {{/: {{fastcgi.connect: {port}}}}}}}}}");
    let server = Server::config(&dir, &hosts);
    let mut wire = Wire::open(&server.address);
    wire.get(1, "/");
    let head = wire.next_of(kind::HEADERS);
    assert!(head.flags & flag::END_STREAM != 0);
    assert_eq!(wire.status(1), Some(303));
}

#[test]
fn an_upstream_that_speaks_http2_may_send_ahead_as_much_as_may_wait() {
    for (lines, want) in [("", 262_144), ("\nproxy.max-buffer-size: 10k", 10_240)] {
        let window = Arc::<AtomicU32>::default();
        let seen = Arc::clone(&window);
        let upstream = Upstream::scripted(move |conn| {
            conn.bytes(24);
            let head = conn.bytes(9).expect("a frame");
            assert_eq!(head[3], kind::SETTINGS);
            let settings = conn.bytes(usize::from(head[2])).expect("settings");
            // SETTINGS_INITIAL_WINDOW_SIZE
            let size = settings.chunks(6).find(|setting| setting[..2] == [0, 4]).expect("the window's size");
            seen.store(u32::from_be_bytes([size[2], size[3], size[4], size[5]]), Ordering::SeqCst);
            conn.is_closed();
        });
        let dir = Scratch::new();
        let server = before(&dir, &upstream, &format!("{CLEAR}{lines}"));
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        until("the settings have come", || window.load(Ordering::SeqCst) != 0);
        assert_eq!(window.load(Ordering::SeqCst), want, "{lines}");
    }
}

/// CPU time of the server per request; the minimum of some rounds, since other programs use the machine too.
fn cost(server: &Server, client: &mut Client, request: &str, status: u16) -> u64 {
    let round = |client: &mut Client| {
        let before = server.cpu_nanos();
        (0..20).for_each(|_| assert_eq!(client.send(request).answer().status, status));
        (server.cpu_nanos() - before) / 20
    };
    (0..5).map(|_| round(client)).min().expect("some rounds")
}

#[test]
fn a_long_list_of_names_costs_no_more_than_other_fields() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok("")));
    let server = before(&dir, &upstream, "");
    let mut client = server.connect();
    // Names that differ only at their ends from those of the fields that follow.
    let value: String = (0..5900).map(|number| format!("x-a{number:06},")).collect();
    let others: String = (0..90).map(|number| format!("x-b{number:06}: 1\r\n")).collect();
    let request = |name: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{name}: {value}\r\n{others}\r\n");
    assert!(request("").len() > 60_000 && request("Connection").len() < 65_536);
    let plain = cost(&server, &mut client, &request("X-List"), 200);
    let list = cost(&server, &mut client, &request("Connection"), 400);
    // Each name against each field would be thirty times as much.
    assert!(list < 4 * plain, "{list} ns with the list, {plain} ns without");
}
