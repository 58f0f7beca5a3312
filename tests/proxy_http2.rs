//! HTTP/2 upstreams: nghttpd, nginx, and gRPC with its own library on both sides.

use crate::support::certificates::Authority;
use crate::support::h2::{PREFACE, Wire, flag, frame, kind, request};
use crate::support::hpack::{Decoder, indexed, literals};
use crate::support::peers::{Peer, free_port};
use crate::support::upstream::{Conn, Upstream};
use crate::support::{Launch, PATIENCE, Scratch, Server, missing, output, run, tls, until};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

fn curl(args: &[&str]) -> Vec<u8> {
    let (code, out) = output("curl", ["-sS", "-m", "60"].into_iter().chain(args.iter().copied()));
    assert_eq!(code, 0, "curl {args:?}");
    out
}

/// A server without and with TLS, with these upstreams, with these lines at the global level.
fn proxy(dir: &Scratch, upstreams: &str, lines: &str) -> Server {
    if !dir.path("tls/leaf.pem").exists() {
        Authority::new(dir).issue_leaf();
    }
    let listen = tls::listen("").replace("listen:\n  ", "  - ").replace("\n  ", "\n    ");
    let text = format!(
        "num-threads: 1\n{lines}listen:\n  - {{host: 127.0.0.2, port: 0}}\n{listen}\nhosts: {{default: {{paths: \
         {{/: {{proxy.reverse.url: {upstreams}}}}}}}}}\n"
    );
    Server::config(dir, &text)
}

const CLEAR: &str = "proxy.http2.ratio: 100\nproxy.http2.force-cleartext: ON\n";

#[test]
fn files_of_nghttpd_come_whole_by_every_protocol() {
    if missing("nghttpd") || missing("curl") {
        return;
    }
    let dir = Scratch::new();
    let large: String = (0..1_000_000).map(|number| format!("{number:08}")).collect();
    dir.write("site/small", "small").write("site/large", &large).write("site/empty", "");
    Authority::new(&dir).issue_leaf();
    let verified = format!("proxy.http2.ratio: 100\nproxy.ssl.cafile: {}\n", dir.text("tls/ca.pem"));
    for (secure, scheme, lines) in [(false, "http", CLEAR), (true, "https", &verified)] {
        let nghttpd = Peer::nghttpd(&dir, free_port(), secure);
        let server = proxy(&dir, &format!("{scheme}://localhost:{}", nghttpd.port), lines);
        let addresses = server.addresses();
        let ca = dir.text("tls/ca.pem");
        for (base, protocol) in [
            (format!("http://{}", addresses[0]), "--http1.1"),
            (format!("http://{}", addresses[0]), "--http2-prior-knowledge"),
            (format!("https://{}", addresses[1]), "--http2"),
        ] {
            let get = |path: &str| curl(&["--cacert", &ca, protocol, &format!("{base}{path}")]);
            assert_eq!(get("/small"), b"small");
            assert_eq!(get("/empty"), b"");
            assert!(get("/large") == large.as_bytes(), "{base} {protocol}");
            let head = curl(&["--cacert", &ca, protocol, "-I", &format!("{base}/large")]);
            let head = String::from_utf8_lossy(&head).to_lowercase();
            assert!(head.contains("content-length: 8000000"), "{head}");
        }
        let many: Vec<String> = (0..100).map(|_| format!("http://{}/small", addresses[0])).collect();
        let args: Vec<&str> =
            ["-Z", "--parallel-max", "50"].into_iter().chain(many.iter().map(|url| &url[..])).collect();
        assert_eq!(curl(&args), "small".repeat(100).as_bytes());
        assert!(!server.stderr().contains("upstream"), "{}", server.stderr());
    }
}

#[test]
fn an_upstream_that_does_not_take_http_2_gets_http_1_1() {
    if missing("nginx") || missing("curl") {
        return;
    }
    let dir = Scratch::new();
    Authority::new(&dir).issue_leaf();
    for (word, want) in [("", "HTTP/1.1"), ("http2", "HTTP/2.0")] {
        let port = free_port();
        let nginx = Peer::nginx(
            &dir,
            &format!(
                "listen 127.0.0.1:{port} ssl {word}; ssl_certificate DIR/tls/leaf.pem; ssl_certificate_key \
                 DIR/tls/leaf.key; return 200 $server_protocol;"
            ),
        );
        let lines = format!("proxy.http2.ratio: 100\nproxy.ssl.cafile: {}\n", dir.text("tls/ca.pem"));
        let server = proxy(&dir, &format!("https://localhost:{port}"), &lines);
        let url = format!("http://{}/", server.addresses()[0]);
        let args: Vec<&str> = ["-Z"].into_iter().chain(std::iter::repeat_n(&url[..], 20)).collect();
        assert_eq!(String::from_utf8_lossy(&curl(&args)), want.repeat(20));
        assert_eq!(String::from_utf8_lossy(&curl(&["-d", "content", &url])), want);
        drop(nginx);
    }
}

