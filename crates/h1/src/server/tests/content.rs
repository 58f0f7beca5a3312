//! Framing and content of requests.

use super::check;
use crate::testing::{by_byte, requests};

/// A request with these field lines and what follows.
fn post(fields: &str, rest: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n{rest}")
}

const CHUNKED: &str = "Transfer-Encoding: chunked";

fn check_each(fields: &str, cases: &[(&str, &str)]) {
    for (rest, want) in cases {
        check(&[(&post(fields, rest), &format!("POST / {want}"))]);
    }
}

#[test]
fn content_of_a_length_ends_there() {
    check_each(
        "Content-Length: 3",
        &[
            ("abc", "<abc>. "),
            ("abcGET / HTTP/1.1\r\nHost: a\r\n\r\n", "<abc>. GET / "),
            ("ab", "<ab>"),
            ("", ""),
        ],
    );
    check_each("Content-Length: 0", &[("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / ")]);
    check_each("Content-Length: 0003", &[("abc", "<abc>. ")]);
    check_each("A: b", &[("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / ")]);
}

#[test]
fn ambiguous_framing_is_refused() {
    let cases = [
        ("Content-Length: 5\r\nContent-Length: 5", "!RepeatedLength"),
        ("Content-Length: 5\r\nContent-Length: 6", "!RepeatedLength"),
        ("Content-Length: 5, 5", "!RepeatedLength"),
        ("Content-Length: 5,", "!RepeatedLength"),
        ("Content-Length:", "!MalformedLength"),
        ("Content-Length: +5", "!MalformedLength"),
        ("Content-Length: -5", "!MalformedLength"),
        ("Content-Length: 5 5", "!MalformedLength"),
        ("Content-Length: 0x5", "!MalformedLength"),
        ("Content-Length: 5.0", "!MalformedLength"),
        ("Content-Length: \u{665}", "!MalformedLength"),
        ("Content-Length: 18446744073709551616", "!MalformedLength"),
        ("Content-Length: 18446744073709551615", "!ContentTooLarge"),
        ("Content-Length: 1073741825", "!ContentTooLarge"),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", "!LengthAndEncoding"),
        ("Transfer-Encoding: x\r\nContent-Length: 5", "!LengthAndEncoding"),
        ("Transfer-Encoding: gzip", "!UnknownCoding"),
        ("Transfer-Encoding: gzip, chunked", "!UnknownCoding"),
        ("Transfer-Encoding: identity", "!UnknownCoding"),
        ("Transfer-Encoding: xchunked", "!UnknownCoding"),
        ("Transfer-Encoding: chunked;a=b", "!UnknownCoding"),
        ("Transfer-Encoding: \"chunked\"", "!UnknownCoding"),
        ("Transfer-Encoding: chunked, gzip", "!ChunkedNotLast"),
        ("Transfer-Encoding: chunked, chunked", "!ChunkedNotLast"),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "!ChunkedNotLast"),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "!ChunkedNotLast"),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding:", "!ChunkedNotLast"),
        ("Transfer-Encoding: ,chunked", "!ChunkedNotLast"),
        ("Transfer-Encoding: chunked,", "!ChunkedNotLast"),
        ("Transfer-Encoding:", "!ChunkedNotLast"),
        ("Transfer-Encoding: ,", "!ChunkedNotLast"),
        ("Transfer-Encoding : chunked", "!SpaceBeforeColon"),
        ("Transfer-Encoding: chu\u{b}nked", "!FieldValue"),
    ];
    for (fields, want) in cases {
        check(&[(&post(fields, "5\r\nhello\r\n0\r\n\r\n"), want)]);
    }
    check(&[("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!EncodingInHttp10")]);
}

#[test]
fn chunks_are_joined_and_trailers_kept() {
    check_each(
        CHUNKED,
        &[
            ("0\r\n\r\n", ". "),
            ("5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "<hello>. GET / "),
            ("1\r\na\r\n2\r\nbc\r\n000\r\n\r\n", "<abc>. "),
            ("00a\r\n0123456789\r\n0\r\n\r\n", "<0123456789>. "),
            ("A\r\n0123456789\r\n0\r\n\r\n", "<0123456789>. "),
            ("1;a\r\nx\r\n0;b=\"c;\"\r\n\r\n", "<x>. "),
            ("1 ; a = b\r\nx\r\n0\t;c\r\n\r\n", "<x>. "),
            ("0\r\nDigest: x\r\nServer-Timing:  y \r\n\r\n", ".{Digest=x,Server-Timing=y} "),
            ("0\r\nHost: b\r\nContent-Length: 3\r\nTransfer-Encoding: x\r\n\r\n", ". "),
            ("3\r\n\r\n\n\r\n0\r\n\r\n", "<\\r\\n\\n>. "),
        ],
    );
    check_each("transfer-encoding: CHUNKED", &[("0\r\n\r\n", ". ")]);
}

#[test]
fn chunk_framing_is_strictly_that_of_the_rfc() {
    check_each(
        CHUNKED,
        &[
            ("\r\n", "!MalformedChunkSize"),
            ("x\r\n", "!MalformedChunkSize"),
            ("-1\r\n", "!MalformedChunkSize"),
            ("+1\r\na\r\n", "!MalformedChunkSize"),
            ("0x1\r\na\r\n", "!MalformedChunkSize"),
            (" 1\r\na\r\n", "!MalformedChunkSize"),
            ("1 \r\na\r\n", "!MalformedChunkSize"),
            ("1 1\r\na\r\n", "!MalformedChunkSize"),
            ("1\na\r\n", "!MalformedChunkSize"),
            ("1_0\r\n", "!MalformedChunkSize"),
            ("1\r\r\na\r\n", "!MalformedExtension"),
            ("1;\r\r\na\r\n", "!MalformedExtension"),
            ("1;a\0\r\n", "!MalformedExtension"),
            ("1;\r\na\r\n", "!MalformedExtension"),
            ("1;a=\"\r\na\r\n", "!MalformedExtension"),
            ("1;a=\"\\\"\r\na\r\n", "!MalformedExtension"),
            ("0;a=\"\r\n\r\n", "!MalformedExtension"),
            ("10000000000000000\r\n", "!ChunkSizeOverflow"),
            ("ffffffffffffffff\r\n", "!ContentTooLarge"),
            ("40000001\r\n", "!ContentTooLarge"),
            ("1\r\nab", "<a>!MissingChunkEnd"),
            ("1\r\na\n", "<a>!MissingChunkEnd"),
            ("1\r\na0\r\n", "<a>!MissingChunkEnd"),
            ("1\r\na\rb", "<a>!MissingChunkEnd"),
            ("0\r\n\n", "!FieldValue"),
            ("0\r\na: b\n\r\n", "!FieldValue"),
            ("0\r\n a: b\r\n\r\n", "!ObsoleteFold"),
            ("0\r\na : b\r\n\r\n", "!SpaceBeforeColon"),
            ("0\r\na: b\rc\r\n\r\n", "!BareCr"),
            ("0\r\na: b\r\r\n\r\n", "!BareCr"),
            ("0\r\nGET / HTTP/1.1\r\n\r\n", "!FieldName"),
        ],
    );
}

#[test]
fn content_pieces_are_given_as_they_come() {
    let wire = post(CHUNKED, "5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n");
    for at in 0..wire.len() {
        let (a, b) = wire.as_bytes().split_at(at);
        assert_eq!(requests(&[a, b]), "POST / <helloworld>. ", "split at {at}");
    }
    assert_eq!(requests(&by_byte(wire.as_bytes())), "POST / <helloworld>. ");
}
