//! The reverse proxy between clients and good upstreams: the messages that reach either side.

use crate::support::h2::{flag, frame, kind, request};
use crate::support::upstream::{Conn, Upstream, ok, unused_address};
use crate::support::{Answer, Client, Scratch, Server, Wire, until};
use rustix::process::Signal;
use std::sync::{Arc, Barrier};

/// The upstream at `/`, with these lines at the top; one worker, so that its connections can be counted.
#[track_caller]
fn before(dir: &Scratch, upstream: &Upstream, lines: &str) -> Server {
    let url = format!("http://{}", upstream.address);
    Server::config(dir, &config(&url, lines))
}

fn config(url: &str, lines: &str) -> String {
    format!("num-threads: 1\n{lines}\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: {url}}}}}}}}}\n")
}

fn post(fields: &str, content: &str) -> String {
    format!("POST /upload HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n{content}")
}

#[test]
fn the_upstream_sees_the_path_below_and_the_client() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok("x")));
    let url = format!("http://{}/v1", upstream.address);
    let paths = format!("hosts: {{default: {{paths: {{/api: {{proxy.reverse.url: {url}}}}}}}}}\n");
    let server = Server::config(&dir, &paths);
    let fields = "Host: site\r\nX-Forwarded-For: 192.0.2.7\r\nKeep-Alive: x\r\nX-Own: 1\r\n";
    let answer = server.get_with("/api/a%20b/../c%2Fd?x=%20", fields);
    assert_eq!((answer.status, answer.text()), (200, "x".into()));
    let asked = upstream.last();
    assert_eq!(asked.line(), "GET /v1/c%2Fd?x=%20 HTTP/1.1");
    assert_eq!(asked.all("host"), [upstream.address.as_str()]);
    assert_eq!(asked.all("x-forwarded-for"), ["192.0.2.7, 127.0.0.1"]);
    assert_eq!(asked.all("x-forwarded-proto"), ["http"]);
    assert_eq!(asked.all("via"), ["1.1 hayami"]);
    assert_eq!(asked.all("x-own"), ["1"]);
    assert_eq!((asked.all("connection"), asked.all("keep-alive")), (vec![], vec![]));
    assert_eq!(server.get("/elsewhere").status, 404);
}

#[test]
fn fields_and_host_are_what_the_configuration_makes_of_them() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok("x")));
    let lines = "proxy.preserve-host: ON\nproxy.header.set: 'x-key: secret'\nproxy.header.unset: user-agent\n\
                 proxy.emit-via-header: OFF\nproxy.emit-x-forwarded-headers: OFF\nheader.add: 'x-out: 1'";
    let server = before(&dir, &upstream, lines);
    let answer = server.get_with("/", "Host: site\r\nUser-Agent: x\r\nX-Key: forged\r\n");
    assert_eq!(answer.field("x-out"), Some("1"));
    assert_eq!(upstream.last().head, "GET / HTTP/1.1\r\nhost: site\r\nx-key: secret");
}

#[test]
fn the_response_comes_as_it_is_without_what_was_for_the_hop() {
    let head = "HTTP/1.1 201 Made\r\nServer: app\r\nDate: Thu, 01 Jan 2015 00:00:00 GMT\r\nKeep-Alive: timeout=5\r\n\
                Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\
                \r\nok";
    let (dir, upstream) = (Scratch::new(), Upstream::answering(head));
    let answer = before(&dir, &upstream, "").get("/");
    assert_eq!((answer.status, answer.text()), (201, "ok".into()));
    assert_eq!(answer.all("date"), ["Thu, 01 Jan 2015 00:00:00 GMT"]);
    assert_eq!(answer.all("set-cookie"), ["a=1", "b=2"]);
    assert_eq!((answer.field("x-hop"), answer.field("keep-alive")), (None, None));
    assert!(answer.field("server").is_some_and(|name| name.starts_with("hayami/")));
    let preserved = before(&dir, &upstream, "send-server-name: preserve").get("/");
    assert_eq!(preserved.all("server"), ["app"]);
}

