//! Upgrades that requests ask for.
//!
//! From HTTP/1.1 to HTTP/2 on one connection: `Upgrade: h2c` (RFC 7540 §3.2; RFC 9113 §3.1 no longer recommends it,
//! but curl and others still use it). Other protocols are up to the service.

use crate::service::{ConnectionInfo, UpgradeKind};
use crate::worker::Worker;
use hayami_http::field::is_token;
use hayami_http::{Known, Method, RequestHead, Version};

/// The field that contains the client's settings.
pub(crate) const SETTINGS: &[u8] = b"http2-settings";

/// Sent before the server's preface.
pub(crate) const SWITCHING: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n";

/// Whether a request without content asks for HTTP/2 in a valid way: without TLS, with exactly one HTTP2-Settings
/// field, and with both fields listed in `Connection`.
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

/// The name of the field in which a head stores the `:protocol` of an extended CONNECT (RFC 8441 §4).
const PROTOCOL: &[u8] = b":protocol";

/// The tunnel that a request asks for, and the protocols offered.
pub(crate) fn requested(head: &RequestHead) -> Option<(UpgradeKind, Vec<u8>)> {
    if head.method() != Method::Connect {
        let protocols = passed_on(head);
        return (!protocols.is_empty()).then_some((UpgradeKind::Upgrade, protocols));
    }
    Some(match head.fields().get_named(PROTOCOL) {
        Some(protocol) => (UpgradeKind::ExtendedConnect, protocol.to_vec()),
        None => (UpgradeKind::Connect, Vec::new()),
    })
}

/// The protocols of the Upgrade fields that an upstream may select. Protocols of this connection itself are excluded:
/// a client with HTTP/2 to an upstream could send it any requests, bypassing this server.
fn passed_on(head: &RequestHead) -> Vec<u8> {
    let values = head.fields().get_all(Known::Upgrade).flat_map(|value| value.split(|byte| *byte == b','));
    let mut protocols = Vec::new();
    for protocol in values.map(<[u8]>::trim_ascii).filter(|protocol| is_passed_on(protocol)) {
        if !protocols.is_empty() {
            protocols.extend_from_slice(b", ");
        }
        protocols.extend_from_slice(protocol);
    }
    protocols
}

/// RFC 9110 §7.8: a token, optionally with a version.
fn is_passed_on(protocol: &[u8]) -> bool {
    let mut parts = protocol.split(|byte| *byte == b'/');
    let name = parts.next().unwrap_or_default();
    let well_formed = is_token(name) && parts.next().is_none_or(is_token) && parts.next().is_none();
    let own: [&[u8]; 5] = [b"http", b"https", b"tls", b"h2", b"h2c"];
    well_formed && !own.iter().any(|own| own.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_of_the_connection_itself_are_not_for_others_to_choose() {
        let cases: &[(&[&str], &str)] = &[
            (&["websocket"], "websocket"),
            (&["WebSocket, foo/2 ,", "bar"], "WebSocket, foo/2, bar"),
            (&["h2c"], ""),
            (&["H2C, h2, TLS/1.0, HTTP/2.0, https, tls"], ""),
            (&["websocket, h2c", "HTTP/2"], "websocket"),
            (&["web socket, a/b/c, /1, a/, x\"y"], ""),
            (&[""], ""),
        ];
        for (values, want) in cases {
            let mut head = RequestHead::default();
            values.iter().for_each(|value| head.fields_mut().append(b"upgrade", value.as_bytes()));
            assert_eq!(String::from_utf8_lossy(&passed_on(&head)), *want, "{values:?}");
        }
    }

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
