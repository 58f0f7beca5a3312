//! Pages that the server makes itself: listings and errors, as browsers and other programs get them.

use crate::support::h2::{PREFACE, get, kind};
use crate::support::{Scratch, Server, Wire, chromium, missing, until};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// The policy of the manual, with a URI for violation reports.
const POLICY: &str = "header.set: \"content-security-policy: default-src 'self'; report-uri /report\"\n";

/// A folder with a listing, and a page whose title shows the content of its four frames, one as wide as a phone.
fn site() -> Scratch {
    let dir = Scratch::new();
    for name in ["b.txt", "a.txt", "c.bin"] {
        dir.write(&format!("site/files/{name}"), name.repeat(7));
    }
    let long = "x".repeat(200);
    dir.write(&format!("site/{long}/{long}.tar.gz"), "");
    dir.write("site/inline.html", "<p style=\"color: red\">inline</p>");
    let frames = "<iframe src=/files/></iframe><iframe src='/files/?sort=size&order=desc&q=txt'></iframe>\
                  <iframe src=/missing></iframe>";
    let phone = format!("<iframe width=360 height=640 src='/{long}/?q=x'></iframe>");
    dir.write("site/check.html", format!("<!doctype html><script src=/check.js></script>{frames}{phone}"));
    let script = "onload = () => {
        const [all, some, error, phone] = [...document.querySelectorAll('iframe')].map(f => f.contentDocument);
        const names = page => [...page.querySelectorAll('tbody a')].map(a => a.textContent).join(' ');
        const radius = getComputedStyle(all.querySelector('table')).borderTopLeftRadius;
        // Wider than its window, so that it scrolls horizontally.
        const wide = page => page.documentElement.scrollWidth - page.documentElement.clientWidth;
        const over = [all, error, phone].map(wide).join(' ');
        const search = some.querySelector('input').value;
        document.title = [names(all), names(some), radius, search, error.title, phone.defaultView.innerWidth, over].join('|');
    }";
    dir.write("site/check.js", script);
    dir
}

#[test]
fn pages_need_nothing_that_the_policy_of_the_manual_blocks() {
    if missing("chromium") {
        return;
    }
    let dir = site();
    let log = "access-log: {path: DIR/log, format: '%m %U%q %s'}\nfile.dirlisting: ON\n";
    let server = Server::site(&dir, &format!("{log}{POLICY}"));
    let url = |path: &str| format!("http://{}{path}", server.address);
    let page = chromium(&dir, &["--dump-dom", &url("/check.html")]);
    let title = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let want = ".. a.txt b.txt c.bin|.. a.txt b.txt|12px|txt|404 Not Found|360|0 0 0";
    assert_eq!(title.map(|(title, _)| title), Some(want), "{page}");
    until("the frames are in the log", || dir.read("log").contains("/missing"));
    let before = dir.read("log");
    assert!(before.contains("GET /files/?style="), "{before}");
    assert!(!before.contains("/report"), "the policy has blocked something: {before}");
    // Inline content is reported, so a report would have been seen.
    chromium(&dir, &["--dump-dom", &url("/inline.html")]);
    until("the report is in the log", || dir.read("log").contains("POST /report "));
}

