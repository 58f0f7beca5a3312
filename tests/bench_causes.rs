//! `hayami bench` against failing servers: it reports the cause and a remedy, in the summary and in the JSON.

use crate::support::bench::{Recorder, bench, measured, total, warnings};
use crate::support::certificates::openssl;
use crate::support::{PROGRAM, Scratch, Server, missing, tls, until};
use rustix::process::Signal;
use serde_json::Value;
use std::net::TcpListener;
use std::process::{Command, Stdio};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Kind, cause and count of the most frequent cause.
fn cause(report: &Value) -> (&str, &str, u64) {
    let first = &total(report)["causes"][0];
    let text = |name: &str| first[name].as_str().unwrap_or_default();
    (text("kind"), text("cause"), first["count"].as_u64().unwrap_or(0))
}

/// A server with a certificate that it signed itself, and its URL.
fn self_signed(dir: &Scratch) -> (Server, String) {
    dir.write("site/index.html", "front").write("tls/.keep", "");
    let (key, leaf) = (dir.text("tls/leaf.key"), dir.text("tls/leaf.pem"));
    let made =
        ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9"];
    let named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    openssl(&[&made[..], &named, &["-keyout", &key, "-out", &leaf]].concat());
    let server = tls::site(dir, "", "");
    let url = format!("https://localhost:{}/", server.port());
    (server, url)
}

#[test]
fn a_certificate_that_is_not_trusted_is_named_with_the_option_that_accepts_it() {
    let dir = Scratch::new();
    let (_server, url) = self_signed(&dir);
    let words = ["-d", "60", "--warm-up", "0", "-c", "4", &url];
    let ended = bench(&words);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    for text in ["Error distribution", "the server's certificate is", "add -k to accept any certificate"] {
        assert!(ended.stdout.contains(text), "{text}: {}", ended.stdout);
    }
    let (report, code) = measured(&words);
    let (kind, text, count) = cause(&report);
    assert!(code == 1 && kind == "tls" && text.contains("self-signed") && count > 0, "{report}");
    assert_eq!(total(&report)["errors"]["tls"], count, "the run ends at once: {report}");
    assert!(total(&report)["elapsed_s"].as_f64().is_some_and(|seconds| seconds < 10.0), "{report}");
    assert!(warnings(&report).contains("add -k to accept any certificate"), "{report}");
    let (report, code) = measured(&["-n", "20", "-c", "2", "-k", &url]);
    assert_eq!((code, &total(&report)["causes"]), (0, &Value::Array(Vec::new())), "{report}");
}

#[test]
fn a_port_without_a_listener_is_reported_before_the_run() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let ended = bench(&["-n", "5", &format!("http://{address}/")]);
    let want = format!("hayami: {address}: connection refused; start the server, or correct the URL\n");
    assert_eq!((ended.code, ended.stderr), (69, want));
}

#[test]
fn the_death_of_a_server_is_reported_with_its_time_and_cause() {
    let dir = Scratch::new();
    dir.write("site/index.html", "front");
    let mut server = Server::site(&dir, "access-log: DIR/log");
    let (json, url) = (dir.text("report.json"), format!("http://{}/", server.address));
    let child = Command::new(PROGRAM)
        .args(["bench", "-q", "-d", "3", "--warm-up", "0", "-c", "8", "--json", &json, &url])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    until("responses are counted", || dir.read("log").lines().count() > 100);
    server.signal(Signal::KILL);
    server.wait();
    let output = child.wait_with_output().expect("its end");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let line = text.lines().find(|line| line.starts_with("  the server stopped answering at "));
    assert!(line.is_some_and(|line| line.ends_with(" s: connection refused")), "{text}");
    assert!(text.contains(": the server stopped answering at "), "a warning: {text}");
    let report: Value = serde_json::from_str(&dir.read("report.json")).expect("JSON");
    let round = &report["targets"][0]["rounds"][0];
    let stopped = round["stopped_at_s"].as_f64().expect("a time");
    assert!(stopped > 0.0 && stopped < 3.0, "{stopped}");
    assert_eq!(
        (&round["stopped_cause"], &round["ended"]),
        (&"connection refused".into(), &"complete".into())
    );
    let total = total(&report);
    assert!(total["responses"].as_u64().is_some_and(|count| count > 100), "{total}");
    assert_eq!(total["statuses"], serde_json::json!([{ "status": 200, "count": total["responses"] }]));
}

