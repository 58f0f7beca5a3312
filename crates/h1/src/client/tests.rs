//! Wire tests of the client role: each case whole and byte by byte.

mod limits;
mod tunnels;

use super::*;
use crate::RequestContent;
use crate::testing::{by_byte, client_with_requests, responses, responses_within};
use hayami_http::Status;

fn check(methods: &[&[u8]], cases: &[(&str, &str)]) {
    for (wire, want) in cases {
        assert_eq!(responses(methods, &[wire.as_bytes()]), *want, "{wire:?} whole");
        assert_eq!(responses(methods, &by_byte(wire.as_bytes())), *want, "{wire:?} by byte");
    }
}

#[test]
fn responses_end_where_the_rfc_says() {
    check(
        &[b"GET"],
        &[
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 <abc>. eof"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 eof"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nb: c\r\n\r\n",
                "200 <a>.{b=c} eof",
            ),
            ("HTTP/1.1 200 OK\r\n\r\nabc", "200 <abc>eof."),
            ("HTTP/1.0 200 OK\r\n\r\n", "200 eof."),
            ("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", "204 eof"),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "304 eof"),
            ("HTTP/1.1 200\nContent-Length: 1\n\na", "200 <a>. eof"),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\na: b\r\n\r\nHTTP/1.1 204 x\r\n\r\n",
                "100+ 103+ 204 eof",
            ),
        ],
    );
    check(
        &[b"HEAD"],
        &[
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "200 eof"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "200 eof"),
            ("HTTP/1.1 404 Not Found\r\n\r\n", "404 eof"),
        ],
    );
    check(
        &[b"CONNECT"],
        &[
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\0\0", "200 <\\x00\\x00>eof."),
            ("HTTP/1.1 502 Bad\r\nContent-Length: 1\r\n\r\na", "502 <a>. eof"),
        ],
    );
}

#[test]
fn responses_answer_requests_in_order() {
    let wire = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\
                HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check(&[b"GET", b"HEAD", b"GET"], &[(wire, "200 <a>. 200 404 . eof")]);
    check(&[b"GET", b"HEAD"], &[(wire, "200 <a>. 200 !UnsolicitedResponse")]);
    check(&[b"GET", b"HEAD", b"GET", b"GET"], &[(wire, "200 <a>. 200 404 . eof!ClosedEarly")]);
}

#[test]
fn nothing_after_a_response_with_close_is_a_response() {
    let wire = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 x\r\n\r\n";
    check(&[b"GET"], &[(wire, "200 eof")]);
    check(&[b"GET", b"GET"], &[(wire, "200 eof!ClosedEarly")]);
}

#[test]
fn broken_responses_are_faults() {
    check(
        &[b"GET"],
        &[
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "200 <ab>eof!ClosedEarly"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "200 <a>eof!ClosedEarly"),
            ("HTTP/1.1 200 OK\r\n", "eof!ClosedEarly"),
            ("", "eof!ClosedEarly"),
            ("HTTP/1.1 OK\r\n", "!MalformedStatusLine"),
            ("HTTP/3.0 200 OK\r\n", "!UnsupportedVersion"),
            ("\r\nHTTP/1.1 200 OK\r\n", "!MalformedStatusLine"),
            ("HTTP/1.1 200 OK\r\na b: c\r\n\r\n", "!FieldName"),
            ("HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n", "!ObsoleteFold"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "!RepeatedLength"),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "!MalformedLength"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "!LengthAndEncoding",
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "!UnknownCoding"),
            ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "!EncodingInHttp10"),
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "!UnexpectedSwitch"),
        ],
    );
}

#[test]
fn a_client_has_limits() {
    let check = |limits: Limits, wire: &str, want: &str| {
        for pieces in [vec![wire.as_bytes()], by_byte(wire.as_bytes())] {
            assert_eq!(responses_within(&limits, &[b"GET"], &pieces), want, "{wire:?}");
        }
    };
    let limits = Limits { request_line: 16, content: 2, interim: 1, head: 60, ..Limits::default() };
    check(limits, "HTTP/1.1 200 OK\r\n\r\nab", "200 <ab>eof.");
    check(limits, "HTTP/1.1 200 Okay\r\n", "!StatusLineTooLong");
    check(limits, "HTTP/1.1 200 Okayokayokay", "!StatusLineTooLong");
    check(limits, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "!ContentTooLarge");
    check(limits, &format!("HTTP/1.1 200 OK\r\na: {}\r\n\r\n", "b".repeat(50)), "!HeadTooLarge");
    check(limits, "HTTP/1.1 100 A\r\n\r\nHTTP/1.1 100 A\r\n\r\n", "100+ !TooManyInterim");
    let unframed = responses_within(&limits, &[b"GET"], &[b"HTTP/1.1 200 OK\r\n\r\nabc"]);
    assert_eq!(unframed, "200 !ContentTooLarge");
}

