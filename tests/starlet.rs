//! A PSGI application on Starlet behind hayami: the example in examples/psgi, as in its manual. Tests are
//! skipped if a program is not installed, unless HAYAMI_ALL_CLIENTS=1.

use crate::support::peers::{free_port, listens};
use crate::support::{Scratch, Server, missing, missing_perl, output, until};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const APP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/psgi/app.psgi");

/// Starlet below Server::Starter, with all its processes; dropping it kills them.
struct Starlet {
    starter: Child,
    /// Its URL in hayami's configuration.
    url: String,
}

impl Starlet {
    fn by_port(dir: &Scratch, port: u16, app: &str, options: &[&str]) -> Self {
        let place = format!("127.0.0.1:{port}");
        let starlet = Self::start(dir, &["--port", &place], app, options, format!("http://{place}"));
        until("Starlet listens", || listens(port));
        starlet
    }

    fn by_socket(dir: &Scratch, app: &str) -> Self {
        let socket = dir.text("starlet.sock");
        let url = format!("http://[unix:{socket}]");
        let starlet = Self::start(dir, &["--path", &socket], app, &[], url);
        until("Starlet listens", || PathBuf::from(&socket).exists());
        // Started by root, hayami is another user.
        dir.permit("starlet.sock", 0o777);
        starlet
    }

    fn start(dir: &Scratch, place: &[&str], app: &str, options: &[&str], url: String) -> Self {
        let log = std::fs::File::create(dir.path("starlet.log")).expect("a log");
        let mut command = Command::new("start_server");
        command.args(place).args(["--", "plackup", "-E", "production", "-s", "Starlet"]);
        command.args(["--max-workers", "4"]).args(options).arg(app);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
        Self { starter: command.spawn().expect("start_server"), url }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.starter), signal)
            .expect("it runs");
    }
}

impl Drop for Starlet {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.starter);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.starter.wait();
    }
}

fn is_missing() -> bool {
    missing("plackup") || missing("start_server") || missing_perl("Starlet Server::Starter")
}

fn before(dir: &Scratch, starlet: &Starlet) -> Server {
    let paths = format!("{{/: {{proxy.reverse.url: \"{}\", proxy.preserve-host: ON}}}}", starlet.url);
    Server::config(dir, &format!("num-threads: 1\nhosts: {{default: {{paths: {paths}}}}}\n"))
}

#[test]
fn pages_uploads_and_large_answers_come_through_by_port_and_by_socket() {
    if is_missing() {
        return;
    }
    let (tcp, unix) = (Scratch::new(), Scratch::new());
    let by_port = Starlet::by_port(&tcp, free_port(), APP, &[]);
    let by_socket = Starlet::by_socket(&unix, APP);
    for (dir, starlet) in [(&tcp, &by_port), (&unix, &by_socket)] {
        answers(&before(dir, starlet), &starlet.url);
    }
}

