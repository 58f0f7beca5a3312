//! `auth.request`: another path or server authorizes requests, and nothing of the request is lost in the process.

use crate::support::h2::{flag, kind};
use crate::support::peers::{Peer, free_port};
use crate::support::upstream::{Upstream, unused_address};
use crate::support::{Answer, Launch, Scratch, Server, Wire, until};

/// Decides by the cookie.
fn authority() -> Upstream {
    Upstream::scripted(|conn| {
        while let Some(asked) = conn.request() {
            let cookie = asked.all("cookie").first().copied().unwrap_or_default().to_owned();
            conn.send(match cookie.as_str() {
                "s=amy" => {
                    "HTTP/1.1 200 OK\r\nX-User: amy\r\nX-Role: a\r\nX-Role: b\r\nX-Other: 1\r\nContent-Length: 2\r\n\r\nhi"
                }
                "s=bare" => "HTTP/1.1 204 No Content\r\n\r\n",
                "s=no" => "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
                "s=login" => {
                    "HTTP/1.1 302 Found\r\nLocation: https://login.example/?rd=%2F\r\nSet-Cookie: a=1\r\nSet-Cookie: \
                     b=2\r\nContent-Length: 0\r\n\r\n"
                }
                "s=odd" => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
                "s=broken" => "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
                "s=garbage" => "garbage\r\n\r\n",
                _ => {
                    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"a\"\r\nWWW-Authenticate: \
                     Basic\r\nContent-Length: 6\r\n\r\nlog in"
                }
            });
        }
    })
}

/// An authorization server and the resources it protects, queried by an internal path or by its URL.
struct Stage {
    server: Server,
    authority: Upstream,
    upstream: Upstream,
}

impl Stage {
    #[track_caller]
    fn new(by_path: bool, lines: &str) -> Self {
        Self::before(by_path, lines, Upstream::echo())
    }

    #[track_caller]
    fn before(by_path: bool, lines: &str, upstream: Upstream) -> Self {
        let (dir, authority) = (Scratch::new(), authority());
        let url = match by_path {
            true => "/internal/session?a=b".to_owned(),
            false => format!("http://{}/internal/session?a=b", authority.address),
        };
        let text = format!(
            "num-threads: 1\nhosts:\n  default:\n    paths:\n      /:\n        auth.request: {{url: '{url}', copy: [X-User, \
             x-role]}}\n        proxy.reverse.url: http://{}/\n        {}\n      /internal/:\n        internal: ON\n        \
             proxy.reverse.url: http://{}/internal/\n      /open/:\n        auth.request: OFF\n        proxy.reverse.url: \
             http://{}/\n",
            upstream.address,
            lines.replace('\n', "\n        "),
            authority.address,
            upstream.address
        );
        Self { server: Server::config(&dir, &text), authority, upstream }
    }

    fn get(&self, cookie: &str) -> Answer {
        self.server.get_with("/x", &format!("Cookie: s={cookie}\r\n"))
    }
}

#[test]
fn a_path_or_a_server_decides() {
    for by_path in [true, false] {
        let stage = Stage::new(by_path, "");
        for (cookie, want) in [
            ("amy", 200),
            ("bare", 200),
            ("", 401),
            ("no", 403),
            ("login", 302),
            ("odd", 500),
            ("broken", 500),
        ] {
            assert_eq!(stage.get(cookie).status, want, "{cookie}, by path: {by_path}");
        }
        assert_eq!(stage.upstream.requests().len(), 2, "nothing else has reached it");
        let challenged = stage.get("");
        assert_eq!(challenged.all("www-authenticate"), ["Bearer realm=\"a\"", "Basic"]);
        assert_eq!(challenged.text(), "log in");
        let moved = stage.get("login");
        assert_eq!(moved.all("location"), ["https://login.example/?rd=%2F"]);
        assert_eq!(moved.all("set-cookie"), ["a=1", "b=2"]);
        assert_eq!(stage.server.get("/internal/session").status, 404, "clients do not find it");
        assert_eq!(stage.server.get("/open/x").status, 200);
    }
}

