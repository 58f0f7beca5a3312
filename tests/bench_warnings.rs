//! `hayami bench` warns of conditions that lead to wrong conclusions, and only then.

use crate::support::bench::{Recorder, measured, total, warnings};
use crate::support::{Launch, PROGRAM, Scratch, is_root, missing, skip, until};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

fn answer(fields: &str, content: &str) -> &'static str {
    let length = content.len();
    Box::leak(
        format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n{content}").into_boxed_str(),
    )
}

/// The warnings about a comparison of two servers with these answers.
#[track_caller]
fn between(first: &'static str, second: &'static str) -> String {
    let (first, second) = (Recorder::new(first), Recorder::new(second));
    let (report, _) = measured(&["-n", "1000", "-c", "4", "--rounds", "1", &first.url, &second.url]);
    warnings(&report)
}

#[test]
fn two_that_do_the_same_are_compared_without_a_word() {
    let text = between(answer("", "hello"), answer("", "hello"));
    for words in ["same content", "headers", "compresses", "protocols", "failed", "responses from"] {
        assert!(!text.contains(words), "{text}");
    }
}

#[test]
fn other_content_heads_or_coding_are_named() {
    let long = format!("X-Padding: {}\r\n", "x".repeat(200));
    let (plain, zipped) = (answer("", "hello"), answer("Content-Encoding: gzip\r\n", "hello"));
    assert!(between(plain, answer("", "hello there")).contains("do not send the same content"));
    assert!(between(plain, answer(&long, "hello")).contains("headers of the responses differ"));
    assert!(between(plain, zipped).contains("only one side compresses"));
}

#[test]
fn errors_and_few_answers_are_named() {
    let server = Recorder::new("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    let (report, code) = measured(&["-n", "20", "-c", "2", &server.url]);
    let text = warnings(&report);
    assert!(code == 1 && text.contains("all 20 requests failed.") && !text.contains("flatter"), "{text}");
    assert!(text.contains("only 20 responses"), "{text}");
}

#[test]
fn a_rate_that_is_not_kept_is_named() {
    let server = Recorder::new("");
    let (report, _) = measured(&["-r", "500", "-d", "500ms", "-c", "2", "--timeout", "100ms", &server.url]);
    assert!(warnings(&report).contains("did not keep up"), "{}", warnings(&report));
}

#[test]
fn a_hard_limit_of_open_files_is_said_before_the_run() {
    let server = Recorder::new(answer("", "hello"));
    let launch = Launch::new(["bench", "-q", "-n", "10", "-c", "2000", &server.url]).after("ulimit -n 256");
    // Root would raise it.
    let ended = if is_root() { launch.by(65534).finish() } else { launch.finish() };
    assert!(
        ended.code == 71 && ended.stderr.contains("ulimit -n") && ended.stderr.contains("-c "),
        "{ended:?}"
    );
    assert!(server.requests().is_empty());
}

#[test]
fn a_low_limit_of_open_files_is_raised() {
    let dir = Scratch::new();
    dir.write("index.html", "front");
    let server = crate::support::Server::folder(&dir);
    let url = format!("http://{}/", server.address);
    let file = dir.text("r.json");
    let words = ["bench", "-q", "-n", "300", "-c", "300", "--json", &file, &url];
    let ended = Launch::new(words).after("ulimit -Sn 100").finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report: serde_json::Value = serde_json::from_str(&dir.read("r.json")).expect("JSON");
    assert_eq!(total(&report)["successes"], 300, "{report}");
}

#[test]
fn connections_that_a_server_does_not_take_are_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    // One connection to probe the server, two that are served; then the listener is closed.
    let server = std::thread::spawn(move || {
        let streams: Vec<_> = (0..3).filter_map(|_| listener.accept().ok()).collect();
        drop(listener);
        streams
    });
    let (report, _) = measured(&["-d", "1s", "--warm-up", "0", "-c", "8", "--timeout", "500ms", &url]);
    drop(server);
    let text = warnings(&report);
    assert!(text.contains("accepted fewer than the requested 8 connections"), "{text}");
}

#[test]
fn little_to_do_is_blamed_on_few_connections_or_on_a_machine_that_is_busy_otherwise() {
    if missing("python3") {
        return;
    }
    let dir = Scratch::new();
    dir.write("slow.py", SLOW);
    let port = crate::support::peers::free_port();
    let mut slow =
        Command::new("python3").arg(dir.path("slow.py")).arg(port.to_string()).spawn().expect("started");
    until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let url = format!("http://127.0.0.1:{port}/");
    let (report, _) = measured(&["-d", "1200ms", "--warm-up", "0", "-c", "1", &url]);
    let _ = slow.kill();
    let _ = slow.wait();
    let text = warnings(&report);
    let busy = was_busy(&report);
    assert_eq!(text.contains("the machine was busy: "), busy, "{report}");
    assert_eq!(text.contains("were mostly idle with one connection"), !busy, "{report}");
}

/// Whether other tests kept the machine busy, according to the report: they took a tenth of it or more, and
/// less than a quarter was left.
fn was_busy(report: &serde_json::Value) -> bool {
    let round = &report["targets"][0]["rounds"][0];
    let seconds = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("{round}"));
    let cpus = |name: &str| round["machine"][name].as_array().expect("a list").iter();
    let cpus: std::collections::BTreeSet<_> =
        cpus("generator_cpus").chain(cpus("server_cpus")).map(ToString::to_string).collect();
    let machine = cpus.len() as f64 * seconds(&round["elapsed_s"]);
    let [others, idle] = ["others_s", "idle_s"].map(|name| seconds(&round["machine"][name]));
    others >= 0.1 * machine && idle < 0.25 * machine
}

/// Answers, with pauses.
const SLOW: &str = "
import http.server, sys, time
class Slow(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        time.sleep(0.02)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Slow).serve_forever()
";

/// Runs a shell command in a separate network namespace with 64 local ports; `None` where that is not
/// allowed, and the test is skipped.
fn with_few_ports(words: &str) -> Option<String> {
    if missing("unshare") || missing("ip") || missing("python3") {
        return None;
    }
    let alone = |words: &str| {
        let output =
            Command::new("unshare").args(["-rn", "/bin/sh", "-ec", words]).output().expect("it runs");
        (
            output.status.success(),
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        )
    };
    let ready = "ip link set lo up; echo 40000 40063 > /proc/sys/net/ipv4/ip_local_port_range";
    let (allowed, said) = alone(ready);
    if !allowed {
        skip(&format!("`unshare -rn` makes no network of its own here: {}", said.trim()));
        return None;
    }
    Some(alone(&format!("{ready}; {words}")).1)
}

#[test]
fn local_ports_that_run_out_are_named_before_and_after() {
    let dir = Scratch::new();
    dir.write("slow.py", SLOW);
    let slow = dir.text("slow.py");
    let url = "http://127.0.0.1:900/";
    let connect = format!("until {PROGRAM} bench -q -n 1 -c 1 {url} >/dev/null 2>&1; do :; done");
    let run = format!("{PROGRAM} bench -q -c 100 -n 200 --keepalive off --rtt 100ms --timeout 5s {url} || :");
    let words = format!("python3 {slow} 900 & {connect}; {run}; kill $!");
    let Some(text) = with_few_ports(&words) else { return };
    assert!(
        text.contains("100 connections to one address and port need more than the 64 local ports"),
        "{text}"
    );
    assert!(text.contains("local ports were running out"), "{text}");
}
