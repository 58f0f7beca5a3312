use super::*;

/// The lengths of the records in `bytes`.
fn lengths(mut bytes: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    while let [_, _, _, high, low, rest @ ..] = bytes {
        let len = usize::from(*high) << 8 | usize::from(*low);
        lengths.push(len);
        bytes = &rest[len..];
    }
    lengths
}

#[test]
fn records_grow_with_what_was_sent_and_shrink_after_a_pause() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), authority.client());
    let content = vec![b'x'; 100_000];
    pair.session.seal(&content, &mut pair.out);
    let sent = lengths(&pair.out);
    assert_eq!((sent[0], sent[45], sent[47], sent[48]), (1_417, 1_417, 16_401, 16_401), "{sent:?}");
    pair.run().unwrap();
    assert_eq!(pair.heard(), content);
    pair.session.seal(&content, &mut pair.out);
    assert_eq!(lengths(&pair.out)[0], 16_401);
    pair.run().unwrap();
    pair.session.was_idle();
    pair.session.seal(&content, &mut pair.out);
    assert_eq!(lengths(&pair.out)[0], 1_417);
    pair.session.seal(b"", &mut pair.out);
    pair.run().unwrap();
}

#[test]
fn keys_change_whoever_asks() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), authority.client());
    for turn in 0..5u8 {
        pair.client.refresh_traffic_keys().unwrap();
        pair.say(&[turn]);
        pair.session.seal(&[turn], &mut pair.out);
        pair.run().unwrap();
        assert_eq!(pair.heard(), [turn]);
    }
    assert_eq!(pair.plain, [0, 1, 2, 3, 4]);
}

#[test]
fn one_answer_is_enough_for_many_requests_for_new_keys() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), authority.client());
    for _ in 0..10 {
        for _ in 0..20 {
            pair.client.refresh_traffic_keys().unwrap();
            pair.say(b"");
        }
        pair.say(b"x");
        assert_eq!(pair.out.len(), 0, "a peer that does not read costs no memory");
    }
    pair.session.seal(b"answer", &mut pair.out);
    assert_eq!(lengths(&pair.out), [22, 23], "one KeyUpdate (RFC 8446 §4.6.3), then the answer");
    pair.run().unwrap();
    assert_eq!(pair.heard(), b"answer");
    pair.session.seal(b"more", &mut pair.out);
    assert_eq!(lengths(&pair.out), [21]);
}

#[test]
fn many_attempts_to_renegotiate_get_one_answer() {
    let authority = Authority::new();
    let client = authority.client_with(aws_lc_rs::default_provider(), &[&rustls::version::TLS12]);
    let mut pair = Pair::joined(&authority.acceptor(), client);
    let mut hello = Vec::new();
    let client = Arc::new(authority.client());
    let name = "localhost".to_owned().try_into().unwrap();
    ClientConnection::new(client, name).unwrap().write_tls(&mut hello).unwrap();
    let attempt = |pair: &mut Pair| pair.session.open().receive_in_handshake(&hello[5..], &mut pair.out);
    for _ in 0..10 {
        attempt(&mut pair).unwrap();
    }
    let warning = 8 + 2 + 16;
    assert_eq!(lengths(&pair.out), [warning]);
    pair.session.seal(b"answer", &mut pair.out);
    attempt(&mut pair).unwrap();
    assert_eq!(lengths(&pair.out).len(), 3, "one again, after the data before it is read");
}

#[test]
fn our_key_changes_before_it_has_sealed_too_much() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), authority.client());
    pair.session.open().write_as_if_worn_out();
    // The client can't follow the made-up number; the test checks the message and the new count.
    pair.session.seal(b"x", &mut pair.out);
    assert_eq!(lengths(&pair.out), [22, 18]);
    assert_eq!(pair.session.open().records_written(), 1);
}

#[test]
fn goodbyes_are_said_and_heard() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), authority.client());
    pair.client.writer().write_all(b"last").unwrap();
    pair.client.send_close_notify();
    pair.run().unwrap();
    assert_eq!((&pair.plain[..], pair.peer_closed), (&b"last"[..], true));
    pair.session.seal(b"answer", &mut pair.out);
    pair.session.close(&mut pair.out);
    let all = pair.out.len();
    pair.session.close(&mut pair.out);
    pair.session.seal(b"too late", &mut pair.out);
    assert_eq!(pair.out.len(), all);
    pair.run().unwrap();
    assert_eq!(pair.heard(), b"answer");
    assert!(pair.client.process_new_packets().unwrap().peer_has_closed());
    // Data after close_notify is discarded (RFC 8446 §6.1).
    pair.input.extend_from_slice(b"junk");
    pair.receive(b"").unwrap();
    assert!(pair.input.is_empty());
}
