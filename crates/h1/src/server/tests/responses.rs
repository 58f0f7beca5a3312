//! Responses as they leave, and what happens to the connection then.

use super::*;
use hayami_http::{ResponseHead, Status};
use std::sync::Arc;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const COMMON: &[u8] = b"server: hayami\r\n";

/// A server that has received a request head, with input left over.
fn server_with_request(wire: &str) -> (Server, Vec<u8>) {
    let mut server = Server::new();
    let received = server.receive(&Limits::default(), wire.as_bytes(), &mut RequestHead::default()).unwrap();
    assert!(matches!(received.event, Event::Request(_)));
    (server, wire.as_bytes()[received.consumed..].to_vec())
}

fn receive(server: &mut Server, input: &[u8]) -> Event {
    server.receive(&Limits::default(), input, &mut RequestHead::default()).unwrap().event
}

/// The head of a response to `wire`, its framing, and the next step if nothing else is sent.
fn head(wire: &str, status: Status, length: Option<u64>) -> (String, Framing, Next) {
    let (mut server, _) = server_with_request(wire);
    let mut out = Vec::new();
    let framing = server.send_head(&ResponseHead::new(status), length, COMMON, &mut out);
    (String::from_utf8(out).unwrap(), framing, server.next())
}

#[test]
fn heads_say_how_the_content_is_framed_and_whether_the_connection_stays() {
    let get10 = "GET / HTTP/1.0\r\n\r\n";
    let keep10 = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let close = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let head_request = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
    let connect = "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n";
    let (ok, none, unmodified) = (Status::OK, Status::NO_CONTENT, Status::NOT_MODIFIED);
    use Framing::*;
    use Next::*;
    #[rustfmt::skip]
    let cases = [
        (GET, ok, Some(5), "content-length: 5\r\n", Length(5), Close),
        (GET, ok, Some(0), "content-length: 0\r\n", Complete, KeepAlive),
        (GET, ok, None, "transfer-encoding: chunked\r\n", Chunked, Close),
        (GET, none, Some(0), "", Complete, KeepAlive),
        (GET, unmodified, Some(0), "", Complete, KeepAlive),
        (GET, unmodified, Some(5), "", Complete, KeepAlive),
        (GET, Status::RESET_CONTENT, Some(0), "content-length: 0\r\n", Complete, KeepAlive),
        (head_request, ok, Some(5), "content-length: 5\r\n", Complete, KeepAlive),
        (head_request, ok, None, "", Complete, KeepAlive),
        (close, ok, Some(0), "content-length: 0\r\nconnection: close\r\n", Complete, Close),
        (close, ok, None, "transfer-encoding: chunked\r\nconnection: close\r\n", Chunked, Close),
        (get10, ok, Some(0), "content-length: 0\r\nconnection: close\r\n", Complete, Close),
        (get10, ok, None, "connection: close\r\n", UntilClose, Close),
        (keep10, ok, Some(0), "content-length: 0\r\nconnection: keep-alive\r\n", Complete, KeepAlive),
        (keep10, ok, None, "connection: close\r\n", UntilClose, Close),
        (keep10, none, None, "connection: keep-alive\r\n", Complete, KeepAlive),
        (connect, ok, None, "", Tunnel, Close),
        (connect, none, None, "", Tunnel, Close),
        (connect, Status::BAD_GATEWAY, Some(0), "content-length: 0\r\nconnection: close\r\n", Complete, Close),
    ];
    for (wire, status, length, lines, framing, next) in cases {
        let line = format!("HTTP/1.1 {} {}\r\nserver: hayami\r\n", status.code(), status.reason());
        assert_eq!(head(wire, status, length), (format!("{line}{lines}\r\n"), framing, next), "{wire:?}");
    }
}

#[test]
fn status_lines_are_complete_even_without_a_reason() {
    for code in 200..=999 {
        let status = Status::new(code).unwrap();
        let (text, ..) = head(GET, status, Some(0));
        let line = format!("HTTP/1.1 {code} {}\r\n", status.reason());
        assert!(text.starts_with(&line), "{text}");
    }
}

#[test]
fn sections_are_sent_without_lines_of_framing() {
    let mut shared = FieldSection::default();
    shared.append(b"etag", b"\"1\"");
    let mut response = ResponseHead::with_shared(Status::OK, Arc::new(shared));
    response.append(b"Content-Length", b"77");
    response.append(b"x-a", b"1");
    response.append(b"connection", b"upgrade");
    response.append(b"Transfer-Encoding", b"gzip");
    let (mut server, _) = server_with_request(GET);
    let mut out = Vec::new();
    server.send_head(&response, Some(2), b"", &mut out);
    server.send_content(b"hi", &mut out);
    assert_eq!(out, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\netag: \"1\"\r\nx-a: 1\r\n\r\nhi");
    assert_eq!(server.next(), Next::KeepAlive);
}

