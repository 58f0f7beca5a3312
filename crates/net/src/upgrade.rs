//! From HTTP/1.1 to HTTP/2 on one connection: `Upgrade: h2c` (RFC 7540 §3.2; RFC 9113 §3.1 no longer
//! recommends it, and curl and others still ask).

use crate::service::ConnectionInfo;
use crate::worker::Worker;
use hayami_http::{Known, RequestHead, Version};

/// The field that brings the client's settings.
pub(crate) const SETTINGS: &[u8] = b"http2-settings";

/// What precedes our preface.
pub(crate) const SWITCHING: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n";

/// Whether a request without content asks for HTTP/2 in the way that is to be heeded: in clear, with
/// exactly one field of settings, both fields named by `Connection`.
#[inline]
pub(crate) fn is_wanted<S>(worker: &Worker<S>, info: &ConnectionInfo, head: &RequestHead) -> bool {
    head.get(Known::Upgrade).is_some() && worker.http2.upgrade && info.tls.is_none() && asks(head)
}

#[cold]
fn asks(head: &RequestHead) -> bool {
    let listed = |known, wanted: &str| {
        let values = head.fields().get_all(known);
        values
            .flat_map(|v| v.split(|b| *b == b','))
            .any(|t| t.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
    };
    let named = head.fields().iter().filter(|(name, _)| name.eq_ignore_ascii_case(SETTINGS));
    let settings: Vec<&[u8]> = named.map(|(_, value)| value).collect();
    head.version() == Version::Http11
        && matches!(settings[..], [value] if hayami_h2::is_http2_settings(value))
        && listed(Known::Upgrade, "h2c")
        && listed(Known::Connection, "upgrade")
        && listed(Known::Connection, "http2-settings")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_fields_are_needed() {
        let table: &[(&[&str], bool)] = &[
            (&["upgrade: h2c", "connection: Upgrade, HTTP2-Settings", "http2-settings: AAMAAABk"], true),
            (
                &[
                    "upgrade: websocket, h2c",
                    "connection: http2-settings",
                    "connection: upgrade",
                    "http2-settings: ",
                ],
                true,
            ),
            (&["upgrade: h2c", "connection: Upgrade", "http2-settings: AAMAAABk"], false),
            (&["upgrade: h2c", "connection: Upgrade, HTTP2-Settings", "http2-settings: !"], false),
            (&["upgrade: h2", "connection: Upgrade, HTTP2-Settings", "http2-settings: AAMAAABk"], false),
            (&["upgrade: h2c", "connection: Upgrade, HTTP2-Settings"], false),
            (
                &[
                    "upgrade: h2c",
                    "connection: Upgrade, HTTP2-Settings",
                    "http2-settings: a",
                    "http2-settings: a",
                ],
                false,
            ),
        ];
        for (lines, wanted) in table {
            let mut head = RequestHead::default();
            for line in *lines {
                let (name, value) = line.split_once(": ").expect("a field");
                head.fields_mut().append(name.as_bytes(), value.as_bytes());
            }
            assert_eq!(asks(&head), *wanted, "{lines:?}");
        }
    }
}
