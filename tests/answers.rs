//! Changes to responses: redirects, error pages, fields, the server's name.

use crate::support::h2::{flag, kind};
use crate::support::hpack::literals;
use crate::support::upstream::{Upstream, unused_address};
use crate::support::{Scratch, Server, Wire};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/a.txt", "a").write("site/404.html", "<p>lost</p>");
    dir.write("site/a b", "space");
    dir
}

#[test]
fn redirects_keep_what_follows_the_prefix() {
    let dir = site();
    let text = "hosts:\n  default:\n    paths:\n      /found: {redirect: http://b.example/x/}\n      \
                /moved: {redirect: {url: http://b.example, status: 301}}\n      \
                /same: {redirect: {url: /else, status: 308}}\n      \
                /see/: {redirect: {url: http://b.example/, status: 303, internal: NO}}\n";
    let server = Server::config(&dir, text);
    let cases = [
        ("/found/y?q=1", 302, "http://b.example/x/y?q=1"),
        ("/found", 302, "http://b.example/x/"),
        ("/moved/y", 301, "http://b.example/y"),
        ("/same/y/z", 308, "/else/y/z"),
        ("/see/a%20b%0d%0aSet-Cookie:x", 303, "http://b.example/a%20b%0D%0ASet-Cookie:x"),
    ];
    for (target, status, location) in cases {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.field("location")), (status, Some(location)), "{target}");
        assert_eq!(answer.field("set-cookie"), None, "{target}");
    }
    let mut client = server.connect();
    client.send("HEAD /found HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer_to_head().status, 302);
    client.send("POST /found HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
    assert_eq!(client.answer().status, 302);
}

#[test]
fn internal_redirects_are_unseen_and_end() {
    let dir = site();
    let text = "hosts:\n  default:\n    paths:\n      /: {file.dir: DIR/site}\n      \
                /old: {redirect: {url: /, internal: YES}}\n      /loop: {redirect: {url: /loop, internal: YES}}\n      \
                /other: {redirect: {url: \"http://two.example/\", internal: YES}}\n  two.example:\n    paths:\n      \
                /: {file.file: DIR/site/a.txt}\n";
    let server = Server::config(&dir, text);
    let answer = server.get("/old/a.txt");
    assert_eq!((answer.status, answer.text().as_str(), answer.field("location")), (200, "a", None));
    assert_eq!(server.get("/old/a%20b").text(), "space");
    assert_eq!(server.get("/other/").text(), "a", "another site of this server");
    assert_eq!(server.get("/loop/").status, 502);
    assert_eq!(server.get("/old/a.txt").text(), "a", "it goes on");
}

#[test]
fn error_pages_keep_the_status_of_the_error() {
    let dir = site();
    let text = "error-doc: {status: [404, 405], url: /404.html}\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
    let server = Server::config(&dir, text);
    let answer = server.get("/none");
    assert_eq!((answer.status, answer.text().as_str()), (404, "<p>lost</p>"));
    assert_eq!(answer.field("content-type").and_then(|t| t.split(';').next()), Some("text/html"));
    assert_eq!((answer.field("etag"), answer.field("last-modified")), (None, None), "they are the page's");
    assert_eq!(server.get_with("/none", "If-None-Match: *\r\nRange: bytes=0-1\r\n").status, 404);
    let refused = server.ask("DELETE /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!((refused[0].status, refused[0].text().as_str()), (405, "<p>lost</p>"));
    assert!(refused[0].field("allow").is_some());
    let missing = Server::site(&dir, "error-doc: {status: 404, url: /no-such-page.html}");
    assert_eq!(missing.get("/none").status, 404, "a missing page is no endless search");
}

#[test]
fn error_pages_may_come_from_a_folder_and_from_another_server() {
    let dir = site();
    dir.write("site/errors/index.html", "<p>a folder</p>");
    let page = Upstream::answering(
        "HTTP/1.1 200 OK\r\nContent-Type: text/x-page\r\nContent-Length: 10\r\nX-Own: 1\r\n\r\nfar away\r\n",
    );
    let broken = Upstream::answering("HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nno\n");
    let text = format!(
        "hosts:
  default:
    paths:
      /: {{file.dir: DIR/site, error-doc: {{status: 404, url: /errors}}}}
      /far: {{file.dir: DIR/site, error-doc: {{status: [404, 405], url: 'http://{}/a/page?q=1'}}}}
      /broken: {{file.dir: DIR/site, error-doc: {{status: 404, url: 'http://{}/'}}}}
      /nobody: {{file.dir: DIR/site, error-doc: {{status: 404, url: 'http://{}/'}}}}
",
        page.address,
        broken.address,
        unused_address()
    );
    let server = Server::config(&dir, &text);
    assert_eq!(server.get("/none").text(), "<p>a folder</p>");
    for (request, status) in [("GET /far/none", 404), ("DELETE /far/a.txt", 405)] {
        let request = format!("{request} HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nConnection: close\r\n\r\n");
        let answer = server.ask(request).remove(0);
        assert_eq!((answer.status, answer.text().as_str()), (status, "far away\r\n"));
        assert_eq!(answer.field("content-type"), Some("text/x-page"));
        assert_eq!(answer.field("x-own"), None);
        let asked = page.last();
        assert_eq!(asked.line(), "GET /a/page?q=1 HTTP/1.1");
        assert_eq!((asked.all("host"), asked.all("cookie")), (vec![page.address.as_str()], vec![]));
    }
    for path in ["/broken/none", "/nobody/none"] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.text().as_str()), (404, "Not Found\n"), "{path}");
    }
    server.until_stderr("Connection refused");
}

