//! Limits: a value at the limit passes, one above does not, however it arrives.

use crate::testing::{by_byte, requests_within};
use crate::{Fault, Limits};

fn check(limits: Limits, wire: &str, want: &str) {
    for pieces in [vec![wire.as_bytes()], by_byte(wire.as_bytes())] {
        assert_eq!(requests_within(&limits, &pieces), want, "{wire:?} in {} pieces", pieces.len());
    }
}

#[test]
fn a_request_line_has_a_limit() {
    let limits = Limits { request_line: 20, ..Limits::default() };
    check(limits, "GET /3456 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /3456 ");
    check(limits, "GET /34567 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /34567 ");
    check(limits, "GET /345678 HTTP/1.1\r\nHost: a\r\n\r\n", "!RequestLineTooLong");
    check(limits, "GET /345678 HTTP/1.1\nHost: a\r\n\r\n", "GET /345678 ");
    check(limits, "\0GET /345678901234567890", "!RequestLineTooLong");
    check(limits, "GET /345678901234567\0\r\n", "!RequestLineTooLong");
}

#[test]
fn a_head_has_a_limit() {
    let wire = "GET / HTTP/1.1\r\nHost: a\r\nB: cd\r\n\r\n";
    let exact = Limits { head: wire.len() as u32, ..Limits::default() };
    check(exact, wire, "GET / ");
    check(exact, &format!("{wire}{wire}"), "GET / GET / ");
    for head in [wire.len() - 1, wire.len() - 2, wire.len() - 3, 20, 10] {
        check(Limits { head: head as u32, ..Limits::default() }, wire, "!HeadTooLarge");
    }
    check(exact, "GET / HTTP/1.1\r\nHost: a\r\nB: cdefghijklmn\0\r\n", "!HeadTooLarge");
    check(exact, "GET / HTTP/1.1\r\nHost: a\r\nB: cdefghijklmn", "!HeadTooLarge");
}

#[test]
fn fields_have_a_limit() {
    let limits = Limits { fields: 2, ..Limits::default() };
    check(limits, "GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\n", "GET / ");
    check(limits, "GET / HTTP/1.1\r\nHost: a\r\nB: c\r\nD: e\r\n", "!TooManyFields");
    check(limits, "GET / HTTP/1.1\r\nHost: a\r\nB: c\r\nD e\r\n", "!FieldName");
    assert_eq!(Fault::TooManyFields.status().code(), 431);
}

