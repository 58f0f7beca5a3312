//! The error log: the form of its lines, whatever goes wrong, and what goes elsewhere.

use crate::support::{Client, Launch, Scratch, Server, until, upstream::Upstream};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::unix::fs::symlink;

/// The entries of a column in the tables of the manual's page.
fn words_of(section: &str) -> BTreeSet<String> {
    let page = include_str!("../docs/behaviour.md");
    let (_, rest) = page.split_once(section).expect("the section");
    let rows = rest.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('`').nth(1)).map(str::to_owned).collect()
}

/// Severity, first word and text of a line.
#[track_caller]
fn parts(line: &str) -> (&str, &str, &str) {
    let mut parts = line.splitn(4, ' ');
    let mut next = || parts.next().unwrap_or_else(|| panic!("too few words: {line:?}"));
    let (time, severity, subject, text) = (next(), next(), next(), next());
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let zone = shape.replace("-00:00", "+00:00").replace("0000+00", "0000-00");
    assert_eq!(zone.len(), 29, "{line:?}");
    assert!(zone.starts_with("0000-00-00T00:00:00.000") && zone.ends_with("+00:00"), "{line:?}");
    assert!(!line.contains(char::is_control), "{line:?}");
    (severity, subject.strip_suffix(':').unwrap_or_else(|| panic!("no colon: {line:?}")), text)
}

/// The lines after the banner.
fn lines(server: &Server) -> Vec<String> {
    let said = server.stderr();
    let (_, log) = said.split_once("\nready\n").expect("a banner");
    log.lines().map(str::to_owned).collect()
}

/// An application of FastCGI that writes these bytes to its standard error, and answers nothing.
fn complaining(bytes: &'static [u8]) -> Upstream {
    Upstream::scripted(move |conn| {
        conn.until(&[1, 5, 0, 1, 0, 0, 0, 0]);
        let head = |kind, length: usize| [1, kind, 0, 1, 0, length as u8, 0, 0];
        conn.send([&head(7, bytes.len())[..], bytes, &head(3, 8), &[0; 8]].concat());
    })
}

fn unused_address() -> String {
    TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr()).expect("a port").to_string()
}

#[test]
fn every_line_has_a_time_a_severity_and_a_first_word_of_the_manual() {
    let dir = Scratch::new();
    symlink("/dev/full", dir.path("full")).expect("a link");
    let application = complaining(b"one\ntwo\r\x1b[31m\0\n");
    let port = application.address.rsplit(':').next().expect("a port").to_owned();
    let (dead, gone) = (unused_address(), unused_address());
    let text = format!(
        "num-threads: 1\nlisten: 127.0.0.1:0\nlisten: {{host: 127.0.0.2, port: 0, proxy-protocol: ON}}\n\
         access-log: DIR/full\n\
         hosts:\n  default:\n    paths:\n      /:\n        file.dir: /\n      /app:\n        fastcgi.connect: {port}\n      \
         /proxy:\n        proxy.reverse.url: [http://{dead}, http://{gone}]\n      \
         /spawn:\n        fastcgi.spawn: 'exit 3'\n"
    );
    let mut server = Server::config(&dir, &text);
    let balancer = server.addresses().pop().expect("two addresses");
    assert_eq!(server.ask("GET /\x1b\x01 HTTP/1.1\r\n\r\n")[0].status, 400);
    assert_eq!(server.get("/a%0ab").status, 404);
    assert_eq!(server.get("/app").status, 502);
    assert_eq!(server.get("/proxy").status, 502);
    assert!(Client::connect(&balancer).send("nonsense\r\n\r\n").is_closed());
    server.signal(Signal::HUP);
    server.signal(Signal::USR1);
    for text in [
        "SIGHUP: configuration reloaded",
        "SIGUSR1",
        ": two",
        "ejected",
        "PROXY protocol",
        "lost: ",
        "exit status: 3",
    ] {
        // Output of an application that exits before the server is ready is printed within the banner; it exits again.
        until(text, || lines(&server).iter().any(|line| line.contains(text)));
    }
    assert_eq!(server.stop(), Some(0));
    server.until_stderr("SIGTERM");

    let (severities, subjects) = (words_of("| severity "), words_of("| first word "));
    assert!(severities.len() == 5 && subjects.len() > 5, "{severities:?} {subjects:?}");
    let mut seen = BTreeSet::new();
    for line in lines(&server) {
        let (severity, subject, text) = parts(&line);
        assert!(severities.contains(severity) && subjects.contains(subject), "{line}");
        assert!(!text.is_empty() && !text.starts_with("hayami"), "{line}");
        seen.insert(format!("{severity} {subject}"));
    }
    let want = [
        "error access-log",
        "error application",
        "error request",
        "error spawn",
        "info request",
        "notice server",
        "warn connection",
        "warn server",
        "warn upstream",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), want, "{}", server.stderr());
    let escaped = ": two\\r\\u{1b}[31m\\u{0}\n";
    assert!(server.stderr().contains(escaped), "{}", server.stderr());
}

const HOSTS: &str = "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";

#[test]
fn the_banner_goes_to_the_caller_and_lines_to_the_error_log() {
    let dir = Scratch::new();
    dir.write("site/a.txt", "four");
    let mut server = Server::config(&dir, &format!("error-log: DIR/errors\n{HOSTS}"));
    assert_eq!(server.ask("nonsense\r\n\r\n")[0].status, 400);
    until("the refusal is there", || dir.read("errors").contains("the method is not a token"));
    assert_eq!(server.stop(), Some(0));
    assert!(server.stderr().ends_with("\nready\n"), "{}", server.stderr());
    let log = dir.read("errors");
    let found: Vec<_> = log.lines().map(|line| parts(line)).collect();
    let want = [
        ("notice", "server", format!(" at http://{}/ with ", server.address)),
        ("info", "request", "the method is not a token".to_owned()),
        ("notice", "server", "SIGTERM".to_owned()),
    ];
    assert_eq!(found.len(), want.len(), "{log}");
    for ((severity, subject, text), (want_severity, want_subject, words)) in found.iter().zip(&want) {
        assert_eq!((severity, subject), (want_severity, want_subject), "{log}");
        assert!(text.contains(words.as_str()), "{log}");
    }
}

#[test]
fn a_start_that_fails_says_why_to_the_caller_wherever_the_error_log_is() {
    let dir = Scratch::new();
    dir.write("site/a.txt", "four");
    // This many workers need more descriptors than available; that is detected last.
    let text = format!("error-log: DIR/errors\nnum-threads: 100\ntcp-reuseport: OFF\n{HOSTS}");
    let ended = Launch::config(&dir, &text).after("ulimit -n 160").finish();
    assert_eq!(ended.code, 71, "{}", ended.stderr);
    assert!(ended.stderr.contains("ulimit -n"), "{}", ended.stderr);
    assert!(dir.read("errors").contains(" crit server: "), "{}", dir.read("errors"));
}

#[test]
fn an_error_log_that_is_a_command_gets_the_lines() {
    let dir = Scratch::new();
    dir.write("site/a.txt", "four");
    let mut server = Server::config(&dir, &format!("error-log: '| cat > DIR/errors'\n{HOSTS}"));
    assert_eq!(server.ask("nonsense\r\n\r\n")[0].status, 400);
    assert_eq!(server.stop(), Some(0));
    until("the last line is there", || dir.read("errors").contains(": SIGTERM"));
    assert_eq!(dir.read("errors").lines().map(parts).count(), 3);
}
