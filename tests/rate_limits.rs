//! `limit.requests` and `limit.connections`: who is rejected, when, and what is counted by whom.
//!
//! Rates are so slow that nothing is refilled while a test runs.

use crate::reload::{assert_reloaded, write};
use crate::support::h2::{flag, kind};
use crate::support::hpack::literals;
use crate::support::upstream::Upstream;
use crate::support::{Client, Scratch, Server, Wire, until, until_some};
use std::net::Shutdown;

/// amy:secret, amy:wrong
const AMY: &str = "Authorization: Basic YW15OnNlY3JldA==\r\n";
const WRONG: &str = "Authorization: Basic YW15Ondyb25n\r\n";

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/a.txt", "text").write("site/index.html", "front");
    dir.write("users", "amy:$2y$04$KWit./ToewSlFOOeYEFpVeuoQGn1enVxQAJkX0ACg.JvEPrqGAS7y\n");
    dir
}

/// A server whose paths these are.
#[track_caller]
fn server(dir: &Scratch, head: &str, paths: &str) -> Server {
    Server::config(dir, &text(head, paths))
}

fn text(head: &str, paths: &str) -> String {
    let paths: String = paths.trim().lines().map(|line| format!("      {line}\n")).collect();
    format!("{head}\nhosts:\n  default:\n    paths:\n{paths}")
}

/// A server before that upstream, with this line at its path.
#[track_caller]
fn before(dir: &Scratch, upstream: &Upstream, line: &str) -> Server {
    server(dir, "num-threads: 2", &format!("/: {{{line}, proxy.reverse.url: 'http://{}'}}", upstream.address))
}

fn statuses(server: &Server, targets: &[(&str, &str)]) -> Vec<u16> {
    targets.iter().map(|(target, fields)| server.get_with(target, fields).status).collect()
}