#[test]
fn many_clients_share_few_connections() {
    let (dir, upstream) = (Scratch::new(), Upstream::answering(ok("x")));
    let server = before(&dir, &upstream, "");
    for _ in 0..50 {
        assert_eq!(server.get("/").status, 200);
    }
    assert_eq!((upstream.requests().len(), upstream.connections()), (50, 1));
    let one_each = before(&dir, &upstream, "proxy.timeout.keepalive: 0");
    (0..3).for_each(|_| assert_eq!(one_each.get("/").status, 200));
    assert_eq!(upstream.connections(), 4);
}

#[test]
fn content_goes_up_in_both_framings_of_http1() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = before(&dir, &upstream, "");
    let answers = server.ask(post("Content-Length: 5\r\n", "hello"));
    assert_eq!((answers[0].status, answers[0].text()), (200, "hello".into()));
    assert_eq!(upstream.last().all("content-length"), ["5"]);
    let chunks = "5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nX-Sum: 6\r\n\r\n";
    let answers = server.ask(post("Transfer-Encoding: chunked\r\nTrailer: x-sum\r\n", chunks));
    assert_eq!((answers[0].status, answers[0].text()), (200, "hello!".into()));
    let asked = upstream.last();
    assert_eq!((asked.all("transfer-encoding"), asked.all("content-length")), (vec!["chunked"], vec![]));
    assert_eq!(asked.trailers.to_ascii_lowercase(), "x-sum: 6\n");
    assert_eq!(server.ask(post("Content-Length: 0\r\n", ""))[0].status, 200);
    assert_eq!(upstream.last().all("content-length"), ["0"]);
    assert_eq!(upstream.connections(), 1, "content does not cost a connection");
}

#[test]
fn content_goes_up_over_http2_with_and_without_a_length() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = before(&dir, &upstream, "");
    let mut wire = Wire::open(&server.address);
    for (stream, fields) in [(1, &[][..]), (3, &[("content-length", "10")][..])] {
        let head = request("POST", "/upload", fields);
        wire.send(frame(kind::HEADERS, flag::END_HEADERS, stream, head));
        wire.send(frame(kind::DATA, 0, stream, "hello"));
        wire.send(frame(kind::DATA, flag::END_STREAM, stream, "again"));
        let answer = wire.answer(stream);
        assert_eq!((answer.status, answer.text()), (200, "helloagain".into()), "{fields:?}");
    }
    let framings = upstream.requests();
    let framings = framings.iter().map(|asked| (asked.all("transfer-encoding"), asked.all("content-length")));
    assert_eq!(framings.collect::<Vec<_>>(), [(vec!["chunked"], vec![]), (vec![], vec!["10"])]);
    assert_eq!(upstream.last().all("via"), ["2 hayami"]);
}

#[test]
fn large_content_goes_up_whole() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = before(&dir, &upstream, "");
    let content: String = (0..600_000).map(|number| format!("{number:08}")).collect();
    let chunks = content.as_bytes().chunks(70_000);
    let chunks = chunks.map(|c| format!("{:x}\r\n{}\r\n", c.len(), String::from_utf8_lossy(c)));
    let length = format!("Content-Length: {}\r\n", content.len());
    for request in [
        post(&length, &content),
        post("Transfer-Encoding: chunked\r\n", &(chunks.collect::<String>() + "0\r\n\r\n")),
    ] {
        let answer = server.connect().send(request).answer();
        assert!(answer.content == content.as_bytes(), "{} bytes came back", answer.content.len());
    }
}

