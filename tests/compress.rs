//! Compression: real clients decode it, it never holds anything back, and its fields are right.

use crate::support::peers::Peer;
use crate::support::upstream::{Conn, Upstream};
use crate::support::{Answer, Client, Scratch, Server, missing, missing_module, output, tls, until};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

const CODINGS: [&str; 3] = ["gzip", "br", "zstd"];

/// A page of this many bytes or a few more.
fn page(bytes: usize) -> String {
    let mut page = String::from("<!doctype html><title>page</title>\n");
    let mut number = 0_u32;
    while page.len() < bytes {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        page += &format!("<li class=item><a href=/item/{}>item {}</a>\n", number >> 20, number >> 12);
    }
    page
}

fn curl(args: &[&str]) -> String {
    let (code, out) = output("curl", ["-sS", "-m", "20"].into_iter().chain(args.iter().copied()));
    assert_eq!(code, 0, "curl {args:?}");
    String::from_utf8_lossy(&out).into_owned()
}

/// What curl gets: version, status, coding, bytes on the wire; and whether they are this text.
#[track_caller]
fn fetched(dir: &Scratch, args: &[&str], text: &str) -> (String, usize) {
    let saved = dir.text("saved");
    let said = curl(
        &[
            &[
                "--compressed",
                "-D",
                "-",
                "-o",
                &saved,
                "-w",
                "\n%{http_version} %{http_code} %{size_download}",
            ],
            args,
        ]
        .concat(),
    );
    let (head, last) = said.rsplit_once('\n').expect("two parts");
    assert!(dir.read("saved") == text, "{args:?}: {said}");
    let coding = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-encoding: ").map(str::to_owned));
    let (seen, size) = last.rsplit_once(' ').expect("three words");
    (format!("{seen} {}", coding.unwrap_or_else(|| "-".to_owned())), size.parse().expect("a size"))
}

#[test]
fn curl_unpacks_every_coding_over_every_version() {
    if missing("curl") {
        return;
    }
    let dir = Scratch::new();
    let text = page(512 * 1024);
    dir.write("site/large.html", &text).write("site/small.html", &text[..4000]);
    let clear = Server::site(&dir, "compress: ON");
    let secure = tls::site(&dir, "", "compress: ON\n");
    let ca = dir.text("tls/ca.pem");
    for coding in CODINGS {
        let accept = format!("Accept-Encoding: {coding}");
        let versions: [(&[&str], &str, &str); 5] = [
            (&["--http1.0"], "http", "1.1"),
            (&["--http1.1"], "http", "1.1"),
            (&["--http2-prior-knowledge"], "http", "2"),
            (&["--http1.1", "--cacert", &ca], "https", "1.1"),
            (&["--http2", "--cacert", &ca], "https", "2"),
        ];
        for (version, scheme, seen) in versions {
            let server = if scheme == "http" { &clear } else { &secure };
            for (name, text) in [("large", &text[..]), ("small", &text[..4000])] {
                let url = format!("{scheme}://{}/{name}.html", server.address);
                let args = [version, &["-H", &accept, &url]].concat();
                let (said, size) = fetched(&dir, &args, text);
                assert_eq!(said, format!("{seen} 200 {coding}"), "{args:?}");
                assert!(size * 2 < text.len(), "{size} bytes of {}", text.len());
            }
        }
    }
}

#[test]
fn every_quality_is_sent_whole() {
    if missing("curl") {
        return;
    }
    let dir = Scratch::new();
    let text = page(200 * 1024);
    dir.write("site/a.html", &text);
    for (coding, qualities) in [("gzip", &[1, 6, 9][..]), ("br", &[0, 4, 7, 11]), ("zstd", &[1, 9, 12, 22])] {
        let mut sizes = Vec::new();
        for quality in qualities {
            let server = Server::site(&dir, &format!("compress: {{{coding}: {quality}}}"));
            let (said, size) = fetched(&dir, &[&format!("http://{}/a.html", server.address)], &text);
            assert_eq!(said, format!("1.1 200 {coding}"), "{quality}");
            sizes.push(size);
        }
        assert!(sizes.last() < sizes.first(), "{coding}: {sizes:?}");
    }
}

/// A field section without what changes from message to message, or is of the framing.
fn lasting(answer: &Answer) -> Vec<(String, String)> {
    let changes = ["date", "content-length", "transfer-encoding"];
    answer.fields.iter().filter(|(name, _)| !changes.contains(&name.as_str())).cloned().collect()
}