/// How many requests for a target are served, until one is not.
#[track_caller]
fn served(server: &Server, target: &str, fields: &str) -> usize {
    (0..100).position(|_| server.get_with(target, fields).status != 200).expect("a limit")
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

const HOUR: &str = "limit.requests: {rate: 1/h, burst: 2}";

#[test]
fn a_client_above_the_rate_gets_429_and_learns_when_to_come_back() {
    let dir = site();
    let head = "access-log: {path: DIR/log, format: '%s %{error}x'}";
    let server =
        server(&dir, head, &format!("/: {{{HOUR}, file.dir: DIR/site}}\n/free: {{file.dir: DIR/site}}"));
    assert_eq!(statuses(&server, &[("/a.txt", ""); 5]), [200, 200, 200, 429, 429]);
    let answer = server.get("/a.txt");
    let seconds: u64 = answer.field("retry-after").and_then(|value| value.parse().ok()).expect("seconds");
    assert!((3000..=3600).contains(&seconds), "{seconds}");
    assert_eq!(answer.field("ratelimit-policy"), Some("\"requests\";q=1;w=3600"));
    assert_eq!(answer.field("ratelimit"), Some(&*format!("\"requests\";r=0;t={seconds}")));
    assert_eq!(answer.text(), format!("Too Many Requests: try again in {seconds} s\n"));
    assert_eq!(server.get("/free/a.txt").status, 200, "another path");
    assert_eq!(server.get("/none").status, 429, "what is not there is not told either");
    let reason = "more requests than 1/h with a burst of 2 from client 127.0.0.1 (`limit.requests` of path / of host default)";
    server.until_stderr(&format!("info request: from 127.0.0.1 for \"/a.txt\": {reason}"));
    until("all are logged", || {
        dir.read("log").lines().filter(|line| *line == format!("429 {reason}")).count() == 4
    });
}

#[test]
fn a_flood_has_few_lines_in_the_error_log() {
    let dir = site();
    let server = server(&dir, "", &format!("/: {{{HOUR}, file.dir: DIR/site}}"));
    let mut client = server.connect();
    client.send(get("/a.txt").repeat(3));
    (0..3).for_each(|_| assert_eq!(client.answer().status, 200));
    for _ in 0..10 {
        client.send(get("/a.txt").repeat(100));
        (0..100).for_each(|_| assert_eq!(client.answer().status, 429, "and the connection stays"));
    }
    server.until_stderr("more requests than");
    let lines = server.stderr().matches("more requests than").count();
    assert!(lines < 100, "{lines} lines about 1000 requests");
}

#[test]
fn both_protocols_and_all_workers_have_one_account() {
    let dir = site();
    let limit = "limit.requests: {rate: 1/h, burst: 49}";
    let server = server(&dir, "num-threads: 4", &format!("/: {{{limit}, file.dir: DIR/site}}"));
    let address = server.address.clone();
    let clients: Vec<_> = (0..8)
        .map(|number| {
            let address = address.clone();
            std::thread::spawn(move || match number % 2 {
                0 => (0..20)
                    .map(|_| Client::connect(&address).send(get("/a.txt")).answer().status)
                    .filter(|status| *status == 200)
                    .count(),
                _ => {
                    let mut wire = Wire::open(&address);
                    (0..20)
                        .filter(|index| wire.get(1 + 2 * index, "/a.txt").answer(1 + 2 * index).status == 200)
                        .count()
                }
            })
        })
        .collect();
    let served: usize = clients.into_iter().map(|client| client.join().expect("no panic")).sum();
    assert_eq!(served, 50);
}

#[test]
fn guesses_of_passwords_are_limited_before_they_are_checked() {
    let dir = site();
    for more in ["", ", satisfy: any, allow: 10.0.0.1"] {
        let path = format!("/: {{auth.basic: {{file: DIR/users}}, {HOUR}{more}, file.dir: DIR/site}}");
        let server = server(&dir, "", &path);
        assert_eq!(
            statuses(&server, &[("/a.txt", WRONG), ("/a.txt", WRONG), ("/a.txt", "")]),
            [401, 401, 401]
        );
        assert_eq!(server.get_with("/a.txt", AMY).status, 429, "even if it were right");
    }
}

#[test]
fn requests_are_counted_by_field_cookie_host_and_path() {
    let dir = site();
    for (key, own) in [("{field: X-Key}", "X-Key: one\r\n"), ("{cookie: id}", "Cookie: a=b; id=one\r\n")] {
        let limit = format!("limit.requests: {{rate: 1/h, burst: 2, key: {key}}}");
        let server = server(&dir, "", &format!("/: {{{limit}, file.dir: DIR/site}}"));
        assert_eq!(served(&server, "/a.txt", own), 3, "{key}");
        assert_eq!(served(&server, "/a.txt", &own.replace("one", "two")), 3, "{key}");
        assert_eq!(served(&server, "/a.txt", ""), 3, "{key}: by client");
        assert_eq!(server.get_with("/a.txt", &own.repeat(2)).status, 429, "{key}: several values are none");
        server.until_stderr(if key.contains("field") {
            "from a value of the field x-key ("
        } else {
            "of the cookie id ("
        });
        assert!(!server.stderr().contains("one"), "values are secrets");
    }
    for (key, after) in [("host", [429, 429, 200]), ("path", [429, 200, 200])] {
        let limit = format!("limit.requests: {{rate: 1/h, key: {key}}}");
        let paths = "paths: {/: {file.dir: DIR/site}, /b: {file.dir: DIR/site}}";
        let server = Server::config(
            &dir,
            &format!("{limit}\nhosts:\n  default:\n    {paths}\n  other:\n    {paths}\n"),
        );
        assert_eq!(server.get("/a.txt").status, 200);
        let others = [("/a.txt", ""), ("/b/a.txt", ""), ("/a.txt", "Host: other\r\n")];
        assert_eq!(statuses(&server, &others), after, "{key}");
    }
}

#[test]
fn clients_are_those_of_real_ip_and_some_are_exempt() {
    let dir = site();
    dir.write("list", "203.0.113.0/24\n");
    let limit = "limit.requests: {rate: 1/h, prefix: [24, 48], exempt: [192.0.2.9, {file: DIR/list}]}";
    let head = format!("real-ip: {{from: 127.0.0.1}}\n{limit}");
    let server = server(&dir, &head, "/: {file.dir: DIR/site}");
    for (client, want) in [
        ("192.0.2.1", 200),
        ("192.0.2.2", 429),
        ("192.0.3.1", 200),
        ("2001:db8::1", 200),
        ("2001:db8:0:7::1", 429),
        ("2001:db8:1::1", 200),
        ("192.0.2.9", 200),
        ("203.0.113.1", 200),
        ("203.0.113.1", 200),
    ] {
        assert_eq!(
            server.get_with("/a.txt", &format!("X-Forwarded-For: {client}\r\n")).status,
            want,
            "{client}"
        );
    }
    server.until_stderr("from client 192.0.2.0/24 (`limit.requests` of the server)");
    server.until_stderr("from client 2001:db8::/48 (");
    dir.replace("list", "198.51.100.1\n");
    until("the list is read again", || {
        server.get_with("/a.txt", "X-Forwarded-For: 203.0.113.1\r\n").status == 429
    });
}

#[test]
fn all_limits_of_a_sequence_count_and_an_inner_level_replaces_them() {
    let dir = site();
    let head = "limit.requests: [{rate: 1/h, burst: 4}, {rate: 1/h, burst: 1, key: {field: x-key}}]";
    let paths = "
/: {file.dir: DIR/site}
/own: {limit.requests: {rate: 1/h}, file.dir: DIR/site}
/off: {limit.requests: OFF, file.dir: DIR/site}
";
    let server = server(&dir, head, paths);
    assert_eq!(served(&server, "/a.txt", "X-Key: one\r\n"), 2);
    assert_eq!(served(&server, "/a.txt", "X-Key: two\r\n"), 2);
    assert_eq!(server.get_with("/a.txt", "X-Key: three\r\n").status, 429, "the client's own limit");
    assert_eq!(served(&server, "/own/a.txt", ""), 1);
    assert_eq!(statuses(&server, &[("/off/a.txt", ""); 3]), [200; 3]);
}

#[test]
fn a_limit_counts_once_wherever_the_server_leads_a_request() {
    let dir = site();
    dir.write("site/429.html", "later");
    let head = "limit.requests: {rate: 1/h, burst: 3}\nerror-doc: {status: [404, 429], url: /429.html}";
    let paths = "
/: {file.dir: DIR/site}
/again: {redirect: {url: /b/a.txt, internal: YES, status: 302}}
/b: {file.dir: DIR/site}
";
    let limited = server(&dir, head, paths);
    assert_eq!(served(&limited, "/again", ""), 4, "the same limit on both paths");
    assert_eq!(limited.get("/a.txt").text(), "later", "error pages are not counted");

    let paths = "
/: {file.dir: DIR/site}
/again: {limit.requests: {rate: 1/h, burst: 3}, redirect: {url: /b/a.txt, internal: YES, status: 302}}
/b: {limit.requests: {rate: 1/h, burst: 1, name: inner}, file.dir: DIR/site}
/c: {limit.requests: {rate: 1/h, burst: 1, name: inner}, file.dir: DIR/site}
";
    let limited = server(&dir, "", paths);
    assert_eq!(served(&limited, "/again", ""), 2, "the limit of the other path counts as well");
    assert_eq!(
        limited.get("/c/a.txt").field("ratelimit-policy"),
        Some("\"inner\";q=1;w=3600"),
        "one of two paths"
    );
}

#[test]
fn requests_of_the_server_itself_are_not_counted() {
    let dir = site();
    let upstream =
        Upstream::answering("HTTP/1.1 200 OK\r\nX-Reproxy-Url: /files/a.txt\r\nContent-Length: 0\r\n\r\n");
    let paths = format!(
        "
/: {{auth.request: {{url: /session}}, limit.requests: {{rate: 1/h, burst: 4, name: one}}, reproxy: ON, \
         proxy.reverse.url: 'http://{}'}}
/session: {{limit.requests: {{rate: 1/h, name: two}}, file.file: DIR/site/a.txt}}
/files: {{limit.requests: {{rate: 1/h, name: three}}, file.dir: DIR/site}}
",
        upstream.address
    );
    let server = server(&dir, "", &paths);
    assert_eq!(served(&server, "/x", ""), 5);
    assert_eq!(statuses(&server, &[("/files/a.txt", ""), ("/files/a.txt", "")]), [200, 429]);
}

#[test]
fn a_dry_run_only_logs() {
    let dir = site();
    let limits = "limit.requests: {rate: 1/h, dry-run: ON}, limit.connections: {max: 1, dry-run: ON}";
    let server = server(&dir, "", &format!("/: {{{limits}, file.dir: DIR/site}}"));
    assert_eq!(statuses(&server, &[("/a.txt", ""); 3]), [200; 3]);
    server.until_stderr(
        "info request: from 127.0.0.1 for \"/a.txt\": dry run, not rejected: more requests than 1/h from client 127.0.0.1",
    );
}

#[test]
fn requests_within_the_burst_can_wait_for_the_rate() {
    let dir = site();
    let held = "limit.connections: {max: 1, name: held}";
    let paths = format!(
        "
/fast: {{limit.requests: {{rate: 1000/s, burst: 100, delay: ON}}, file.dir: DIR/site}}
/slow: {{limit.requests: {{rate: 3/m, burst: 5, delay: 1}}, {held}, file.dir: DIR/site}}
/other: {{{held}, file.dir: DIR/site}}
"
    );
    let server = server(&dir, "", &paths);
    let mut client = server.connect();
    client.send(get("/fast/a.txt").repeat(50));
    (0..50).for_each(|_| assert_eq!(client.answer().status, 200));
    for _ in 0..2 {
        assert_eq!(server.get("/slow/a.txt").status, 200);
    }
    // The next ones wait for 20, 40 and 60 seconds, and end with their clients.
    let mut waiting = server.connect();
    assert!(waiting.send(get("/slow/a.txt")).finish().is_closed(), "without an answer");
    until_free(&server, "/other/a.txt");
    let mut wire = Wire::open(&server.address);
    wire.get(1, "/slow/a.txt").ping();
    assert_eq!(server.get("/other/a.txt").status, 429, "it waits");
    wire.frame(kind::RST_STREAM, 0, 1, 8_u32.to_be_bytes());
    until_free(&server, "/other/a.txt");
    wire.get(3, "/slow/a.txt").ping();
    assert_eq!(server.get("/other/a.txt").status, 429, "it waits");
    disconnect(wire);
    until_free(&server, "/other/a.txt");
}

#[test]
fn a_reload_keeps_the_account() {
    let dir = site();
    let paths = |limit: &str| format!("/: {{{limit}, file.dir: DIR/site}}");
    let server = server(&dir, "num-threads: 2", &paths(HOUR));
    assert_eq!(served(&server, "/a.txt", ""), 3);
    for (limit, want) in [
        (HOUR, 429),
        ("limit.requests: {rate: 2/h, burst: 1}", 429),
        ("limit.requests: {rate: 1/h, key: path}", 200),
        ("satisfy: all", 200),
        (HOUR, 200),
    ] {
        write(&dir, &text("num-threads: 2", &paths(limit)));
        assert_reloaded(&server);
        assert_eq!(server.get("/a.txt").status, want, "{limit}");
    }
}

const ONE: &str = "limit.connections: {max: 1}";

/// Ends a connection at once.
fn disconnect(mut wire: Wire) {
    wire.pushing().shutdown(Shutdown::Both).expect("it is open");
}

/// Waits until a request is admitted: the one before it has ended.
#[track_caller]
fn until_free(server: &Server, target: &str) {
    until("there is room again", || server.get(target).status == 200);
}

/// An upstream that answers `/hold` with the beginning of a response and waits for its connection to end.
fn holding() -> Upstream {
    Upstream::scripted(|conn| {
        while let Some(asked) = conn.request() {
            if !asked.line().contains("/hold") {
                conn.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                continue;
            }
            if !asked.line().contains("/silent") {
                conn.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun");
            }
            conn.is_closed();
        }
    })
}

#[test]
fn requests_at_once_are_counted_until_the_client_has_left() {
    let (dir, upstream) = (site(), holding());
    let server = before(&dir, &upstream, ONE);
    for target in ["/hold", "/hold/silent"] {
        for end in [Client::finish as fn(&mut Client) -> &mut Client, |client| client] {
            let mut client = server.connect();
            let known = upstream.requests().len();
            client.send(get(target));
            until("it is being served", || upstream.requests().len() > known);
            let rejected = server.get("/x");
            assert_eq!((rejected.status, rejected.field("retry-after")), (429, Some("1")), "{target}");
            end(&mut client);
            drop(client);
            until_free(&server, "/x");
        }
    }
    server.until_stderr(
        "more than 1 request at once from client 127.0.0.1 (`limit.connections` of path / of host default)",
    );
}

#[test]
fn streams_of_a_connection_count_each_until_they_are_reset() {
    let (dir, upstream) = (site(), holding());
    let server = before(&dir, &upstream, "limit.connections: {max: 2}");
    let mut wire = Wire::open(&server.address);
    wire.get(1, "/hold").get(3, "/hold/silent");
    until("both are being served", || upstream.requests().len() == 2);
    assert_eq!(wire.get(5, "/x").answer(5).status, 429);
    wire.frame(kind::RST_STREAM, 0, 3, 8_u32.to_be_bytes());
    until_free(&server, "/x");
    wire.frame(kind::RST_STREAM, 0, 1, 8_u32.to_be_bytes()).ping();
    let known = upstream.requests().len();
    wire.get(7, "/hold").get(9, "/hold");
    until("both are being served", || upstream.requests().len() == known + 2);
    assert_eq!(server.get("/x").status, 429);
    disconnect(wire);
    until_free(&server, "/x");
}

#[test]
fn a_response_that_breaks_off_ends_its_request() {
    let dir = site();
    let upstream = Upstream::scripted(|conn| {
        while let Some(asked) = conn.request() {
            match asked.line().contains("/break") {
                true => return conn.send_last("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun"),
                false => _ = conn.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            }
        }
    });
    let server = before(&dir, &upstream, ONE);
    for _ in 0..3 {
        let mut client = server.connect();
        client.send(get("/break")).until("begun").rest();
        until_free(&server, "/x");
    }
    let mut client = server.connect();
    for _ in 0..20 {
        assert_eq!(client.send(get("/x")).answer().status, 200, "one after the other on a connection");
    }
}

#[test]
fn a_tunnel_counts_until_it_ends() {
    const UPGRADE: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n";
    let dir = site();
    let upstream = Upstream::scripted(|conn| {
        while let Some(asked) = conn.request() {
            if asked.line().contains("/chat") {
                conn.send("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\nhello");
                conn.is_closed();
                return;
            }
            conn.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let server = before(&dir, &upstream, ONE);
    let mut client = server.connect();
    client.send(UPGRADE).until("hello");
    assert_eq!(server.get("/x").status, 429);
    drop(client);
    until_free(&server, "/x");
}

#[test]
fn a_connection_of_connect_counts_until_it_ends() {
    let (dir, upstream) = (site(), Upstream::scripted(|conn| _ = conn.is_closed()));
    let server = server(&dir, "num-threads: 2", &format!("/: {{{ONE}, proxy.connect: ['+127.0.0.1']}}"));
    let connect = || {
        let mut client = server.connect();
        client.send(format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", upstream.address)).until("\r\n\r\n");
        let status = client.head().status;
        (client, status)
    };
    let (client, status) = connect();
    assert_eq!((status, connect().1), (200, 429));
    drop(client);
    until("there is room again", || connect().1 == 200);
    // Over HTTP/2: that one has ended, too.
    let mut wire = Wire::open(&server.address);
    let fields = literals(&[(":method", "CONNECT"), (":authority", &upstream.address)]);
    let mut streams = (1..).step_by(2);
    let stream = until_some("the stream is a tunnel", || {
        let stream = streams.next()?;
        wire.frame(kind::HEADERS, flag::END_HEADERS, stream, &fields);
        while wire.status(stream).is_none() {
            wire.next_of(kind::HEADERS);
        }
        (wire.status(stream) == Some(200)).then_some(stream)
    });
    assert_eq!(connect().1, 429);
    wire.frame(kind::RST_STREAM, 0, stream, 8_u32.to_be_bytes()).ping();
    until("there is room again", || connect().1 == 200);
}

#[test]
fn a_download_that_is_aborted_ends_its_request() {
    let dir = site();
    dir.write("site/large", vec![b'x'; 32 << 20]);
    let limit = "limit.connections: {max: 2, status: 503, name: downloads}";
    let server = server(&dir, "num-threads: 2", &format!("/: {{{limit}, file.dir: DIR/site}}"));
    for _ in 0..3 {
        let mut client = server.connect();
        client.send(get("/large")).receive_at_least(1000);
        let mut wire = Wire::open(&server.address).without_credit();
        wire.get(1, "/large");
        wire.next_of(kind::HEADERS);
        let rejected = server.get("/a.txt");
        let want = Some("\"downloads\";q=2;qu=\"concurrent-requests\"");
        assert_eq!((rejected.status, rejected.field("ratelimit-policy")), (503, want));
        drop(client);
        disconnect(wire);
        until("both have ended", || {
            let mut wire = Wire::open(&server.address).without_credit();
            wire.get(1, "/large").get(3, "/large");
            let both = [wire.next_of(kind::HEADERS).stream, wire.next_of(kind::HEADERS).stream];
            let are_admitted = both.iter().all(|stream| wire.status(*stream) == Some(200));
            disconnect(wire);
            are_admitted
        });
        until_free(&server, "/a.txt");
    }
}