#[test]
fn listings_are_sorted_and_searched_by_their_query() {
    let dir = site();
    dir.write("site/files/d.txt", "d".repeat(100));
    dir.write("site/cold/only.txt", "");
    let server = Server::site(&dir, "file.dirlisting: ON");
    let names = |target: &str| {
        let page = server.get(target);
        assert_eq!(
            (page.status, page.field("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{target}"
        );
        let table = page.text().split_once("<tbody>").expect("a table").1.to_owned();
        let links =
            table.split("<a href=\"./").skip(1).map(|rest| rest.split('"').next().unwrap_or("").to_owned());
        links.collect::<Vec<_>>().join(" ")
    };
    for (target, want) in [
        ("/files/", "a.txt b.txt c.bin d.txt"),
        ("/files/?unknown=1", "a.txt b.txt c.bin d.txt"),
        ("/files/?sort=name&order=desc", "d.txt c.bin b.txt a.txt"),
        ("/cold/?q=only", "only.txt"),
        ("/files/?sort=size&order=desc", "d.txt a.txt b.txt c.bin"),
        ("/files/?q=TXT", "a.txt b.txt d.txt"),
        ("/files/?q=%2E&sort=size", "a.txt b.txt c.bin d.txt"),
        ("/files/?q=nothing", ""),
    ] {
        assert_eq!(names(target), want, "{target}");
    }
    let style = server.get("/files/?style=1");
    assert_eq!((style.status, style.field("content-type")), (200, Some("text/css; charset=utf-8")));
    assert!(style.text().contains("prefers-color-scheme"));
    assert_eq!(server.get("/files?q=txt").field("location"), Some("/files/?q=txt"));
    let mut client = server.connect();
    let head = client.send("HEAD /files/?q=txt HTTP/1.1\r\nHost: a\r\n\r\n").answer_to_head();
    assert_eq!((head.status, head.content.len()), (200, 0));
    let refused = server
        .ask("POST /files/?q=txt HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    assert_eq!(refused[0].status, 405);
}

#[test]
fn a_huge_directory_delays_no_request_and_has_a_bound_in_memory() {
    let dir = site();
    for number in 0..100_000 {
        dir.write(&format!("site/huge/file-{number:06}"), "");
    }
    let server = Server::config(
        &dir,
        "num-threads: 1\nfile.dirlisting: ON\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}",
    );
    let page = server.get("/huge/?sort=name&order=desc");
    assert_eq!(page.status, 200);
    let text = page.text();
    let rows = text.split_once("<tbody>").expect("a table").1.split("<a href=\"./").skip(1);
    let shown: Vec<_> = rows.map(|row| &row[..11]).collect();
    assert_eq!((shown.len(), shown[0], shown[9_999]), (10_000, "file-099999", "file-090000"));
    assert!(text.contains("; 90000 more not shown"));
    let (by_size, before) = (server.get("/huge/?sort=size").content.len(), server.peak_memory());
    // If no client reads, as many pages are generated as fit into the bound of 32 MiB.
    let mut wire = Wire::bare(&server.address);
    wire.send(PREFACE).frame(kind::SETTINGS, 0, 0, [0, 4, 0, 0, 0, 0]);
    let streams = (0..90).map(|number| 2 * number + 1);
    streams.clone().for_each(|stream| _ = wire.get(stream, "/huge/?sort=size"));
    let (ended, slowest) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let begin = Instant::now();
                assert_eq!(server.get("/files/a.txt").status, 200);
                slowest.fetch_max(begin.elapsed().as_millis() as u64, Ordering::Relaxed);
            }
        });
        while !streams.clone().all(|stream| wire.status(stream).is_some()) {
            wire.next().expect("the connection stays");
        }
        ended.store(true, Ordering::Relaxed);
    });
    let statuses: Vec<_> = streams.map(|stream| wire.status(stream)).collect();
    let count = |status| statuses.iter().filter(|other| **other == Some(status)).count();
    let room = (32 << 10) / by_size.div_ceil(1024);
    // Two are made at a time, for each of which 2 MiB are reserved.
    assert!((room - 3..=room).contains(&count(200)), "{} of {room}", count(200));
    assert_eq!(count(200) + count(503), 90);
    let grown = server.peak_memory().saturating_sub(before) >> 20;
    assert!(grown < 96, "{grown} MiB");
    assert!(slowest.into_inner() < 500, "a small file was delayed");
    wire.pushing().shutdown(Shutdown::Both).expect("a connection");
    until("there is room again", || server.get("/huge/?sort=size").status == 200);
}

#[test]
fn errors_are_html_for_browsers_and_the_same_text_for_others_over_every_protocol() {
    let dir = site();
    let server =
        Server::config(&dir, "limit-request-line: 100\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}");
    let browser = "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n";
    let long = format!("/{}", "x".repeat(100));
    for (request, status, text, sentence) in [
        ("GET /none", 404, "Not Found\n", "The page was not found on this server."),
        (
            "DELETE /check.js",
            405,
            "Method Not Allowed\n",
            "The request method is not supported for this page.",
        ),
        ("GET /%00", 400, "Bad Request: the path holds a NUL byte\n", "The path holds a NUL byte."),
        (
            &format!("GET {long}"),
            414,
            "URI Too Long: the request line is longer than the limit\n",
            "The request line is longer than the limit.",
        ),
    ] {
        let ask = |fields: &str| {
            let bytes = format!("{request} HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
            server.ask(bytes).remove(0)
        };
        let plain = ask("Accept: */*\r\n");
        assert_eq!((plain.status, plain.text().as_str()), (status, text), "{request}");
        assert_eq!(
            (plain.field("content-type"), plain.field("vary")),
            (Some("text/plain; charset=utf-8"), Some("accept"))
        );
        if status == 414 {
            // The fields of the head were not read.
            continue;
        }
        let page = ask(browser);
        assert_eq!((page.status, page.field("vary")), (status, Some("accept")), "{request}");
        assert_eq!(page.field("content-type"), Some("text/html; charset=utf-8"), "{request}");
        assert!(page.text().contains(&format!("<p>{sentence}</p>")), "{request}: {}", page.text());
        let (method, target) = request.split_once(' ').expect("a target");
        let mut wire = Wire::open(&server.address);
        let answer = wire.ask(1, method, target, &[("accept", "text/html")], true).answer(1);
        assert_eq!((answer.status, answer.text()), (status, page.text()), "{request} over HTTP/2");
    }
    let mut wire = Wire::open(&server.address);
    let answer = wire.send(get(1, &long)).answer(1);
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (414, "URI Too Long: the request line is longer than the limit\n")
    );
}