#[test]
fn fields_say_what_was_done() {
    let dir = Scratch::new();
    dir.write("site/a.html", page(100_000))
        .write("site/small.html", page(2000))
        .write("site/tiny.html", "tiny");
    dir.write("site/a.png", page(2000))
        .write("site/a.css", page(2000))
        .write("site/a.css.gz", "gzip of a.css");
    let server = Server::site(&dir, "compress: [zstd, gzip]\nfile.send-compressed: ON");
    let get =
        |target: &str, lines: &str| server.get_with(target, &format!("Accept-Encoding: gzip\r\n{lines}"));
    let fields = |answer: &Answer| {
        ["content-encoding", "vary", "accept-ranges"].map(|name| answer.all(name).join("|"))
    };
    assert_eq!(fields(&get("/a.html", "")), ["gzip", "accept-encoding", ""]);
    assert_eq!(fields(&get("/small.html", "")), ["gzip", "accept-encoding", ""]);
    assert!(get("/small.html", "").field("content-length").is_some(), "its length is known");
    assert_eq!(fields(&get("/tiny.html", "")), ["", "accept-encoding", "bytes"]);
    assert_eq!(fields(&get("/a.png", "")), ["", "accept-encoding", "bytes"], "for its neighbours");
    assert_eq!(get("/a.css", "").text(), "gzip of a.css", "it is not compressed again");
    assert_eq!(fields(&server.get("/a.html")), ["", "accept-encoding", "bytes"]);
    assert_eq!(fields(&server.get_with("/a.html", "Accept-Encoding: gzip, zstd\r\n"))[0], "zstd");
    assert_eq!(fields(&server.get_with("/a.html", "Accept-Encoding: gzip, zstd;q=0.5\r\n"))[0], "gzip");
    assert_eq!(fields(&server.get_with("/a.html", "Accept-Encoding: identity;q=0, gzip\r\n"))[0], "gzip");
    assert_eq!(fields(&get("/a.html", "Cache-Control: no-transform\r\n"))[0], "");

    let plain = server.get("/a.html").field("etag").expect("a tag").to_owned();
    let weak = get("/a.html", "").field("etag").expect("a tag").to_owned();
    assert_eq!(weak, format!("W/{plain}"));
    let again = get("/a.html", &format!("If-None-Match: {weak}\r\n"));
    assert_eq!(
        (again.status, again.field("etag"), again.field("vary")),
        (304, Some(&*weak), Some("accept-encoding"))
    );
    let again = server.get_with("/a.html", &format!("If-None-Match: {plain}\r\n"));
    assert_eq!(
        (again.status, again.field("etag"), again.field("vary")),
        (304, Some(&*plain), Some("accept-encoding"))
    );

    let part = get("/a.html", "Range: bytes=0-8\r\n");
    assert_eq!((part.status, part.text().as_str()), (206, "<!doctype"));
    assert_eq!(fields(&part), ["", "accept-encoding", "bytes"]);
    let whole = get("/a.html", &format!("Range: bytes=0-8\r\nIf-Range: {weak}\r\n"));
    assert_eq!((whole.status, whole.field("content-encoding")), (200, Some("gzip")));
}

#[test]
fn head_has_the_fields_of_get() {
    let dir = Scratch::new();
    dir.write("site/a.html", page(100_000)).write("site/small.html", page(2000));
    let text = page(3000);
    let upstream = Upstream::scripted(move |conn| {
        while let Some(asked) = conn.request() {
            conn.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: \"a\"\r\nContent-Length: {}\r\n\r\n",
                text.len()
            ));
            if asked.line().starts_with("GET") {
                conn.send(&text);
            }
        }
    });
    let text = format!(
        "compress: ON\nhosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}, \
         /app: {{proxy.reverse.url: 'http://{}/'}}}}}}}}\n",
        upstream.address
    );
    let server = Server::config(&dir, &text);
    for target in ["/a.html", "/small.html", "/app"] {
        let request =
            |method: &str| format!("{method} {target} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br\r\n\r\n");
        let mut client = Client::connect(&server.address);
        let get = client.send(request("GET")).answer();
        let head = client.send(request("HEAD")).answer_to_head();
        assert_eq!(lasting(&head), lasting(&get), "{target}");
        assert_eq!(get.field("content-encoding"), Some("br"), "{target}");
        let known = |answer: &Answer| answer.field("content-length").map(str::to_owned);
        assert!(known(&head).is_none() || known(&head) == known(&get), "{target}: {head:?}");
    }
}

