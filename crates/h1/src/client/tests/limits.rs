//! Limits of responses: exactly at the limit passes, one more does not, however it arrives.

use crate::Limits;
use crate::testing::{by_byte, responses_within};

const NONE: Limits = Limits {
    request_line: u32::MAX,
    head: u32::MAX,
    fields: u16::MAX,
    content: u64::MAX,
    chunk_line: u32::MAX,
    chunk_extensions: u32::MAX,
    trailer: u32::MAX,
    interim: u16::MAX,
};

fn check(limits: Limits, wire: &str, want: &str) {
    for pieces in [vec![wire.as_bytes()], by_byte(wire.as_bytes())] {
        let got = responses_within(&limits, &[b"GET"], &pieces);
        assert_eq!(got, want, "{wire:?} in {} pieces", pieces.len());
    }
}

#[test]
fn every_limit_of_a_head_is_the_last_number_that_passes() {
    let wire = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: b\r\n\r\n";
    let line = "HTTP/1.1 200 OK\r".len() as u32;
    let cases = [
        (Limits { request_line: line, ..NONE }, "200 eof"),
        (Limits { request_line: line - 1, ..NONE }, "!StatusLineTooLong"),
        (Limits { head: wire.len() as u32, ..NONE }, "200 eof"),
        (Limits { head: wire.len() as u32 - 1, ..NONE }, "!HeadTooLarge"),
        (Limits { fields: 2, ..NONE }, "200 eof"),
        (Limits { fields: 1, ..NONE }, "!TooManyFields"),
        (
            Limits { content: 0, interim: 0, trailer: 0, chunk_line: 0, chunk_extensions: 0, ..NONE },
            "200 eof",
        ),
    ];
    for (limits, want) in cases {
        check(limits, wire, want);
    }
}

#[test]
fn every_limit_of_content_is_the_last_number_that_passes() {
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    let until_close = "HTTP/1.1 200 OK\r\n\r\nabc";
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;xy\r\nab\r\n1;z\r\nc\r\n0\r\nd: e\r\n\r\n";
    let taken = "200 <abc>.{d=e} eof";
    let cases = [
        (Limits { content: 3, ..NONE }, length, "200 <abc>. eof"),
        (Limits { content: 2, ..NONE }, length, "!ContentTooLarge"),
        (Limits { content: 3, ..NONE }, until_close, "200 <abc>eof."),
        (Limits { content: 3, ..NONE }, chunked, taken),
        (Limits { content: 2, ..NONE }, chunked, "200 <ab>!ContentTooLarge"),
        (Limits { chunk_line: 6, ..NONE }, chunked, taken),
        (Limits { chunk_line: 5, ..NONE }, chunked, "200 !ChunkLineTooLong"),
        (Limits { chunk_extensions: 5, ..NONE }, chunked, taken),
        (Limits { chunk_extensions: 4, ..NONE }, chunked, "200 <ab>!ExtensionsTooLong"),
        (Limits { trailer: 8, ..NONE }, chunked, taken),
        (Limits { trailer: 7, ..NONE }, chunked, "200 <abc>!TrailerTooLarge"),
        (Limits { fields: 1, ..NONE }, chunked, taken),
    ];
    for (limits, wire, want) in cases {
        check(limits, wire, want);
    }
}

#[test]
fn the_limit_of_interim_responses_counts_those_of_one_request() {
    let hints = "HTTP/1.1 103 Early Hints\r\n\r\n";
    let ok = "HTTP/1.1 204 No Content\r\n\r\n";
    let twice = Limits { interim: 2, ..NONE };
    check(twice, &format!("{hints}{hints}{ok}"), "103+ 103+ 204 eof");
    check(twice, &format!("{hints}{hints}{hints}"), "103+ 103+ !TooManyInterim");
    check(Limits { interim: 0, ..NONE }, hints, "!TooManyInterim");
    check(Limits { interim: 0, ..NONE }, ok, "204 eof");
    let each = format!("{hints}{hints}{ok}{hints}{hints}{ok}");
    let got = responses_within(&twice, &[b"GET", b"GET"], &[each.as_bytes()]);
    assert_eq!(got, "103+ 103+ 204 103+ 103+ 204 eof");
}

#[test]
fn the_greatest_limits_are_limits_too() {
    let hints = vec![&b"HTTP/1.1 103 A\r\n\r\n"[..]; 65536];
    let got = responses_within(&NONE, &[b"GET"], &hints);
    assert_eq!(got, format!("{}!TooManyInterim", "103+ ".repeat(65535)));
}
