//! Responses of upstreams that refer to the actual one: x-reproxy-url, x-accel-redirect, x-sendfile.

use crate::support::dns::Dns;
use crate::support::h2::get;
use crate::support::upstream::{Asked, Conn, Upstream};
use crate::support::{Scratch, Server, Wire};
use std::net::Ipv4Addr;

fn ok(fields: &str, content: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{fields}\r\n{content}", content.len())
}

/// An application that answers `/FIELD?value` with that field.
fn application() -> Upstream {
    Upstream::scripted(|conn: &mut Conn| {
        while let Some(asked) = conn.request() {
            conn.send(answer(&asked));
        }
    })
}

fn answer(asked: &Asked) -> String {
    let target = asked.line().split(' ').nth(1).expect("a target");
    let (field, value) = target.split_once('?').unwrap_or((target, ""));
    let value = value.replace("%20", " ");
    let own = "Content-Type: text/own\r\nSet-Cookie: a=1\r\nX-Own: 1\r\n";
    match field {
        "/plain" => ok("X-Own: 1\r\n", "plain"),
        "/big" => {
            let content = "x".repeat(1_000_000);
            ok(&format!("X-Accel-Redirect: {value}\r\n"), &content)
        }
        field => ok(&format!("{}: {value}\r\n{own}", &field[1..]), "thrown away"),
    }
}

/// The application, files next to it, and files that are reachable only through it.
#[track_caller]
fn site(dir: &Scratch, upstream: &Upstream, lines: &str) -> Server {
    dir.write("site/a.txt", "public").write("private/ten", "0123456789").write("secret", "secret");
    dir.write("private/a b", "blank");
    let hosts = format!(
        "{lines}\nnum-threads: 1\nhosts:\n  default:\n    paths:\n      /: {{proxy.reverse.url: 'http://{}'}}\n      \
         /files: {{file.dir: DIR/site}}\n      /inner: {{internal: ON, file.dir: DIR/private}}\n  other.example:\n    \
         paths: {{/: {{file.dir: DIR/private}}}}\n",
        upstream.address
    );
    Server::config(dir, &hosts)
}

#[test]
fn what_is_named_is_the_answer() {
    let (dir, upstream) = (Scratch::new(), application());
    let server = site(&dir, &upstream, "reproxy: ON");
    let cases = [
        ("/x-reproxy-url?/files/a.txt", "public", "text/plain", None),
        ("/x-reproxy-url?http://other.example/ten", "0123456789", "application/octet-stream", None),
        ("/x-reproxy-url?/plain", "plain", "", None),
        ("/x-accel-redirect?/inner/ten", "0123456789", "text/own", Some("a=1")),
        ("/x-accel-redirect?/inner/a%20b", "blank", "text/own", Some("a=1")),
        ("/X-Accel-Redirect?/files/a.txt", "public", "text/own", Some("a=1")),
        ("/big?/inner/ten", "0123456789", "application/octet-stream", None),
    ];
    for (target, text, kind, cookie) in cases {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text()), (200, text.to_owned()), "{target}");
        assert!(answer.field("content-type").unwrap_or("").starts_with(kind), "{target}: {answer:?}");
        assert_eq!(answer.field("set-cookie"), cookie, "{target}");
        assert_eq!(
            (answer.field("x-reproxy-url"), answer.field("x-accel-redirect")),
            (None, None),
            "{target}"
        );
    }
    let mut wire = Wire::open(&server.address);
    wire.send(get(1, "/x-accel-redirect?/inner/ten"));
    assert_eq!(wire.answer(1).text(), "0123456789");
}