/// An upstream that sends one event after another, each on a signal from the test, until the channel closes.
fn events() -> (Upstream, Sender<String>) {
    let (tell, told) = channel::<String>();
    let told: Mutex<Receiver<String>> = Mutex::new(told);
    let upstream = Upstream::scripted(move |conn: &mut Conn| {
        let Some(_) = conn.request() else { return };
        conn.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
        let told = told.lock().expect("no panic within");
        while let Ok(event) = told.recv() {
            if event.is_empty() {
                break;
            }
            conn.send(format!("{:x}\r\n{event}\r\n", event.len()));
        }
        conn.send("0\r\n\r\n");
    });
    (upstream, tell)
}

/// curl, while it runs.
struct Curl {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Curl {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new("curl");
        command.args(["-sS", "-N", "-m", "30", "--compressed"]).args(args);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("curl starts");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, out }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("a line");
        line
    }

    fn ends_well(mut self) -> bool {
        assert_eq!(self.line(), "", "nothing follows");
        self.child.wait().expect("it ends").success()
    }
}

#[test]
fn an_event_arrives_before_the_next_is_made() {
    if missing("curl") {
        return;
    }
    for version in ["--http1.1", "--http2-prior-knowledge", "--http1.0"] {
        for coding in CODINGS {
            let dir = Scratch::new();
            let (upstream, tell) = events();
            let text = format!(
                "compress: ON\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: 'http://{}/'}}}}}}}}\n",
                upstream.address
            );
            let server = Server::config(&dir, &text);
            let (accept, url) = (format!("Accept-Encoding: {coding}"), format!("http://{}/", server.address));
            let mut client = Curl::start(&[version, "-H", &accept, &url]);
            for number in 0..5 {
                let event = format!("data: {number}\n");
                tell.send(event.clone()).expect("the upstream listens");
                assert_eq!(client.line(), event, "{version} {coding}");
            }
            tell.send(String::new()).expect("the upstream listens");
            assert!(client.ends_well(), "{version} {coding}");
        }
    }
}

#[test]
fn what_a_script_of_php_flushes_arrives_while_it_runs() {
    if missing("curl") {
        return;
    }
    let dir = Scratch::new();
    let script = "<?php header('Content-Type: text/html'); echo \"begun\\n\"; flush();\n\
                  while (!file_exists('DIR/go')) { usleep(10000); clearstatcache(); }\n\
                  echo str_repeat(\"<p>text</p>\\n\", 10000);\n";
    dir.write("site/slow.php", script.replace("DIR", &dir.text("")));
    let Some(fpm) = Peer::php_fpm(&dir, 2, "php_value[output_buffering] = 0") else { return };
    let text = format!(
        "compress: ON\nfile.custom-handler: {{extension: .php, fastcgi.connect: {{host: 127.0.0.1, port: {}}}}}\n\
         hosts: {{default: {{paths: {{/: {{file.dir: DIR/site}}}}}}}}\n",
        fpm.port
    );
    let server = Server::config(&dir, &text);
    for coding in CODINGS {
        let _ = std::fs::remove_file(dir.path("go"));
        let (accept, url) =
            (format!("Accept-Encoding: {coding}"), format!("http://{}/slow.php", server.address));
        let mut client = Curl::start(&["-H", &accept, &url]);
        assert_eq!(client.line(), "begun\n", "{coding}");
        dir.write("go", "");
        for number in 0..10_000 {
            assert_eq!(client.line(), "<p>text</p>\n", "{coding} {number}");
        }
        assert!(client.ends_well(), "{coding}");
    }
}

