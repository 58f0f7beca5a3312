//! `hayami bench`: options, mistakes, signals, exit codes.

use crate::support::bench::{Recorder, bench, measured, total};
use crate::support::{Launch, Scratch, Server, certificates::Authority, tls, until};
use rustix::process::{Signal, kill_process};
use std::process::{Command, Stdio};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn site() -> (Scratch, Server) {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/b.txt", "other");
    let server = Launch::new(["-l", "127.0.0.1:0", &dir.text("site")]).serve();
    (dir, server)
}

#[test]
fn mistakes_say_what_to_do() {
    let cases: [(&[&str], i32, &str); 10] = [
        (&[], 64, "<URL"),
        (&["--no-such", "http://a/"], 64, "--no-such"),
        (&["ftp://a/"], 64, "http:// or https://"),
        (&["-d", "soon", "http://a/"], 64, "write 10s"),
        (&["http://127.0.0.1:1/"], 69, "start the server"),
        (&["http://no-such-host.invalid/"], 69, "no such host"),
        (&["--body", "/no/such/file", "http://127.0.0.1:1/"], 66, "/no/such/file: no such file"),
        (&["--urls", "/no/such/file"], 66, "/no/such/file"),
        (&["--unix", "/no/such/socket", "http://a/"], 69, "/no/such/socket"),
        (&["--like", "siege http://a/"], 64, "ab, wrk"),
    ];
    for (words, code, text) in cases {
        let ended = bench(words);
        assert_eq!(ended.code, code, "{words:?}: {}", ended.stderr);
        assert!(
            ended.stderr.starts_with("hayami: ") && ended.stderr.contains(text),
            "{words:?}: {}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "", "{words:?}");
    }
    let help = bench(&["--help"]);
    assert!(help.code == 0 && help.stdout.contains("--rtt"), "{help:?}");
}

#[test]
fn a_report_that_cannot_be_written_is_said_before_the_run() {
    let server = Recorder::new(OK);
    let ended = bench(&["--json", "/no/such/folder/x", "-n", "5", &server.url]);
    assert_eq!(ended.code, 73, "{}", ended.stderr);
    assert!(server.requests().is_empty());
}

#[test]
fn a_process_that_is_not_there_is_said_before_the_run() {
    let server = Recorder::new(OK);
    let ended = bench(&["--server-pid", "999999999", "-n", "5", &server.url]);
    assert!(ended.code == 64 && ended.stderr.contains("no such process"), "{ended:?}");
}

#[test]
fn so_many_requests_are_made_over_so_many_connections() {
    let (_dir, server) = site();
    let url = format!("http://{}/", server.address);
    let (report, code) = measured(&["-n", "500", "-c", "7", "-t", "2", &url]);
    let total = total(&report);
    assert_eq!((code, &total["responses"], &total["status"]["2xx"]), (0, &500.into(), &500.into()));
    assert_eq!((&total["connections"], &total["content_bytes"]), (&7.into(), &2500.into()));
    assert_eq!(total["errors"]["total"], 0);
    let (report, _) = measured(&["-n", "60", "-c", "3", "--keepalive", "off", &url]);
    assert_eq!(report["targets"][0]["total"]["connections"], 60);
    let (report, _) = measured(&["-n", "60", "-c", "1", "--keepalive", "20", &url]);
    assert_eq!(report["targets"][0]["total"]["connections"], 3);
}

#[test]
fn a_duration_is_kept_and_a_rate_too() {
    let (_dir, server) = site();
    let url = format!("http://{}/", server.address);
    let options = ["-d", "2s", "-r", "50", "-c", "4", "--warm-up", "100ms", "--ramp-up", "50ms", &url];
    let (report, code) = measured(&options);
    let total = total(&report);
    let (elapsed, responses) = (total["elapsed_s"].as_f64(), total["responses"].as_u64());
    assert!(code == 0 && elapsed.is_some_and(|seconds| (2.0..2.2).contains(&seconds)), "{elapsed:?}");
    assert!(responses.is_some_and(|count| (60..=120).contains(&count)), "{responses:?}");
    assert!(total["uncorrected_us"]["count"].as_u64().is_some_and(|count| count > 0), "both figures");
}

#[test]
fn a_request_is_what_the_options_say() {
    let dir = Scratch::new();
    dir.write("body", "content");
    let server = Recorder::new(OK);
    let (url, body) = (format!("{}/a?b", server.url), dir.text("body"));
    let content = ["--body", &body, "-T", "text/x", "-H", "X-A: 1", "-H", "Host: h"];
    let (_, code) = measured(&[&["-n", "1", "-c", "1"], &content[..], &[&url]].concat());
    let (_, _) = measured(&["-n", "1", "-c", "1", "-X", "PURGE", "--http", "1.0", "--keepalive", "on", &url]);
    let (_, _) = measured(&["-n", "1", "-c", "1", "--keepalive", "off", &url]);
    let requests = server.requests();
    assert_eq!((code, requests.len()), (0, 3), "{requests:?}");
    let lower: Vec<_> = requests.iter().map(|text| text.to_ascii_lowercase()).collect();
    assert!(requests[0].starts_with("POST /a?b HTTP/1.1\r\n") && requests[0].ends_with("\r\n\r\ncontent"));
    for line in ["host: h\r\n", "x-a: 1\r\n", "content-type: text/x\r\n", "content-length: 7\r\n"] {
        assert!(lower[0].contains(line), "{line}: {}", requests[0]);
    }
    assert!(
        requests[1].starts_with("PURGE /a?b HTTP/1.0\r\n") && lower[1].contains("connection: keep-alive")
    );
    assert!(lower[2].starts_with("get /a?b http/1.1\r\n") && lower[2].contains("connection: close"));
}

#[test]
fn a_list_is_asked_by_its_weights() {
    let dir = Scratch::new();
    dir.write("urls", "# two\n9 /often\nHEAD /seldom\n");
    let server = Recorder::new("HTTP/1.1 204 No Content\r\n\r\n");
    let (_, code) = measured(&["-n", "400", "-c", "2", "--urls", &dir.text("urls"), &server.url]);
    let seldom = server.requests().iter().filter(|text| text.starts_with("HEAD /seldom ")).count();
    assert!(code == 0 && (10..=90).contains(&seldom), "{seldom} of 400");
}

#[test]
fn connections_go_where_they_are_told_and_come_from_there() {
    let (_dir, server) = site();
    let there = ["-n", "20", "-c", "4", "--connect-to", &server.address, "--source", "127.0.0.2,127.0.0.3"];
    let (report, code) = measured(&[&there[..], &["http://elsewhere.invalid/"]].concat());
    assert_eq!((code, &total(&report)["responses"]), (0, &20.into()));
    assert_eq!(report["targets"][0]["requests"][0]["authority"], "elsewhere.invalid");
}

#[test]
fn a_unix_socket_is_a_server_too_and_its_process_is_found() {
    let dir = Scratch::new();
    dir.write("site/index.html", "front");
    dir.permit("", 0o777);
    let text = format!("listen: {{type: unix, port: DIR/s.sock}}\n{}", tls::HOSTS);
    let server = Server::config(&dir, &text);
    let socket = dir.text("s.sock");
    let (report, code) = measured(&["-n", "20", "-c", "2", "--unix", &socket, "http://a/"]);
    assert_eq!((code, &total(&report)["status"]["2xx"]), (0, &20.into()), "{report}");
    assert_eq!(total(&report)["server"]["processes"][0], server.id());
    let (report, code) = measured(&["-n", "20", "-c", "2", &format!("unix:{socket}:/index.html")]);
    assert_eq!((code, &total(&report)["status"]["2xx"]), (0, &20.into()));
}

#[test]
fn the_server_is_found_by_its_port_or_by_its_number() {
    let (_dir, server) = site();
    let url = format!("http://{}/", server.address);
    let (report, _) = measured(&["-n", "2000", &url]);
    let cost = &total(&report)["server"];
    assert_eq!((&cost["processes"][0], &cost["name"]), (&server.id().into(), &"hayami".into()));
    assert!(cost["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 500_000), "{cost}");
    let own = std::process::id().to_string();
    let (report, _) = measured(&["-n", "20", "--server-pid", &own, &url]);
    assert_eq!(total(&report)["server"]["processes"][0], std::process::id());
}

#[test]
fn tls_is_checked_resumed_and_restricted_as_told() {
    let dir = Scratch::new();
    dir.write("site/index.html", "front");
    Authority::new(&dir).issue_leaf();
    let server = tls::site(&dir, "", "");
    let url = format!("https://localhost:{}/", tls_port(&server));
    let run = |words: &[&str]| {
        measured(&[&["-n", "40", "-c", "2", "--http", "1.1", "--keepalive", "off"], words, &[&url]].concat())
    };
    let (report, code) = run(&["--cacert", &dir.text("tls/ca.pem")]);
    assert_eq!((code, &total(&report)["responses"]), (0, &40.into()), "{report}");
    assert!(total(&report)["resumed"].as_u64().is_some_and(|count| count > 20), "{report}");
    let (report, code) = run(&["-k", "--tls-resume", "off", "--tls", "1.2"]);
    assert_eq!((code, &total(&report)["resumed"]), (0, &0.into()));
    assert!(report["targets"][0]["sample"]["tls"]["version"] == "TLSv1.2", "{report}");
    let (report, code) = run(&[]);
    assert_eq!((code, &total(&report)["successes"]), (1, &0.into()), "nobody vouches for it");
    assert!(total(&report)["errors"]["tls"].as_u64().is_some_and(|count| count > 0));
    let (report, code) = measured(&["-n", "200", "-c", "2", "-m", "10", "-k", &url]);
    assert_eq!((code, &report["targets"][0]["sample"]["protocol"]), (0, &"HTTP/2".into()));
}

/// The banner of a TLS listener says https.
fn tls_port(server: &Server) -> u16 {
    let banner = server.banner("address");
    banner.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
}

#[test]
fn wrong_answers_are_errors_and_checks_set_the_exit_code() {
    let dir = Scratch::new();
    dir.write("right", "hello").write("wrong", "holla");
    let server = Recorder::new(OK);
    for (words, code, kind) in [
        (&["--expect-status", "200"][..], 0, None),
        (&["--expect-status", "201,3xx"], 1, Some("status")),
        (&["--expect-body", &dir.text("right")], 0, None),
        (&["--expect-body", &dir.text("wrong")], 1, Some("content")),
        (&["--expect-body-length", "5"], 0, None),
        (&["--expect-length", "6"], 1, Some("content")),
    ] {
        let (report, ended) = measured(&[&["-n", "10", "-c", "1"], words, &[&server.url]].concat());
        assert_eq!(ended, code, "{words:?}");
        let errors = &total(&report)["errors"];
        assert_eq!(errors["total"], if kind.is_some() { 10 } else { 0 }, "{words:?}: {errors}");
        assert!(kind.is_none_or(|kind| errors[kind] == 10), "{words:?}: {errors}");
    }
}

#[test]
fn a_server_that_says_nothing_costs_the_time_of_patience_and_no_more() {
    let server = Recorder::new("");
    let (report, code) = measured(&["-n", "2", "-c", "2", "--timeout", "200ms", &server.url]);
    assert_eq!((code, &total(&report)["errors"]["timeout"]), (1, &2.into()), "{report}");
}

#[test]
fn distance_is_emulated() {
    let (_dir, server) = site();
    let url = format!("http://{}/", server.address);
    let far = ["--rtt", "40ms", "--jitter", "2ms", "-n", "20", "-c", "10", "--keepalive", "off", &url];
    let (report, code) = measured(&far);
    let latency = total(&report)["latency_us"]["min"].as_f64();
    assert!(code == 0 && latency.is_some_and(|micros| micros >= 37_000.0), "{latency:?}");
    let lossy = [
        "--rtt",
        "1ms",
        "--loss",
        "50%",
        "-d",
        "500ms",
        "--timeout",
        "20ms",
        "-c",
        "5",
        "--keepalive",
        "off",
        &url,
    ];
    let (report, _) = measured(&lossy);
    assert!(total(&report)["errors"]["lost"].as_u64().is_some_and(|count| count > 0), "{report}");
}

#[test]
fn another_tools_command_is_run_and_the_equivalent_is_printed() {
    let (_dir, server) = site();
    let url = format!("http://{}/", server.address);
    let ended = bench(&["--like", &format!("ab -c 2 -n 30 {url}")]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let command = format!("hayami bench -c 2 -n 30 --http 1.0 --keepalive off --threads 1 {url} -q\n");
    assert!(ended.stderr.contains(&command), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("HTTP/1.0 answered in HTTP/1.1") && ended.stdout.contains("30 responses"),
        "{}",
        ended.stdout
    );
}

#[test]
fn the_summary_has_the_parts_of_ohas() {
    let server = Recorder::new(OK);
    let url = &server.url;
    let ended = bench(&["--like", &format!("oha -n 30 -c 2 --disable-compression -m PUT -d 'a b' {url}")]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let command = format!("hayami bench -n 30 -c 2 -X PUT --body-text 'a b' --http 1.1 {url} -q\n");
    assert!(ended.stderr.contains(&command), "{}", ended.stderr);
    let parts =
        ["Latency distribution", "Latency histogram", "Status code distribution\n    [200] 30 responses\n"];
    for part in parts {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    assert!(
        server.requests().iter().all(|request| request.starts_with("PUT / ") && request.ends_with("a b"))
    );
}

#[test]
fn every_report_is_written() {
    let (dir, server) = site();
    let url = format!("http://{}/", server.address);
    let (json, csv, html) = (dir.text("r.json"), dir.text("r.csv"), dir.text("r.html"));
    let reports = ["-n", "50", "--rounds", "2", "--json", &json, "--csv", &csv, "--html", &html];
    let ended = bench(&[&reports[..], &[&url, &format!("{url}b.txt")]].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("Comparison over 2 rounds"), "{}", ended.stdout);
    assert!(dir.read("r.json").contains("\"comparison\"") && dir.read("r.csv").lines().count() >= 5);
    assert!(dir.read("r.html").contains("<html"));
    let ended = bench(&["-n", "50", "--json", "-", &url]);
    assert!(ended.stdout.starts_with('{') && ended.stdout.trim_end().ends_with('}'), "nothing else there");
}

#[test]
fn a_run_that_is_stopped_prints_what_there_is() {
    let server = Recorder::new(OK);
    for signal in [Signal::INT, Signal::TERM] {
        let before = server.requests().len();
        let child = Command::new(crate::support::PROGRAM)
            .args(["bench", "-q", "-d", "60", "--warm-up", "0", "-c", "2", &server.url])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        until("it is at work", || server.requests().len() > before + 100);
        kill_process(rustix::process::Pid::from_child(&child), signal).expect("it runs");
        let output = child.wait_with_output().expect("its end");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(130), "{text}");
        assert!(text.contains("interrupted") && text.contains("Requests/sec"), "{text}");
    }
}

#[test]
fn a_second_signal_ends_the_run_at_once() {
    let server = Recorder::new(OK);
    // Its output is not read, so it never ends on its own.
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    fill(&writer);
    let mut child = Command::new(crate::support::PROGRAM)
        .args(["bench", "-q", "-d", "60", "--warm-up", "0", "-c", "2", &server.url])
        .stdout(writer)
        .spawn()
        .expect("the program starts");
    until("it is at work", || server.requests().len() > 100);
    let pid = rustix::process::Pid::from_child(&child);
    let mut ended = None;
    until("it ends", || {
        // Signals that come together are one, so there may have to be more.
        let _ = kill_process(pid, Signal::INT);
        ended = child.try_wait().expect("a child");
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
}

/// Writes until there is no room.
fn fill(mut pipe: &std::io::PipeWriter) {
    use std::io::Write;
    let flags = rustix::fs::fcntl_getfl(pipe).expect("flags");
    rustix::fs::fcntl_setfl(pipe, flags | rustix::fs::OFlags::NONBLOCK).expect("set");
    while pipe.write(&[0; 4096]).is_ok_and(|count| count > 0) {}
    rustix::fs::fcntl_setfl(pipe, flags).expect("set back");
}

#[test]
fn a_folder_called_bench_is_served_by_its_path() {
    let dir = Scratch::new();
    dir.write("bench/index.html", "a folder");
    let server = Launch::new(["./bench", "-l", "127.0.0.1:0"]).within(&dir.path("")).serve();
    assert_eq!(server.get("/").text(), "a folder");
}
