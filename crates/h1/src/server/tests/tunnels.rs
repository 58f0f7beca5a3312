//! Connections that become tunnels (RFC 9110 §7.8, §9.3.6), and those that do not.

use super::*;
use hayami_http::{ResponseHead, Status};

const UPGRADE: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
const CONNECT: &str = "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n";

fn receive(server: &mut Server, input: &[u8]) -> Received {
    server.receive(&Limits::default(), input, &mut RequestHead::default()).expect("no fault")
}

/// A server that has received a request's head.
fn server_with_request(wire: &str) -> Server {
    let mut server = Server::new();
    let received = receive(&mut server, wire.as_bytes());
    assert!(matches!(received.event, Event::Request(_)), "{wire:?}");
    server
}

fn answer(server: &mut Server, status: Status) -> (String, Framing) {
    let mut out = Vec::new();
    let framing = server.send_head(&ResponseHead::new(status), None, b"", &mut out);
    (String::from_utf8(out).expect("ASCII"), framing)
}

#[test]
fn an_upgrade_is_asked_for_by_both_fields_in_http_1_1_and_without_content() {
    let cases = [
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: x\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: a\r\nConnection: UPGRADE\r\nUpgrade: x\r\n\r\n", true),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 0\r\n\r\n",
            true,
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgraded\r\nUpgrade: x\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", false),
        ("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", false),
        ("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", false),
        (
            "PUT / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 1\r\n\r\n",
            false,
        ),
        (
            "PUT / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
            false,
        ),
    ];
    for (wire, want) in cases {
        assert_eq!(server_with_request(wire).asks_upgrade(), want, "{wire:?}");
        let (head, framing) = answer(&mut server_with_request(wire), Status::SWITCHING_PROTOCOLS);
        let line = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n\r\n";
        assert_eq!(head, if want { line } else { "" }, "{wire:?}");
        assert_eq!(framing, if want { Framing::Tunnel } else { Framing::Complete }, "{wire:?}");
    }
}

#[test]
fn bytes_before_the_answer_wait_until_it_decides_about_them() {
    let next = b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
    let length = next.len();
    let waits = Received { consumed: 0, event: Event::More };
    // The request, the status of the response, and how the bytes after the request are interpreted.
    let cases = [
        (UPGRADE, Status::SWITCHING_PROTOCOLS, Event::Content(0..length)),
        (UPGRADE, Status::OK, Event::Request(RequestContent::None)),
        (UPGRADE, Status::BAD_GATEWAY, Event::Request(RequestContent::None)),
        (CONNECT, Status::OK, Event::Content(0..length)),
        // Meant for the tunnel that was refused, it is discarded: it is not a request.
        (CONNECT, Status::FORBIDDEN, Event::More),
    ];
    for (wire, status, want) in cases {
        let mut server = server_with_request(wire);
        assert_eq!(receive(&mut server, next), waits, "{wire:?}");
        assert_eq!(server.receive_more(&Limits::default(), next), Ok(waits.clone()), "{wire:?}");
        let mut out = Vec::new();
        server.send_head(&ResponseHead::new(status), Some(0), b"", &mut out);
        assert_eq!(receive(&mut server, next), Received { consumed: next.len(), event: want }, "{wire:?}");
    }
}

#[test]
fn both_directions_of_a_tunnel_end_by_themselves() {
    for order in ["ce", "ec"] {
        let mut server = server_with_request(UPGRADE);
        assert_eq!(server.receive_eof(), Event::More, "no tunnel yet");
        answer(&mut server, Status::SWITCHING_PROTOCOLS);
        for step in order.chars() {
            let mut out = Vec::new();
            if step == 'c' {
                server.send_content(b"\0\xff", &mut out);
                assert_eq!((out.as_slice(), server.is_complete()), (&b"\0\xff"[..], false));
                server.send_end(None, &mut out).expect("nothing is missing");
                assert!(server.is_complete() && out.len() == 2);
            } else {
                assert_eq!(
                    receive(&mut server, b"GET"),
                    Received { consumed: 3, event: Event::Content(0..3) }
                );
                assert_eq!(receive(&mut server, b"").event, Event::More);
                assert_eq!(server.receive_eof(), Event::End);
                assert_eq!(server.receive_eof(), Event::More);
                assert_eq!(receive(&mut server, b"GET"), Received { consumed: 3, event: Event::More });
            }
            assert_eq!((server.next(), server.is_idle()), (Next::Close, false));
        }
    }
}

#[test]
fn a_tunnel_has_no_limit_of_content() {
    let mut server = server_with_request(CONNECT);
    answer(&mut server, Status::OK);
    let limits = Limits { content: 1, ..Limits::default() };
    let received = server.receive_more(&limits, &[0; 100]).expect("no limit");
    assert_eq!(received, Received { consumed: 100, event: Event::Content(0..100) });
}

#[test]
fn a_connect_with_content_becomes_no_tunnel_before_its_content_is_complete() {
    let mut server = server_with_request("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\nContent-Length: 1\r\n\r\n");
    let (head, framing) = answer(&mut server, Status::OK);
    assert_eq!((head.as_str(), framing), ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", Framing::Complete));
    assert_eq!(server.next(), Next::Close);
}
