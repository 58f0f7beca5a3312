//! The target of TLS: what a peer sends before anything is agreed on.

use hayami_tls::{Acceptor, Identity, Progress, Resumption, Session, Settings, Version};
use std::sync::{Arc, LazyLock};

/// Two configurations, so that the name in a ClientHello counts; the key is good for nothing else.
static ACCEPTOR: LazyLock<Arc<Acceptor>> = LazyLock::new(|| {
    let certificate = include_bytes!("fixtures/certificate.der").to_vec();
    let key = include_bytes!("fixtures/key.der").to_vec();
    // In the certificate's first century.
    let identity = Identity::from_der(vec![certificate], key, "the fixture", 2_000_000_000).expect("it fits");
    let settings = Settings::new(vec![identity]);
    let old = Settings { max_version: Version::Tls12, ..settings.clone() };
    Acceptor::new(vec![(vec![], settings), (vec!["*.old".to_owned()], old)], &Resumption::off())
        .expect("a certificate")
});

/// Octets of a stranger never establish a session, give no plaintext, and end it or wait for more, the same
/// whole and one at a time; a session that is over stays over.
pub fn tls(octets: &[u8]) {
    assert_eq!(is_over_after(std::iter::once(octets)), is_over_after(octets.chunks(1)));
}

fn is_over_after<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut session = Session::new(&ACCEPTOR);
    let (mut input, mut plain, mut out) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_over = false;
    for piece in pieces {
        input.extend_from_slice(piece);
        match session.receive(&mut input, &mut plain, &mut out) {
            Ok(progress) => assert!(!is_over && matches!(progress, Progress::Handshaking), "{progress:?}"),
            Err(_) => is_over = true,
        }
        assert!(plain.is_empty() && session.info().is_none());
    }
    is_over
}
