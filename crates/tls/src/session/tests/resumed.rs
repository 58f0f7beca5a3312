use super::*;
use crate::resumption::{CacheStore, Settings as Stored, TicketStore};
use rustls::version::{TLS12, TLS13};

fn resumption(cache: bool, tickets: bool) -> Resumption {
    let settings = Stored {
        cache: cache.then_some(CacheStore::Internal),
        tickets: tickets.then_some(TicketStore::Internal),
        ..Stored::default()
    };
    Resumption::new(&settings, Arc::new(|_, line| panic!("{line}"))).unwrap()
}

#[test]
fn sessions_are_taken_up_by_ticket_and_from_the_cache() {
    let authority = Authority::new();
    for (cache, tickets, resumes) in
        [(true, true, true), (true, false, true), (false, true, true), (false, false, false)]
    {
        let acceptor =
            Acceptor::new(vec![(vec![], authority.settings())], &resumption(cache, tickets)).unwrap();
        for version in [&TLS12, &TLS13] {
            let client = Arc::new(authority.client_with(aws_lc_rs::default_provider(), &[version]));
            for resumed in [false, resumes] {
                let mut pair = Pair::new(&acceptor, &client, "localhost");
                pair.run().unwrap();
                pair.say(b"x"); // TLS 1.3 sends its tickets behind the handshake
                let info = pair.session.info().unwrap();
                assert_eq!(info.resumed, resumed, "{version:?} cache {cache} tickets {tickets}");
            }
        }
    }
}

#[test]
fn early_data_is_told_apart_and_answered_at_once() {
    let authority = Authority::new();
    let settings = Settings { early_data: 16_384, ..authority.settings() };
    let acceptor = Acceptor::new(vec![(vec![], settings)], &resumption(true, true)).unwrap();
    let mut client = authority.client();
    client.enable_early_data = true;
    let client = Arc::new(client);
    let mut first = Pair::new(&acceptor, &client, "localhost");
    first.run().unwrap();
    first.say(b"x");

    let mut pair = Pair::new(&acceptor, &client, "localhost");
    pair.client.early_data().expect("the session allows it").write_all(b"early").unwrap();
    let mut sent = Vec::new();
    while pair.client.wants_write() {
        pair.client.write_tls(&mut sent).unwrap();
    }
    let replay = sent.clone();
    pair.receive(&sent).unwrap();
    assert_eq!((&pair.plain[..], pair.session.is_early(), pair.established), (&b"early"[..], true, 1));
    pair.session.seal(b"answer", &mut pair.out);
    pair.deliver();
    pair.say(b" late");
    assert_eq!((&pair.plain[..], pair.session.is_early()), (&b"early late"[..], false));
    assert_eq!(pair.established, 1);
    assert_eq!(pair.heard(), b"answer");
    assert!(pair.session.info().unwrap().resumed);

    // Sent a second time, the session is gone, and the early data is refused.
    let mut again = Pair::new(&acceptor, &client, "localhost");
    again.receive(&replay).unwrap();
    assert_eq!((&again.plain[..], again.established), (&b""[..], 0));
}

#[test]
fn early_data_that_is_refused_is_passed_over() {
    let authority = Authority::new();
    let (identities, resumption) = (authority.settings().identities, resumption(true, true));
    let acceptor = |early_data| {
        let settings = Settings { early_data, ..Settings::new(identities.clone()) };
        Acceptor::new(vec![(vec![], settings)], &resumption).unwrap()
    };
    for (len, by_octet) in [(100, false), (100, true), (15_000, false), (15_000, true)] {
        let mut client = authority.client();
        client.enable_early_data = true;
        let client = Arc::new(client);
        let mut first = Pair::new(&acceptor(16_384), &client, "localhost");
        first.run().unwrap();
        first.say(b"x");
        let mut pair = Pair::new(&acceptor(0), &client, "localhost");
        pair.by_octet = by_octet;
        pair.client.early_data().expect("the session allows it").write_all(&vec![b'e'; len]).unwrap();
        pair.run().unwrap();
        pair.say(b"late");
        assert_eq!((&pair.plain[..], pair.established), (&b"late"[..], 1), "{len} by octet {by_octet}");
    }
}

#[test]
fn early_data_is_off_unless_asked_for() {
    let authority = Authority::new();
    let acceptor = Acceptor::new(vec![(vec![], authority.settings())], &resumption(true, false)).unwrap();
    let mut client = authority.client();
    client.enable_early_data = true;
    let client = Arc::new(client);
    let mut first = Pair::new(&acceptor, &client, "localhost");
    first.run().unwrap();
    first.say(b"x");
    assert!(Pair::new(&acceptor, &client, "localhost").client.early_data().is_none());
}