/// Echoes each piece of a request's content before the next one arrives.
fn conversation(conn: &mut Conn) {
    while conn.head().is_some() {
        conn.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while let Some(chunk) = conn.chunk().filter(|chunk| !chunk.is_empty()) {
            let size = format!("{:x}\r\n", chunk.len());
            conn.send([size.as_bytes(), &chunk, b"\r\n"].concat());
        }
        assert!(conn.trailers().is_some_and(|trailers| trailers.is_empty()));
        conn.send("0\r\n\r\n");
    }
}

#[test]
fn both_sides_may_talk_at_once() {
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(conversation));
    let server = before(&dir, &upstream, "");
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    client.until("hello");
    client.send("5\r\nagain\r\n").until("again");
    let answer = client.send("0\r\n\r\n").answer();
    assert_eq!((answer.status, answer.text()), (200, "helloagain".into()));

    let mut wire = Wire::open(&server.address);
    wire.send(frame(kind::HEADERS, flag::END_HEADERS, 1, request("POST", "/", &[])));
    for piece in ["hello", "again"] {
        wire.send(frame(kind::DATA, 0, 1, piece));
        while String::from_utf8_lossy(&wire.next_of(kind::DATA).payload) != piece {}
    }
    wire.send(frame(kind::DATA, flag::END_STREAM, 1, ""));
    assert_eq!(wire.answer(1).text(), "helloagain");
}

#[test]
fn the_end_of_the_server_waits_for_answers_and_not_for_idle_upstreams() {
    let gate = Arc::new(Barrier::new(2));
    let inner = Arc::clone(&gate);
    let (dir, upstream) = (
        Scratch::new(),
        Upstream::scripted(move |conn| {
            while let Some(asked) = conn.request() {
                if asked.line().contains("/slow") {
                    inner.wait();
                }
                conn.send(ok("x"));
            }
        }),
    );
    let mut server = before(&dir, &upstream, "");
    assert_eq!(server.get("/").status, 200);
    let mut client = server.connect();
    client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    until("the request has come", || upstream.requests().len() == 2);
    server.signal(Signal::TERM);
    server.until_stderr("finishing open requests");
    gate.wait();
    assert_eq!(client.answer().text(), "x");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_client_that_waits_for_100_gets_it_when_the_upstream_takes_content() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = before(&dir, &upstream, "");
    let mut client = server.connect();
    client.send(post("Content-Length: 2\r\nExpect: 100-continue\r\n", ""));
    assert_eq!(client.answer().status, 100);
    let answer = client.send("ok").answer();
    assert_eq!((answer.status, answer.text()), (200, "ok".into()));
    assert_eq!(upstream.last().all("expect"), Vec::<&str>::new());
}

#[test]
fn answers_without_content_end_where_they_end() {
    let script = |conn: &mut Conn| {
        while let Some(asked) = conn.request() {
            conn.send(match asked.line() {
                "HEAD / HTTP/1.1" => "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
                "GET /304 HTTP/1.1" => "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n",
                _ => "HTTP/1.1 204 No Content\r\n\r\n",
            });
        }
    };
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(script));
    let server = before(&dir, &upstream, "");
    let mut client = server.connect();
    let head = client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").answer_to_head();
    assert_eq!((head.status, head.field("content-length")), (200, Some("1000")));
    let not_modified = client.send("GET /304 HTTP/1.1\r\nHost: a\r\n\r\n").answer();
    assert_eq!((not_modified.status, not_modified.field("etag")), (304, Some("\"1\"")));
    assert_eq!(client.send("DELETE /x HTTP/1.1\r\nHost: a\r\n\r\n").answer().status, 204);
    assert_eq!(upstream.connections(), 1);
}