#[test]
fn chunked_content_ends_with_the_last_chunk_and_trailers() {
    let (mut server, _) = server_with_request(GET);
    let mut out = Vec::new();
    server.send_head(&ResponseHead::new(Status::OK), None, b"", &mut out);
    out.clear();
    server.send_content(b"", &mut out);
    let empty = server.begin_chunk(&mut out);
    server.end_chunk(empty, &mut out);
    assert_eq!(out, b"");
    let mark = server.begin_chunk(&mut out);
    out.extend_from_slice(&[b'x'; 26]);
    server.end_chunk(mark, &mut out);
    server.send_content(b"yz", &mut out);
    assert_eq!(server.next(), Next::Close);
    let mut trailers = FieldSection::default();
    trailers.append(b"digest", b"d");
    trailers.append(b"content-length", b"9");
    assert_eq!(server.send_end(Some(&trailers), &mut out), Ok(()));
    let want = "0000001a\r\nxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n00000002\r\nyz\r\n0\r\ndigest: d\r\n\r\n";
    assert_eq!(String::from_utf8(out).unwrap(), want);
    assert_eq!(server.next(), Next::KeepAlive);
}

#[test]
fn content_of_a_length_is_counted_whichever_way_it_leaves() {
    let (mut server, _) = server_with_request(GET);
    let mut out = Vec::new();
    server.send_head(&ResponseHead::new(Status::OK), Some(10), b"", &mut out);
    out.clear();
    server.send_content(b"ab", &mut out);
    server.content_sent(4);
    assert!(!server.is_complete());
    let mark = server.begin_chunk(&mut out);
    out.extend_from_slice(b"cdefgh");
    server.end_chunk(mark, &mut out);
    assert_eq!((&out[..], server.next()), (&b"abcdef"[..], Next::KeepAlive));
    assert_eq!(server.send_end(None, &mut out), Ok(()));
    server.send_content(b"more", &mut out);
    assert_eq!(out, b"abcdef");
}

#[test]
fn a_response_cut_short_closes_the_connection() {
    let (mut server, _) = server_with_request(GET);
    let mut out = Vec::new();
    server.send_head(&ResponseHead::new(Status::OK), Some(10), b"", &mut out);
    server.send_content(b"ab", &mut out);
    assert_eq!(server.send_end(None, &mut out), Err(CutShort { missing: 8 }));
    assert_eq!(server.next(), Next::Close);
    assert_eq!(receive(&mut server, GET.as_bytes()), Event::More);

    let (mut server, _) = server_with_request(GET);
    server.send_head(&ResponseHead::new(Status::OK), None, b"", &mut out);
    out.clear();
    server.cut_short();
    server.send_content(b"x", &mut out);
    let _ = server.send_end(None, &mut out);
    assert_eq!((&out[..], server.next()), (&b""[..], Next::Close));
}

#[test]
fn pipelined_requests_wait_for_the_response_before_them() {
    let (mut server, rest) = server_with_request(&format!("{GET}{GET}"));
    assert_eq!(server.receive(&Limits::default(), &rest, &mut RequestHead::default()).unwrap().consumed, 0);
    let mut out = Vec::new();
    server.send_head(&ResponseHead::new(Status::OK), Some(1), b"", &mut out);
    assert_eq!(receive(&mut server, &rest), Event::More);
    server.send_content(b"x", &mut out);
    assert!(server.is_idle());
    assert_eq!((receive(&mut server, b""), server.next()), (Event::More, Next::KeepAlive));
    assert_eq!(receive(&mut server, &rest), Event::Request(RequestContent::None));
    assert!(!server.is_idle());
}

