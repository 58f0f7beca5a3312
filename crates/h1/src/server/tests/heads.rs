//! Request heads: which are accepted and which are refused.

use super::check;
use crate::testing::{by_byte, requests};

/// A request with this request line and a valid rest.
fn with_line(line: &str) -> String {
    format!("{line}\r\nHost: a\r\n\r\n")
}

/// A request with these field lines besides Host.
fn with_fields(lines: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n")
}

fn check_each(wrap: fn(&str) -> String, cases: &[(&str, &str)]) {
    for (part, want) in cases {
        check(&[(&wrap(part), want)]);
    }
}

#[test]
fn the_four_forms_of_targets_belong_to_their_methods() {
    check_each(
        with_line,
        &[
            ("GET / HTTP/1.1", "GET / "),
            ("GET /a/b?c=d&e=?f HTTP/1.1", "GET /a/b?c=d&e=?f "),
            ("GET //a HTTP/1.1", "GET //a "),
            ("GET /{|}^`\" HTTP/1.1", "GET /{|}^`\\\" "),
            ("PURGE /a HTTP/1.1", "PURGE /a "),
            ("GET http://b/ HTTP/1.1", "GET http://b/ "),
            ("GET HTTPS://b:443/a?b HTTP/1.1", "GET HTTPS://b:443/a?b "),
            ("GET http://[::1]:80 HTTP/1.1", "GET http://[::1]:80 "),
            ("GET http://b?q HTTP/1.1", "GET http://b?q "),
            ("OPTIONS * HTTP/1.1", "OPTIONS * "),
            ("OPTIONS /a HTTP/1.1", "OPTIONS /a "),
            ("CONNECT b:443 HTTP/1.1", "CONNECT b:443 "),
            ("GET * HTTP/1.1", "!TargetForm"),
            ("GET a HTTP/1.1", "!TargetForm"),
            ("GET b:443 HTTP/1.1", "!TargetForm"),
            ("GET ftp://b/ HTTP/1.1", "!TargetForm"),
            ("OPTIONS ** HTTP/1.1", "!TargetForm"),
            ("GET http:/b HTTP/1.1", "!TargetForm"),
            ("GET http:/// HTTP/1.1", "!TargetAuthority"),
            ("GET http://b:x/ HTTP/1.1", "!TargetAuthority"),
            ("GET http://u:p@b/ HTTP/1.1", "!TargetUserinfo"),
            ("CONNECT / HTTP/1.1", "!TargetAuthority"),
            ("CONNECT b HTTP/1.1", "!TargetAuthority"),
            ("CONNECT b: HTTP/1.1", "!TargetAuthority"),
            ("CONNECT http://b:1/ HTTP/1.1", "!TargetAuthority"),
            ("CONNECT u@b:1 HTTP/1.1", "!TargetAuthority"),
        ],
    );
}

#[test]
fn request_lines_have_single_spaces_and_visible_targets() {
    check_each(
        with_line,
        &[
            (" GET / HTTP/1.1", "!MalformedMethod"),
            ("GE\tT / HTTP/1.1", "!MalformedMethod"),
            ("GET\t/ HTTP/1.1", "!MalformedMethod"),
            ("G@T / HTTP/1.1", "!MalformedMethod"),
            ("GET", "!MalformedMethod"),
            ("\u{16}\u{3}\u{1}", "!MalformedMethod"),
            ("GET  / HTTP/1.1", "!MissingTarget"),
            ("GET ", "!MissingTarget"),
            ("GET /\u{e9} HTTP/1.1", r"GET /\xc3\xa9 "),
            ("GET /\0 HTTP/1.1", "!TargetCharacter"),
            ("GET /\u{7f} HTTP/1.1", "!TargetCharacter"),
            ("GET /\t HTTP/1.1", "!TargetCharacter"),
            ("GET /#top HTTP/1.1", "!TargetFragment"),
            ("GET #top HTTP/1.1", "!TargetFragment"),
            ("GET /\rX HTTP/1.1", "!MissingVersion"),
        ],
    );
}

