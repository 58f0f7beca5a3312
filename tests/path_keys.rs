//! Keys of `paths`: prefixes, exact paths, regular expressions, and which of them answers; many paths and many hosts.

use crate::support::upstream::Upstream;
use crate::support::{Launch, Scratch, Server};

/// A server whose paths redirect to `/KEY`, so that each response identifies its path.
fn redirects(dir: &Scratch, keys: &[(&str, &str)]) -> Server {
    let paths = keys.iter().map(|(key, name)| format!("      '{key}': {{redirect: 'http://{name}'}}\n"));
    Server::config(dir, &format!("hosts:\n  default:\n    paths:\n{}", paths.collect::<String>()))
}

#[test]
fn exact_paths_come_first_then_regular_expressions_then_prefixes() {
    let dir = Scratch::new();
    let keys = [
        ("/", "root"),
        ("/img", "img"),
        ("= /img", "only"),
        ("~ ^/(?<year>[0-9]{4})/", "year"),
        ("~ (?i)\\.php$", "php"),
        ("~ ^/img/[^/]+/", "deep"),
    ];
    let server = redirects(&dir, &keys);
    for (target, name, rest) in [
        ("/img", "only", ""),
        ("/img?x", "only", "?x"),
        ("/img/", "img", "/"),
        ("/img/a.png", "img", "/a.png"),
        ("/images", "root", "/images"),
        ("/2026/x", "year", "/2026/x"),
        ("/20262/x", "root", "/20262/x"),
        ("/2026/a.PHP", "year", "/2026/a.PHP"),
        ("/img/a.PHP", "php", "/img/a.PHP"),
        ("/img/a/b", "deep", "/img/a/b"),
        // Compared as normalized; the query is no part of it.
        ("/./x/..//%69mg", "only", ""),
        ("/%32026/x", "year", "/2026/x"),
        ("/x?a.php", "root", "/x?a.php"),
        ("/a.php?x", "php", "/a.php?x"),
    ] {
        let answer = server.get(target);
        let want = format!("http://{name}{rest}");
        let found = answer.field("location").map(|url| url.trim_end_matches('/').to_owned());
        assert_eq!((answer.status, found.as_deref()), (302, Some(want.trim_end_matches('/'))), "{target}");
    }
}

#[test]
fn an_index_file_with_a_path_of_its_own_is_answered_there() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    for folder in ["php", "closed", "own", "open"] {
        let name = if folder == "php" { "index.php" } else { "index.html" };
        dir.write(&format!("site/{folder}/{name}"), format!("source of {folder}"));
    }
    let text = format!(
        "file.index: [index.php, index.html]\nhosts:\n  default:\n    paths:\n      /: {{file.dir: DIR/site}}\n      '~ \\.php$': \
         {{proxy.reverse.url: 'http://{}/'}}\n      '= /closed/index.html': {{deny: all, file.dir: DIR/site}}\n      \
         /own/index.html: {{return: {{body: own}}}}\n",
        upstream.address
    );
    let server = Server::config(&dir, &text);
    // Once from the disk, once from the cache.
    for _ in 0..2 {
        for (target, status, content) in [
            ("/closed/", 403, "Forbidden\n"),
            ("/closed/index.html", 403, "Forbidden\n"),
            ("/own/", 200, "own"),
            ("/open/", 200, "source of open"),
        ] {
            let answer = server.get(target);
            assert_eq!((answer.status, answer.text().as_str()), (status, content), "{target}");
        }
        assert_eq!(server.get("/php/?a=b").text(), "");
        assert_eq!(upstream.last().line(), "GET /php/index.php?a=b HTTP/1.1");
    }
    let post = "POST /php/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(server.connect().send(post).answer().text(), "hello");
    assert_eq!(upstream.last().line(), "POST /php/index.php HTTP/1.1");
    let post = "POST /open/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(server.connect().send(post).answer().status, 405);
}

