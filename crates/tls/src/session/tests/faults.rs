use super::*;
use proptest::prelude::*;

/// The result and the output of a fresh session for `bytes`.
fn answer(bytes: &[u8], by_byte: bool) -> (Result<(), Fault>, Vec<u8>) {
    let authority = Authority::new();
    let mut pair = Pair::new(&authority.acceptor(), &Arc::new(authority.client()), "localhost");
    let result = match by_byte {
        true => bytes.iter().try_for_each(|byte| pair.receive(&[*byte])),
        false => pair.receive(bytes),
    };
    (result, pair.out)
}

#[test]
fn what_is_no_tls_is_told_apart() {
    for (bytes, expected, alert) in [
        (&b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..], Fault::PlainHttp, &b""[..]),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Fault::PlainHttp, b""),
        (b"\x00\x01", Fault::NotTls, b"\x15\x03\x03\x00\x02\x02\x0a"),
        (b"\x80\x2e\x01\x00\x02", Fault::NotTls, b"\x15\x03\x03\x00\x02\x02\x0a"),
    ] {
        for by_byte in [false, true] {
            let (result, out) = answer(bytes, by_byte);
            assert_eq!(result, Err(expected.clone()), "{bytes:?}");
            assert_eq!(out, alert, "{bytes:?}");
        }
    }
}

#[test]
fn handshakes_that_go_wrong_end_with_an_alert() {
    for bytes in [
        &b"\x16\x03\x01\x00\x04\x02\x00\x00\x00"[..],    // a ServerHello
        b"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03", // a ClientHello that is cut off
        b"\x17\x03\x03\x00\x01\x00",                     // application data
    ] {
        let (result, out) = answer(bytes, false);
        assert!(matches!(result, Err(Fault::Handshake(_))), "{result:?}");
        assert!(matches!(out[..], [21, 3, _, 0, 2, 2, _]), "{bytes:?}: {out:?}");
    }
    assert_eq!(answer(b"\x15\x03\x01\x00\x02\x02\x28", false).0, Err(Fault::Alert(40)));
}

#[test]
fn a_client_that_distrusts_us_is_quoted() {
    let (authority, other) = (Authority::new(), Authority::new());
    let mut pair = Pair::new(&authority.acceptor(), &Arc::new(other.client()), "localhost");
    // The authorities have the same name: decrypt_error, where another name gave unknown_ca.
    assert_eq!(pair.run(), Err(Fault::Alert(51)));
    assert_eq!(pair.receive(b""), Err(Fault::Over));
    assert!(pair.session.info().is_none());
}

#[test]
fn a_damaged_record_ends_the_session() {
    let authority = Authority::new();
    for version in rustls::ALL_VERSIONS {
        for at in [0, 1, 3, 5, 30] {
            let client = authority.client_with(aws_lc_rs::default_provider(), &[version]);
            let mut pair = Pair::joined(&authority.acceptor(), client);
            pair.client.writer().write_all(&[b'x'; 40]).unwrap();
            let mut sent = Vec::new();
            pair.client.write_tls(&mut sent).unwrap();
            sent[at] ^= 0xff;
            let fault = pair.receive(&sent).expect_err("damaged");
            let expected = match (version.version, at) {
                (_, 3) => Fault::RecordTooLong,
                (rustls::ProtocolVersion::TLSv1_3, 0) => Fault::Unexpected,
                _ => Fault::BadRecord,
            };
            assert_eq!(fault, expected, "byte {at}");
            assert!(pair.plain.is_empty());
            pair.deliver();
            assert!(pair.client.process_new_packets().is_err(), "it got the alert");
            assert_eq!(pair.receive(&sent), Err(Fault::Over));
        }
    }
}

#[test]
fn a_peer_that_only_changes_keys_is_cut_off() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), authority.client());
    let fault = (0..100).find_map(|_| {
        pair.client.refresh_traffic_keys().unwrap();
        pair.run().err()
    });
    assert_eq!(fault, Some(Fault::TooManyIdleRecords));
}

#[test]
fn a_peer_that_changes_keys_all_the_time_is_cut_off() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), authority.client());
    let fault = (0..5_000).find_map(|turn| {
        pair.client.refresh_traffic_keys().unwrap();
        pair.client.writer().write_all(b"x").unwrap();
        pair.run().err().map(|fault| (turn, fault))
    });
    assert_eq!(fault, Some((1024, Fault::TooManyIdleRecords)));
}