#[test]
fn only_http_1_is_spoken_and_higher_minor_versions_are_1_1() {
    check_each(
        with_line,
        &[
            ("GET / HTTP/1.0", "GET / close"),
            ("GET / HTTP/1.2", "GET / "),
            ("GET / HTTP/1.9", "GET / "),
            ("GET / HTTP/2.0", "!UnsupportedVersion"),
            ("GET / HTTP/0.9", "!UnsupportedVersion"),
            ("GET / HTTP/9.1", "!UnsupportedVersion"),
            ("GET /", "!MissingVersion"),
            ("GET / ", "!MissingVersion"),
            ("EHLO mail.example ESMTP", "!NotHttp"),
            ("GET / HTTP/1.10", "!MalformedVersion"),
            ("GET / HTTP/1", "!MalformedVersion"),
            ("GET / HTTP/11", "!MalformedVersion"),
            ("GET / HTTP/01.1", "!MalformedVersion"),
            ("GET / HTTP/+1.1", "!MalformedVersion"),
            ("GET / http/1.1", "!MalformedVersion"),
            ("GET / HTTP/1.1 ", "!MalformedVersion"),
            ("GET /  HTTP/1.1", "!MalformedVersion"),
            ("GET / x HTTP/1.1", "!MalformedVersion"),
            ("GET / HTTP/1.1\r", "!MalformedVersion"),
        ],
    );
}

#[test]
fn field_lines_are_read_without_repairing_them() {
    check_each(
        with_fields,
        &[
            ("a:", "GET / "),
            ("a:b", "GET / "),
            ("a: \t b \t ", "GET / "),
            ("a: \u{e9}\u{6c34}", "GET / "),
            ("!#$%&'*+-.^_`|~09: x", "GET / "),
            ("a b: c", "!FieldName"),
            ("a\u{e9}: c", "!FieldName"),
            ("a\0: c", "!FieldName"),
            (": c", "!FieldName"),
            ("a(): c", "!FieldName"),
            ("a : c", "!SpaceBeforeColon"),
            ("a\t: c", "!SpaceBeforeColon"),
            ("a", "!MissingColon"),
            ("a\rb: c", "!BareCr"),
            ("a: b\rc", "!BareCr"),
            ("a: b\r\r\nc: d", "!BareCr"),
            ("a: b\0c", "!FieldValue"),
            ("a: b\u{7f}", "!FieldValue"),
            ("a: b\u{1b}[0m", "!FieldValue"),
            ("a: b\r\n c", "!ObsoleteFold"),
            ("a: b\r\n\tc: d", "!ObsoleteFold"),
        ],
    );
    check(&[
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", "!LeadingWhitespace"),
        ("GET / HTTP/1.1\r\n\r\n", "!MissingHost"),
        ("GET / HTTP/1.1\r\n\rHost: a\r\n\r\n", "!BareCr"),
    ]);
}

#[test]
fn values_come_without_the_whitespace_around_them() {
    let wire = b"GET / HTTP/1.1\r\nHost:a\r\nB: \t c \td \t\r\nE:\r\n\r\n";
    let mut head = Default::default();
    crate::Server::new().receive(&crate::Limits::default(), wire, &mut head).unwrap();
    let lines: Vec<_> = head.fields().iter().collect();
    assert_eq!(lines, [(&b"Host"[..], &b"a"[..]), (b"B", b"c \td"), (b"E", b"")]);
}

#[test]
fn lf_alone_ends_a_line_of_a_head() {
    check(&[
        ("GET / HTTP/1.1\nHost: a\n\n", "GET / "),
        ("GET / HTTP/1.1\r\nHost: a\n\r\nGET /2 HTTP/1.1\nHost: a\r\n\n", "GET / GET /2 "),
        ("GET / HTTP/1.0\n\n", "GET / close"),
    ]);
}

