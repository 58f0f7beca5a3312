use super::*;
use crate::{Alpn, Version, groups, suites_tls12, suites_tls13};

#[test]
fn both_versions_shake_hands_whole_and_byte_by_byte() {
    let authority = Authority::new();
    for version in [Version::Tls12, Version::Tls13] {
        for by_byte in [false, true] {
            let settings = ClientSettings {
                min_version: version,
                max_version: version,
                ..settings(&authority, "client-versions")
            };
            let connector = Connector::new(&settings).unwrap();
            let mut pair = Pair::new(&authority.acceptor(), &connector, "LocalHost");
            pair.by_byte = by_byte;
            assert!(pair.client.info().is_none());
            pair.client.seal(b"too early", &mut pair.at_client.out);
            pair.run();
            assert_eq!((pair.at_client.established, pair.at_server.established), (1, 1));
            pair.carry(b"hello");
            pair.carry(&[b'x'; 40_000]);
            let (client, server) = (pair.client.info().unwrap(), pair.server.info().unwrap());
            assert_eq!((client.version, client.resumed), (version, false));
            assert_eq!((client.suite, client.group), (server.suite, server.group));
            assert_eq!((client.alpn, server.alpn), (Some(Alpn::H2), Some(Alpn::H2)));
            assert_eq!(client.server_name.as_deref(), Some("localhost"));
            assert_eq!(client.client, None);
        }
    }
}

#[test]
fn every_suite_carries_data() {
    let authority = Authority::new();
    let mut settings = settings(&authority, "client-suites");
    let served = Settings {
        identities: ["rsa", "ecdsa"]
            .map(|kind| if kind == "rsa" { &rcgen::PKCS_RSA_SHA256 } else { &rcgen::PKCS_ECDSA_P256_SHA256 })
            .map(|algorithm| authority.identity("localhost", algorithm))
            .to_vec(),
        ..authority.settings()
    };
    let acceptor = acceptor(served);
    let tls13 =
        suites_tls13(["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]);
    for suite in tls13.chosen {
        settings.suites_tls13 = Some(vec![suite]);
        let mut pair = Pair::joined(&acceptor, &Connector::new(&settings).unwrap());
        assert_eq!(pair.client.info().unwrap().suite, suite);
        pair.carry(&[1; 40_000]);
    }
    settings.max_version = Version::Tls12;
    for suite in suites_tls12("ALL").chosen {
        settings.suites_tls12 = Some(vec![suite]);
        let mut pair = Pair::joined(&acceptor, &Connector::new(&settings).unwrap());
        assert_eq!(pair.client.info().unwrap().suite, suite);
        pair.carry(&[2; 40_000]);
    }
}

#[test]
fn the_protocol_within_is_what_both_speak() {
    let authority = Authority::new();
    for (offered, alpn_h2, agreed) in [
        (&[Alpn::H2, Alpn::Http11][..], true, Some(Alpn::H2)),
        (&[Alpn::H2, Alpn::Http11], false, Some(Alpn::Http11)),
        (&[Alpn::Http11], true, Some(Alpn::Http11)),
        (&[], true, None),
    ] {
        let settings = ClientSettings { alpn: offered.to_vec(), ..settings(&authority, "client-alpn") };
        let acceptor = acceptor(Settings { alpn_h2, ..authority.settings() });
        let pair = Pair::joined(&acceptor, &Connector::new(&settings).unwrap());
        assert_eq!(pair.client.info().unwrap().alpn, agreed, "{offered:?}");
    }
    let settings = ClientSettings { alpn: vec![Alpn::H2], ..settings(&authority, "client-alpn") };
    let acceptor = acceptor(Settings { alpn_h2: false, ..authority.settings() });
    let mut pair = Pair::new(&acceptor, &Connector::new(&settings).unwrap(), "localhost");
    pair.run();
    assert_eq!(pair.at_client.fault, Some(Fault::Alert(120)), "no_application_protocol");
}

#[test]
fn the_client_prefers_its_group_and_a_second_hello_uses_the_servers() {
    let authority = Authority::new();
    let served = Settings { groups: Some(groups(["P-384"]).chosen), ..authority.settings() };
    for (offered, acceptor, agreed) in [
        (&["x25519"][..], authority.acceptor(), "X25519"),
        (&["X25519MLKEM768"], authority.acceptor(), "X25519MLKEM768"),
        (&["x25519", "P-384"], acceptor(served), "secp384r1"), // HelloRetryRequest (RFC 8446 §4.1.4)
    ] {
        let wanted = Some(groups(offered.iter().copied()).chosen);
        let settings = ClientSettings { groups: wanted, ..settings(&authority, "client-groups") };
        let pair = Pair::joined(&acceptor, &Connector::new(&settings).unwrap());
        assert_eq!(pair.client.info().unwrap().group, Some(agreed));
    }
}

#[test]
fn versions_that_do_not_meet_end_the_handshake() {
    let authority = Authority::new();
    for (ours, theirs) in [(Version::Tls12, Version::Tls13), (Version::Tls13, Version::Tls12)] {
        let settings = ClientSettings {
            min_version: ours,
            max_version: ours,
            ..settings(&authority, "client-no-version")
        };
        let acceptor =
            acceptor(Settings { min_version: theirs, max_version: theirs, ..authority.settings() });
        let mut pair = Pair::new(&acceptor, &Connector::new(&settings).unwrap(), "localhost");
        pair.run();
        assert_eq!(pair.at_client.fault, Some(Fault::Alert(70)), "protocol_version");
    }
}

#[test]
fn settings_that_leave_nothing_are_refused() {
    let authority = Authority::new();
    let good = settings(&authority, "client-nothing");
    for settings in [
        ClientSettings { groups: Some(Vec::new()), ..good.clone() },
        ClientSettings { suites_tls13: Some(Vec::new()), ..good.clone() },
        ClientSettings { min_version: Version::Tls13, max_version: Version::Tls12, ..good.clone() },
        ClientSettings { server_name: Some("no name".to_owned()), ..good.clone() },
    ] {
        Connector::new(&settings).expect_err("nothing to offer");
    }
}
