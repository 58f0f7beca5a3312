use super::*;
use crate::Version;

#[test]
fn keys_change_whoever_asks() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), &connector(&authority, "client-keys"));
    for _ in 0..3 {
        pair.client.open().ask_for_new_keys(&mut pair.at_client.out);
        pair.carry(b"the client asked");
        pair.server.open().ask_for_new_keys(&mut pair.at_server.out);
        pair.carry(b"the server asked");
    }
}

#[test]
fn one_answer_is_enough_for_many_requests_for_new_keys() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), &connector(&authority, "client-many-keys"));
    pair.carry(b"tickets have arrived");
    for _ in 0..20 {
        pair.server.open().ask_for_new_keys(&mut pair.at_server.out);
    }
    let requests = std::mem::take(&mut pair.at_server.out);
    pair.tell_client(&requests);
    assert_eq!(pair.at_client.out.len(), 0, "a server that does not read costs no memory");
    pair.client.seal(b"next", &mut pair.at_client.out);
    assert_eq!(pair.at_client.out.len(), (5 + 22) + (5 + 4 + 1 + 16), "one KeyUpdate, then the content");
    pair.run();
    assert_eq!(pair.at_server.plain, b"tickets have arrivednext");
    pair.carry(b"both go on");
}

#[test]
fn content_in_the_middle_of_a_ticket_ends_the_session() {
    let authority = Authority::new();
    let mut pair = Pair::joined(&authority.acceptor(), &connector(&authority, "client-cut-ticket"));
    pair.carry(b"tickets have arrived");
    pair.server.open().say_in_handshake(&[4, 0, 0, 30, 0, 0], &mut pair.at_server.out);
    pair.server.seal(b"content", &mut pair.at_server.out);
    let sent = std::mem::take(&mut pair.at_server.out);
    pair.tell_client(&sent);
    assert_eq!(pair.at_client.fault, Some(Fault::Unexpected));
}

#[test]
fn goodbyes_are_said_and_heard() {
    let authority = Authority::new();
    for max_version in [Version::Tls12, Version::Tls13] {
        let settings = ClientSettings { max_version, ..settings(&authority, "client-goodbye") };
        let mut pair = Pair::joined(&authority.acceptor(), &Connector::new(&settings).unwrap());
        pair.client.seal(b"last", &mut pair.at_client.out);
        pair.client.close(&mut pair.at_client.out);
        pair.client.seal(b"too late", &mut pair.at_client.out);
        pair.run();
        assert_eq!((&pair.at_server.plain[..], pair.at_server.peer_closed), (&b"last"[..], true));
        pair.server.seal(b"answer", &mut pair.at_server.out);
        pair.server.close(&mut pair.at_server.out);
        pair.run();
        assert_eq!((&pair.at_client.plain[..], pair.at_client.peer_closed), (&b"answer"[..], true));
    }
}

#[test]
fn a_server_that_would_renegotiate_is_told_that_we_do_not() {
    let authority = Authority::new();
    let settings =
        ClientSettings { max_version: Version::Tls12, ..settings(&authority, "client-renegotiation") };
    let mut pair = Pair::joined(&authority.acceptor(), &Connector::new(&settings).unwrap());
    pair.server.open().say_in_handshake(&[0, 0, 0, 0], &mut pair.at_server.out);
    let request = std::mem::take(&mut pair.at_server.out);
    pair.tell_client(&request);
    assert!(!pair.at_client.out.is_empty(), "a warning");
    pair.run();
    pair.carry(b"as before");
}
