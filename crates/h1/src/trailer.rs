//! Which fields may come after the content.

use hayami_http::Known;

/// Whether a field may be in a trailer section: not one that frames or routes the message, changes how it
/// is processed, authenticates or describes the content (RFC 9110 §6.5.1). Those are dropped.
pub(crate) fn may_be_trailer(name: &[u8]) -> bool {
    match Known::of(name) {
        Some(known) => matches!(known, Known::ETag | Known::Server | Known::Date),
        None => !OTHERS.iter().any(|other| other.eq_ignore_ascii_case(name)),
    }
}

const OTHERS: [&[u8]; 12] = [
    b"content-range",
    b"content-location",
    b"set-cookie",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"www-authenticate",
    b"max-forwards",
    b"forwarded",
    b"x-forwarded-for",
    b"x-forwarded-proto",
    b"age",
    b"expires",
];

#[cfg(test)]
mod tests {
    use super::may_be_trailer;

    #[test]
    fn fields_that_frame_or_route_may_not_be_trailers() {
        for name in [&b"Content-Length"[..], b"transfer-encoding", b"HOST", b"Set-Cookie", b"connection"] {
            assert!(!may_be_trailer(name));
        }
        for name in [&b"Digest"[..], b"server-timing", b"etag", b"x-checksum"] {
            assert!(may_be_trailer(name));
        }
    }
}
