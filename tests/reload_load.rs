//! Reloads under load: no request fails, whatever carries it, whatever changes.
//!
//! `HAYAMI_LONG_CHECKS=1` reloads ten times a second apart; otherwise it happens in quick succession.

use crate::reload::{GET, assert_reloaded, free, hosts, path, site, write};
use crate::reload_workers::cpu;
use crate::support::bench::{measured, total};
use crate::support::certificates::Authority;
use crate::support::upstream::{Conn, Upstream};
use crate::support::{Answer, Client, Scratch, Server};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Whether the checks that take minutes are wanted.
pub(crate) fn is_long() -> bool {
    std::env::var_os("HAYAMI_LONG_CHECKS").is_some_and(|value| value == "1")
}

const RELOADS: usize = 10;

/// Between two reloads.
fn pause() -> Duration {
    if is_long() { Duration::from_secs(1) } else { Duration::from_millis(250) }
}

/// How many requests are sent at that rate per second: reloads fall into their middle.
fn requests(rate: &str) -> String {
    let rate: f64 = rate.parse().expect("a rate");
    format!("{:.0}", rate * ((RELOADS as u32 + 3) * pause()).as_secs_f64())
}

const LARGE: usize = 30_000_000;

/// A server behind the one being reloaded, which echoes content, and after an upgrade all bytes.
fn upstream() -> Upstream {
    Upstream::scripted(|conn| {
        while let Some(asked) = conn.request() {
            if !asked.all("upgrade").is_empty() {
                conn.send("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
                return echo(conn);
            }
            let length = asked.content.len();
            conn.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"));
            conn.send(&asked.content);
        }
    })
}

const MESSAGE: usize = 16;

fn echo(conn: &mut Conn) {
    while let Some(message) = conn.bytes(MESSAGE) {
        conn.send(message);
    }
}

/// The configuration after that many reloads. Of two in succession one changes everything, the other nothing.
fn text(reloads: usize, upstreams: &[Upstream; 2], extra: &str) -> String {
    let state = reloads / 2;
    let folder = ["one", "two"][state % 2];
    let more = if state % 2 == 1 { format!("  - '{extra}'\n") } else { String::new() };
    // The first upstream, the second, or both.
    let servers = match state % 3 {
        0 => format!("[{}]", url(&upstreams[0])),
        1 => format!("[{}]", url(&upstreams[1])),
        _ => format!("[{}, {}]", url(&upstreams[0]), url(&upstreams[1])),
    };
    // Workers with a CPU replace all those without one.
    let threads = ["2".to_owned(), format!("[{0}, {0}]", cpu()), "1".to_owned()][state % 3].clone();
    let head = format!(
        "num-threads: {threads}\nlisten:\n  - 127.0.0.1:0\n  - host: 127.0.0.2\n    port: 0\n    ssl: {{certificate-file: \
         DIR/tls/{folder}.pem, key-file: DIR/tls/{folder}.key}}\n{more}access-log: DIR/logs/{folder}\n"
    );
    let proxied = format!("      /up/: {{proxy.reverse.url: {servers}, proxy.tunnel: ON}}\n");
    hosts(&head, &[path("/", folder), proxied])
}

fn url(upstream: &Upstream) -> String {
    format!("'http://{}/'", upstream.address)
}

/// Makes the load generator send requests at a rate, and checks that each succeeds.
fn load(words: &[&str]) {
    let rate = words.iter().skip_while(|word| **word != "-r").nth(1).expect("a rate");
    let common = ["-n", &requests(rate), "-t", "1", "-k", "--expect-status", "200"];
    let (report, code) = measured(&[&common, words].concat());
    let total = total(&report);
    let (requests, good) = (&total["requests"], &total["successes"]);
    assert_eq!((&total["errors"]["total"], good, code), (&0.into(), requests, 0), "{words:?}: {total}");
    if is_long() {
        println!("{requests} requests, no error: {}", words.join(" "));
    }
}

/// Ends the work in the background of a test, even if the test has failed.
pub(crate) struct Ending<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls `step` until `stop`; how often.
fn repeat(stop: &AtomicBool, done: &AtomicUsize, mut step: impl FnMut()) {
    while !stop.load(Ordering::Relaxed) {
        step();
        done.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Messages over a WebSocket.
fn talk(address: &str, stop: &AtomicBool, done: &AtomicUsize) {
    let mut client = Client::connect(address);
    client.send("GET /up/ HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    client.until("\r\n\r\n");
    assert_eq!(client.head().status, 101);
    let mut expected = client.receive_at_least(1);
    repeat(stop, done, || {
        expected += MESSAGE;
        assert_eq!(client.send([b'm'; MESSAGE]).receive_at_least(expected), expected);
    });
}

/// An upload that lasts for the whole test.
fn upload(address: &str, stop: &AtomicBool, done: &AtomicUsize) {
    let mut client = Client::connect(address);
    client.send("POST /up/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut bytes = 0;
    repeat(stop, done, || {
        client.send(format!("64\r\n{}\r\n", "u".repeat(100)));
        bytes += 100;
    });
    let answer = client.send("0\r\n\r\n").answer();
    assert_eq!((answer.status, answer.content.len()), (200, bytes));
}

/// A download that takes as long.
fn download(address: &str, stop: &AtomicBool, done: &AtomicUsize) {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("sent");
    let mut received = Vec::new();
    repeat(stop, done, || {
        let mut piece = [0; 8192];
        let read = stream.read(&mut piece).expect("a piece");
        received.extend_from_slice(&piece[..read]);
    });
    stream.read_to_end(&mut received).expect("the rest");
    let (answer, _) = Answer::parse(&received, false, true).expect("an answer");
    assert_eq!((answer.status, answer.content.len()), (200, LARGE));
}

fn certificates(dir: &Scratch) {
    let authority = Authority::new(dir);
    for name in ["one", "two"] {
        let leaf = crate::support::certificates::Leaf {
            file: name,
            names: "DNS:localhost",
            rsa: false,
            extensions: &[],
        };
        authority.issue(&leaf);
        dir.permit(&format!("tls/{name}.key"), 0o644);
    }
}

#[test]
fn no_request_fails_over_any_protocol_while_everything_is_reloaded() {
    let dir = site();
    for folder in ["one", "two"] {
        dir.write(&format!("{folder}/index.html"), "page")
            .write(&format!("{folder}/large"), vec![b'x'; LARGE]);
    }
    dir.write("content", vec![b'c'; 20_000]);
    // The server's user opens them.
    for log in ["logs/one", "logs/two"] {
        dir.write(log, "").permit(log, 0o666);
    }
    certificates(&dir);
    let (upstreams, extra) = ([upstream(), upstream()], free());
    let server = Server::config(&dir, &text(0, &upstreams, &extra));
    let addresses = server.addresses();
    let (http, https) = (format!("http://{}/", addresses[0]), format!("https://{}/", addresses[1]));
    let proxied = format!("{http}up/");
    let content = dir.text("content");
    let loads: [&[&str]; 8] = [
        &["-c", "4", "-r", "400", "--http", "1.1", &http],
        &["-c", "4", "-r", "200", "--http", "1.1", "--keepalive", "off", &http],
        &["-c", "2", "-m", "8", "-r", "400", "--h2c", &http],
        &["-c", "2", "-r", "200", "--http", "1.1", &https],
        &["-c", "2", "-r", "50", "--http", "1.1", "--keepalive", "off", &https],
        &["-c", "2", "-m", "8", "-r", "200", "--http", "2", &https],
        &["-c", "4", "-r", "100", "-X", "POST", "--body", &content, "--expect-length", "20000", &proxied],
        &["-c", "2", "-m", "4", "-r", "100", "--h2c", "-X", "POST", "--body", &content, &proxied],
    ];
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _ending = Ending(&stop);
        let loads = loads.map(|words| scope.spawn(move || load(words)));
        for client in [talk, talk, upload, download] {
            let (address, stop, done) = (&addresses[0], &stop, &done);
            scope.spawn(move || client(address, stop, done));
        }
        for reloads in 1..=RELOADS {
            std::thread::sleep(pause());
            write(&dir, &text(reloads, &upstreams, &extra));
            assert_reloaded(&server);
            assert_eq!(TcpStream::connect(&extra).is_ok(), reloads / 2 % 2 == 1, "reload {reloads}");
        }
        for load in loads {
            load.join().expect("no request fails");
        }
    });
    assert!(done.load(Ordering::Relaxed) > 4 * RELOADS, "the clients went on");
}

#[test]
fn connections_that_are_handed_to_another_worker_during_a_reload_are_served() {
    let dir = site();
    let extra = free();
    let text = |reloads: usize| {
        let proxy = "{host: 127.0.0.2, port: 0, proxy-protocol: ON}";
        let more = if reloads % 2 == 1 { format!("  - '{extra}'\n") } else { String::new() };
        let threads = [4, 4, 3, 2, 5, 4][reloads % 6];
        let head = format!("num-threads: {threads}\nlisten:\n  - 127.0.0.1:0\n  - {proxy}\n{more}");
        hosts(&head, &[path("/", ["one", "two"][reloads % 2])])
    };
    let server = Server::config(&dir, &text(0));
    let addresses = server.addresses();
    let (stop, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _ending = Ending(&stop);
        for (address, header) in
            [(&addresses[0], ""), (&addresses[1], "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n")]
        {
            let (stop, served) = (&stop, &served);
            scope.spawn(move || {
                // The kernel gives many connections to one worker, which hands some to others; all stay open
                // for a while, since only workers with connections hand any over.
                while !stop.load(Ordering::Relaxed) {
                    let mut clients: Vec<_> = (0..24).map(|_| Client::connect(address)).collect();
                    clients.iter_mut().for_each(|client| _ = client.send(format!("{header}{GET}")));
                    for client in &mut clients {
                        let answer = client.answer();
                        assert!(answer.status == 200 && ["one", "two"].contains(&answer.text().as_str()));
                    }
                    served.fetch_add(clients.len(), Ordering::Relaxed);
                }
            });
        }
        for reloads in 1..=if is_long() { 200 } else { 40 } {
            write(&dir, &text(reloads));
            assert_reloaded(&server);
        }
    });
    let served = served.load(Ordering::Relaxed);
    assert!(served > 200, "{served}");
    if is_long() {
        println!("{served} connections to 4 workers during 200 reloads, none lost");
    }
}
