use super::*;
use crate::Version;
use proptest::prelude::*;
use std::sync::LazyLock;

/// Creating certificates takes longer than the tests that use them.
static PARTIES: LazyLock<(Arc<Acceptor>, [Connector; 2])> = LazyLock::new(|| {
    let authority = Authority::new();
    let trusting = settings(&authority, "client-faults");
    let connectors = [Version::Tls12, Version::Tls13].map(|version| {
        let settings = ClientSettings { min_version: version, max_version: version, ..trusting.clone() };
        Connector::new(&settings).unwrap()
    });
    (authority.acceptor(), connectors)
});

fn pair(tls13: bool) -> Pair {
    Pair::new(&PARTIES.0, &PARTIES.1[usize::from(tls13)], "localhost")
}

/// The client's reaction to bytes in place of the server's.
fn heard(bytes: &[u8], by_byte: bool) -> (Option<Fault>, Vec<u8>) {
    let mut pair = pair(true);
    pair.at_client.out.clear();
    for piece in bytes.chunks(if by_byte { 1 } else { bytes.len().max(1) }) {
        pair.tell_client(piece);
    }
    assert!(pair.at_client.plain.is_empty() && pair.at_client.established == 0);
    (pair.at_client.fault, pair.at_client.out)
}

#[test]
fn what_is_no_tls_is_told_apart() {
    for (bytes, fault) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], Some(Fault::PlainHttp)),
        (b"220 mail.example ESMTP\r\n", Some(Fault::NotTls)),
        (b"\x00\x00\x12\x04", Some(Fault::NotTls)),
        (b"\x15\x03\x03\x00\x02\x02\x28", Some(Fault::Alert(40))),
        (b"\x16\x03\x03", None),
        (b"", None),
    ] {
        for by_byte in [false, true] {
            assert_eq!(heard(bytes, by_byte).0, fault, "{bytes:?}");
        }
    }
}

#[test]
fn a_session_that_is_over_stays_over() {
    let mut pair = pair(true);
    pair.at_client.out.clear();
    pair.tell_client(b"HTTP/1.1 400");
    let mut out = Vec::new();
    assert!(matches!(
        pair.client.receive(&mut b"\x16".to_vec(), &mut Vec::new(), &mut out),
        Err(Fault::Over)
    ));
    pair.client.seal(b"x", &mut out);
    pair.client.close(&mut out);
    pair.client.start(&mut out);
    assert!(out.is_empty() && pair.client.info().is_none());
}

#[test]
fn a_damaged_record_ends_the_session() {
    for (tls13, at, fault) in [
        (true, 0, Fault::Unexpected),
        (true, 30, Fault::BadRecord),
        (false, 30, Fault::BadRecord),
        (false, 3, Fault::RecordTooLong),
    ] {
        let mut pair = pair(tls13);
        pair.run();
        pair.server.seal(&[b'x'; 40], &mut pair.at_server.out);
        pair.at_server.out[at] ^= 0xff;
        pair.run();
        assert_eq!(pair.at_client.fault, Some(fault));
        assert!(pair.at_client.plain.is_empty());
        assert!(matches!(pair.at_server.fault, Some(Fault::Alert(_))));
    }
}

proptest! {
    #[test]
    fn garbage_ends_or_waits(mut bytes in prop::collection::vec(any::<u8>(), 0..300), first in 20u8..25) {
        if let [kind, major, _, high, ..] = &mut bytes[..] {
            (*kind, *major, *high) = (first, 3, 0);
        }
        let (whole, said) = heard(&bytes, false);
        let (by_byte, said_by_byte) = heard(&bytes, true);
        prop_assert_eq!(whole, by_byte);
        prop_assert_eq!(said, said_by_byte);
    }

    #[test]
    fn any_message_after_the_handshake_ends_or_waits(
        messages in prop::collection::vec((0usize..4, prop::collection::vec(any::<u8>(), 0..40)), 1..5),
        tls13 in any::<bool>(),
    ) {
        let mut pair = pair(tls13);
        pair.run();
        for (kind, content) in messages {
            let beginning = [&[4, 0, 0][..], &[24, 0, 0, 1], &[0, 0, 0, 0], &[]][kind];
            let message = [beginning, &content].concat();
            pair.server.open().say_in_handshake(&message, &mut pair.at_server.out);
            let sent = std::mem::take(&mut pair.at_server.out);
            pair.tell_client(&sent);
        }
        prop_assert!(pair.at_client.plain.is_empty());
    }

    #[test]
    fn a_flight_with_damage_never_panics(
        tls13 in any::<bool>(), second in any::<bool>(), at in 0usize..2_000, with in any::<u8>(), cut in 1usize..3_000,
    ) {
        let mut pair = pair(tls13);
        let hello = std::mem::take(&mut pair.at_client.out);
        pair.tell_server(&hello);
        if second {
            // The first one is intact; the response to the client's own flight is damaged.
            let flight = std::mem::take(&mut pair.at_server.out);
            pair.tell_client(&flight);
            let finished = std::mem::take(&mut pair.at_client.out);
            pair.tell_server(&finished);
            pair.server.seal(b"hello", &mut pair.at_server.out);
        }
        let mut flight = std::mem::take(&mut pair.at_server.out);
        if !flight.is_empty() {
            let at = at % flight.len();
            flight[at] = with;
        }
        flight.truncate(cut);
        pair.tell_client(&flight);
        pair.run();
    }
}