/// A response of that many bytes, framed in that way.
fn download(framing: &'static str, bytes: usize) -> Upstream {
    Upstream::scripted(move |conn| {
        while conn.request().is_some() {
            let piece = vec![b'd'; 10_000];
            conn.send(match framing {
                "length" => format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n"),
                "chunked" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
                _ => "HTTP/1.1 200 OK\r\n\r\n".to_owned(),
            });
            for _ in 0..bytes / piece.len() {
                let chunk = format!("{:x}\r\n", piece.len());
                let sent = match framing {
                    "chunked" => conn.send([chunk.as_bytes(), &piece, b"\r\n"].concat()),
                    _ => conn.send(&piece),
                };
                if !sent {
                    return;
                }
            }
            match framing {
                "chunked" => _ = conn.send("0\r\nX-Sum: 1\r\n\r\n"),
                "length" => {}
                _ => return,
            }
        }
    })
}

#[test]
fn large_answers_come_whole_in_every_framing() {
    const BYTES: usize = 5_000_000;
    for framing in ["length", "chunked", "close"] {
        let (dir, upstream) = (Scratch::new(), download(framing, BYTES));
        let server = before(&dir, &upstream, "");
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let raw = client.rest().to_vec();
        let all = raw.iter().filter(|byte| **byte == b'd').count();
        assert!(all >= BYTES, "{framing}: {all}");
        let text = String::from_utf8_lossy(&raw[raw.len() - 40..]).into_owned();
        assert_eq!(text.to_ascii_lowercase().contains("x-sum: 1"), framing == "chunked", "{text}");
        let mut wire = Wire::open(&server.address);
        wire.send(crate::support::h2::get(1, "/"));
        let answer = wire.answer(1);
        assert_eq!((answer.status, answer.content.len()), (200, BYTES), "{framing} over HTTP/2");
        assert_eq!(answer.field("x-sum").is_some(), framing == "chunked", "{framing} over HTTP/2");
    }
}

#[test]
fn a_client_that_reads_nothing_stops_its_upstream_and_costs_little_memory() {
    let (dir, upstream) = (Scratch::new(), download("length", 400_000_000));
    let server = before(&dir, &upstream, "");
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.receive_at_least(100_000);
    let (mut sent, mut looks) = (0, 0);
    until("the upstream gets rid of nothing more", || {
        looks = if upstream.sent() == sent { looks + 1 } else { 0 };
        sent = upstream.sent();
        looks == 100
    });
    assert!(sent < 64_000_000, "{sent} bytes are under way");
    assert!(resident(&server) < 64 * 1024, "{} KiB", resident(&server));
    assert_eq!(upstream.open(), 1, "the upstream waits");
    drop(client);
    until("the upstream is let go", || upstream.open() == 0);
}

/// Resident memory in KiB.
fn resident(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn interim_responses_reach_clients_that_understand_them() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    let (dir, upstream) = (Scratch::new(), Upstream::answering(early.to_owned() + &ok("x")));
    let server = before(&dir, &upstream, "");
    assert_eq!(server.get("/").status, 200, "HTTP/1.1 gets none by default");
    let mut wire = Wire::open(&server.address);
    wire.send(crate::support::h2::get(1, "/"));
    let heads = [wire.next_of(kind::HEADERS), wire.next_of(kind::HEADERS)];
    assert!(heads.iter().all(|frame| frame.flags & flag::END_STREAM == 0), "{heads:?}");
    assert_eq!(wire.answer(1).text(), "x");
    let server = before(&dir, &upstream, "send-informational: all");
    let answers = server.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let seen: Vec<_> = answers.iter().map(|answer| (answer.status, answer.field("link"))).collect();
    assert_eq!(seen, [(103, Some("</a.css>; rel=preload")), (200, None)]);
    let lines = "send-informational: all\nheader.add: {header: 'X-Early: 1', when: early}\n\
                 header.set: {header: 'Link: </b.css>', when: all}\nheader.add: 'X-Final: 1'";
    let server = before(&dir, &upstream, lines);
    let answers = server.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let seen: Vec<_> = answers
        .iter()
        .map(|answer| (answer.status, answer.field("link"), answer.field("x-early"), answer.field("x-final")))
        .collect();
    let of_upstream = (103, Some("</b.css>"), Some("1"), None);
    assert!(
        seen.contains(&of_upstream) && seen.iter().filter(|own| **own == of_upstream).count() == 2,
        "{seen:?}"
    );
    assert_eq!(seen.last(), Some(&(200, Some("</b.css>"), None, Some("1"))));
}