#[test]
fn handlers_at_a_regular_expression_get_the_whole_path() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    dir.write("site/a/b.txt", "file").write("site/a/index.html", "index").write("site/page.html", "page");
    let text = format!(
        "hosts:\n  default:\n    paths:\n      '~ ^/a(/|$)': {{file.dir: DIR/site}}\n      '~ ^/p': {{file.file: \
         DIR/site/page.html}}\n      '~ ^/tried': {{file.dir: DIR/site, try-files: $uri /a/b.txt}}\n      '~ ^/up': \
         {{proxy.reverse.url: 'http://{}/'}}\n",
        upstream.address
    );
    let server = Server::config(&dir, &text);
    for (target, want) in [
        ("/a/b.txt", "file"),
        ("/a/", "index"),
        ("/a/./b.txt", "file"),
        ("/p/x", "page"),
        ("/tried/a", "file"),
    ] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text().as_str()), (200, want), "{target}");
    }
    let folder = server.get("/a");
    assert_eq!((folder.status, folder.field("location")), (301, Some("/a/")));
    assert_eq!(server.get("/b").status, 404);
    assert_eq!(server.get("/up/%41//b?c=d").status, 200);
    assert_eq!(upstream.last().line(), "GET /up/%41//b?c=d HTTP/1.1");
}

#[test]
fn what_no_key_may_be_is_said_with_its_place() {
    let dir = Scratch::new();
    let said = |key: &str, handler: &str| {
        let text =
            format!("listen: 127.0.0.1:0\nhosts:\n  default:\n    paths:\n      '{key}': {{{handler}}}\n");
        let ended = Launch::config(&dir, &text).finish_test(&[]);
        assert_eq!(ended.code, 78, "{}", ended.stderr);
        ended.stderr
    };
    for (key, handler, what, help) in [
        (
            "~ ^/(a",
            "file.dir: /",
            "invalid regular expression `^/(a`: unclosed group at character 3",
            "write `\\(`",
        ),
        ("~ (?:a{1000}){1000}", "file.dir: /", "is too large", "do not nest them"),
        ("~ ^/(?!a)", "file.dir: /", "look-around", "earlier entry"),
        ("~*\\.php$", "file.dir: /", "found `~*\\.php$`", "write `~ (?i)\\.php$`"),
        ("=/a", "file.dir: /", "found `=/a`", "write `= /a`, with a space"),
        (
            "~ ^/a/",
            "proxy.reverse.url: 'http://127.0.0.1:1/b/'",
            "the URL must not have a path (`/b/`) where `paths` has a regular expression",
            "remove it",
        ),
        ("~ ^/$", "proxy.connect: ['+*']", "proxy.connect is only allowed at the path `/`", ""),
    ] {
        let said = said(key, handler);
        assert!(said.contains(what) && said.contains(help), "{key}: {said}");
    }
}

#[test]
fn ten_thousand_hosts_and_a_thousand_paths_are_distinguished() {
    let dir = Scratch::new();
    let mut text = "listen: 127.0.0.1:0\nnum-threads: 1\nhosts:\n".to_owned();
    for host in 0..10_000 {
        let name = if host % 10 == 0 { format!("*.{host}.example") } else { format!("{host}.example") };
        text.push_str(&format!("  '{name}': {{paths: {{/: {{redirect: 'http://{host}/'}}}}}}\n"));
    }
    text.push_str("  paths.example:\n    paths:\n");
    (0..1_000).for_each(|path| text.push_str(&format!("      /p{path}/x: {{redirect: 'http://{path}'}}\n")));
    let server = Launch::config(&dir, &text).serve();
    let location = |target: &str, host: &str| {
        server.get_with(target, &format!("Host: {host}\r\n")).field("location").map(str::to_owned)
    };
    for (host, want) in [
        ("a.0.example", "http://0/"),
        ("7.example", "http://7/"),
        ("9999.EXAMPLE:81", "http://9999/"),
        ("a.b.9990.example", "http://9990/"),
        ("9990.example", "http://0/"),
        ("10000.example", "http://0/"),
    ] {
        assert_eq!(location("/", host).as_deref(), Some(want), "{host}");
    }
    for (target, want) in [("/p0/x/y", "http://0/y"), ("/p999/x", "http://999"), ("/p1/x/", "http://1/")] {
        assert_eq!(location(target, "paths.example").as_deref(), Some(want), "{target}");
    }
    assert_eq!(server.get_with("/p1/xy", "Host: paths.example\r\n").status, 404);
}
