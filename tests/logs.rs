//! Logging of requests: access logs and the error log.

use crate::support::{Launch, Scratch, Server, until};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/a.txt", "four");
    dir
}

/// A site with this log and these lines at the path.
fn logging(dir: &Scratch, log: &str, lines: &str) -> Server {
    Server::site(dir, &format!("access-log: {log}\n{lines}"))
}

/// The line for one request, when it is on disk.
#[track_caller]
fn line_for(dir: &Scratch, format: &str, request: &str) -> String {
    let format = format.replace('\'', "''");
    let server = logging(dir, &format!("{{path: DIR/log, format: '{format}'}}"), "");
    server.ask(request);
    until("the line is on disk", || dir.read("log").ends_with('\n'));
    let log = dir.read("log");
    std::fs::remove_file(dir.path("log")).expect("removed");
    log.trim_end_matches('\n').to_owned()
}

#[test]
fn the_default_line_is_ncsa_combined() {
    let dir = site();
    let server = logging(&dir, "DIR/log", "");
    server.get_with("/a.txt?q", "Referer: http://r.example/\r\nUser-Agent: test \"1\"\r\n");
    until("the line is on disk", || dir.read("log").ends_with('\n'));
    let line = dir.read("log");
    let (before, rest) = line.split_once('[').expect("a time");
    let (time, after) = rest.split_once(']').expect("its end");
    assert_eq!(before, "127.0.0.1 - - ");
    assert_eq!(time.len(), "21/Nov/2026:22:00:00 +0000".len(), "{line}");
    let marks: String = time.chars().filter(|c| !c.is_ascii_alphanumeric()).collect();
    assert!(matches!(marks.as_str(), "//::: +" | "//::: -"), "{line}");
    let wanted = " \"GET /a.txt?q HTTP/1.1\" 200 4 \"http://r.example/\" \"test \\x221\\x22\"\n";
    assert_eq!(after, wanted);
}

#[test]
fn every_specifier_that_can_be_foretold_is_written() {
    let dir = site();
    let request =
        "GET /a.txt?q=1 HTTP/1.1\r\nHost: name.example\r\nX-Own: value\r\nConnection: close\r\n\r\n";
    let cases = [
        ("%h", "127.0.0.1"),
        ("%A", "127.0.0.1"),
        ("%b", "4"),
        ("%H", "HTTP/1.1"),
        ("%l", "-"),
        ("%m", "GET"),
        ("%q", "?q=1"),
        ("%r", "GET /a.txt?q=1 HTTP/1.1"),
        ("%s", "200"),
        ("%<s %>s", "200 200"),
        ("%U", "/a.txt"),
        ("%u", "-"),
        ("%V", "name.example"),
        ("%v", "default"),
        ("%{x-own}i", "value"),
        ("%{X-None}i", "-"),
        ("%{Content-Type}o", "text/plain"),
        ("%{NONE}e", "-"),
        ("%{http1.request-index}x", "1"),
        ("%{ssl.cipher}x %{http2.stream-id}x", "- -"),
        ("%{error}x", ""),
        ("100%% \\t", "100% \\t"),
    ];
    let format = cases.map(|(format, _)| format).join("|");
    let line = line_for(&dir, &format, request);
    let values: Vec<_> = line.split('|').collect();
    assert_eq!(values.len(), cases.len(), "{line}");
    for ((format, wanted), value) in cases.iter().zip(values) {
        assert_eq!(value, *wanted, "{format}");
    }
}

#[test]
fn times_and_ports_are_numbers() {
    let dir = site();
    let request = "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let names = [
        "connect-time",
        "request-header-time",
        "request-total-time",
        "process-time",
        "response-time",
        "duration",
    ];
    let format: String = names.map(|name| format!("%{{{name}}}x ")).concat()
        + "%{remote}p %{connection-id}x %{sec}t %{msec_frac}t";
    let line = line_for(&dir, &format, request);
    for number in line.split_whitespace() {
        assert!(number.parse::<f64>().is_ok_and(|number| number >= 0.0), "{line}");
    }
    assert_eq!(line.split_whitespace().count(), names.len() + 4, "{line}");
    let day = line_for(&dir, "%{%Y-%m-%d}t", request);
    assert!(day.starts_with("20") && day.len() == 10, "{day}");
}

