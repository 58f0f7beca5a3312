//! Targets of what is read beside handshakes: ticket files, the replies of session stores, OCSP responses, certificates.

use hayami_tls::fuzzing;
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{LazyLock, Mutex, PoisonError};

/// A file of ticket keys that can be read says the same once it was written, and again after that.
pub fn ticket_keys(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some(written) = fuzzing::ticket_keys(text) else { return };
    let again = std::str::from_utf8(&written).ok().and_then(fuzzing::ticket_keys);
    assert_eq!(again.as_ref(), Some(&written));
}

/// Every value that a store returns is part of its replies; whatever it replies, the calls end.
pub fn store_replies(bytes: &[u8]) {
    for kind in [fuzzing::Store::Memcached, fuzzing::Store::Redis] {
        let (ours, mut theirs) = connection();
        // Without its end a call would wait for the rest of a reply.
        if bytes.len() > 32_768
            || theirs.write_all(bytes).is_err()
            || theirs.shutdown(Shutdown::Write).is_err()
        {
            return;
        }
        for value in fuzzing::store_replies(kind, ours) {
            let found = value.is_empty() || bytes.windows(value.len()).any(|window| window == value);
            assert!(found, "{kind:?} gives {}", value.escape_ascii());
        }
    }
}

fn connection() -> (TcpStream, TcpStream) {
    // Locked, since threads of the replay would take each other's connections.
    static LISTENER: LazyLock<Mutex<TcpListener>> =
        LazyLock::new(|| Mutex::new(TcpListener::bind("127.0.0.1:0").expect("a port")));
    let listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner);
    let ours = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    let theirs = listener.accept().expect("it waits").0;
    (ours, theirs)
}

/// A response that is valid with the issuer's signature is valid where the signature can't be checked; none
/// is valid forever, and its contents lie within its bytes.
pub fn ocsp_response(bytes: &[u8]) {
    const LEAF: &[u8] = include_bytes!("fixtures/ocsp_leaf.der");
    const ISSUER: &[u8] = include_bytes!("fixtures/ocsp_issuer.der");
    // When the corpus was made.
    const NOW: u64 = 1_795_400_000;
    let signed = fuzzing::ocsp_response(bytes, &[LEAF.to_vec(), ISSUER.to_vec()], NOW);
    let unsigned = fuzzing::ocsp_response(bytes, &[LEAF.to_vec()], NOW);
    if let Ok(until) = signed {
        assert_eq!(unsigned, Ok(until));
        assert!(until.is_none_or(|until| until >= NOW));
    }
}

/// The subject of a certificate is one line of text.
pub fn certificate(bytes: &[u8]) {
    if let Some((subject, _)) = fuzzing::certificate(bytes) {
        assert!(!subject.chars().any(char::is_control), "{subject:?}");
    }
}
