use super::*;
use crate::{Alpn, Version, groups, suites_tls12};
use rustls::version::{TLS12, TLS13};

#[test]
fn both_versions_shake_hands_whole_and_byte_by_byte() {
    let authority = Authority::new();
    let acceptor = authority.acceptor();
    for (version, expected) in [(&TLS12, Version::Tls12), (&TLS13, Version::Tls13)] {
        for by_byte in [false, true] {
            let client = Arc::new(authority.client_with(aws_lc_rs::default_provider(), &[version]));
            let mut pair = Pair::new(&acceptor, &client, "localhost");
            pair.by_byte = by_byte;
            assert!(pair.session.info().is_none());
            pair.run().unwrap();
            pair.say(b"GET / HTTP/1.1\r\n\r\n");
            assert_eq!(pair.plain, b"GET / HTTP/1.1\r\n\r\n");
            pair.session.seal(b"hello", &mut pair.out);
            pair.run().unwrap();
            assert_eq!(pair.heard(), b"hello");
            assert_eq!(pair.established, 1);
            let info = pair.session.info().expect("it is established");
            assert_eq!((info.version, info.resumed, info.alpn), (expected, false, None));
            assert_eq!(info.server_name.as_deref(), Some("localhost"));
            assert!(!pair.session.is_early());
        }
    }
}

#[test]
fn every_suite_and_both_directions_carry_data() {
    let authority = Authority::new();
    for suite in aws_lc_rs::ALL_CIPHER_SUITES {
        let mut settings = authority.settings();
        settings.identities.push(authority.identity("localhost", &rcgen::PKCS_RSA_SHA256));
        let acceptor = Acceptor::new(vec![(vec![], settings)], &Resumption::off()).unwrap();
        let provider = CryptoProvider { cipher_suites: vec![*suite], ..aws_lc_rs::default_provider() };
        let client = authority.client_with(provider, &[suite.tls13().map_or(&TLS12, |_| &TLS13)]);
        let mut pair = Pair::joined(&acceptor, client);
        assert_eq!(pair.session.info().map(|info| info.suite.0), Some(*suite));
        for len in [1, 100, 16_384, 40_000] {
            let content = vec![len as u8; len];
            pair.plain.clear();
            pair.say(&content);
            assert_eq!(pair.plain, content);
            pair.session.seal(&content, &mut pair.out);
            pair.run().unwrap();
            assert_eq!(pair.heard(), content);
        }
    }
}

#[test]
fn the_protocol_within_is_agreed_on() {
    let authority = Authority::new();
    for (offered, alpn_h2, expected) in [
        (&[&b"h2"[..], b"http/1.1"][..], true, Some(Alpn::H2)),
        (&[b"http/1.1", b"h2"], true, Some(Alpn::H2)),
        (&[b"http/1.1"], true, Some(Alpn::Http11)),
        (&[b"h2", b"http/1.1"], false, Some(Alpn::Http11)),
        (&[], true, None),
    ] {
        let settings = Settings { alpn_h2, ..authority.settings() };
        let acceptor = Acceptor::new(vec![(vec![], settings)], &Resumption::off()).unwrap();
        let mut client = authority.client();
        client.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
        let pair = Pair::joined(&acceptor, client);
        assert_eq!(pair.session.info().and_then(|info| info.alpn), expected, "{offered:?}");
    }
}

#[test]
fn the_name_chooses_the_certificate() {
    let authority = Authority::new();
    let block = |names: &[&str], certificate: &str| {
        let identity = authority.identity(certificate, &rcgen::PKCS_ECDSA_P256_SHA256);
        (names.iter().map(|name| (*name).to_owned()).collect(), Settings::new(vec![identity]))
    };
    let blocks = || {
        vec![
            block(&[], "default.example"),
            block(&["www.example.com"], "www.example.com"),
            block(&["*.example.com"], "*.example.com"),
        ]
    };
    let acceptor = Acceptor::new(blocks(), &Resumption::off()).unwrap();
    // The client verifies that the certificate is for the name.
    for (name, agrees) in [
        ("www.example.com", true),
        ("mail.example.com", true),
        ("default.example", true),
        ("other.example", false),
    ] {
        let mut pair = Pair::new(&acceptor, &Arc::new(authority.client()), name);
        assert_eq!(pair.run().is_ok(), agrees, "{name}");
    }
    let other = vec![block(&[], "other.example")];
    let mut before = Pair::new(&acceptor, &Arc::new(authority.client()), "mail.example.com");
    acceptor.replace(other, &Resumption::off()).unwrap();
    before.run().expect("it keeps what it began with");
    Pair::new(&acceptor, &Arc::new(authority.client()), "other.example").run().expect("the new one is there");
    acceptor.replace(Vec::new(), &Resumption::off()).expect_err("no certificate");
    Pair::new(&acceptor, &Arc::new(authority.client()), "other.example").run().expect("nothing changed");
}