#[test]
fn the_authority_is_told_what_is_asked_for_and_not_by_the_client() {
    for by_path in [true, false] {
        let stage = Stage::new(by_path, "");
        let content = "0123456789".repeat(50_000);
        let head = format!(
            "POST /a%20b?c HTTP/1.1\r\nHost: site:81\r\nCookie: s=amy\r\nContent-Length: {}\r\nContent-Type: \
             text/plain\r\nX-Original-URI: /open/\r\nX-Forwarded-Host: other\r\nRange: bytes=0-1\r\nIf-Match: *\r\nConnection: \
             keep-alive, x-original-uri, x-hop\r\nX-Hop: 1\r\n\r\n",
            content.len()
        );
        let answer = stage.server.connect().send(head + &content).answer();
        assert_eq!((answer.status, answer.content.len()), (200, content.len()));
        let asked = stage.authority.last();
        assert_eq!(asked.line(), "GET /internal/session?a=b HTTP/1.1");
        for (name, want) in [
            ("x-original-method", &["POST"][..]),
            ("x-original-uri", &["/a%20b?c"]),
            ("x-forwarded-method", &["POST"]),
            ("x-forwarded-uri", &["/a%20b?c"]),
            ("x-forwarded-host", &["site:81"]),
            ("x-forwarded-for", &["127.0.0.1"]),
            ("cookie", &["s=amy"]),
            ("content-length", &[]),
            ("content-type", &[]),
            ("range", &[]),
            ("if-match", &[]),
            ("x-hop", &[]),
        ] {
            assert_eq!(asked.all(name), want, "{name}");
        }
        assert_eq!(stage.upstream.last().all("if-match"), ["*"], "the request itself stays as it is");
    }
}

#[test]
fn copied_fields_are_the_authoritys_and_nobody_elses() {
    let stage = Stage::new(false, "underscores-in-headers: ON");
    let forged =
        "Cookie: s=amy\r\nX-User: root\r\nx_user: root\r\nX-USER: root\r\nConnection: x-user, x-role\r\n";
    assert_eq!(stage.server.get_with("/x?y=1", forged).status, 200);
    let asked = stage.upstream.last();
    assert_eq!(asked.line(), "GET /x?y=1 HTTP/1.1", "the rest of the request stays as it was");
    assert_eq!(stage.authority.last().all("x-original-uri"), ["/x?y=1"]);
    assert_eq!(asked.all("x-user"), ["amy"]);
    assert_eq!(asked.all("x_user"), [""; 0]);
    assert_eq!(asked.all("x-role"), ["a", "b"]);
    assert_eq!(asked.all("x-other"), [""; 0], "it is not listed");
    assert_eq!(stage.server.get_with("/x", "Cookie: s=bare\r\nX-User: root\r\n").status, 200);
    assert_eq!(stage.upstream.last().all("x-user"), [""; 0]);
}

#[test]
fn a_copied_field_that_the_client_sends_changes_nothing_else_of_the_request() {
    for (by_path, lines) in [
        (true, ""),
        (false, ""),
        (false, "satisfy: any\nallow: 127.0.0.1"),
        (true, "satisfy: any\nallow: 127.0.0.1"),
    ] {
        let stage = Stage::new(by_path, lines);
        let mut wire = Wire::open(&stage.server.address);
        let fields = [("x-role", "root"), ("cookie", "s=amy"), ("x-user", "root"), ("x-kept", "1")];
        wire.ask(1, "PATCH", "/a/b%20c?d=e", &fields, true);
        assert_eq!(wire.answer(1).status, 200);
        let http1 = "PATCH /a/b%20c?d=e HTTP/1.1\r\nGET:/other HTTP/1.0\r\nHost: site:81\r\nX-Role: root\r\nCookie: \
                     s=amy\r\nX-User: root\r\nX-Kept: 1\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(stage.server.connect().send(http1).answer().status, 200);
        for asked in stage.upstream.requests() {
            assert_eq!(asked.line(), "PATCH /a/b%20c?d=e HTTP/1.1");
            assert_eq!(asked.all("x-kept"), ["1"]);
            assert_ne!(asked.all("x-user"), ["root"]);
        }
        for told in stage.authority.requests() {
            assert_eq!(
                (told.all("x-original-method"), told.all("x-original-uri")),
                (vec!["PATCH"], vec!["/a/b%20c?d=e"])
            );
            assert_eq!(told.line(), "GET /internal/session?a=b HTTP/1.1");
        }
    }
}

#[test]
fn it_is_one_of_those_that_have_to_agree() {
    for (lines, cookie, want) in [
        ("deny: all", "amy", 403),
        ("allow: 127.0.0.1\ndeny: all", "amy", 200),
        ("allow: 127.0.0.1\ndeny: all", "", 401),
        ("satisfy: any\ndeny: all", "amy", 200),
        ("satisfy: any\ndeny: all", "login", 302),
        ("satisfy: any\ndeny: all", "no", 403),
        ("satisfy: any\ndeny: all", "odd", 500),
        ("satisfy: any\nallow: 127.0.0.1", "no", 200),
    ] {
        let stage = Stage::new(false, lines);
        assert_eq!(stage.get(cookie).status, want, "{lines} {cookie}");
    }
    let stage = Stage::new(false, "satisfy: any\nallow: 127.0.0.1");
    assert_eq!(stage.server.get_with("/x", "X-User: root\r\n").status, 200);
    assert_eq!(stage.upstream.last().all("x-user"), [""; 0], "not even where the authority is not asked");
    assert_eq!(stage.authority.connections(), 0);
}