#[test]
fn a_server_that_answers_to_the_end_is_not_called_dead() {
    let server = Recorder::new(OK);
    let (report, code) = measured(&["-d", "1s", "-c", "2", &server.url]);
    let round = &report["targets"][0]["rounds"][0];
    assert_eq!((code, &round["stopped_at_s"], &round["stopped_cause"]), (0, &Value::Null, &Value::Null));
}

#[test]
fn a_server_that_resets_connections_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A socket closed with unread bytes is reset.
            let _ = stream.peek(&mut [0]);
        }
    });
    let (report, code) = measured(&["-n", "4", "-c", "2", &url]);
    assert_eq!((code, cause(&report)), (1, ("reset", "connection reset by the server", 4)), "{report}");
}

#[test]
fn a_server_that_closes_instead_of_answering_is_reported() {
    let whole = Recorder::new("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nhalf");
    let (report, code) = measured(&["-n", "4", "-c", "2", &whole.url]);
    let short = "the server closed the connection in the middle of a response";
    assert_eq!((code, cause(&report)), (1, ("short", short, 4)), "{report}");
}

#[test]
fn a_silent_server_is_reported_with_the_timeout() {
    let server = Recorder::new("");
    let (report, code) = measured(&["-n", "2", "-c", "2", "--timeout", "200ms", &server.url]);
    assert_eq!((code, cause(&report)), (1, ("timeout", "no response within 200ms", 2)), "{report}");
    let half = Recorder::new("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    let (report, _) = measured(&["-n", "2", "-c", "2", "--timeout", "200ms", &half.url]);
    assert_eq!(cause(&report), ("timeout", "no complete response within 200ms", 2), "{report}");
}

#[test]
fn a_server_of_another_protocol_is_reported_with_the_remedy() {
    let plain = Recorder::new(OK);
    let dir = Scratch::new();
    let server = Server::folder(&dir);
    let (report, _) = measured(&["-k", "-n", "2", "-c", "2", &format!("https://{}/", server.address)]);
    assert_eq!(cause(&report), ("tls", "the server answers in plain HTTP: use http://", 2), "{report}");
    let (report, _) = measured(&["--http", "2", "-n", "2", "-c", "2", "--timeout", "2s", &plain.url]);
    let want = "the server answers in HTTP/1 and does not support HTTP/2 here: leave out --http 2";
    assert_eq!(cause(&report), ("protocol", want, 2), "{report}");
    let other = Recorder::new("SSH-2.0-x\r\n\r\n");
    let (report, _) = measured(&["-n", "2", "-c", "2", &other.url]);
    assert!(cause(&report).1.starts_with("malformed response: the "), "{report}");
}

#[test]
fn statuses_are_counted_by_number() {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("urls", "1 /\n1 /missing\n");
    let server = Server::folder(&dir);
    let urls = ["-n", "200", "-c", "2", "--urls", &dir.text("urls")];
    let (report, code) = measured(&[&urls[..], &[&format!("http://{}/", server.address)]].concat());
    let statuses = total(&report)["statuses"].as_array().expect("a list");
    let codes: Vec<_> = statuses.iter().map(|each| each["status"].as_u64()).collect();
    assert_eq!((code, codes), (0, vec![Some(200), Some(404)]), "{report}");
    assert_eq!(statuses.iter().filter_map(|each| each["count"].as_u64()).sum::<u64>(), 200);
    let missing = statuses[1]["count"].as_u64().unwrap_or(0);
    assert_eq!(cause(&report), ("status", "unexpected status 404 Not Found", missing));
}

#[test]
fn the_live_view_has_the_cause_and_breaks_lines_at_words() {
    if missing("script") {
        return;
    }
    let server = Recorder::new("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    let command = format!("stty cols 40 rows 40; '{PROGRAM}' bench -d 1 --warm-up 0 -c 2 {}", server.url);
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .expect("script starts");
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    // The terminal keeps its width: no line is longer, and long ones are broken at word boundaries.
    let wide = text.lines().map(|line| line.split("\x1b[J").last().unwrap_or(line));
    let wide: Vec<_> = wide.filter(|line| line.chars().count() > 40).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    let mut after = text.split(" × unexpected status 503\n").skip(1);
    assert!(
        after.next().is_some_and(|rest| rest.trim_start().starts_with("Service Unavailable\n")),
        "{text}"
    );
    assert!(text.contains("█") && text.contains("  ≤ "), "a histogram: {text}");
    let summary = text.rsplit("\x1b[J").next().unwrap_or_default();
    assert!(summary.contains("unexpected status 503\n") && summary.contains("Warning: "), "{summary}");
}