#[test]
fn half_of_the_requests_are_offered_over_http_2_if_that_is_wanted() {
    if missing("nginx") || missing("curl") {
        return;
    }
    let dir = Scratch::new();
    Authority::new(&dir).issue_leaf();
    let port = free_port();
    let _nginx = Peer::nginx(
        &dir,
        &format!(
            "listen 127.0.0.1:{port} ssl http2; ssl_certificate DIR/tls/leaf.pem; ssl_certificate_key DIR/tls/leaf.key; \
             return 200 $server_protocol;"
        ),
    );
    let lines = format!("proxy.http2.ratio: 50\nproxy.ssl.cafile: {}\n", dir.text("tls/ca.pem"));
    let server = proxy(&dir, &format!("https://localhost:{port}"), &lines);
    let said: String = (0..10).map(|_| server.get("/").text()).collect();
    assert_eq!((said.matches("HTTP/2.0").count(), said.matches("HTTP/1.1").count()), (5, 5), "{said}");
}

#[test]
fn an_upstream_that_is_killed_and_comes_back_loses_no_request_that_may_be_repeated() {
    if missing("nghttpd") {
        return;
    }
    let dir = Scratch::new();
    dir.write("site/small", "small");
    let ports = [free_port(), free_port()];
    let start = |at: usize| Peer::nghttpd(&dir, ports[at], false);
    let (steady, mut restless) = (start(0), Some(start(1)));
    let upstreams = format!("['http://127.0.0.1:{}', 'http://127.0.0.1:{}']", ports[0], ports[1]);
    let server = proxy(&dir, &upstreams, CLEAR);
    let (done, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let address = &server.addresses()[0];
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = crate::support::Client::connect(address);
                    while !done.load(Ordering::SeqCst) {
                        let answer = client.send("GET /small HTTP/1.1\r\nhost: x\r\n\r\n").answer();
                        assert_eq!((answer.status, answer.text()), (200, "small".to_owned()));
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        let go_on = || {
            let goal = count.load(Ordering::SeqCst) + 200;
            until("requests are answered", || {
                count.load(Ordering::SeqCst) >= goal || clients.iter().any(|client| client.is_finished())
            });
        };
        for _ in 0..3 {
            go_on();
            drop(restless.take());
            go_on();
            restless = Some(start(1));
        }
        done.store(true, Ordering::SeqCst);
    });
    drop((steady, restless));
}

/// Answers every request over HTTP/2 without TLS with this field block; returns the names of its
/// never-indexed fields.
fn upstream_of_frames(block: Vec<u8>) -> (Upstream, Receiver<Vec<String>>) {
    let (tell, told) = channel();
    let script = move |conn: &mut Conn| {
        let mut decoder = Decoder::default();
        // A connection opened and not used is not a fault.
        if conn.bytes(PREFACE.len()).is_none() {
            return;
        }
        conn.send(frame(kind::SETTINGS, 0, 0, b""));
        while let Some(head) = conn.bytes(9) {
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let payload = conn.bytes(len as usize).expect("a whole frame");
            if head[3] == kind::HEADERS {
                decoder.never.clear();
                decoder.read(&payload);
                tell.send(decoder.never.clone()).expect("the test waits");
                let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                conn.send(frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream, &block));
            }
        }
    };
    (Upstream::scripted(script), told)
}

#[test]
fn what_is_never_to_be_indexed_is_not_indexed_behind_the_proxy_either() {
    let long = "0123456789012345678901234567890";
    let response = [
        &[0x88][..], // :status 200 (RFC 7541 appendix A)
        &indexed(&[("x-open", "1"), ("set-cookie", "a=1")]),
        &literals(&[("x-back", "secret")]),
    ];
    let (upstream, told) = upstream_of_frames(response.concat());
    let dir = Scratch::new();
    let server = proxy(&dir, &format!("http://{}", upstream.address), CLEAR);
    let (mut wire, mut decoder) = (Wire::open(&server.address), Decoder::default());
    for stream in [1, 3, 5] {
        let head = [
            request("GET", "/", &[("x-key", "secret"), ("cookie", long)]),
            indexed(&[("cookie", "b=2"), ("x-plain", "1"), ("authorization", long)]),
        ];
        wire.frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream, head.concat());
        let mut never = told.recv_timeout(PATIENCE).expect("the upstream is asked");
        never.sort();
        assert_eq!(never, ["authorization", "cookie", "x-key"]);
        decoder.never.clear();
        decoder.read(&wire.next_of(kind::HEADERS).payload);
        decoder.never.sort();
        assert_eq!(decoder.never, ["set-cookie", "x-back"]);
    }
}

