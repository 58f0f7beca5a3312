//! h2spec: every case of the conformance suite for RFC 9113 and RFC 7541, without and over TLS.

use crate::support::{Scratch, Server, missing, output, tls};

/// How many cases the suite has; fewer would mean that it stopped early.
const CASES: usize = 145;

/// What the suite reports of a server.
struct Report {
    passed: usize,
    /// Section and title of each case that did not pass.
    failed: Vec<String>,
}

impl Report {
    /// Reads the report that h2spec writes for JUnit: a `testsuite` per section, a `testcase` per case, which
    /// is empty unless it failed.
    fn read(text: &str) -> Self {
        let mut report = Self { passed: 0, failed: Vec::new() };
        for case in text.split("<testcase ").skip(1) {
            let (open, rest) = case.split_once('>').expect("a tag ends");
            let value = |name: &str| {
                let value = open.split_once(&format!("{name}=\""));
                value.and_then(|(_, rest)| rest.split_once('"')).map_or("", |(value, _)| value)
            };
            match rest.split_once("</testcase>") {
                Some((inside, _)) if !inside.is_empty() => {
                    report.failed.push(format!("{}: {}: {inside}", value("package"), value("classname")));
                }
                _ => report.passed += 1,
            }
        }
        report
    }
}

#[track_caller]
fn all_pass(dir: &Scratch, server: &Server, args: &[&str]) {
    let (report, port) = (dir.text("report.xml"), server.port().to_string());
    let own = ["--host", "127.0.0.1", "--port", &port, "--junit-report", &report, "--timeout", "5"];
    let (code, out) = output("h2spec", own.into_iter().chain(args.iter().copied()));
    let read = Report::read(&dir.read("report.xml"));
    assert!(read.failed.is_empty(), "{} failed:\n{}", read.failed.len(), read.failed.join("\n"));
    assert_eq!((code, read.passed), (0, CASES), "{}", String::from_utf8_lossy(&out));
}

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front");
    dir
}

#[test]
fn h2spec_passes_every_case_in_clear() {
    if missing("h2spec") {
        return;
    }
    let dir = site();
    let server = Server::site(&dir, "");
    all_pass(&dir, &server, &[]);
}

#[test]
fn h2spec_passes_every_case_over_tls() {
    if missing("h2spec") {
        return;
    }
    let dir = site();
    let server = tls::site(&dir, "", "");
    all_pass(&dir, &server, &["--tls", "--insecure"]);
}

#[test]
fn failures_in_a_report_are_found() {
    let text = r#"<testsuite><testcase package="http2/5.1" classname="one" time="0.1"></testcase>
        <testcase package="http2/5.2" classname="two" time="0.1"><failure>why</failure></testcase></testsuite>"#;
    let report = Report::read(text);
    assert_eq!(
        (report.passed, report.failed),
        (1, vec!["http2/5.2: two: <failure>why</failure>".to_owned()])
    );
}
