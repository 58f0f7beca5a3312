//! The reverse proxy between other people's clients and servers. One that is not installed is skipped, unless
//! HAYAMI_ALL_CLIENTS=1.

use crate::support::certificates::Authority;
use crate::support::peers::Peer;
use crate::support::{Scratch, Server, missing, output, tls};

fn curl(args: &[&str]) -> String {
    let (code, out) = output("curl", ["-sS", "-m", "60"].into_iter().chain(args.iter().copied()));
    assert_eq!(code, 0, "curl {args:?}");
    String::from_utf8_lossy(&out).into_owned()
}

/// nginx with these lines in its only server, and hayami in front of it, with and without TLS.
struct Both {
    /// Keeps it running.
    _nginx: Peer,
    server: Server,
    clear: String,
    secure: String,
    ca: String,
}

fn both(dir: &Scratch, lines: &str) -> Both {
    let nginx = Peer::nginx(dir, lines);
    Authority::new(dir).issue_leaf();
    let listen = tls::listen("").replace("listen:\n  ", "  - ").replace("\n  ", "\n    ");
    let text = format!(
        "num-threads: 1\nlisten:\n  - {{host: 127.0.0.2, port: 0}}\n{listen}\nhosts: {{default: {{paths: {{/: \
         {{proxy.reverse.url: http://127.0.0.1:{}}}}}}}}}\n",
        nginx.port
    );
    let server = Server::config(dir, &text);
    let addresses = server.addresses();
    let (clear, secure) = (format!("http://{}", addresses[0]), format!("https://{}", addresses[1]));
    Both { _nginx: nginx, server, clear, secure, ca: dir.text("tls/ca.pem") }
}

impl Both {
    /// Ways to come, as arguments for curl.
    fn ways(&self) -> [(Vec<&str>, &str); 5] {
        let ca = ["--cacert", &self.ca];
        [
            (vec!["--http1.1"], &self.clear),
            (vec!["--http1.0"], &self.clear),
            (vec!["--http2-prior-knowledge"], &self.clear),
            ([&ca[..], &["--http1.1"]].concat(), &self.secure),
            ([&ca[..], &["--http2"]].concat(), &self.secure),
        ]
    }
}

#[test]
fn files_of_nginx_come_whole_by_every_protocol() {
    if missing("nginx") || missing("curl") {
        return;
    }
    let dir = Scratch::new();
    let large: String = (0..1_000_000).map(|number| format!("{number:08}")).collect();
    dir.write("site/small", "small").write("site/large", &large);
    let both = both(&dir, "root DIR/site;");
    for (way, url) in both.ways() {
        let get = |more: &[&str], path: &str| curl(&[&way[..], more, &[&format!("{url}{path}")]].concat());
        assert_eq!(get(&[], "/small"), "small", "{way:?}");
        assert!(get(&[], "/large") == large, "{way:?}");
        assert_eq!(get(&["-r", "8-15"], "/large"), "00000001", "{way:?}");
        let shown = ["-o", "/dev/null", "-w", "%{http_code} %{size_download} %header{server}"];
        assert!(get(&shown, "/none").starts_with("404 "), "{way:?}");
        let head = get(&["-I", "-w", "%{http_code}"], "/large");
        assert!(head.to_ascii_lowercase().contains("content-length: 8000000"), "{head}");
    }
    assert!(both.server.stderr().ends_with("ready\n"), "{}", both.server.stderr());
}

#[test]
fn uploads_reach_nginx_whole_by_every_protocol() {
    if missing("nginx") || missing("curl") {
        return;
    }
    let dir = Scratch::new();
    let large: String = (0..500_000).map(|number| format!("{number:08}")).collect();
    dir.write("up", &large);
    dir.write("dav/x", "");
    dir.permit("dav", 0o777);
    let both = both(&dir, "root DIR/dav; client_max_body_size 0; location / { dav_methods PUT DELETE; }");
    let file = dir.text("up");
    for (at, (way, url)) in both.ways().into_iter().enumerate() {
        let url = format!("{url}/{at}");
        let status = ["-o", "/dev/null", "-w", "%{http_code}"];
        assert_eq!(curl(&[&way[..], &status, &["-T", &file, &url]].concat()), "201", "{way:?}");
        assert!(dir.read(&format!("dav/{at}")) == large, "{way:?}");
        assert_eq!(curl(&[&way[..], &status, &["-X", "DELETE", &url]].concat()), "204", "{way:?}");
        if !way.contains(&"--http1.0") {
            // From standard input, curl knows no length and sends chunks.
            let pipe = format!(
                "cat {file} | curl -sS -m 60 -o /dev/null -w '%{{http_code}}' -T - {} {url}",
                way.join(" ")
            );
            assert_eq!(String::from_utf8_lossy(&output("/bin/sh", ["-c", &pipe]).1), "201", "{way:?}");
            assert!(dir.read(&format!("dav/{at}")) == large, "{way:?} in chunks");
        }
    }
}

#[test]
fn ten_thousand_requests_need_no_more_connections_than_were_busy_at_once() {
    if missing("nginx") || missing("h2load") {
        return;
    }
    let dir = Scratch::new();
    dir.write("log", "");
    dir.permit("log", 0o666);
    let both =
        both(&dir, "access_log DIR/log conn; keepalive_requests 1000000; location / { return 200 x; }");
    let url = format!("{}/", both.clear);
    let (code, out) = output("h2load", ["--h1", "-n", "10000", "-c", "50", &url]);
    let text = String::from_utf8_lossy(&out);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("10000 succeeded, 0 failed, 0 errored"), "{text}");
    let log = dir.read("log");
    let mut connections: Vec<_> = log.lines().filter_map(|line| line.split(' ').next()).collect();
    connections.sort_unstable();
    connections.dedup();
    assert_eq!(log.lines().count(), 10_000, "nginx has answered them all");
    assert!(connections.len() <= 50, "{} connections", connections.len());
}

#[test]
fn a_server_that_speaks_http_1_0_and_closes_is_an_upstream_too() {
    if missing("python3") {
        return;
    }
    let dir = Scratch::new();
    let large = "0123456789".repeat(100_000);
    dir.write("files/large", &large).write("files/a b/c", "x");
    let python = Peer::python(&dir, "files");
    let text = format!(
        "hosts: {{default: {{paths: {{/py: {{proxy.reverse.url: http://127.0.0.1:{}}}}}}}}}\n",
        python.port
    );
    let server = Server::config(&dir, &text);
    for _ in 0..3 {
        let answer = server.get("/py/large");
        assert!(answer.status == 200 && answer.content == large.as_bytes(), "{}", answer.status);
    }
    assert_eq!(server.get("/py/a%20b/c").text(), "x");
    assert_eq!(server.get("/py/none").status, 404);
    let wrong =
        server.ask("POST /py/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
    assert_eq!(wrong[0].status, 501, "python's own");
}