#[test]
fn the_name_chooses_the_settings() {
    let authority = Authority::new();
    let identity = |name| vec![authority.identity(name, &rcgen::PKCS_ECDSA_P256_SHA256)];
    let old = Settings { max_version: Version::Tls12, ..Settings::new(identity("old.example")) };
    let blocks =
        vec![(vec![], Settings::new(identity("new.example"))), (vec!["OLD.example".to_owned()], old)];
    let acceptor = Acceptor::new(blocks, &Resumption::off()).unwrap();
    for (name, version) in [("new.example", Version::Tls13), ("old.example", Version::Tls12)] {
        let mut pair = Pair::new(&acceptor, &Arc::new(authority.client()), name);
        pair.by_byte = true;
        pair.run().unwrap();
        assert_eq!(pair.session.info().map(|info| info.version), Some(version));
    }
}

#[test]
fn clients_get_the_certificate_they_can_verify() {
    let authority = Authority::new();
    let rsa = authority.identity("localhost", &rcgen::PKCS_RSA_SHA256);
    let ecdsa = authority.identity("localhost", &rcgen::PKCS_ECDSA_P256_SHA256);
    let chains = [&rsa, &ecdsa].map(|identity| identity.chain().next().unwrap().to_vec());
    let settings = Settings::new(vec![rsa, ecdsa]);
    let acceptor = Acceptor::new(vec![(vec![], settings)], &Resumption::off()).unwrap();
    let got = |client: ClientConfig| {
        let pair = Pair::joined(&acceptor, client);
        pair.client.peer_certificates().map(|chain| chain[0].to_vec())
    };
    assert_eq!(got(authority.client()).as_ref(), Some(&chains[1]), "ECDSA is cheaper for the server");
    let rsa_only: Vec<_> = suites_tls12("aRSA").chosen.into_iter().map(|suite| suite.0).collect();
    let provider = CryptoProvider { cipher_suites: rsa_only, ..aws_lc_rs::default_provider() };
    assert_eq!(got(authority.client_with(provider, &[&TLS12])).as_ref(), Some(&chains[0]));
}

#[test]
fn the_key_exchange_is_post_quantum_where_both_can() {
    let authority = Authority::new();
    let pair = Pair::joined(&authority.acceptor(), authority.client());
    assert_eq!(pair.session.info().and_then(|info| info.group), Some("X25519MLKEM768"));
    let settings = Settings { groups: Some(groups(["P-256"]).chosen), ..authority.settings() };
    let acceptor = Acceptor::new(vec![(vec![], settings)], &Resumption::off()).unwrap();
    let pair = Pair::joined(&acceptor, authority.client());
    assert_eq!(pair.session.info().and_then(|info| info.group), Some("secp256r1"));
}

#[test]
fn a_staple_goes_with_the_certificate() {
    let authority = Authority::new();
    let settings = authority.settings();
    let staple = settings.identities[0].staple().clone();
    let acceptor = Acceptor::new(vec![(vec![], settings)], &Resumption::off()).unwrap();
    // Another process reads it off the wire in the black-box tests; here the handshake grows by it.
    let flight = || {
        let mut pair = Pair::new(&acceptor, &Arc::new(authority.client()), "localhost");
        let mut sent = Vec::new();
        pair.client.write_tls(&mut sent).unwrap();
        pair.receive(&sent).unwrap();
        pair.out.len()
    };
    let without = flight();
    staple.set(Some(vec![0x30; 500]));
    assert!(flight() > without + 500);
    staple.set(None);
    assert!(flight() < without + 50);
}

#[test]
fn settings_that_leave_nothing_are_refused_with_what_there_is() {
    let authority = Authority::new();
    let said = |change: &dyn Fn(&mut Settings)| {
        let mut settings = authority.settings();
        change(&mut settings);
        Acceptor::new(vec![(vec![], settings)], &Resumption::off()).expect_err("nothing left").to_string()
    };
    let empty = said(&|settings| settings.suites_tls12 = Some(Vec::new()));
    assert!(empty.starts_with("cipher-suite leaves no cipher suite; supported: ECDHE-"), "{empty}");
    let empty = said(&|settings| settings.suites_tls13 = Some(Vec::new()));
    assert!(empty.contains("TLS_AES_128_GCM_SHA256"), "{empty}");
    let crossed = said(&|settings| {
        settings.min_version = Version::Tls13;
        settings.max_version = Version::Tls12;
    });
    assert!(crossed.contains("TLSv1.3"), "{crossed}");
    assert!(said(&|settings| settings.identities.clear()).contains("certificate-file"));
    assert!(said(&|settings| settings.groups = Some(Vec::new())).contains("x25519"));
}
