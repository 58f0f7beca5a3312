use super::*;
use crate::Identity;
use crate::session::tests::client_certificates::authorities;
use crate::session::tests::now;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose};

/// The client's verdict on a server whose certificate for `localhost` was changed.
fn verdict(
    authority: &Authority,
    settings: &ClientSettings,
    name: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> Result<(), String> {
    let (certificate, key) =
        authority.issue_with("localhost", &rcgen::PKCS_ECDSA_P256_SHA256, |params| change(params));
    const IN_ITS_TIME: u64 = 1_577_836_800 + 86_400; // 2020-01-02
    let identity = [now(), IN_ITS_TIME, now() + 3_000_000_000].into_iter().find_map(|at| {
        Identity::from_der(vec![certificate.to_vec()], key.serialize_der(), "made here", at).ok()
    });
    let acceptor = acceptor(Settings::new(vec![identity.expect("it is good at some time")]));
    let mut pair = Pair::new(&acceptor, &Connector::new(settings).unwrap(), name);
    pair.run();
    match pair.at_client.fault {
        None => Ok(()),
        Some(fault) => {
            assert!(matches!(pair.at_server.fault, Some(Fault::Alert(_))), "the server is told");
            assert!(pair.client.info().is_none());
            Err(fault.to_string())
        }
    }
}

#[test]
fn certificates_that_do_not_do_are_told_from_each_other() {
    let (authority, stranger) = (Authority::new(), Authority::named("a stranger"));
    let trusting = settings(&authority, "client-trust");
    let suspicious = settings(&stranger, "client-trust-stranger");
    let same = |_: &mut CertificateParams| {};
    assert_eq!(verdict(&authority, &trusting, "localhost", same), Ok(()));

    let expired = |params: &mut CertificateParams| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    };
    let future = |params: &mut CertificateParams| params.not_before = rcgen::date_time_ymd(2095, 1, 1);
    let of_clients = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    };
    for (verdict, said) in [
        (verdict(&authority, &trusting, "localhost", expired), "expired on 2021-01-01"),
        (verdict(&authority, &trusting, "localhost", future), "isn't valid before 2095-01-01"),
        (verdict(&authority, &trusting, "localhost", of_clients), "is not valid for servers"),
        (verdict(&authority, &trusting, "other.example", same), "isn't for other.example but for localhost"),
        (verdict(&authority, &trusting, "127.0.0.1", same), "isn't for 127.0.0.1 but for localhost"),
        (verdict(&authority, &suspicious, "localhost", same), "an untrusted issuer"),
    ] {
        let words = verdict.expect_err(said);
        assert!(words.starts_with("the handshake failed: ") && words.contains(said), "{words}");
        assert!(!words.contains('\n'), "{words}");
    }
    let trusting = ClientSettings::new(Trust::Anyone);
    assert_eq!(verdict(&authority, &trusting, "other.example", expired), Ok(()));
    assert_eq!(verdict(&authority, &trusting, "[::1]", of_clients), Ok(()));
}

#[test]
fn the_machines_authorities_may_have_company() {
    let authority = Authority::new();
    let machine = Trust::Machine(Some(client_ca(&authority, "client-machine")));
    assert_eq!(verdict(&authority, &ClientSettings::new(machine), "localhost", |_| {}), Ok(()));
}

#[test]
fn another_name_can_be_asked_for() {
    let authority = Authority::new();
    let settings = ClientSettings {
        server_name: Some("localhost.".to_owned()),
        ..settings(&authority, "client-other-name")
    };
    let mut pair = Pair::new(&authority.acceptor(), &Connector::new(&settings).unwrap(), "somewhere.example");
    pair.run();
    assert_eq!(pair.server.info().unwrap().server_name.as_deref(), Some("localhost"));
}

#[test]
fn addresses_are_checked_but_not_sent() {
    let authority = Authority::new();
    let connector = connector(&authority, "client-addresses");
    for name in ["127.0.0.1", "::1", "[::1]"] {
        let bare = name.trim_matches(['[', ']']);
        let acceptor =
            acceptor(Settings::new(vec![authority.identity(bare, &rcgen::PKCS_ECDSA_P256_SHA256)]));
        let mut pair = Pair::new(&acceptor, &connector, name);
        pair.run();
        assert_eq!(pair.server.info().expect(name).server_name, None);
        assert_eq!(pair.client.info().expect(name).server_name, None);
    }
    for name in ["", "a b", "[::1", "-", "a..b"] {
        let said = ClientSession::new(&connector, name).expect_err(name).to_string();
        assert!(said.contains("neither a host name nor an address"), "{said}");
    }
}

#[test]
fn clients_show_their_certificate_to_those_who_ask() {
    let authority = Authority::new();
    let asking = Settings { client_ca: Some(client_ca(&authority, "client-shown")), ..authority.settings() };
    let asking = acceptor(asking);
    let identity = Some(authority.identity("alice", &rcgen::PKCS_ECDSA_P256_SHA256));
    let mut settings = ClientSettings { identity, ..settings(&authority, "client-shows") };
    for max_version in [crate::Version::Tls12, crate::Version::Tls13] {
        settings.max_version = max_version;
        let mut pair = Pair::joined(&asking, &Connector::new(&settings).unwrap());
        let shown = pair.server.info().unwrap().client.clone().expect("it was asked");
        assert!(shown.subject.contains("CN=alice"), "{}", shown.subject);
        pair.carry(b"x");
        // No client certificate is requested here.
        let pair = Pair::joined(&authority.acceptor(), &Connector::new(&settings).unwrap());
        assert_eq!(pair.server.info().unwrap().client, None);
    }
    settings.identity = None;
    let mut pair = Pair::new(&asking, &Connector::new(&settings).unwrap(), "localhost");
    pair.run();
    let fault = pair.at_client.fault.expect("the server insists").to_string();
    assert!(fault.contains("certificate_required"), "{fault}");
}

#[test]
fn a_self_signed_certificate_is_trusted_by_naming_it() {
    for (is_authority, from) in [(false, 2020), (true, 2020), (true, 2095)] {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        if is_authority {
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        }
        let certificate = params.self_signed(&key).unwrap().der().clone();
        let at = if from > 2020 { now() + 3_000_000_000 } else { now() };
        let identity = Identity::from_der(vec![certificate.to_vec()], key.serialize_der(), "made here", at);
        let acceptor = acceptor(Settings::new(vec![identity.unwrap()]));
        let said = |trust: Trust, name: &str| {
            let connector = Connector::new(&ClientSettings::new(trust)).unwrap();
            let mut pair = Pair::new(&acceptor, &connector, name);
            pair.run();
            pair.at_client.fault.map_or(String::new(), |fault| fault.to_string())
        };
        let named = authorities(&certificate, "client-self-signed");
        if from > 2020 {
            assert!(said(Trust::Only(named), "localhost").contains("isn't valid before 2095-01-01"));
            continue;
        }
        assert_eq!(said(Trust::Only(named.clone()), "localhost"), "");
        assert_eq!(said(Trust::Machine(Some(named.clone())), "localhost"), "");
        assert!(
            said(Trust::Only(named), "other.example").contains("isn't for other.example but for localhost")
        );
        let stranger = client_ca(&Authority::named("a stranger"), "client-self-signed");
        let words = said(Trust::Only(stranger), "localhost");
        assert!(words.contains("self-signed") && words.contains("trusted"), "{words}");
    }
}