#[test]
fn an_authority_that_fails_lets_nobody_in_and_leaves_one_line() {
    let lines = |server: &Server| server.stderr().lines().filter(|line| line.contains(" request: ")).count();
    let stage = Stage::new(false, "");
    assert_eq!(stage.get("odd").status, 500);
    stage.server.until_stderr("error request: from 127.0.0.1 for \"/x\": `auth.request` http://");
    stage.server.until_stderr("/internal/session?a=b: the response is 404");
    assert_eq!(stage.get("garbage").status, 500);
    until("there are two lines", || lines(&stage.server) == 2);

    let dir = Scratch::new();
    let dead = unused_address();
    for url in [format!("http://{dead}/"), "/internal/".to_owned(), "/nowhere/".to_owned()] {
        let text = format!(
            "hosts:\n  default:\n    paths:\n      /a/: {{auth.request: {{url: '{url}'}}, file.dir: DIR}}\n      /internal/: \
             {{internal: ON, proxy.reverse.url: 'http://{dead}/'}}\n"
        );
        let server = Server::config(&dir, &text);
        assert_eq!(server.get("/a/").status, 500, "{url}");
        server.until_stderr(&format!("for \"/a/\": `auth.request` {url}: "));
        assert_eq!(lines(&server), 1, "{}", server.stderr());
    }
}

#[test]
fn an_authority_that_says_nothing_is_not_awaited_for_ever() {
    let silent = Upstream::scripted(|conn| {
        conn.head();
        assert!(conn.is_closed());
    });
    let dir = Scratch::new();
    let text = |timeout| {
        format!(
            "hosts: {{default: {{paths: {{/: {{auth.request: {{url: 'http://{}/', timeout: {timeout}}}, file.dir: DIR}}}}}}}}",
            silent.address
        )
    };
    let server = Server::config(&dir, &text("50ms"));
    assert_eq!(server.get("/").status, 500);
    server.until_stderr(": no response within 50ms");
    until("the authority is not asked any more", || silent.open() == 0);

    let server = Server::config(&dir, &text("30s"));
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    until("the authority is asked", || silent.open() == 1);
    drop(client);
    until("the request has ended with its client", || silent.open() == 0);
}

#[test]
fn a_server_that_asks_itself_comes_to_an_end() {
    let (dir, port) = (Scratch::new(), free_port());
    let text = format!(
        "listen: {{host: 127.0.0.1, port: {port}}}\nhosts: {{default: {{paths: {{/: {{auth.request: {{url: \
         'http://127.0.0.1:{port}/a'}}, file.dir: DIR}}}}}}}}"
    );
    let server = Launch::config(&dir, &text).serve();
    assert_eq!(server.get("/").status, 500);
    server.until_stderr("the server that is asked asks this one, 8 times");
    // A path that is its own authorization URL is queried only once: the configuration names it, not the client.
    let text = "hosts: {default: {auth.request: {url: /a.txt}, paths: {/: {file.dir: DIR/site}}}}";
    dir.write("site/a.txt", "yes");
    assert_eq!(Server::config(&dir, text).get("/a.txt").text(), "yes");
}

#[test]
fn requests_behind_one_that_waits_are_answered_in_order() {
    let stage = Stage::new(true, "");
    let get = |cookie: &str| format!("GET /x HTTP/1.1\r\nHost: a\r\nCookie: s={cookie}\r\n\r\n");
    let mut client = stage.server.connect();
    client.send([get("amy"), get("no"), get("odd"), get("login"), get("amy")].concat());
    for want in [200, 403, 500, 302, 200] {
        assert_eq!(client.answer().status, want);
    }
}