#[test]
fn content_left_over_after_an_early_response_is_discarded() {
    let (mut server, rest) = server_with_request("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    server.send_head(&ResponseHead::new(Status::FORBIDDEN), Some(0), b"", &mut Vec::new());
    assert_eq!(server.next(), Next::Discard);
    assert_eq!(receive(&mut server, &rest), Event::Content(0..3));
    assert_eq!(receive(&mut server, b""), Event::End);
    assert_eq!(server.next(), Next::KeepAlive);
}

#[test]
fn a_client_that_waits_for_100_and_does_not_get_it_is_disconnected() {
    let wire = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    let (mut server, _) = server_with_request(wire);
    assert!(server.expects_continue());
    let mut out = Vec::new();
    server.send_head(&ResponseHead::new(Status::FORBIDDEN), Some(0), b"", &mut out);
    assert!(out.windows(19).any(|w| w == b"connection: close\r\n"));
    assert_eq!(server.next(), Next::Close);

    let (mut server, _) = server_with_request(wire);
    out.clear();
    server.send_interim(&ResponseHead::new(Status::CONTINUE), &mut out);
    assert_eq!(out, b"HTTP/1.1 100 Continue\r\n\r\n");
    assert!(!server.expects_continue());
    server.send_head(&ResponseHead::new(Status::FORBIDDEN), Some(0), b"", &mut out);
    assert_eq!(server.next(), Next::Discard);

    // A client that did not wait has made the choice.
    let (mut server, _) = server_with_request(wire);
    assert_eq!(receive(&mut server, b"a"), Event::Content(0..1));
    server.send_head(&ResponseHead::new(Status::FORBIDDEN), Some(0), b"", &mut out);
    assert_eq!(server.next(), Next::Discard);
}

#[test]
fn interim_responses_go_only_to_clients_that_know_them() {
    let mut hints = ResponseHead::new(Status::EARLY_HINTS);
    hints.append(b"link", b"</a.css>");
    let mut out = Vec::new();
    server_with_request("GET / HTTP/1.0\r\n\r\n").0.send_interim(&hints, &mut out);
    assert_eq!(out, b"");
    let (mut server, _) = server_with_request(GET);
    server.send_interim(&ResponseHead::new(Status::OK), &mut out);
    assert_eq!(out, b"");
    server.send_interim(&hints, &mut out);
    assert_eq!(out, b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n");
    server.send_head(&ResponseHead::new(Status::OK), Some(0), b"", &mut out);
    let len = out.len();
    server.send_interim(&hints, &mut out);
    assert_eq!((out.len(), server.next()), (len, Next::Close));
}

#[test]
fn a_fault_is_answered_once_and_then_the_connection_closes() {
    let mut server = Server::new();
    let (mut head, mut out) = (RequestHead::default(), Vec::new());
    let limits = Limits::default();
    assert_eq!(server.receive(&limits, b"GET / HTTP/1.1\r\n\r\n", &mut head), Err(Fault::MissingHost));
    assert_eq!(server.next(), Next::Close);
    let response = ResponseHead::new(Fault::MissingHost.status());
    assert_eq!(server.send_head(&response, Some(2), b"", &mut out), Framing::Length(2));
    server.send_content(b"no", &mut out);
    assert_eq!(out, b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
    assert_eq!(server.next(), Next::Close);
    let received = server.receive(&limits, GET.as_bytes(), &mut head).unwrap();
    assert_eq!((received.consumed, received.event), (GET.len(), Event::More));
    let len = out.len();
    server.send_head(&response, Some(2), b"", &mut out);
    assert_eq!(out.len(), len);
}

#[test]
fn a_fault_in_content_may_still_be_answered() {
    let (mut server, _) =
        server_with_request("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let fault = server.receive(&Limits::default(), b"x\r\n", &mut RequestHead::default());
    assert_eq!(fault, Err(Fault::MalformedChunkSize));
    let mut out = Vec::new();
    server.send_head(&ResponseHead::new(Status::BAD_REQUEST), Some(0), b"", &mut out);
    assert!(out.starts_with(b"HTTP/1.1 400 ") && server.is_complete());
    assert_eq!(server.next(), Next::Close);
}

#[test]
fn a_request_that_never_comes_may_be_refused() {
    let mut server = Server::new();
    assert!(server.is_idle());
    assert_eq!(receive(&mut server, b"GET"), Event::More);
    assert!(!server.is_idle());
    server.refuse();
    let mut out = Vec::new();
    server.send_head(&ResponseHead::new(Status::REQUEST_TIMEOUT), Some(0), b"", &mut out);
    assert_eq!(out, b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

#[test]
fn a_graceful_stop_says_close_in_the_next_head() {
    let (mut server, rest) = server_with_request(&format!("{GET}{GET}"));
    let mut out = Vec::new();
    server.send_head(&ResponseHead::new(Status::OK), Some(0), b"", &mut out);
    server.close_after_response();
    assert_eq!((server.next(), server.is_idle()), (Next::Close, false));
    assert_eq!(receive(&mut server, &rest), Event::More);

    let mut server = Server::new();
    assert_eq!((server.next(), receive(&mut server, b"G")), (Next::KeepAlive, Event::More));
    server.close_after_response();
    assert_eq!(server.next(), Next::KeepAlive);

    let mut server = Server::new();
    server.close_after_response();
    assert_eq!(server.next(), Next::Close);
    assert_eq!(receive(&mut server, GET.as_bytes()), Event::Request(RequestContent::None));
    out.clear();
    server.send_head(&ResponseHead::new(Status::OK), Some(0), b"", &mut out);
    assert_eq!(out, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

#[test]
fn nothing_is_sent_without_a_request() {
    let (mut server, mut out) = (Server::new(), Vec::new());
    server.send_interim(&ResponseHead::new(Status::CONTINUE), &mut out);
    server.send_content(b"x", &mut out);
    assert_eq!(server.send_head(&ResponseHead::new(Status::OK), Some(1), b"", &mut out), Framing::Complete);
    let _ = server.send_end(None, &mut out);
    assert_eq!(out, b"");
}
