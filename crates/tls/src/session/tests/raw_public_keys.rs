//! Raw public keys in the place of certificates (RFC 7250).

use super::*;
use crate::{Choice, Version};
use rcgen::PublicKeyData;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{DigitallySignedStruct, Error as TlsError, SignatureScheme};

/// Believes one key and nothing else.
#[derive(Debug)]
struct Pinned {
    key: Vec<u8>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        more: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        assert!(more.is_empty());
        match key.as_ref() == self.key {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(TlsError::General("another key".to_owned())),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::General("RFC 7250 gives them another form there".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature_with_raw_key(
            message,
            &SubjectPublicKeyInfoDer::from(key.as_ref()),
            signed,
            &self.algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// A raw public key for a server, and its pin for clients.
fn raw(test: &str, algorithm: &'static SignatureAlgorithm) -> (Identity, Vec<u8>) {
    let key = KeyPair::generate_for(algorithm).unwrap();
    let file = |kind| std::env::temp_dir().join(format!("hayami-raw-{test}-{}.{kind}", std::process::id()));
    let (public, private) = (file("pub"), file("key"));
    std::fs::write(&public, key.public_key_pem()).unwrap();
    std::fs::write(&private, key.serialize_pem()).unwrap();
    let identity = Identity::read(&public, &private, now()).unwrap();
    std::fs::remove_file(public).unwrap();
    std::fs::remove_file(private).unwrap();
    (identity, key.subject_public_key_info())
}

fn pinning(key: &[u8]) -> ClientConfig {
    let provider = aws_lc_rs::default_provider();
    let algorithms = provider.signature_verification_algorithms;
    let builder =
        ClientConfig::builder_with_provider(Arc::new(provider)).with_protocol_versions(&[&TLS13, &TLS12]);
    let verifier = Arc::new(Pinned { key: key.to_vec(), algorithms });
    builder.unwrap().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
}

fn acceptor(identities: Vec<Identity>) -> Arc<Acceptor> {
    Acceptor::new(vec![(vec![], Settings::new(identities))], &Resumption::off()).unwrap()
}

#[test]
fn a_client_that_wants_a_raw_public_key_gets_it() {
    for (test, algorithm) in [
        ("ecdsa", &rcgen::PKCS_ECDSA_P256_SHA256),
        ("rsa", &rcgen::PKCS_RSA_SHA256),
        ("ed25519", &rcgen::PKCS_ED25519),
    ] {
        let (identity, key) = raw(test, algorithm);
        let mut pair = Pair::joined(&acceptor(vec![identity]), pinning(&key));
        assert_eq!(pair.session.info().map(|info| info.version), Some(Version::Tls13));
        pair.say(b"question");
        pair.session.seal(b"answer", &mut pair.out);
        pair.run().unwrap();
        assert_eq!(pair.plain, b"question");
        assert_eq!(pair.heard(), b"answer");
    }
}

#[test]
fn certificates_and_raw_public_keys_go_to_those_who_want_them() {
    let authority = Authority::new();
    let (identity, key) = raw("both", &rcgen::PKCS_ECDSA_P256_SHA256);
    let (_, another) = raw("another", &rcgen::PKCS_ECDSA_P256_SHA256);
    let certificate = authority.settings().identities;
    let both = acceptor([certificate.clone(), vec![identity.clone()]].concat());
    Pair::joined(&both, pinning(&key));
    Pair::joined(&both, authority.client());
    let tls12 = authority.client_with(aws_lc_rs::default_provider(), &[&TLS12]);
    Pair::joined(&both, tls12.clone());
    let refused = |acceptor: &Arc<Acceptor>, client: ClientConfig| {
        let mut pair = Pair::new(acceptor, &Arc::new(client), "localhost");
        let fault = pair.run().expect_err("refused");
        assert_eq!(pair.established, 0);
        fault
    };
    let alert = |fault| if let Fault::Alert(alert) = fault { Some(alert) } else { None };
    assert!(alert(refused(&both, pinning(&another))).is_some(), "the client says no");
    // Nothing that both could do.
    for (server, client) in [
        (acceptor(certificate), pinning(&key)),
        (acceptor(vec![identity.clone()]), authority.client()),
        (acceptor(vec![identity]), tls12),
    ] {
        assert!(matches!(refused(&server, client), Fault::Handshake(_)));
    }
}

#[test]
fn sessions_of_raw_public_keys_are_resumed_as_others_are() {
    let (identity, key) = raw("resumed", &rcgen::PKCS_ECDSA_P256_SHA256);
    let (other, _) = raw("other", &rcgen::PKCS_ECDSA_P256_SHA256);
    let resumption =
        Resumption::new(&crate::resumption::Settings::default(), Arc::new(|_, line| panic!("{line}")))
            .unwrap();
    let acceptor =
        |identity| Acceptor::new(vec![(vec![], Settings::new(vec![identity]))], &resumption).unwrap();
    let (own, client) = (acceptor(identity), Arc::new(pinning(&key)));
    for resumed in [false, true] {
        let mut pair = Pair::new(&own, &client, "localhost");
        pair.run().unwrap();
        pair.say(b"x");
        assert_eq!(pair.session.info().map(|info| info.resumed), Some(resumed));
    }
    let mut pair = Pair::new(&acceptor(other), &client, "localhost");
    assert!(pair.run().is_err(), "a session does not stand in for another key");
}

#[test]
fn a_raw_public_key_without_tls_1_3_is_an_error() {
    let (identity, _) = raw("old", &rcgen::PKCS_ECDSA_P256_SHA256);
    let settings = Settings { max_version: Version::Tls12, ..Settings::new(vec![identity.clone()]) };
    let error = Acceptor::new(vec![(vec![], settings)], &Resumption::off()).unwrap_err().to_string();
    assert!(error.contains("a raw public key is for TLS 1.3 only"), "{error}");
    let settings = crate::ClientSettings {
        identity: Some(identity),
        ..crate::ClientSettings::new(crate::Trust::Anyone)
    };
    let error = crate::Connector::new(&settings).unwrap_err().to_string();
    assert!(error.contains("a public key is not a certificate"), "{error}");
    let Choice { chosen, .. } = crate::suites_tls13([]);
    let settings =
        Settings { suites_tls13: Some(chosen), ..Settings::new(vec![raw("none", &rcgen::PKCS_ED25519).0]) };
    assert!(Acceptor::new(vec![(vec![], settings)], &Resumption::off()).is_err());
}