#[test]
fn nothing_that_a_client_sends_breaks_a_line() {
    let dir = site();
    let request =
        b"GET /\"\\%0a HTTP/1.1\r\nHost: a\r\nX: tab\there \xe9 \"q\" \\\r\nConnection: close\r\n\r\n";
    let server = logging(
        &dir,
        "[{path: DIR/log, format: '\"%r\" \"%{x}i\"'}, {path: DIR/json, escape: json, format: '{\"r\":\"%r\",\"x\":\"%{x}i\",\"n\":\"%{none}i\",\"b\":%b}'}]",
        "",
    );
    let status = server.ask(request)[0].status;
    until("both lines are on disk", || {
        [dir.read("log"), dir.read("json")].iter().all(|log| log.ends_with('\n'))
    });
    let (log, json) = (dir.read("log"), dir.read("json"));
    assert_eq!((log.lines().count(), json.lines().count()), (1, 1), "{log}{json}");
    assert!(log.contains(r"tab\x09here \xe9 \x22q\x22 \x5c"), "{log}");
    assert!(json.contains(r#""x":"tab\u0009here \u00e9 \"q\" \\""#), "{json}");
    assert!(json.contains(r#""n":null"#), "{json}");
    assert_eq!(status, 404, "there is no such file");
}

#[test]
fn refused_requests_are_logged_with_the_reason() {
    let dir = site();
    let request = "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n";
    let line = line_for(&dir, "%s %U %{error}x", request);
    assert!(line.starts_with("400 / ") && line.contains("Content-Length"), "{line}");
}

#[test]
fn a_log_knows_what_is_sent_not_what_was_meant() {
    let dir = site();
    dir.write("site/large", vec![b'x'; 30_000_000]);
    let server = logging(&dir, "{path: DIR/log, format: '%s %b'}", "");
    let mut client = server.connect();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n").receive_at_least(1);
    drop(client);
    until("the line is on disk", || dir.read("log").ends_with('\n'));
    let bytes: u64 = dir.read("log").trim().trim_start_matches("200 ").parse().expect("a number");
    assert!(bytes < 30_000_000, "{bytes}");
}

#[test]
fn the_environment_of_a_path_is_seen_by_its_log() {
    let dir = site();
    let text = "access-log: {path: DIR/log, format: '%{SITE}e %{PART}e %{GONE}e'}\nsetenv: {SITE: global, PART: none, GONE: x}\n\
                hosts:\n  default:\n    setenv: {PART: host}\n    paths:\n      /:\n        unsetenv: GONE\n        file.dir: DIR/site\n";
    let server = Server::config(&dir, text);
    server.get("/");
    until("the line is on disk", || dir.read("log").ends_with('\n'));
    assert_eq!(dir.read("log"), "global host -\n");
}

#[test]
fn logs_of_every_level_are_written() {
    let dir = site();
    let text = "access-log: DIR/global\nhosts:\n  default:\n    access-log: DIR/host\n    paths:\n      /:\n        \
                access-log: [{path: DIR/path, format: '%U'}, DIR/second]\n        file.dir: DIR/site\n";
    let mut server = Server::config(&dir, text);
    server.get("/");
    assert_eq!(server.stop(), Some(0));
    for name in ["global", "host", "path", "second"] {
        assert_eq!(dir.read(name).lines().count(), 1, "{name}");
    }
}

#[test]
fn a_command_gets_the_lines_and_its_end() {
    let dir = site();
    // A folder in which the program's user may write.
    dir.write("out/x", "");
    dir.permit("out", 0o777);
    let command = format!("'| cat > {0}/part && mv {0}/part {0}/whole'", dir.text("out"));
    let mut server = logging(&dir, &format!("{{path: {command}, format: '%m %U'}}"), "");
    for _ in 0..10 {
        server.get("/a.txt");
    }
    assert_eq!(server.stop(), Some(0));
    until("the command has exited", || dir.path("out/whole").exists());
    assert_eq!(dir.read("out/whole"), "GET /a.txt\n".repeat(10));
}

#[test]
fn no_line_is_missing_after_the_end() {
    let dir = site();
    let mut server = logging(&dir, "{path: DIR/log, format: '%U%q'}", "");
    let mut client = server.connect();
    for block in 0..20 {
        let requests = (0..50).map(|n| format!("GET /a.txt?{} HTTP/1.1\r\nHost: a\r\n\r\n", block * 50 + n));
        client.send(requests.collect::<String>());
        (0..50).for_each(|_| assert_eq!(client.answer().status, 200));
    }
    assert_eq!(server.stop(), Some(0));
    let wanted: String = (0..1000).map(|n| format!("/a.txt?{n}\n")).collect();
    assert_eq!(dir.read("log"), wanted);
}

#[test]
fn a_full_disk_does_not_stop_the_server_and_the_loss_is_said() {
    let dir = site();
    symlink("/dev/full", dir.path("full")).expect("a link");
    let mut server = logging(&dir, "DIR/full", "");
    for _ in 0..50 {
        assert_eq!(server.get("/a.txt").status, 200);
    }
    server.until_stderr("lost");
    assert!(server.stderr().contains("/full"), "{}", server.stderr());
    assert_eq!(server.get("/a.txt").status, 200);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_command_that_does_not_read_or_dies_does_not_stop_the_server() {
    let dir = site();
    for command in ["'| exec sleep 30'", "'| exit 1'"] {
        let server = logging(&dir, &format!("{{path: {command}, format: '%r {}'}}", "x".repeat(1000)), "");
        let mut client = server.connect();
        for _ in 0..40 {
            client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50));
            (0..50).for_each(|_| assert_eq!(client.answer().status, 200));
        }
    }
}

#[test]
fn lines_that_a_hanging_command_never_took_are_counted_at_the_end() {
    let dir = site();
    let format = format!("{{path: '| exec sleep 30', format: '%r {}'}}", "x".repeat(1000));
    let mut server = logging(&dir, &format, "");
    let mut client = server.connect();
    for _ in 0..10 {
        client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50));
        (0..50).for_each(|_| assert_eq!(client.answer().status, 200));
    }
    assert_eq!(server.stop(), Some(0));
    server.until_stderr("lines dropped at shutdown");
}

#[test]
fn a_worker_writes_ten_lines_a_second_about_requests_and_says_how_many_it_left_out() {
    let dir = site();
    let server =
        Server::config(&dir, "num-threads: 1\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n");
    let began = std::time::Instant::now();
    let refused = || assert_eq!(server.ask("nonsense\r\n\r\n")[0].status, 400);
    (0..200).for_each(|_| refused());
    let mut sent = 200;
    // Omitted lines are reported in another second, with the next line.
    until("what was sent has a line or was counted", || {
        let said = server.stderr();
        if said.contains(OMITTED) && written(&said) + omitted(&said) == sent {
            return true;
        }
        refused();
        sent += 1;
        false
    });
    let most = 10 * (2 + began.elapsed().as_secs() as usize);
    assert!(written(&server.stderr()) <= most, "{} of {sent}", written(&server.stderr()));
}

const OMITTED: &str = " more lines omitted within a second";

fn written(said: &str) -> usize {
    said.matches("the method is not a token").count()
}

/// The total of omitted lines in all reports of them.
fn omitted(said: &str) -> usize {
    let before = said.lines().filter_map(|line| line.split_once(OMITTED)).map(|(before, _)| before);
    before
        .map(|before| before.rsplit(' ').next().and_then(|n| n.parse::<usize>().ok()).expect("a number"))
        .sum()
}

#[test]
fn a_log_that_cannot_be_opened_is_said_at_the_start() {
    let dir = site();
    let text = "access-log: DIR/none/log\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
    let ended = Launch::config(&dir, text).finish();
    assert_eq!(ended.code, 73, "{}", ended.stderr);
    assert!(ended.stderr.contains("none/log"), "{}", ended.stderr);
}

#[test]
fn a_worker_that_falls_idle_writes_its_lines_at_once() {
    let dir = site();
    let server = logging(&dir, "DIR/log", "");
    let mut client = server.connect();
    // Under load a line waits for half a second; the quickest of several attempts shows whether it must.
    let quickest = (1..=10).map(|lines| {
        client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").answer();
        let begun = Instant::now();
        until("the line is on disk", || dir.read("log").lines().count() == lines);
        begun.elapsed()
    });
    let quickest = quickest.min().expect("a time");
    assert!(quickest < Duration::from_millis(250), "{quickest:?}");
}
