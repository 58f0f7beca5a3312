//! `rewrite`: requests that start over with another target, and redirects made of parts of a path.

use crate::support::upstream::Upstream;
use crate::support::{Launch, Scratch, Server};

/// A site whose `/api` is an upstream.
fn site(dir: &Scratch, upstream: &Upstream) -> Server {
    dir.write("site/a.txt", "file")
        .write("site/archive/2026/index.html", "archive")
        .write("site/blog/b.txt", "post");
    let text = format!(
        r#"
num-threads: 1
access-log: {{path: DIR/log, format: '%m %U%q %s'}}
hosts:
  default:
    paths:
      /: {{file.dir: DIR/site}}
      '~ ^/v(?<n>[0-9]+)/(.*)$': {{rewrite: {{to: '/api/$2?version=${{n}}'}}}}
      /api/: {{proxy.reverse.url: 'http://{}/'}}
      /blog:
        - rewrite: {{match: '^/blog/([0-9]+)$', to: '/archive/$1/?'}}
        - rewrite: {{match: '^/blog/gone/', to: '/gone/'}}
        - file.dir: DIR/site/blog
      /users/: {{rewrite: {{match: '^/users/(.*)$', to: 'https://id.example.org/$1', status: 308}}}}
      /same/: {{rewrite: {{match: '^/same(.*)$', to: '/$1', status: 302}}}}
      /elsewhere: {{rewrite: {{match: '^/elsewhere(.*)$', to: 'http://other.example$1'}}}}
      '~ ^/loop': {{rewrite: {{to: '/loop$0'}}}}
  other.example: {{paths: {{/: {{return: {{body: other}}}}}}}}
"#,
        upstream.address
    );
    Server::config(dir, &text)
}

#[test]
fn a_target_that_was_rewritten_is_matched_again() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let mut server = site(&dir, &upstream);
    for (target, status, content) in [
        ("/blog/2026?page=2", 200, "archive"),
        ("/blog/b.txt", 200, "post"),
        ("/blog/gone/x", 404, "Not Found\n"),
        ("/elsewhere/x", 200, "other"),
        ("/a.txt", 200, "file"),
    ] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text().as_str()), (status, content), "{target}");
    }
    for (target, sent) in [
        ("/v2/orders/7?x=y", "/orders/7?version=2&x=y"),
        ("/v12/", "/?version=12"),
        ("/v3/a%20b%3Fc%2523", "/a%20b%3Fc%2523?version=3"),
    ] {
        assert_eq!(server.get(target).status, 200, "{target}");
        assert_eq!(upstream.last().line(), format!("GET {sent} HTTP/1.1"), "{target}");
    }
    assert_eq!(server.stop(), Some(0));
    assert!(dir.read("log").contains("GET /v2/orders/7?x=y 200"), "the log has what the client asked for");
}

#[test]
fn method_and_content_stay() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = site(&dir, &upstream);
    let answer = &server
        .ask("PUT /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")[0];
    assert_eq!((answer.status, answer.text().as_str()), (200, "hello"));
    assert_eq!(upstream.last().line(), "PUT /x?version=1 HTTP/1.1");
}

#[test]
fn a_tunnel_stays() {
    let dir = Scratch::new();
    let upstream = Upstream::scripted(|conn| {
        let head = conn.head().expect("a head");
        assert!(head.starts_with("GET /chat?version=1 HTTP/1.1\r\n"), "{head}");
        conn.send("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n");
        let said = conn.bytes(4).expect("four bytes");
        conn.send(said);
    });
    let server = site(&dir, &upstream);
    let mut client = server.connect();
    client.send("GET /v1/chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n");
    client.until("\r\n\r\n");
    client.send("ping").until("ping");
}

#[test]
fn clients_are_redirected_to_what_the_path_says_and_nowhere_else() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = site(&dir, &upstream);
    for (target, status, location) in [
        ("/users/joe%20x?q=1", 308, "https://id.example.org/joe%20x?q=1"),
        ("/users/", 308, "https://id.example.org/"),
        ("/same//evil.example/", 302, "/evil.example/"),
        ("/same/%0d%0aset-cookie:a", 302, "/%0D%0Aset-cookie:a"),
    ] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.field("location")), (status, Some(location)), "{target}");
    }
}