#[test]
fn a_client_that_goes_away_ends_the_upstreams_work() {
    let waiting = |conn: &mut Conn| {
        if conn.request().is_some() {
            conn.is_closed();
        }
    };
    let (dir, upstream) = (Scratch::new(), Upstream::scripted(waiting));
    let server = before(&dir, &upstream, "");
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    until("the request has come", || upstream.requests().len() == 1);
    drop(client);
    until("the upstream is let go", || upstream.open() == 0);
    let mut wire = Wire::open(&server.address);
    wire.send(crate::support::h2::get(1, "/"));
    until("the request has come", || upstream.requests().len() == 2);
    wire.send(frame(kind::RST_STREAM, 0, 1, 8_u32.to_be_bytes()));
    until("the upstream is let go", || upstream.open() == 0);
}

/// The upstream that answered each of this many requests.
fn shares(server: &Server, requests: usize) -> Vec<String> {
    let mut client = server.connect();
    let ask = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let one = |client: &mut Client| -> Answer { client.send(ask).answer() };
    (0..requests).map(|_| one(&mut client).text()).collect()
}

#[test]
fn requests_are_shared_out_by_weight() {
    let (a, b) = (Upstream::answering(ok("a")), Upstream::answering(ok("b")));
    let dir = Scratch::new();
    let urls = format!("[{{url: 'http://{}', weight: 2}}, http://{}]", a.address, b.address);
    let server = Server::config(&dir, &config(&urls, ""));
    assert_eq!(shares(&server, 6).concat(), "abaaba");
    for balancer in ["least-conn", "two-choices"] {
        let urls = format!("{{backends: {urls}, balancer: {balancer}}}");
        let server = Server::config(&dir, &config(&urls, ""));
        let got = shares(&server, 30).concat();
        assert!(got.contains('a') && got.contains('b'), "{balancer}: {got}");
    }
}

#[test]
fn an_upstream_that_is_down_causes_no_error() {
    let (dir, good, dead) = (Scratch::new(), Upstream::answering(ok("good")), unused_address());
    let urls = format!("[http://{dead}, http://{}]", good.address);
    let server = Server::config(&dir, &config(&urls, ""));
    assert!(shares(&server, 20).iter().all(|text| text == "good"));
    server.until_stderr(&format!(
        "warn upstream: http://{dead}: Connection refused (os error 111); ejected for 1 s"
    ));
    let back = Upstream::at(&dead, |conn| {
        while conn.request().is_some() {
            conn.send(ok("back"));
        }
    });
    until("it is asked again", || shares(&server, 2).iter().any(|text| text == "back"));
    server.until_stderr(&format!("notice upstream: http://{dead}: accepts connections again"));
    drop(back);
}

#[test]
fn a_unix_socket_is_an_upstream_too() {
    use std::io::{Read, Write};
    let dir = Scratch::new();
    let listener = std::os::unix::net::UnixListener::bind(dir.path("app.sock")).expect("bound");
    dir.permit("app.sock", 0o777);
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = [0; 1000];
        let bytes = stream.read(&mut request).expect("a request");
        stream.write_all(ok("x").as_bytes()).expect("taken");
        String::from_utf8_lossy(&request[..bytes]).into_owned()
    });
    let url = format!("'http://[unix:{}]/below/'", dir.text("app.sock"));
    let server = Server::config(&dir, &config(&url, ""));
    assert_eq!(server.get("/a").text(), "x");
    let asked = thread.join().expect("no panic");
    assert!(asked.starts_with("GET /below/a HTTP/1.1\r\nhost: localhost\r\n"), "{asked}");
}