#[test]
fn a_peer_that_changes_keys_as_often_as_they_are_used_is_not_cut_off() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), authority.client());
    for _ in 0..1_100 {
        for _ in 0..64 {
            pair.client.writer().write_all(b"x").unwrap();
        }
        pair.client.refresh_traffic_keys().unwrap();
        pair.run().unwrap();
    }
    assert_eq!(pair.plain.len(), 1_100 * 64);
}

/// The records of a handshake message, each with a single byte of it.
fn in_tiny_records(message: impl IntoIterator<Item = u8>) -> Vec<u8> {
    message.into_iter().flat_map(|byte| [22, 3, 3, 0, 1, byte]).collect()
}

#[test]
fn a_hello_in_records_of_one_byte_is_as_good_as_any() {
    let authority = Authority::new();
    for by_byte in [false, true] {
        let mut pair = Pair::new(&authority.acceptor(), &Arc::new(authority.client()), "localhost");
        let mut sent = Vec::new();
        pair.client.write_tls(&mut sent).unwrap();
        let wire = in_tiny_records(sent[5..].iter().copied());
        match by_byte {
            true => wire.iter().for_each(|byte| pair.receive(&[*byte]).unwrap()),
            false => pair.receive(&wire).unwrap(),
        }
        pair.deliver();
        pair.run().unwrap();
        assert_eq!(pair.established, 1);
    }
}

#[test]
fn a_message_in_records_of_one_byte_has_an_end() {
    let authority = Authority::new();
    let hello = [1, 0, 0x80, 0].into_iter().chain(std::iter::repeat(7));
    assert_eq!(
        answer(&in_tiny_records(hello.take(0x8000)), false),
        (Err(Fault::TooManyIdleRecords), b"\x15\x03\x03\x00\x02\x02\x0a".to_vec())
    );
    let client = authority.client_with(aws_lc_rs::default_provider(), &[&rustls::version::TLS12]);
    let mut pair = Pair::new(&authority.acceptor(), &Arc::new(client), "localhost");
    let mut sent = Vec::new();
    pair.client.write_tls(&mut sent).unwrap();
    pair.receive(&sent).unwrap();
    let key_exchange = [16, 0, 0xff, 0].into_iter().chain(std::iter::repeat(7));
    assert_eq!(pair.receive(&in_tiny_records(key_exchange.take(0x8000))), Err(Fault::TooManyIdleRecords));
}

proptest! {
    #[test]
    fn garbage_ends_or_waits(mut bytes in prop::collection::vec(any::<u8>(), 0..300), first in 20u8..25) {
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        let (whole, said) = answer(&bytes, false);
        let (by_byte, said_by_byte) = answer(&bytes, true);
        prop_assert_eq!(whole.is_err(), by_byte.is_err());
        prop_assert_eq!(said, said_by_byte);
    }

    #[test]
    fn a_hello_with_damage_never_panics(at in 0usize..1_500, with in any::<u8>(), cut in 0usize..1_500) {
        let authority = Authority::new();
        let mut pair = Pair::new(&authority.acceptor(), &Arc::new(authority.client()), "localhost");
        let mut sent = Vec::new();
        pair.client.write_tls(&mut sent).unwrap();
        if let Some(byte) = sent.get_mut(at) {
            *byte = with;
        }
        sent.truncate(cut.max(1));
        let _ = pair.receive(&sent);
    }

    #[test]
    fn a_second_flight_with_damage_never_panics(
        tls13 in any::<bool>(), at in 0usize..200, with in any::<u8>(), cut in 1usize..300, more in any::<bool>(),
    ) {
        let authority = Authority::new();
        let version = if tls13 { &rustls::version::TLS13 } else { &rustls::version::TLS12 };
        let client = authority.client_with(aws_lc_rs::default_provider(), &[version]);
        let mut pair = Pair::new(&authority.acceptor(), &Arc::new(client), "localhost");
        let mut sent = Vec::new();
        pair.client.write_tls(&mut sent).unwrap();
        pair.receive(&sent).unwrap();
        pair.deliver();
        sent.clear();
        while pair.client.wants_write() {
            pair.client.write_tls(&mut sent).unwrap();
        }
        if let Some(byte) = sent.get_mut(at) {
            *byte = with;
        }
        sent.truncate(cut);
        if pair.receive(&sent).is_ok() && more {
            let _ = pair.receive(&[22, 3, 3, 0, 6, 20, 0, 0, 12, 1, 2]);
        }
    }
}
