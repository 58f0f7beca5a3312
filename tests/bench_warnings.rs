//! `hayami bench` warns of what leads to wrong conclusions, and only then.

use crate::support::bench::{Recorder, measured, warnings};
use crate::support::{Launch, Scratch, is_root};

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
    for words in ["same content", "heads", "compressed", "protocols", "failed", "answers from"] {
        assert!(!text.contains(words), "{text}");
    }
}

#[test]
fn other_content_heads_or_coding_are_named() {
    let long = format!("X-Padding: {}\r\n", "x".repeat(200));
    let (plain, zipped) = (answer("", "hello"), answer("Content-Encoding: gzip\r\n", "hello"));
    assert!(between(plain, answer("", "hello there")).contains("do not send the same content"));
    assert!(between(plain, answer(&long, "hello")).contains("heads of the answers differ"));
    assert!(between(plain, zipped).contains("compressed on one side only"));
}

#[test]
fn errors_and_few_answers_are_named() {
    let server = Recorder::new("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    let (report, code) = measured(&["-n", "20", "-c", "2", &server.url]);
    let text = warnings(&report);
    assert!(code == 1 && text.contains("20 of 20 failed") && text.contains("20 status"), "{text}");
    assert!(text.contains("only 20 answers"), "{text}");
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
    assert!(
        dir.read("r.json").contains("\"successes\":300") || dir.read("r.json").contains("\"successes\": 300")
    );
}