#[test]
fn content_has_a_limit() {
    let limits = Limits { content: 4, ..Limits::default() };
    let length = |n| format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {n}\r\n\r\n");
    check(limits, &(length(4) + "abcd"), "PUT / <abcd>. ");
    check(limits, &length(5), "!ContentTooLarge");
    let chunked = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(limits, &format!("{chunked}3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"), "PUT / <abcd>. ");
    check(limits, &format!("{chunked}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), "PUT / <abc>!ContentTooLarge");
}

#[test]
fn chunk_lines_extensions_and_trailers_have_limits() {
    let limits = Limits { chunk_line: 8, chunk_extensions: 6, trailer: 10, fields: 2, ..Limits::default() };
    let chunked = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let cases = [
        ("000000\r\n\r\n", ". "),
        ("0000000\r\n\r\n", "!ChunkLineTooLong"),
        ("000000000000", "!ChunkLineTooLong"),
        ("1;ab\r\nx\r\n0;cd\r\n\r\n", "<x>. "),
        ("1;ab\r\nx\r\n0;cde\r\n\r\n", "<x>!ExtensionsTooLong"),
        ("0\r\na: bcd\r\n\r\n", ".{a=bcd} "),
        ("0\r\na: bcde\r\n\r\n", "!TrailerTooLarge"),
        ("0\r\naaaaaaaaaaaaaaa", "!TrailerTooLarge"),
        ("0\r\na:\r\nb:\r\n\r\n", ".{a=,b=} "),
    ];
    for (rest, want) in cases {
        check(limits, &format!("{chunked}{rest}"), &format!("PUT / {want}"));
    }
    let few = Limits { fields: 2, ..Limits::default() };
    check(few, &format!("{chunked}0\r\na:\r\nb:\r\nc:\r\n\r\n"), "PUT / !TooManyFields");
}

#[test]
fn leading_zeros_of_chunk_sizes_count_as_extensions() {
    let limits = Limits { chunk_extensions: 6, ..Limits::default() };
    let chunked = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let cases = [
        ("0000000\r\n\r\n", ". "),
        ("00000000\r\n\r\n", "!ExtensionsTooLong"),
        ("0001\r\nx\r\n00001;b\r\ny\r\n0\r\n\r\n", "<x>!ExtensionsTooLong"),
        ("0001\r\nx\r\n0001;b\r\ny\r\n0\r\n\r\n", "<xy>. "),
        // Programs that write sizes of a fixed width may do so for ever, since zeros that accompany data cost
        // little.
        (
            "0000007\r\nabcdefg\r\n0000007\r\nabcdefg\r\n0000007\r\nabcdefg\r\n0000000\r\n\r\n",
            "<abcdefgabcdefgabcdefg>. ",
        ),
    ];
    for (rest, want) in cases {
        check(limits, &format!("{chunked}{rest}"), &format!("PUT / {want}"));
    }
}

#[test]
fn extensions_are_counted_up_to_the_greatest_limit() {
    let mut chunked = crate::chunked::Chunked::having_counted(u32::MAX - 1);
    assert!(chunked.receive(&NONE, b"1;a\r\nx\r\n").is_ok(), "the count stays at its end");
}

/// No limits but the greatest that can be written.
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

#[test]
fn every_limit_is_the_last_number_that_passes() {
    let wire = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                2;xy\r\nab\r\n1;z\r\nc\r\n0\r\nd: e\r\n\r\n";
    let line = "PUT / HTTP/1.1\r".len() as u32;
    let head = wire.find("\r\n\r\n").expect("a head") as u32 + 4;
    let taken = "PUT / <abc>.{d=e} ";
    let cases = [
        (NONE, taken),
        (Limits { request_line: line, ..NONE }, taken),
        (Limits { request_line: line - 1, ..NONE }, "!RequestLineTooLong"),
        (Limits { head, ..NONE }, taken),
        (Limits { head: head - 1, ..NONE }, "!HeadTooLarge"),
        (Limits { fields: 2, ..NONE }, taken),
        (Limits { fields: 1, ..NONE }, "!TooManyFields"),
        (Limits { content: 3, ..NONE }, taken),
        (Limits { content: 2, ..NONE }, "PUT / <ab>!ContentTooLarge"),
        (Limits { chunk_line: 6, ..NONE }, taken),
        (Limits { chunk_line: 5, ..NONE }, "PUT / !ChunkLineTooLong"),
        (Limits { chunk_extensions: 5, ..NONE }, taken),
        (Limits { chunk_extensions: 4, ..NONE }, "PUT / <ab>!ExtensionsTooLong"),
        (Limits { trailer: 8, ..NONE }, taken),
        (Limits { trailer: 7, ..NONE }, "PUT / <abc>!TrailerTooLarge"),
        (Limits { interim: 0, ..NONE }, taken), // has no meaning for a server
    ];
    for (limits, want) in cases {
        check(limits, wire, want);
    }
}

#[test]
fn the_greatest_number_of_fields_is_a_limit_too() {
    let wire = |more: usize| format!("GET / HTTP/1.1\nhost:a\n{}\n", "a:\n".repeat(more));
    check(NONE, &wire(65534), "GET / ");
    check(NONE, &wire(65535), "!TooManyFields");
}

#[test]
fn a_length_beyond_every_file_is_no_overflow() {
    let length = |n: &str| format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {n}\r\n\r\nab");
    check(NONE, &length("18446744073709551615"), "PUT / <ab>");
    check(NONE, &length("18446744073709551616"), "!MalformedLength");
    let chunked = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(NONE, &format!("{chunked}1\r\na\r\nffffffffffffffff\r\nb"), "PUT / <ab>");
    let limits = Limits { content: u64::MAX - 1, ..NONE };
    check(limits, &format!("{chunked}1\r\na\r\nffffffffffffffff\r\nb"), "PUT / <a>!ContentTooLarge");
}

#[test]
fn every_byte_of_an_endless_head_is_looked_at_once() {
    // A parser that rescans would examine 40 GB.
    let limits = Limits { head: 8 << 20, fields: u16::MAX, ..Limits::default() };
    let mut server = crate::Server::new();
    let mut head = hayami_http::RequestHead::default();
    let mut wire = b"GET / HTTP/1.1\r\nHost: a\r\nB: ".to_vec();
    for _ in 0..20_000 {
        wire.extend_from_slice(&[b'c'; 200]);
        let received = server.receive(&limits, &wire, &mut head).unwrap();
        assert_eq!(received.consumed, 0);
    }
    wire.extend_from_slice(b"\r\n\r\n");
    assert_eq!(server.receive(&limits, &wire, &mut head).unwrap().consumed, wire.len());
}
