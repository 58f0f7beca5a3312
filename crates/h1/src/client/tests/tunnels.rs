//! Connections that become tunnels (RFC 9110 §7.8, §9.3.6), and servers that would like them to.

use super::*;
use crate::Fault;

/// A client that has requested an upgrade.
fn upgrading() -> (Client, Vec<u8>) {
    let (mut client, mut out, mut fields) = (Client::new(), Vec::new(), FieldSection::default());
    fields.append(b"host", b"a");
    fields.append(b"connection", b"close");
    client.send_upgrade_head(b"GET", b"/chat", &fields, b"websocket, x", &mut out).expect("in turn");
    (client, out)
}

/// The result of a response to an upgrade request.
fn answered(wire: &str) -> Result<ClientEvent, Fault> {
    let whole =
        upgrading().0.receive(&Limits::default(), wire.as_bytes(), &mut ResponseHead::new(Status::OK));
    let (mut client, mut head) = (upgrading().0, ResponseHead::new(Status::OK));
    let by_byte = (1..=wire.len()).find_map(|length| {
        let received = client.receive(&Limits::default(), &wire.as_bytes()[..length], &mut head);
        Some(received).filter(|received| received.as_ref().map_or(true, |r| r.event != ClientEvent::More))
    });
    let whole = whole.map(|received| received.event);
    assert_eq!(by_byte.map(|received| received.map(|r| r.event)), Some(whole.clone()), "{wire:?}");
    whole
}

#[test]
fn an_upgrade_names_its_protocols_once_and_no_request_follows_before_it_is_answered() {
    let (mut client, out) = upgrading();
    let want = "GET /chat HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket, x\r\n\r\n";
    assert_eq!(String::from_utf8(out).expect("ASCII"), want);
    assert!(!client.can_send() && client.outstanding() == 1);
    let mut head = ResponseHead::new(Status::OK);
    let wire = b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n";
    client.receive(&Limits::default(), wire, &mut head).expect("an answer");
    assert!(client.is_idle(), "an ordinary answer leaves an ordinary connection");
}

#[test]
fn only_101_with_both_fields_switches() {
    let switched = Ok(ClientEvent::Response(ResponseContent::Tunnel));
    let cases = [
        ("HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", switched.clone()),
        ("HTTP/1.1 101\r\nconnection: a, Upgrade\r\nupgrade: x\r\ncontent-length: 3\r\n\r\n", switched),
        ("HTTP/1.1 101 x\r\nConnection: upgrade\r\n\r\n", Err(Fault::UnexpectedSwitch)),
        ("HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n", Err(Fault::UnexpectedSwitch)),
        ("HTTP/1.1 101 x\r\nConnection: close\r\nUpgrade: x\r\n\r\n", Err(Fault::UnexpectedSwitch)),
        ("HTTP/1.0 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", Err(Fault::UnexpectedSwitch)),
        (
            "HTTP/1.1 200 OK\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 5\r\n\r\n",
            Ok(ClientEvent::Response(ResponseContent::Length(5))),
        ),
        ("HTTP/1.1 103 x\r\nUpgrade: x\r\n\r\n", Ok(ClientEvent::Interim)),
    ];
    for (wire, want) in cases {
        assert_eq!(answered(wire), want, "{wire:?}");
    }
    let switch = "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    for method in [&b"GET"[..], b"HEAD", b"CONNECT"] {
        assert_eq!(responses(&[method], &[switch.as_bytes()]), "!UnexpectedSwitch", "unasked");
    }
}

#[test]
fn bytes_of_a_tunnel_are_passed_as_they_are_and_either_side_may_end_first() {
    let (mut client, mut out) = upgrading();
    let (limits, mut head) = (Limits { content: 1, ..Limits::default() }, ResponseHead::new(Status::OK));
    let wire = b"HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    let received = client.receive(&limits, wire, &mut head).expect("a switch");
    let rest = &wire[received.consumed..];
    let received = client.receive(&limits, rest, &mut head).expect("bytes");
    assert_eq!((received.consumed, received.event), (rest.len(), ClientEvent::Content(0..rest.len())));
    out.clear();
    client.send_content(b"\x81\x00", &mut out);
    assert_eq!(out, b"\x81\x00");
    client.send_end(None, &mut out).expect("no length is known");
    assert_eq!((out.len(), client.is_idle(), client.can_send()), (2, false, false));
    assert_eq!(client.receive(&limits, b"abc", &mut head).expect("bytes").event, ClientEvent::Content(0..3));
    assert_eq!(client.receive_eof(), Ok(ClientEvent::End));
}