#[test]
fn another_server_is_asked_when_the_url_names_one() {
    let (dir, upstream, other) =
        (Scratch::new(), application(), Upstream::answering(ok("Server: x\r\n", "other")));
    let server = site(&dir, &upstream, "reproxy: ON");
    let target = format!("/x-reproxy-url?http://{}/a/b?c=d", other.address);
    assert_eq!(server.get_with(&target, "Host: site\r\nX-Client: 1\r\n").text(), "other");
    let asked = other.last();
    assert_eq!(asked.line(), "GET /a/b?c=d HTTP/1.1");
    assert_eq!((asked.all("host"), asked.all("x-client")), (vec![other.address.as_str()], vec!["1"]));
    assert_eq!(asked.all("x-forwarded-for"), ["127.0.0.1"]);
    let mut client = server.connect();
    client.send(format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"));
    assert_eq!(client.answer().text(), "other");
    let asked = other.last();
    assert_eq!(
        (asked.line(), asked.all("content-length")),
        ("GET /a/b?c=d HTTP/1.1", vec![]),
        "GET, and no content"
    );
    let nobody = crate::support::upstream::unused_address();
    assert_eq!(server.get(&format!("/x-reproxy-url?http://{nobody}/")).status, 502);
    server.until_stderr(&format!("upstream http://{nobody}: Connection refused"));
}

#[test]
fn another_origin_does_not_get_the_clients_credentials() {
    let (dir, upstream, other) = (Scratch::new(), application(), Upstream::answering(ok("", "other")));
    let server = site(&dir, &upstream, "reproxy: ON\nproxy.header.add: 'authorization: Basic ours'");
    let credentials =
        "Cookie: sid=1\r\nAuthorization: Basic x\r\nProxy-Authorization: Basic y\r\nX-Own: 1\r\n";
    assert_eq!(
        server.get_with(&format!("/x-reproxy-url?http://{}/", other.address), credentials).status,
        200
    );
    let asked = other.last();
    for name in ["cookie", "authorization", "proxy-authorization"] {
        assert_eq!(asked.all(name), Vec::<&str>::new(), "{name}");
    }
    assert_eq!(asked.all("x-own"), ["1"]);
    let own = format!("/x-reproxy-url?http://{}/plain", upstream.address);
    assert_eq!(server.get_with(&own, credentials).text(), "plain");
    let asked = upstream.last();
    assert_eq!(asked.line(), "GET /plain HTTP/1.1");
    assert_eq!((asked.all("cookie"), asked.all("proxy-authorization")), (vec!["sid=1"], vec![]));
    assert_eq!(asked.all("authorization"), ["Basic x", "Basic ours"]);
}

#[test]
fn an_unresolvable_name_is_distinguished_from_an_invalid_one() {
    let (dir, upstream, other, dns) =
        (Scratch::new(), application(), Upstream::answering(ok("", "other")), Dns::new());
    let server = site(&dir, &upstream, &format!("reproxy: ON\nresolver: '{}'", dns.address));
    let port = other.address.rsplit(':').next().expect("a port");
    let target = format!("/x-reproxy-url?http://there.test:{port}/");
    assert_eq!(server.get(&target).status, 502);
    server.until_stderr(&format!(
        "http://there.test:{port}: cannot resolve the host name: `there.test` does not exist or has no address"
    ));
    dns.set_failing(true);
    assert_eq!(server.get(&target).status, 502);
    server.until_stderr(&format!(
        "http://there.test:{port}: cannot resolve the host name: temporary failure: no name server \
         responded: it returned SERVFAIL"
    ));
    dns.set_failing(false);
    dns.addresses("there.test", 60, &[Ipv4Addr::LOCALHOST]);
    assert_eq!(server.get(&target).text(), "other");
}

#[test]
fn a_head_request_stays_one_and_conditions_hold_for_what_is_named() {
    let (dir, upstream) = (Scratch::new(), application());
    let server = site(&dir, &upstream, "reproxy: ON");
    let mut client = server.connect();
    let head = client.send("HEAD /x-accel-redirect?/inner/ten HTTP/1.1\r\nHost: a\r\n\r\n").answer_to_head();
    assert_eq!((head.status, head.field("content-length")), (200, Some("10")));
    let part = server.get_with("/x-accel-redirect?/inner/ten", "Range: bytes=2-3\r\n");
    assert_eq!((part.status, part.text()), (206, "23".into()));
}

#[test]
fn an_internal_path_answers_no_other_request() {
    let (dir, upstream) = (Scratch::new(), application());
    let server = site(&dir, &upstream, "reproxy: ON");
    for fields in ["", "X-Accel-Redirect: /inner/ten\r\n", "X-Reproxy-URL: /inner/ten\r\n"] {
        assert_eq!(server.get_with("/inner/ten", fields).status, 404, "{fields}");
    }
    // Request fields do not act as upstream response fields.
    let answer = server.get_with("/plain", "X-Accel-Redirect: /inner/ten\r\nX-Sendfile: /etc/passwd\r\n");
    assert_eq!(answer.text(), "plain");
}

#[test]
fn files_below_the_directory_are_sent_and_no_others() {
    let (dir, upstream) = (Scratch::new(), application());
    let server = site(&dir, &upstream, "reproxy.sendfile: DIR/private");
    let file = server.get(&format!("/x-sendfile?{}", dir.text("private/ten")));
    assert_eq!(
        (file.status, file.text(), file.field("content-type")),
        (200, "0123456789".into(), Some("text/own"))
    );
    assert_eq!((file.field("set-cookie"), file.field("x-own")), (Some("a=1"), None));
    let blank = server.get(&format!("/x-sendfile?{}", dir.text("private/a%20b")));
    assert_eq!(blank.text(), "blank");
    assert_eq!(server.get(&format!("/x-sendfile?{}", dir.text("private/none"))).status, 404);
    for wrong in [dir.text("secret"), dir.text("private/../secret"), "/etc/passwd".into(), "ten".into()] {
        let answer = server.get(&format!("/x-sendfile?{wrong}"));
        assert_eq!((answer.status, answer.field("x-sendfile")), (502, None), "{wrong}");
    }
    server.until_stderr("is not the absolute path of a file below the directory of reproxy.sendfile");
    // The others are not followed unless configured.
    let answer = server.get("/x-accel-redirect?/inner/ten");
    assert_eq!((answer.text(), answer.field("x-accel-redirect")), ("thrown away".into(), Some("/inner/ten")));
}

#[test]
fn nothing_is_followed_for_ever_or_unless_it_makes_sense() {
    let (dir, upstream) = (Scratch::new(), application());
    let server = site(&dir, &upstream, "reproxy: ON\nmax-delegations: 3");
    assert_eq!(server.get("/x-accel-redirect?/x-accel-redirect?/x-accel-redirect").status, 502);
    let around = Upstream::answering(ok("X-Reproxy-URL: /again\r\n", ""));
    let server = site(&dir, &around, "reproxy: ON\nmax-delegations: 3");
    assert_eq!(server.get("/").status, 502);
    server.until_stderr("too many delegations (`max-delegations: 3`)");
    assert_eq!(around.requests().len(), 4);
    let server = site(&dir, &upstream, "reproxy: ON");
    for wrong in ["ftp://a/", "nowhere", "@named"] {
        assert_eq!(server.get(&format!("/x-reproxy-url?{wrong}")).status, 502, "{wrong}");
    }
    server.until_stderr("the upstream's x-reproxy-url `ftp://a/` is not an `http` URL");
    let off = site(&dir, &upstream, "");
    let answer = off.get("/x-reproxy-url?/files/a.txt");
    assert_eq!((answer.text(), answer.field("x-reproxy-url")), ("thrown away".into(), Some("/files/a.txt")));
}

#[test]
fn delegations_and_internal_redirects_are_counted_apart() {
    let dir = Scratch::new();
    let count = |lines: &str, upstream: &Upstream, target: &str| {
        dir.write("site/a.txt", "there");
        let text = format!(
            "{lines}\nnum-threads: 1\nreproxy: ON\nhosts:\n  default:\n    paths:\n      /: {{file.dir: DIR/site}}\n      \
             /in: {{redirect: {{url: /, internal: YES}}}}\n      /loop: {{redirect: {{url: /loop, internal: YES}}}}\n      \
             /app: {{proxy.reverse.url: 'http://{}'}}\n      /tried: {{file.dir: DIR/none, try-files: $uri /a.txt}}\n",
            upstream.address
        );
        let server = Server::config(&dir, &text);
        let answer = server.get(target);
        (answer.status, answer.text(), server)
    };
    let once = Upstream::answering(ok("X-Reproxy-URL: /in/a.txt\r\n", ""));
    for (lines, target, status) in [
        ("max-delegations: 1\nmax-reprocesses: 1", "/app", 200),
        ("max-delegations: 0", "/app", 502),
        ("max-reprocesses: 0", "/app", 502),
        ("max-delegations: 0", "/in/a.txt", 200),
        ("max-delegations: 0", "/tried/x", 200),
        ("max-reprocesses: 0", "/in/a.txt", 502),
        ("max-reprocesses: 0", "/tried/x", 502),
        ("max-reprocesses: 0", "/a.txt", 200),
    ] {
        let (found, text, _server) = count(lines, &once, target);
        assert_eq!(found, status, "{lines} {target}");
        assert_eq!(text == "there", status == 200, "{lines} {target}: {text}");
    }
    let (_, text, server) = count("max-reprocesses: 2", &once, "/loop");
    assert_eq!(text, "Bad Gateway: too many internal redirects\n");
    server.until_stderr("too many internal redirects (`max-reprocesses: 2`)");
}
