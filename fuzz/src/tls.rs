//! The targets of TLS: what a peer sends before anything is agreed on.

use hayami_tls::{
    Acceptor, ClientSession, ClientSettings, Connector, Fault, Identity, Progress, Resumption, Session,
    Settings, Trust, Version, groups,
};
use std::sync::{Arc, LazyLock};

/// Two configurations, so that the name in a ClientHello counts; the key is good for nothing else.
pub(crate) static ACCEPTOR: LazyLock<Arc<Acceptor>> = LazyLock::new(|| {
    let certificate = include_bytes!("fixtures/certificate.der").to_vec();
    let key = include_bytes!("fixtures/key.der").to_vec();
    // In the certificate's first century.
    let identity = Identity::from_der(vec![certificate], key, "the fixture", 2_000_000_000).expect("it fits");
    let settings = Settings::new(vec![identity]);
    let old = Settings { max_version: Version::Tls12, ..settings.clone() };
    Acceptor::new(vec![(vec![], settings), (vec!["*.old".to_owned()], old)], &Resumption::off())
        .expect("a certificate")
});

/// Believes anyone, and makes the cheapest of keys.
pub(crate) static CONNECTOR: LazyLock<Connector> = LazyLock::new(|| {
    let groups = Some(groups(["x25519"]).chosen);
    Connector::new(&ClientSettings { groups, ..ClientSettings::new(Trust::Anyone) }).expect("a group")
});

/// Bytes of a stranger never establish a session, give no plaintext, and end it or wait for more, the same
/// whole and one at a time; a session that is over stays over.
pub fn tls(bytes: &[u8]) {
    let is_over = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut session = Session::new(&ACCEPTOR);
        is_over_after(pieces, |input, plain, out| {
            let progress = session.receive(input, plain, out);
            assert!(session.info().is_none());
            progress
        })
    };
    assert_eq!(is_over(&mut std::iter::once(bytes)), is_over(&mut bytes.chunks(1)));
}

/// Bytes in the place of a server's that hasn't seen our hello never establish a session, give no plaintext,
/// and end it or wait for more, the same whole and one at a time; a session that is over stays over.
pub fn tls_client(bytes: &[u8]) {
    let is_over = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut session = ClientSession::new(&CONNECTOR, "localhost").expect("a name");
        session.start(&mut Vec::new());
        is_over_after(pieces, |input, plain, out| {
            let progress = session.receive(input, plain, out);
            assert!(session.info().is_none());
            progress
        })
    };
    assert_eq!(is_over(&mut std::iter::once(bytes)), is_over(&mut bytes.chunks(1)));
}

fn is_over_after(
    pieces: &mut dyn Iterator<Item = &[u8]>,
    mut receive: impl FnMut(&mut Vec<u8>, &mut Vec<u8>, &mut Vec<u8>) -> Result<Progress, Fault>,
) -> bool {
    let (mut input, mut plain, mut out) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_over = false;
    for piece in pieces {
        input.extend_from_slice(piece);
        match receive(&mut input, &mut plain, &mut out) {
            Ok(progress) => assert!(!is_over && matches!(progress, Progress::Handshaking), "{progress:?}"),
            Err(_) => is_over = true,
        }
        assert!(plain.is_empty());
    }
    is_over
}