#[test]
fn what_upstreams_say_about_their_content_counts() {
    let answer = |fields: &str, content: &str| {
        format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n{content}", content.len())
    };
    let text = "text ".repeat(200);
    let dir = Scratch::new();
    for (fields, want) in [
        ("Content-Type: text/plain\r\nETag: \"a\"\r\n", "gzip|accept-encoding|W/\"a\"||"),
        ("Content-Type: text/plain\r\nContent-Encoding: gzip\r\nETag: \"a\"\r\n", "gzip||\"a\"||"),
        ("Content-Type: text/plain\r\nCache-Control: no-transform\r\n", "||||"),
        ("Content-Type: text/plain\r\nVary: Origin\r\n", "gzip|Origin, accept-encoding|||"),
        ("Content-Type: text/plain\r\nX-Compress-Hint: off\r\n", "||||"),
        ("Content-Type: image/png\r\nX-Compress-Hint: on\r\n", "gzip|accept-encoding|||"),
        ("Content-Type: image/png\r\nRepr-Digest: sha-256=:x:\r\n", "|||sha-256=:x:|"),
        ("Content-Type: text/plain\r\nRepr-Digest: sha-256=:x:\r\n", "gzip|accept-encoding|||"),
        ("Content-Type: application/x-thing\r\n", "gzip|accept-encoding|||"),
        ("Content-Type: text/css\r\n", "||||"),
    ] {
        let upstream = Upstream::answering(answer(fields, &text));
        let text = format!(
            "compress: [gzip]\n\
             file.mime.addtypes: {{application/x-thing: {{extensions: .x, is_compressible: YES}}, \
             text/css: {{extensions: .css, is_compressible: NO}}}}\n\
             hosts: {{default: {{paths: {{/: {{proxy.reverse.url: 'http://{}/'}}}}}}}}\n",
            upstream.address
        );
        let server = Server::config(&dir, &text);
        let answer = server.get_with("/", "Accept-Encoding: gzip\r\n");
        let names = ["content-encoding", "vary", "etag", "repr-digest", "x-compress-hint"];
        let said = names.map(|name| answer.all(name).join(";")).join("|");
        assert_eq!(said, want, "{fields}");
    }
}

#[test]
fn trailers_follow_and_a_broken_end_stays_broken() {
    let dir = Scratch::new();
    let upstream = Upstream::scripted(|conn| {
        while let Some(asked) = conn.request() {
            conn.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n",
            );
            if asked.line().contains("broken") {
                return;
            }
            conn.send("0\r\nX-Sum: 1\r\nContent-Digest: sha-256=:x:\r\n\r\n");
        }
    });
    let text = format!(
        "compress: [gzip]\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: 'http://{}/'}}}}}}}}\n",
        upstream.address
    );
    let server = Server::config(&dir, &text);
    let whole = server.get_with("/whole", "Accept-Encoding: gzip\r\nTE: trailers\r\n");
    assert_eq!((whole.field("content-encoding"), whole.field("x-sum")), (Some("gzip"), Some("1")));
    assert_eq!(whole.field("content-digest"), None);
    let mut client = Client::connect(&server.address);
    client.send("GET /broken HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    let rest = client.rest();
    assert!(rest.starts_with(b"HTTP/1.1 200") && !rest.ends_with(b"0\r\n\r\n"), "{}", rest.escape_ascii());
}

#[test]
fn a_304_of_an_upstream_has_the_tag_that_the_client_sent() {
    let dir = Scratch::new();
    let upstream = Upstream::answering("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n");
    let text = format!(
        "compress: ON\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: 'http://{}/'}}}}}}}}\n",
        upstream.address
    );
    let server = Server::config(&dir, &text);
    for tag in ["W/\"a\"", "\"a\""] {
        let answer = server.get_with("/", &format!("Accept-Encoding: gzip\r\nIf-None-Match: {tag}\r\n"));
        assert_eq!(
            (answer.status, answer.field("etag"), answer.field("vary")),
            (304, Some(tag), Some("accept-encoding"))
        );
        assert_eq!(upstream.last().all("if-none-match"), [tag], "the upstream decides");
    }
}

#[test]
fn error_pages_are_compressed_too() {
    if missing("curl") {
        return;
    }
    let dir = Scratch::new();
    let text = page(3000);
    dir.write("site/404.html", &text);
    let lines = "compress: [br]\nerror-doc: {status: 404, url: /404.html}";
    let server = Server::site(&dir, lines);
    let (said, size) = fetched(&dir, &[&format!("http://{}/none", server.address)], &text);
    assert_eq!(said, "1.1 404 br");
    assert!(size < text.len() / 2);
    let server = Server::site(&dir, "compress: [br]");
    let own = server.get_with("/none", "Accept: text/html\r\nAccept-Encoding: br\r\n");
    assert_eq!(
        (own.status, own.field("content-encoding"), own.field("vary")),
        (404, Some("br"), Some("accept, accept-encoding"))
    );
    assert_eq!(server.get_with("/none", "Accept-Encoding: br\r\n").text(), "Not Found\n", "it is too small");
}

