//! The HTTP2-Settings field of an upgrade from HTTP/1.1 (RFC 7540 §3.2.1): a SETTINGS payload in base64url.

/// Whether the value can be that of a HTTP2-Settings field; check it before agreeing to the upgrade.
pub fn is_http2_settings(value: &[u8]) -> bool {
    settings_payload(value).is_some_and(|payload| payload.len().is_multiple_of(6))
}

/// The payload; `None` if the value isn't base64url without padding.
pub(crate) fn settings_payload(value: &[u8]) -> Option<Vec<u8>> {
    let mut payload = Vec::with_capacity(value.len() * 3 / 4);
    for group in value.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | sextet(*digit)?;
        }
        let bytes = match group.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        let aligned = bits << (8 + 6 * (4 - group.len()));
        payload.extend_from_slice(&aligned.to_be_bytes()[..bytes]);
    }
    Some(payload)
}

/// RFC 4648 §5.
fn sextet(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settings_payload_is_decoded() {
        let cases: &[(&str, Option<&[u8]>)] = &[
            ("", Some(b"")),
            ("AAMAAABkAAQAoAAAAAIAAAAA", Some(b"\0\x03\0\0\0\x64\0\x04\0\xa0\0\0\0\x02\0\0\0\0")),
            ("_-8", Some(b"\xff\xef")),
            ("_w", Some(b"\xff")),
            ("_", None),
            ("AA==", None),
            ("A+/A", None),
        ];
        for (value, want) in cases {
            assert_eq!(settings_payload(value.as_bytes()).as_deref(), *want, "{value}");
        }
    }
}