#[test]
fn a_loop_ends_and_the_error_log_says_so() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = site(&dir, &upstream);
    let answer = server.get("/loop");
    assert_eq!((answer.status, answer.text().as_str()), (502, "Bad Gateway: too many internal redirects\n"));
    server.until_stderr("too many internal redirects (`max-reprocesses: 5`)");
}

#[test]
fn a_target_that_grows_without_end_is_refused() {
    let dir = Scratch::new();
    let text =
        "hosts: {default: {paths: {'~ ^/grow/(.*)$': {rewrite: {to: '/grow/$1/$1/$1/$1/$1/$1/$1/$1'}}}}}";
    let server = Server::config(&dir, text);
    let answer = server.get(&format!("/grow/{}", "a".repeat(7000)));
    assert_eq!(answer.status, 414);
    server.until_stderr("the target of an internal redirect has 448");
}

#[test]
fn conditions_limit_a_handler_to_some_requests() {
    let dir = Scratch::new();
    dir.write("site/index.html", "en").write("de/index.html", "de");
    let text = "num-threads: 1
real-ip: {from: 127.0.0.1}
hosts:
  default:
    paths:
      /:
        - return: {status: 403, unless: {method: [GET, HEAD]}}
        - rewrite:
            if: [{field: {accept-language: ^de}}, {query: {lang: ^de$}}]
            unless: {query: {lang: ^en$}}
            match: ^/$
            to: /de/
        - return: {status: 503, body: later, unless: {address: [127.0.0.1, '::1']}}
        - file.dir: DIR/site
      /de/: {file.dir: DIR/de}
";
    let server = Server::config(&dir, text);
    for (head, status, content) in [
        ("GET / HTTP/1.1", 200, "en"),
        ("GET / HTTP/1.1\r\nAccept-Language: de, en", 200, "de"),
        ("GET /?lang=de HTTP/1.1", 200, "de"),
        ("GET /?lang=e%6e HTTP/1.1\r\nAccept-Language: de", 200, "en"),
        ("GET / HTTP/1.1\r\nX-Forwarded-For: 192.0.2.1", 503, "later"),
        ("POST / HTTP/1.1\r\nContent-Length: 0", 403, "Forbidden\n"),
    ] {
        let answer = &server.ask(format!("{head}\r\nHost: a\r\nConnection: close\r\n\r\n"))[0];
        assert_eq!((answer.status, answer.text().as_str()), (status, content), "{head}");
    }
}

#[test]
fn what_is_wrong_is_found_by_the_check() {
    let dir = Scratch::new();
    for (key, argument, what, help) in [
        ("~ ^/(a)", "{to: /$2}", "`$2` is not a group of the regular expression", "groups: $1;"),
        ("/", "{to: /$1}", "`$1` is not a group", "no regular expression has groups here"),
        ("/", "{match: '(', to: /a}", "invalid regular expression `(`: unclosed group", "write `\\(`"),
        ("/", "{match: '^/a', to: b}", "expected a path such as `/new/$1`, or a URL, found `b`", ""),
        ("/", "{to: /b, if: {method: get}}", "expected a method such as GET", "write GET"),
        ("/", "^/a/(.*)$ /b/$1 last", "expected a mapping", "write `{match: '^/a/(.*)$', to: '/b/$1'}`"),
    ] {
        let text = format!(
            "listen: 127.0.0.1:0\nhosts:\n  default:\n    paths:\n      '{key}':\n        rewrite: {argument}\n"
        );
        let ended = Launch::config(&dir, &text).finish_test(&[]);
        assert_eq!(ended.code, 78, "{}", ended.stderr);
        assert!(ended.stderr.contains(what) && ended.stderr.contains(help), "{}", ended.stderr);
        assert!(ended.stderr.contains(":6:"), "the line: {}", ended.stderr);
    }
}