#[test]
fn a_few_empty_lines_before_a_request_are_skipped() {
    check(&[
        ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / "),
        (
            "\n\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / GET /2 ",
        ),
        ("\r\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", "!MalformedMethod"),
        ("\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n", "!TooManyEmptyLines"),
        ("\r\n \r\n", "!MalformedMethod"),
    ]);
}

#[test]
fn one_valid_host_field_is_needed() {
    check(&[
        ("GET / HTTP/1.1\r\nA: b\r\n\r\n", "!MissingHost"),
        ("GET http://a/ HTTP/1.1\r\nA: b\r\n\r\n", "!MissingHost"),
        ("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", "!RepeatedHost"),
        ("GET / HTTP/1.0\r\nHost: a\r\nHOST: b\r\n\r\n", "!RepeatedHost"),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / "),
        ("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "GET / "),
        ("GET / HTTP/1.1\r\nHost: a_b.c:\r\n\r\n", "GET / "),
        ("GET / HTTP/1.0\r\nHost: a b\r\n\r\n", "!InvalidHost"),
    ]);
    for host in
        ["a b", "a,b", "a/b", "a@b", "http://a", "a:b", "a:99999", "[::1", "::1", "a\\b", "a?b", ":80"]
    {
        let valid = host == "a,b"; // a comma is a sub-delim of names (RFC 3986 §3.2.2)
        let want = if valid { "GET / " } else { "!InvalidHost" };
        check(&[(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), want)]);
    }
}

#[test]
fn the_authority_of_an_absolute_target_goes_before_host() {
    let mut head = hayami_http::RequestHead::default();
    let wire = b"GET http://b:81?q HTTP/1.1\r\nHost: a\r\n\r\n";
    crate::Server::new().receive(&crate::Limits::default(), wire, &mut head).unwrap();
    assert_eq!((head.authority(), head.path(), head.query()), (&b"b:81"[..], &b"/"[..], Some(&b"q"[..])));
}

#[test]
fn expectations_other_than_100_continue_are_refused() {
    check_each(
        with_fields,
        &[
            ("Expect: 100-continue", "GET / "),
            ("Expect: 100-Continue", "GET / "),
            ("Expect: 200-ok", "!UnknownExpectation"),
            ("Expect: 100-continue, x", "!UnknownExpectation"),
        ],
    );
    check(&[("GET / HTTP/1.0\r\nExpect: x\r\n\r\n", "GET / close")]);
}

#[test]
fn the_connection_field_is_a_list_of_options_in_any_case() {
    check_each(
        with_fields,
        &[
            ("Connection: close", "GET / close"),
            ("Connection: Upgrade, CLOSE", "GET / close"),
            ("Connection: x\r\nConnection: ,close ,", "GET / close"),
            ("Connection: keep-alive, close", "GET / close"),
            ("Connection: closed", "GET / "),
            ("Connection:", "GET / "),
        ],
    );
    let keep =
        "GET /1 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\nGET /3 HTTP/1.0\r\n\r\n";
    check(&[(keep, "GET /1 GET /2 close")]);
}

#[test]
fn a_fault_in_an_incomplete_line_waits_for_its_end() {
    let wire = b"GET / HTTP/1.1\r\nHost: a\r\nb c";
    assert_eq!(requests(&[wire]), "");
    assert_eq!(requests(&by_byte(wire)), "");
    assert_eq!(requests(&[wire, b"\n"]), "!FieldName");
}

#[test]
fn the_parsed_parts_of_a_broken_request_are_left_for_the_log() {
    let mut head = hayami_http::RequestHead::default();
    let limits = crate::Limits::default();
    assert!(crate::Server::new().receive(&limits, b"GET /a HTTP/1.1\r\na b\r\n", &mut head).is_err());
    assert_eq!(head.request_line(), b"GET /a HTTP/1.1");
    assert!(crate::Server::new().receive(&limits, b"\0\r\n", &mut head).is_err());
    assert_eq!((head.target(), head.fields().len()), (&b""[..], 0));
}