fn answers(server: &Server, url: &str) {
    let mut client = server.connect();
    let mut ask = |request: &str| client.send(request).answer();
    let hello = ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((hello.status, hello.text().as_str()), (200, "hello world\n"), "{url}");
    let seen = ask("GET /seen?x=1 HTTP/1.1\r\nHost: shop.example\r\n\r\n").text();
    for line in ["HTTP_HOST: shop.example", "X_FORWARDED_FOR: 127.0.0.1", "PROTO: http", "QUERY_STRING: x=1"]
    {
        assert!(seen.contains(line), "{url}: {line}: {seen}");
    }
    let content = "0123456789".repeat(20_000);
    let known = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n{content}");
    assert!(ask(&known).text() == content, "{url}: a known length");
    let pieces: String = content
        .as_bytes()
        .chunks(5000)
        .map(|piece| format!("1388\r\n{}\r\n", String::from_utf8_lossy(piece)))
        .collect();
    let chunked =
        format!("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{pieces}0\r\n\r\n");
    assert!(ask(&chunked).text() == content, "{url}: chunks");
    let large = ask("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(large.content == b"0123456789abcdef".repeat(65536), "{url}: {} bytes", large.content.len());
    let streamed = ask("GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n").text();
    assert!(streamed.starts_with("piece 1\n") && streamed.ends_with("piece 100\n"), "{url}: {streamed}");
    assert_eq!(ask("GET /none HTTP/1.1\r\nHost: a\r\n\r\n").status, 404, "{url}");
    let head = client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").answer_to_head();
    assert_eq!((head.status, head.field("content-length")), (200, Some("12")), "{url}");
}

#[test]
fn connections_are_used_again_if_starlet_keeps_them() {
    if is_missing() {
        return;
    }
    let dir = Scratch::new();
    // Responds with the connection's source port.
    dir.write("app.psgi", "sub { my $env = shift; [200, ['Content-Length' => length $env->{REMOTE_PORT}], [$env->{REMOTE_PORT}]] }");
    let keep: &[&str] = &["--max-keepalive-reqs", "100", "--keepalive-timeout", "60"];
    let cases: [(&[&str], usize); 2] = [(keep, 1), (&[], 20)];
    for (options, connections) in cases {
        let starlet = Starlet::by_port(&dir, free_port(), &dir.text("app.psgi"), options);
        let server = before(&dir, &starlet);
        let mut client = server.connect();
        let mut ports: Vec<String> =
            (0..20).map(|_| client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().text()).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), connections, "{options:?}: {ports:?}");
    }
}

#[test]
fn a_request_that_kills_its_worker_is_502_and_repeated_only_if_that_may_be() {
    if is_missing() {
        return;
    }
    let dir = Scratch::new();
    dir.write("asked", "");
    let asked = dir.text("asked");
    dir.write(
        "app.psgi",
        format!(
            "sub {{ my $env = shift; open my $f, '>>', '{asked}'; syswrite $f, \"$env->{{REQUEST_METHOD}}\\n\";\n\
             kill 9, $$ if $env->{{PATH_INFO}} eq '/die'; [200, [], ['alive']] }}"
        ),
    );
    let starlet = Starlet::by_port(&dir, free_port(), &dir.text("app.psgi"), &[]);
    let server = before(&dir, &starlet);
    let posted =
        server.ask("POST /die HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
    assert_eq!(posted[0].status, 502);
    assert_eq!(dir.read("asked"), "POST\n", "what may have been done is not done again");
    server.until_stderr(&format!("for \"/die\": upstream {}", starlet.url));
    assert_eq!(server.get("/die").status, 502);
    // Workers that died are replaced, and nothing is left behind.
    until("it is answered again", || server.get("/").status == 200);
}

#[test]
fn an_application_that_is_not_there_is_502_until_it_comes() {
    if is_missing() {
        return;
    }
    let (dir, port) = (Scratch::new(), free_port());
    let starlet = Starlet::by_port(&dir, port, APP, &[]);
    let server = before(&dir, &starlet);
    assert_eq!(server.get("/").status, 200);
    drop(starlet);
    assert_eq!(server.get("/").status, 502);
    let _again = Starlet::by_port(&dir, port, APP, &[]);
    until("it is answered again", || server.get("/").text() == "hello world\n");
}

#[test]
fn a_new_version_is_started_without_losing_a_request() {
    if is_missing() || missing("h2load") {
        return;
    }
    let dir = Scratch::new();
    let starlet = Starlet::by_socket(&dir, APP);
    let server = before(&dir, &starlet);
    // Server::Starter handles signals only once it has started Starlet, a moment after it has bound the socket.
    assert_eq!(server.get("/").status, 200);
    let url = format!("http://{}/", server.address);
    let load = std::thread::spawn(move || {
        let (code, out) = output("h2load", ["--h1", "-n", "6000", "-c", "8", url.as_str()]);
        (code, String::from_utf8_lossy(&out).into_owned())
    });
    starlet.signal(rustix::process::Signal::HUP);
    until("the old version has ended", || dir.read("starlet.log").contains("died, status:0"));
    let (code, text) = load.join().expect("h2load");
    assert!(code == 0 && text.contains("6000 succeeded, 0 failed"), "{text}");
}