#[test]
fn content_is_asked_for_and_kept_until_the_authority_has_decided() {
    for by_path in [true, false] {
        let stage = Stage::new(by_path, "");
        let post = |cookie: &str| {
            format!(
                "POST /x HTTP/1.1\r\nHost: a\r\nCookie: s={cookie}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
            )
        };
        let mut client = stage.server.connect();
        assert_eq!(client.send(post("no")).answer().status, 403, "without asking for the content");
        let mut client = stage.server.connect();
        assert_eq!(client.send(post("amy")).answer().status, 100);
        assert_eq!(client.send("hello").answer().text(), "hello");

        let mut wire = Wire::open(&stage.server.address);
        wire.ask(1, "POST", "/x", &[("cookie", "s=amy")], false);
        wire.ask(3, "GET", "/x", &[("cookie", "s=no")], true);
        wire.frame(kind::DATA, 0, 1, "hello ").frame(kind::DATA, flag::END_STREAM, 1, "there");
        assert_eq!(wire.answer(3).status, 403);
        assert_eq!(wire.answer(1).text(), "hello there");
    }
}

#[test]
fn a_tunnel_is_opened_when_the_authority_has_admitted_it() {
    let upstream = Upstream::scripted(|conn| {
        let Some(head) = conn.head() else { return };
        assert!(head.to_ascii_lowercase().contains("upgrade: chat"), "{head}");
        conn.send("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\nhello");
        assert_eq!(conn.bytes(5).expect("what the client says"), b"there");
        conn.send_last("bye");
    });
    let stage = Stage::before(true, "", upstream);
    let ask = |cookie: &str| {
        format!(
            "GET /x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: chat\r\nCookie: s={cookie}\r\n\r\n"
        )
    };
    assert_eq!(stage.server.connect().send(ask("no")).answer().status, 403);
    assert_eq!(stage.authority.last().all("upgrade"), [""; 0]);
    let mut client = stage.server.connect();
    client.send(ask("amy")).until("hello").send("there").until("bye");
}

#[test]
fn connections_to_the_authority_are_used_again() {
    let stage = Stage::new(false, "");
    for _ in 0..10 {
        assert_eq!(stage.get("amy").status, 200);
    }
    assert_eq!(stage.authority.connections(), 1);
}

#[test]
fn internal_redirects_lead_through_the_protection_of_their_target() {
    let (dir, authority) = (Scratch::new(), authority());
    dir.write("site/a.txt", "page");
    let text = format!(
        "hosts:\n  default:\n    paths:\n      /to/: {{rewrite: {{to: /in/a.txt}}}}\n      /in/: {{auth.request: {{url: \
         'http://{}/'}}, file.dir: DIR/site}}\n",
        authority.address
    );
    let server = Server::config(&dir, &text);
    assert_eq!(server.get("/to/x?y").status, 401);
    assert_eq!(authority.last().all("x-original-uri"), ["/to/x?y"], "what the client asked for");
    assert_eq!(server.get_with("/to/x", "Cookie: s=amy\r\n").text(), "page");
}

#[test]
fn the_authority_is_told_what_the_client_asked_for_after_x_accel_redirect() {
    let (dir, authority) = (Scratch::new(), authority());
    dir.write("site/a.txt", "page");
    let upstream = Upstream::scripted(|conn| {
        while conn.request().is_some() {
            conn.send("HTTP/1.1 200 OK\r\nX-Accel-Redirect: /in/a.txt\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let text = format!(
        "hosts:\n  default:\n    paths:\n      /up/: {{reproxy: ON, proxy.reverse.url: 'http://{}/'}}\n      /in/: \
         {{auth.request: {{url: 'http://{}/'}}, file.dir: DIR/site}}\n",
        upstream.address, authority.address
    );
    let server = Server::config(&dir, &text);
    assert_eq!(server.get_with("/up/x?y", "Cookie: s=amy\r\n").text(), "page");
    assert_eq!(authority.last().all("x-original-uri"), ["/up/x?y"]);
}

#[test]
fn nginx_decides() {
    if crate::support::missing("nginx") {
        return;
    }
    let dir = Scratch::new();
    dir.write("site/a.txt", "page");
    let lines = "location / { if ($http_x_original_uri ~ ^/open) { return 204; } if ($cookie_s = amy) { add_header X-User \
                 amy; return 204; } add_header WWW-Authenticate 'Bearer' always; return 401; }";
    let nginx = Peer::nginx(&dir, lines);
    let text = format!(
        "hosts: {{default: {{paths: {{/: {{auth.request: {{url: 'http://127.0.0.1:{}/verify'}}, file.dir: DIR/site}}}}}}}}",
        nginx.port
    );
    let server = Server::config(&dir, &text);
    let refused = server.get("/a.txt");
    assert_eq!((refused.status, refused.field("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(server.get_with("/a.txt", "Cookie: s=amy\r\n").text(), "page");
    assert_eq!(server.get("/open").status, 404, "admitted, and not found");
}
