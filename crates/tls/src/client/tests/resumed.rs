use super::*;
use crate::Version;
use crate::resumption::{Settings as Stored, TicketStore};

fn with_tickets(settings: Settings) -> Arc<Acceptor> {
    let stored = Stored { tickets: Some(TicketStore::Internal), ..Stored::default() };
    let resumption = Resumption::new(&stored, Arc::new(|_, line| panic!("{line}"))).unwrap();
    Acceptor::new(vec![(vec![], settings)], &resumption).unwrap()
}

fn hello_len(connector: &Connector) -> usize {
    let mut out = Vec::new();
    ClientSession::new(connector, "localhost").unwrap().start(&mut out);
    out.len()
}

#[test]
fn sessions_are_resumed_unless_that_is_off() {
    let authority = Authority::new();
    let acceptor = with_tickets(authority.settings());
    for max_version in [Version::Tls12, Version::Tls13] {
        for resumption in [true, false] {
            for by_byte in [false, true] {
                let settings =
                    ClientSettings { max_version, resumption, ..settings(&authority, "client-resumed") };
                let connector = Connector::new(&settings).unwrap();
                for resumed in [false, resumption, resumption] {
                    let mut pair = Pair::new(&acceptor, &connector.clone(), "localhost");
                    pair.by_byte = by_byte;
                    pair.run();
                    pair.carry(b"x");
                    let told = [pair.client.info(), pair.server.info()].map(|info| info.unwrap().resumed);
                    assert_eq!(told, [resumed; 2], "{max_version:?} by byte {by_byte}");
                }
            }
        }
    }
}

#[test]
fn a_ticket_is_used_once() {
    let authority = Authority::new();
    let connector = connector(&authority, "client-once");
    let without = hello_len(&connector);
    Pair::joined(&with_tickets(authority.settings()), &connector);
    let hellos: Vec<bool> = (0..10).map(|_| hello_len(&connector) > without).collect();
    let tickets = hellos.iter().take_while(|with| **with).count();
    assert!((1..9).contains(&tickets), "{hellos:?}");
    assert!(hellos[tickets..].iter().all(|with| !with), "{hellos:?}");
    // Another name has none of them.
    Pair::joined(&with_tickets(authority.settings()), &connector);
    let mut out = Vec::new();
    ClientSession::new(&connector, "localhosu").unwrap().start(&mut out);
    assert_eq!(out.len(), without);
}

/// NewSessionTicket (RFC 8446 §4.6.1) for an hour, with a ticket of one byte.
const TICKET: &[u8] = &[4, 0, 0, 15, 0, 0, 14, 16, 1, 2, 3, 4, 1, 0, 0, 1, 0xaa, 0, 0];

#[test]
fn tickets_come_in_parts_and_together() {
    let authority = Authority::new();
    let acceptor = authority.acceptor();
    for size in [1, 4, 5, TICKET.len(), 30, 2 * TICKET.len()] {
        let connector = connector(&authority, "client-parts");
        let without = hello_len(&connector);
        let mut pair = Pair::joined(&acceptor, &connector);
        // With one byte each, these are as many records as are allowed in a row without content.
        let both = [TICKET, TICKET].concat();
        for part in both[..if size == 1 { TICKET.len() } else { both.len() }].chunks(size) {
            pair.server.open().say_in_handshake(part, &mut pair.at_server.out);
        }
        pair.run();
        pair.carry(b"x");
        let tickets = (0..3).filter(|_| hello_len(&connector) > without).count();
        assert_eq!(tickets, if size == 1 { 1 } else { 2 }, "records of {size}");
    }
}

#[test]
fn a_part_of_a_ticket_may_look_like_a_key_update() {
    const LOOKALIKE: &[u8] =
        &[4, 0, 0, 23, 0, 0, 14, 16, 1, 2, 3, 4, 1, 0, 0, 9, 0, 0, 0, 0, 24, 0, 0, 1, 1, 0, 0];
    let authority = Authority::new();
    let connector = connector(&authority, "client-lookalike");
    let without = hello_len(&connector);
    let mut pair = Pair::joined(&authority.acceptor(), &connector);
    for part in LOOKALIKE.chunks(5) {
        pair.server.open().say_in_handshake(part, &mut pair.at_server.out);
    }
    pair.carry(b"x");
    assert!(hello_len(&connector) > without);
}

#[test]
fn what_is_no_ticket_ends_the_session() {
    let authority = Authority::new();
    for (message, fault) in [
        (&[4, 0, 0, 2, 0, 0][..], Fault::Malformed),
        (&[4, 0xff, 0xff, 0xff], Fault::Malformed),
        (&[1, 0, 0, 0], Fault::Unexpected),
        (&[24, 0, 0, 1, 2], Fault::IllegalParameter),
    ] {
        let mut pair = Pair::joined(&authority.acceptor(), &connector(&authority, "client-no-ticket"));
        pair.server.open().say_in_handshake(message, &mut pair.at_server.out);
        pair.run();
        assert_eq!(pair.at_client.fault, Some(fault), "{message:?}");
        assert!(matches!(pair.at_server.fault, Some(Fault::Alert(_))));
    }
}

#[test]
fn tickets_of_one_server_are_bounded() {
    let authority = Authority::new();
    let acceptor = authority.acceptor();
    let connector = connector(&authority, "client-bounded");
    let without = hello_len(&connector);
    let mut pair = Pair::joined(&acceptor, &connector);
    for _ in 0..30 {
        for _ in 0..10 {
            pair.server.open().say_in_handshake(TICKET, &mut pair.at_server.out);
        }
        pair.carry(b"x");
    }
    assert_eq!((0..300).filter(|_| hello_len(&connector) > without).count(), 256);
}

#[test]
fn sessions_are_bounded_in_number_and_age() {
    use crate::Sessions;
    use std::time::Duration;
    let authority = Authority::new();
    let day = Duration::from_secs(86_400);
    let cases = [(day, 4096, 2), (day, 3, 2), (day, 1, 1), (Duration::ZERO, 4096, 0)];
    for (lifetime, capacity, want) in cases {
        let sessions = Sessions { lifetime, capacity };
        let bounded = ClientSettings { sessions, ..settings(&authority, "client-bounded") };
        let connector = Connector::new(&bounded).unwrap();
        let without = hello_len(&connector);
        let mut pair = Pair::joined(&authority.acceptor(), &connector);
        for _ in 0..2 {
            pair.server.open().say_in_handshake(TICKET, &mut pair.at_server.out);
        }
        pair.run();
        let tickets = (0..4).filter(|_| hello_len(&connector) > without).count();
        assert_eq!(tickets, want, "{sessions:?}");
    }
}

#[test]
fn the_sessions_of_one_server_make_room_for_anothers() {
    use crate::Sessions;
    let authority = Authority::new();
    let one = Sessions { capacity: 1, ..Sessions::default() };
    let settings =
        ClientSettings { sessions: one, trust: Trust::Anyone, ..settings(&authority, "client-room") };
    let connector = Connector::new(&settings).unwrap();
    let without = hello_len(&connector);
    let acceptor = authority.acceptor();
    for name in ["elsewhere", "localhost"] {
        let mut pair = Pair::new(&acceptor, &connector, name);
        pair.run();
        pair.server.open().say_in_handshake(TICKET, &mut pair.at_server.out);
        pair.run();
    }
    let mut out = Vec::new();
    ClientSession::new(&connector, "elsewhere").unwrap().start(&mut out);
    // Of the same length as "localhost".
    assert_eq!(out.len(), without);
    assert!(hello_len(&connector) > without);
}