#[test]
fn files_with_an_extension_can_be_compressed_on_their_own() {
    let dir = Scratch::new();
    dir.write("site/a.html", page(2000)).write("site/a.css", page(2000));
    let server = Server::site(&dir, "file.custom-handler: {extension: .css, compress: [gzip]}");
    let coding = |target: &str| {
        let answer = server.get_with(target, "Accept-Encoding: gzip\r\n");
        answer.field("content-encoding").map(str::to_owned)
    };
    assert_eq!((coding("/a.css").as_deref(), coding("/a.html")), (Some("gzip"), None));
}

const PYTHON: &str = r#"
import httpx, ssl, sys
address, ca, length = sys.argv[1:]
verify = ssl.create_default_context(cafile=ca)
for http2 in [False, True]:
    with httpx.Client(http1=not http2, http2=http2, verify=verify, timeout=20) as client:
        for _ in range(3):
            r = client.get(f"https://{address}/a.html", headers={"accept-encoding": "gzip"})
            assert r.http_version == ("HTTP/2" if http2 else "HTTP/1.1"), r.http_version
            assert r.headers["content-encoding"] == "gzip", r.headers
            assert len(r.content) == int(length), len(r.content)
            again = client.get(f"https://{address}/a.html", headers={"accept-encoding": "gzip", "if-none-match": r.headers["etag"]})
            assert (again.status_code, again.headers["etag"]) == (304, r.headers["etag"]), again
print("unpacked")
"#;

#[test]
fn python_httpx_unpacks_and_revalidates() {
    if missing_module("httpx, h2") {
        return;
    }
    let dir = Scratch::new();
    let text = page(300_000);
    dir.write("site/a.html", &text);
    let server = tls::site(&dir, "", "compress: ON\n");
    let (code, out) =
        output("python3", ["-c", PYTHON, &server.address, &dir.text("tls/ca.pem"), &text.len().to_string()]);
    assert_eq!((code, String::from_utf8_lossy(&out).trim()), (0, "unpacked"));
}

#[test]
fn chromium_shows_a_compressed_page_with_its_script_and_events() {
    if missing("chromium") || missing("openssl") {
        return;
    }
    let dir = Scratch::new();
    let html = "<!doctype html><title>loading</title><script src=/a.js></script>";
    let script = "document.title = 'script'; onload = () => fetch('/data.json').then(r => r.json())\
                  .then(all => document.title = `read ${all.length}`);";
    let data = format!("[{}0]", "1234567,".repeat(50_000));
    dir.write("site/index.html", format!("{html}<!--{}-->", "x".repeat(500)));
    dir.write("site/a.js", format!("{script}//{}", "x".repeat(500))).write("site/data.json", data);
    for coding in CODINGS {
        let log = format!(
            "compress: [{coding}]\naccess-log: {{path: DIR/{coding}, format: \"%U %s %{{content-encoding}}o\"}}\n"
        );
        let server = tls::site(&dir, "", &log);
        let command = format!(
            "openssl x509 -in {} -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64",
            dir.text("tls/leaf.pem")
        );
        let spki = crate::support::run("sh", &["-c", &command]);
        let trust = format!("--ignore-certificate-errors-spki-list={}", spki.trim());
        let url = format!("https://localhost:{}/", server.port());
        let page =
            crate::support::chromium(&dir, &[&trust, "--virtual-time-budget=10000", "--dump-dom", &url]);
        assert!(page.contains("<title>read 50001</title>"), "{coding}: {}", &page[..page.len().min(300)]);
        until("all is in the log", || dir.read(coding).contains("/data.json"));
        for path in ["/", "/a.js", "/data.json"] {
            assert!(
                dir.read(coding).contains(&format!("{path} 200 {coding}\n")),
                "{path}: {}",
                dir.read(coding)
            );
        }
        let _ = std::fs::remove_dir_all(dir.path("profile"));
    }
}

#[test]
fn clients_that_do_not_read_cost_little_memory() {
    let dir = Scratch::new();
    dir.write("site/a.html", page(20 << 20));
    let server = Server::site(&dir, "compress: ON");
    let base = server.peak_memory();
    for coding in CODINGS {
        let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(&server.address)).collect();
        for client in &mut clients {
            client.send(format!("GET /a.html HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {coding}\r\n\r\n"));
            client.until("\r\n\r\n");
        }
        let mut worked = 0;
        until("all buffers are full", || {
            let now = server.cpu_nanos();
            std::mem::replace(&mut worked, now) == now
        });
        let each = (server.peak_memory() - base) / 20;
        assert!(each < 4 << 20, "{coding}: {each} bytes for each response");
    }
}
