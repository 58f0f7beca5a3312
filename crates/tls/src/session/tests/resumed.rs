use super::*;
use crate::Version;
use crate::resumption::testing::odd_server;
use crate::resumption::{CacheStore, RemoteKind, Settings as Stored, TicketStore};
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
                pair.say(b"x"); // TLS 1.3 sends its tickets after the handshake
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

    // On the second attempt, the session no longer exists, and the early data is refused.
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
    for (len, by_byte) in [(100, false), (100, true), (15_000, false), (15_000, true)] {
        let mut client = authority.client();
        client.enable_early_data = true;
        let client = Arc::new(client);
        let mut first = Pair::new(&acceptor(16_384), &client, "localhost");
        first.run().unwrap();
        first.say(b"x");
        let mut pair = Pair::new(&acceptor(0), &client, "localhost");
        pair.by_byte = by_byte;
        pair.client.early_data().expect("the session allows it").write_all(&vec![b'e'; len]).unwrap();
        pair.run().unwrap();
        pair.say(b"late");
        assert_eq!((&pair.plain[..], pair.established), (&b"late"[..], 1), "{len} by byte {by_byte}");
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

/// Handshakes with `first`, then with `second`: whether the second one is resumed.
fn resumes(authority: &Authority, first: &Acceptor, second: &Acceptor, version: Version) -> bool {
    let version = if version == Version::Tls12 { &TLS12 } else { &TLS13 };
    let client = Arc::new(authority.client_with(aws_lc_rs::default_provider(), &[version]));
    let mut resumed = false;
    for acceptor in [first, second] {
        let mut pair = Pair::new(acceptor, &client, "localhost");
        pair.run().unwrap();
        pair.say(b"x"); // TLS 1.3 sends its tickets after the handshake
        resumed = pair.session.info().unwrap().resumed;
    }
    resumed
}

/// Whether sessions of `first` are resumed by `second`, which must hold for each way of storing them.
fn share(authority: &Authority, first: &Settings, second: &Settings) -> bool {
    let versions = [Version::Tls12, Version::Tls13].into_iter();
    let versions: Vec<_> =
        versions.filter(|version| *version <= first.max_version.min(second.max_version)).collect();
    let mut shared = Vec::new();
    for (cache, tickets) in [(true, false), (false, true), (true, true)] {
        let resumption = resumption(cache, tickets);
        let acceptor =
            |settings: &Settings| Acceptor::new(vec![(vec![], settings.clone())], &resumption).unwrap();
        let (first, second) = (acceptor(first), acceptor(second));
        for version in &versions {
            assert!(
                resumes(authority, &first, &first, *version),
                "{version:?} cache {cache} tickets {tickets}"
            );
            shared.push(resumes(authority, &first, &second, *version));
        }
    }
    assert!(shared.iter().all(|one| *one == shared[0]), "{shared:?}");
    shared[0]
}

#[test]
fn sessions_belong_to_what_was_presented_and_required() {
    let authority = Authority::new();
    let settings = authority.settings();
    let p256 = || authority.identity("localhost", &rcgen::PKCS_ECDSA_P256_SHA256);
    let more = |identity| Settings {
        identities: vec![settings.identities[0].clone(), identity],
        ..settings.clone()
    };
    let with_more = more(p256());
    let mut turned = with_more.clone();
    turned.identities.reverse();
    let suites = |names: &[&str]| Some(crate::suites_tls13(names.iter().copied()).chosen);
    let (one, another) =
        (suites(&["TLS_AES_256_GCM_SHA384"]), suites(&["TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256"]));
    let groups = |names: &[&str]| Some(crate::groups(names.iter().copied()).chosen);
    for (what, second, shares) in [
        ("the same", settings.clone(), true),
        (
            "what is chosen among by a client",
            Settings { server_preference: true, alpn_h2: false, ..settings.clone() },
            true,
        ),
        ("another certificate for the same name", authority.settings(), false),
        ("one certificate more", with_more.clone(), false),
        ("only TLS 1.2", Settings { max_version: Version::Tls12, ..settings.clone() }, false),
        ("other suites", Settings { suites_tls13: one.clone(), ..settings.clone() }, false),
        ("other groups", Settings { groups: groups(&["secp384r1", "x25519"]), ..settings.clone() }, false),
    ] {
        assert_eq!(share(&authority, &settings, &second), shares, "{what}");
    }
    assert!(share(&authority, &with_more, &turned), "the order of certificates says nothing");
    let with = |suites| Settings { suites_tls13: suites, ..settings.clone() };
    assert!(!share(&authority, &with(one), &with(another)));
}

#[test]
fn a_reload_keeps_the_sessions_of_certificates_that_stay() {
    let authority = Authority::new();
    for version in [Version::Tls12, Version::Tls13] {
        let resumption = resumption(true, true);
        let (settings, renewed) = (authority.settings(), authority.settings());
        let (www, other) = (vec!["localhost".to_owned()], vec!["other.example".to_owned()]);
        let blocks = |other_settings: &Settings| {
            vec![(other.clone(), other_settings.clone()), (www.clone(), settings.clone())]
        };
        let acceptor = Acceptor::new(blocks(&renewed), &resumption).unwrap();
        let client = Arc::new(authority.client_with(
            aws_lc_rs::default_provider(),
            &[if version == Version::Tls12 { &TLS12 } else { &TLS13 }],
        ));
        let resumed = || {
            let mut pair = Pair::new(&acceptor, &client, "localhost");
            pair.run().unwrap();
            pair.say(b"x");
            pair.session.info().unwrap().resumed
        };
        assert_eq!([resumed(), resumed()], [false, true]);
        acceptor.replace(blocks(&authority.settings()), &resumption).unwrap();
        assert!(resumed(), "another host's certificate is new, this one's is not");
        acceptor.replace(vec![(www.clone(), renewed.clone())], &resumption).unwrap();
        assert!(!resumed(), "its own is");
        assert!(resumed());
    }
}

#[test]
fn machines_with_the_same_ticket_keys_resume_what_belongs_to_the_same_certificates() {
    let authority = Authority::new();
    let file = std::env::temp_dir().join(format!("hayami-belongs-{}.yaml", std::process::id()));
    let (name, key) = ("01".repeat(16), "02".repeat(96));
    let until = now() + 3600;
    let text = format!(
        "- name: {name}\n  cipher: aes-256-cbc\n  hash: sha256\n  key: {key}\n  not_before: {}\n  not_after: {until}\n",
        now() - 10
    );
    std::fs::write(&file, text).unwrap();
    let machine = |settings: &Settings| {
        let stored =
            Stored { cache: None, tickets: Some(TicketStore::File(file.clone())), ..Stored::default() };
        let resumption = Resumption::new(&stored, Arc::new(|_, line| panic!("{line}"))).unwrap();
        Acceptor::new(vec![(vec![], settings.clone())], &resumption).unwrap()
    };
    let settings = authority.settings();
    let (one, two, other) = (machine(&settings), machine(&settings), machine(&authority.settings()));
    for version in [Version::Tls12, Version::Tls13] {
        assert!(resumes(&authority, &one, &two, version), "{version:?}");
        assert!(!resumes(&authority, &one, &other, version), "{version:?}");
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_shared_store_is_asked_for_the_session_of_the_version_that_is_spoken() {
    let authority = Authority::new();
    // Each machine has the sessions that it stored itself, and has to query the store for all others.
    let machine = |max_version, tickets: bool| {
        let store = odd_server(RemoteKind::Memcached, None);
        let cache = Some(CacheStore::Remote { store, prefix: String::new(), threads: 1 });
        let stored = Stored { cache, tickets: tickets.then_some(TicketStore::Internal), ..Stored::default() };
        let resumption = Resumption::new(&stored, Arc::new(|_, _| ())).unwrap();
        let settings = Settings { max_version, ..authority.settings() };
        Acceptor::new(vec![(vec![], settings)], &resumption).unwrap()
    };
    let lookups = |max_version, versions: &[&'static SupportedProtocolVersion], tickets| {
        let client = Arc::new(authority.client_with(aws_lc_rs::default_provider(), versions));
        let mut first = Pair::new(&machine(Version::Tls12, tickets), &client, "localhost");
        first.run().unwrap();
        assert_eq!(first.established, 1);
        let mut second = Pair::new(&machine(max_version, tickets), &client, "localhost");
        second.run().unwrap();
        assert_eq!((second.established, second.session.info().unwrap().resumed), (1, false));
        second.lookups
    };
    let both: &[_] = &[&TLS13, &TLS12];
    assert_eq!(lookups(Version::Tls12, &[&TLS12], false), 1);
    assert_eq!(lookups(Version::Tls12, both, false), 1, "it offers TLS 1.3, and gets TLS 1.2");
    assert_eq!(lookups(Version::Tls13, both, false), 0, "a session of TLS 1.2 is of no use in TLS 1.3");
    assert_eq!(lookups(Version::Tls12, both, true), 0, "beside a ticket, a session id is made up");
    assert_eq!(lookups(Version::Tls12, &[&TLS12], true), 0);
}