#[test]
fn header_directives_change_the_fields_of_answers() {
    let dir = site();
    let cases: [(&str, &[&str]); 11] = [
        ("header.add: \"X-A: 1\"", &["1"]),
        ("header.add: [\"X-A: 1\", \"x-a: 2\"]", &["1", "2"]),
        ("header.add: \"X-A: 1\"\nheader.append: \"X-A: 2\"", &["1, 2"]),
        ("header.append: \"X-A: 2\"", &["2"]),
        ("header.add: \"X-A: 1, 2\"\nheader.merge: \"X-A: 2\"", &["1, 2"]),
        ("header.add: \"X-A: 1\"\nheader.merge: \"X-A: 2\"", &["1, 2"]),
        ("header.add: \"X-A: 1\"\nheader.set: \"X-A: 2\"", &["2"]),
        ("header.setifempty: \"X-A: 3\"", &["3"]),
        ("header.add: \"X-A: 1\"\nheader.setifempty: \"X-A: 3\"", &["1"]),
        ("header.add: \"X-A: 1\"\nheader.unset: x-a", &[]),
        ("header.add: {header: \"X-A: 1\", when: early}", &[]),
    ];
    for (lines, wanted) in cases {
        let server = Server::site(&dir, lines);
        for target in ["/", "/a.txt", "/none"] {
            assert_eq!(server.get(target).all("x-a"), wanted, "{lines} {target}");
        }
    }
}

#[test]
fn header_directives_reach_fields_of_our_own() {
    let dir = site();
    let server = Server::site(&dir, "header.unset: [etag, last-modified]\nheader.set: \"content-type: x/y\"");
    let answer = server.get("/a.txt");
    assert_eq!((answer.field("etag"), answer.field("last-modified")), (None, None));
    assert_eq!(answer.all("content-type"), ["x/y"]);
    let server = Server::site(&dir, "header.unsetunless: [content-type]");
    let answer = server.get("/a.txt");
    assert!(answer.field("content-type").is_some() && answer.field("etag").is_none());
    assert_eq!(answer.text(), "a", "framing stays");
}

#[test]
fn inner_levels_add_to_outer_ones() {
    let dir = site();
    let text = "header.add: \"X-A: global\"\nhosts:\n  default:\n    header.add: \"X-A: host\"\n    paths:\n      \
                /: {file.dir: DIR/site}\n      /p: {header.add: \"X-A: path\", file.dir: DIR/site}\n";
    let server = Server::config(&dir, text);
    assert_eq!(server.get("/").all("x-a"), ["global", "host"]);
    assert_eq!(server.get("/p/").all("x-a"), ["global", "host", "path"]);
}

#[test]
fn directives_by_extension_hold_for_files_with_it() {
    let dir = site();
    let lines = "file.custom-handler: {extension: .txt, header.add: \"X-A: text\", expires: 1 day}";
    let server = Server::site(&dir, lines);
    let text = server.get("/a.txt");
    assert_eq!((text.field("x-a"), text.field("cache-control")), (Some("text"), Some("max-age=86400")));
    let page = server.get("/");
    assert_eq!((page.field("x-a"), page.field("cache-control")), (None, None));
}

#[test]
fn the_server_says_who_it_is_as_told() {
    let dir = site();
    let hosts = "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
    let cases = [
        ("", Some(concat!("hayami/", env!("CARGO_PKG_VERSION")))),
        ("server-name: something else\n", Some("something else")),
        ("send-server-name: OFF\n", None),
        ("send-server-name: preserve\n", None),
    ];
    for (line, name) in cases {
        let server = Server::config(&dir, &format!("{line}{hosts}"));
        for target in ["/", "/none"] {
            assert_eq!(server.get(target).field("server"), name, "{line} {target}");
        }
        assert_eq!(server.ask("nonsense\r\n\r\n")[0].field("server"), name, "{line}");
    }
}

#[test]
fn too_much_content_is_413() {
    let dir = site();
    let server = Server::config(
        &dir,
        "limit-request-body: 10\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n",
    );
    let post = |length: usize| {
        let head = format!("GET /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        server.connect().send(head + &"x".repeat(length)).answer().status
    };
    assert_eq!((post(10), post(11)), (200, 413));
}

#[test]
fn a_star_in_a_redirect_stands_for_what_the_star_of_the_host_matches() {
    let dir = site();
    let text = "
hosts:
  '*.example.com': {paths: {/: {redirect: {url: 'https://*.example.org/', status: 301}}}}
  '*.in.example': {paths: {/: {redirect: {url: '/sites/*/', internal: YES}}, /sites: {file.dir: DIR/site}}}
";
    dir.write("site/one/index.html", "one");
    let server = Server::config(&dir, text);
    let location = |host: &str| {
        let answer = server.get_with("/a?b", &format!("Host: {host}\r\n"));
        (answer.status, answer.field("location").map(str::to_owned))
    };
    assert_eq!(location("www.example.com"), (301, Some("https://www.example.org/a?b".to_owned())));
    assert_eq!(location("elsewhere"), (421, None));
    assert_eq!(server.get_with("/", "Host: one.in.example\r\n").text(), "one");
    let mut wire = Wire::open(&server.address);
    let head = [(":method", "GET"), (":scheme", "http"), (":authority", "one.in.example"), (":path", "/")];
    wire.frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, literals(&head));
    assert_eq!(wire.answer(1).text(), "one");
}
