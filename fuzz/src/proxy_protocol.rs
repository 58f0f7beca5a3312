//! The target of the PROXY protocol's headers.

use hayami_net::proxy_protocol::{Parsed, Version, parse, write};

/// A header takes no byte that is not there, is what it is whatever follows, and its ends are read again as they are
/// written.
pub fn proxy_protocol(bytes: &[u8]) {
    let Ok(Parsed::Whole { bytes: len, ends }) = parse(bytes) else { return };
    assert!(len <= bytes.len());
    assert_eq!(parse(&bytes[..len]), parse(bytes));
    assert_eq!(parse(&bytes[..len - 1]), Ok(Parsed::Partial));
    let Some(ends) = ends else { return };
    for version in [Version::V1, Version::V2] {
        let mut wire = Vec::new();
        write(version, &ends.peer, &ends.local, &mut wire);
        assert!(matches!(parse(&wire), Ok(Parsed::Whole { bytes, .. }) if bytes == wire.len()));
    }
}