/// The bytes of a request.
fn request(method: &[u8], content: RequestContent, send: impl FnOnce(&mut Client, &mut Vec<u8>)) -> String {
    let (mut client, mut out) = (Client::new(), Vec::new());
    let mut fields = FieldSection::default();
    fields.append(b"host", b"a");
    fields.append(b"content-length", b"99");
    client.send_head(method, b"/x", &fields, content, &mut out).unwrap();
    send(&mut client, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn requests_are_framed_by_their_content() {
    let get = request(b"GET", RequestContent::None, |_, _| {});
    assert_eq!(get, "GET /x HTTP/1.1\r\nhost: a\r\n\r\n");
    let post = request(b"POST", RequestContent::None, |_, _| {});
    assert_eq!(post, "POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n");
    let put = request(b"PUT", RequestContent::Length(2), |client, out| {
        assert!(!client.can_send());
        client.send_content(b"hiho", out);
        assert!(client.can_send());
    });
    assert_eq!(put, "PUT /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi");
    let chunked = request(b"PUT", RequestContent::Chunked, |client, out| {
        let mark = client.begin_chunk(out);
        out.extend_from_slice(b"hi");
        client.end_chunk(mark, out);
        client.send_end(None, out).unwrap();
    });
    assert!(chunked.ends_with("transfer-encoding: chunked\r\n\r\n00000002\r\nhi\r\n0\r\n\r\n"));
}

#[test]
fn a_request_out_of_turn_is_not_written() {
    let fields = FieldSection::default();
    let mut out = Vec::new();
    let mut client = client_with_requests(&[b"GET".as_slice(); 64]);
    assert_eq!(client.send_head(b"GET", b"/", &fields, RequestContent::None, &mut out), Err(OutOfTurn));
    let mut client = Client::new();
    client.send_last_head(b"GET", b"/", &fields, RequestContent::None, &mut out).unwrap();
    assert_eq!(out, b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert_eq!(client.send_head(b"GET", b"/", &fields, RequestContent::None, &mut out), Err(OutOfTurn));
    let mut client = Client::new();
    client.send_head(b"PUT", b"/", &fields, RequestContent::Length(2), &mut out).unwrap();
    client.content_sent(1);
    assert_eq!(client.send_end(None, &mut out), Err(crate::CutShort { missing: 1 }));
    assert!(!client.can_send());
}

#[test]
fn a_client_is_idle_when_everything_was_answered() {
    let mut client = client_with_requests(&[b"GET"]);
    assert!(client.can_send() && !client.is_idle());
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
    let mut head = ResponseHead::new(Status::OK);
    let limits = Limits::default();
    let received = client.receive(&limits, wire, &mut head).unwrap();
    assert_eq!(received.event, ClientEvent::Response(ResponseContent::Length(1)));
    assert_eq!(client.receive(&limits, b"a", &mut head).unwrap().event, ClientEvent::Content(0..1));
    assert!(!client.is_idle());
    assert_eq!(client.receive(&limits, b"", &mut head).unwrap().event, ClientEvent::End);
    assert!(client.is_idle());
    assert_eq!(client.receive_eof(), Ok(ClientEvent::More));
    assert!(!client.can_send());
}

#[test]
fn ready_made_requests_are_answered_like_others() {
    let mut client = Client::new();
    client.sent_ready_made(b"HEAD", false).unwrap();
    client.sent_ready_made(b"GET", true).unwrap();
    assert_eq!(client.sent_ready_made(b"GET", false), Err(OutOfTurn));
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    let (mut head, limits) = (ResponseHead::new(Status::OK), Limits::default());
    let event = client.receive(&limits, wire, &mut head).unwrap().event;
    assert_eq!(event, ClientEvent::Response(ResponseContent::None), "HEAD has no content");
    let event = client.receive(&limits, wire, &mut head).unwrap().event;
    assert_eq!(event, ClientEvent::Response(ResponseContent::Length(1)));
}