#[test]
fn guessable_secrets_enter_no_compression_table() {
    const SHORT: &str = "0123456789abcdefghi";
    let names = ["authorization", "cookie", "set-cookie"];
    let (upstream, told) = upstream_of_frames([&[0x88][..], &indexed(&[("set-cookie", SHORT)])].concat());
    let dir = Scratch::new();
    let server = proxy(&dir, &format!("http://{}", upstream.address), CLEAR);
    // Tests the server towards clients, and the client towards upstreams: HTTP/1.1 cannot mark fields as never indexed.
    let fields = format!("Authorization: {SHORT}\r\nCookie: {SHORT}\r\nX-Open: {SHORT}\r\n");
    for _ in 0..3 {
        let answer = server.connect().send(format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n")).answer();
        assert_eq!(answer.field("set-cookie"), Some(SHORT));
        let mut never = told.recv_timeout(PATIENCE).expect("the upstream is asked");
        never.sort();
        assert_eq!(never, names[..2]);
    }
    let (mut wire, mut decoder) = (Wire::open(&server.address), Decoder::default());
    for stream in [1, 3, 5] {
        wire.frame(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream, request("GET", "/", &[]));
        decoder.never.clear();
        decoder.read(&wire.next_of(kind::HEADERS).payload);
        assert_eq!(decoder.never, names[2..]);
    }
    // As the load generator, which sends the same block again and again.
    let (measured, told) = upstream_of_frames(vec![0x88]);
    let fields = ["authorization", "cookie", "proxy-authorization", "x-open"];
    let mut words: Vec<_> = ["bench", "-q", "-n", "4", "-c", "1", "--http", "2"].map(str::to_owned).into();
    for name in fields {
        words.extend(["-H".to_owned(), format!("{name}: {SHORT}")]);
    }
    words.push(format!("http://{}/", measured.address));
    let ended = Launch::new(words).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let asked: Vec<_> = told.try_iter().collect();
    assert!(asked.len() >= 4);
    for mut never in asked {
        never.sort();
        assert_eq!(never, fields[..3]);
    }
}

/// The service in Go, and what it said.
struct Service {
    child: Child,
    port: u16,
    said: Arc<Mutex<String>>,
}

impl Service {
    fn start(program: &str, secrets: &[&str]) -> Self {
        let mut child = Command::new(program)
            .arg("serve")
            .args(secrets)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("text");
        let port = first.rsplit_once(' ').and_then(|(_, port)| port.parse().ok()).expect("a port");
        let said = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                shared.lock().expect("no panic within").push_str(&(line + "\n"));
            }
        });
        Self { child, port, said }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds the service and its client, once, into the target folder.
fn grpc() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/grpc");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("grpc");
    let program = program.to_str().expect("test paths are UTF-8").to_owned();
    let built = Command::new("go").args(["build", "-o", &program, "."]).current_dir(folder).status();
    assert!(built.is_ok_and(|status| status.success()), "gRPC in Go is built");
    program
}

#[test]
fn grpc_goes_through_in_clear_and_over_tls_on_both_sides() {
    if missing("go") {
        return;
    }
    let (dir, program) = (Scratch::new(), grpc());
    Authority::new(&dir).issue_leaf();
    let (ca, leaf, key) = (dir.text("tls/ca.pem"), dir.text("tls/leaf.pem"), dir.text("tls/leaf.key"));
    let verified = format!("proxy.ssl.cafile: {ca}\n");
    for (secrets, scheme, lines) in
        [(&[][..], "http", CLEAR), (&[&leaf[..], &key[..]][..], "https", &verified[..])]
    {
        let service = Service::start(&program, secrets);
        // A conversation may pause for longer than an upload.
        let lines = format!("{lines}http1-request-io-timeout: 1\n");
        let server = proxy(&dir, &format!("{scheme}://localhost:{}", service.port), &lines);
        let addresses = server.addresses();
        let own = format!("localhost:{}", addresses[1].rsplit_once(':').expect("a port").1);
        for args in [&["ask", &addresses[0]][..], &["ask", &own, &ca]] {
            assert!(run(&program, args).ends_with("done\n"), "{args:?}");
        }
        // The upstream sees the cancellation of all abandoned calls of both clients.
        let said = || service.said.lock().expect("no panic within").clone();
        until("the upstream is told", || {
            let said = said();
            said.matches("canceled").count() == 4 && said.matches("left").count() == 2
        });
    }
}
