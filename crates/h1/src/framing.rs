//! Where a message ends: Content-Length, Transfer-Encoding and what the Connection field says
//! (RFC 9112 §6 and §9.3).

use crate::bytes::list;
use crate::fault::Fault;
use crate::field_line::Seen;
use hayami_http::{FieldSection, Known, Version};

/// What the framing fields of a message say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    /// Neither field is there.
    Nothing,
    /// Content-Length.
    Length(u64),
    /// Transfer-Encoding: chunked.
    Chunked,
}

/// Reads the framing fields. Anything ambiguous is a fault: requests are smuggled in messages whose end two
/// recipients see in different places (RFC 9112 §11.2).
pub(crate) fn declared(fields: &FieldSection, seen: Seen, version: Version) -> Result<Declared, Fault> {
    let length = fields.get(Known::ContentLength);
    if seen.has(Known::TransferEncoding) {
        // RFC 9112 §6.1: such a message may be a smuggling attempt.
        if length.is_some() {
            return Err(Fault::LengthAndEncoding);
        }
        // RFC 9112 §6.1: HTTP/1.0 has no transfer codings; the framing is faulty.
        if version < Version::Http11 {
            return Err(Fault::EncodingInHttp10);
        }
        return only_chunked(fields, seen);
    }
    let Some(length) = length else { return Ok(Declared::Nothing) };
    // RFC 9112 §6.3 lets equal values pass as one; no current client needs it.
    if seen.repeats(Known::ContentLength) || length.contains(&b',') {
        return Err(Fault::RepeatedLength);
    }
    decimal(length).map(Declared::Length).ok_or(Fault::MalformedLength)
}

/// `chunked` alone in one line. Empty list elements beside it would be legal (RFC 9110 §5.6.1.2), but a
/// program that compares the value, or uses the last line, would see another message.
fn only_chunked(fields: &FieldSection, seen: Seen) -> Result<Declared, Fault> {
    let value = fields.get(Known::TransferEncoding).unwrap_or_default();
    if value.eq_ignore_ascii_case(b"chunked") && !seen.repeats(Known::TransferEncoding) {
        return Ok(Declared::Chunked);
    }
    Err(coding_fault(fields.get_all(Known::TransferEncoding).flat_map(list)))
}

/// An unknown coding is named as such, with or without chunked after it: 501 helps its sender more than
/// 400. Chunked repeated or not last is 400 (RFC 9112 §6.1, §6.3).
#[cold]
fn coding_fault<'a>(codings: impl Iterator<Item = &'a [u8]>) -> Fault {
    let (mut chunked, mut unknown, mut last) = (0, 0, false);
    for coding in codings {
        last = coding.eq_ignore_ascii_case(b"chunked");
        *(if last { &mut chunked } else { &mut unknown }) += 1;
    }
    match (chunked, unknown, last) {
        (0, 1.., _) | (1, 1.., true) => Fault::UnknownCoding,
        _ => Fault::ChunkedNotLast,
    }
}

/// Digits alone (RFC 9110 §8.6): no sign, no whitespace, at most 64 bits.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// Whether the sender of this head keeps the connection open (RFC 9112 §9.3).
pub(crate) fn persists(fields: &FieldSection, seen: Seen, version: Version) -> bool {
    let default = version >= Version::Http11;
    if !seen.has(Known::Connection) {
        return default;
    }
    // What browsers send.
    if !seen.repeats(Known::Connection) && fields.get(Known::Connection) == Some(b"keep-alive") {
        return true;
    }
    let (mut close, mut keep) = (false, false);
    for option in fields.get_all(Known::Connection).flat_map(list) {
        close |= option.eq_ignore_ascii_case(b"close");
        keep |= option.eq_ignore_ascii_case(b"keep-alive");
    }
    !close && (default || keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_line::section;
    use crate::limits::Limits;
    use Version::{Http10, Http11};

    /// A section with these lines.
    fn fields(lines: &str) -> (FieldSection, Seen) {
        let bytes = format!("{lines}\n");
        let mut fields = FieldSection::default();
        let (len, seen) = section(bytes.as_bytes(), 0, &Limits::default(), &mut fields).expect(lines);
        fields.set_bytes(&bytes.as_bytes()[..len]);
        (fields, seen)
    }

    #[test]
    fn the_connection_stays_if_both_its_field_and_its_version_let_it() {
        // The Connection lines, and whether the connection stays in 1.0 and in 1.1.
        let cases = [
            ("", false, true),
            ("Connection: keep-alive\n", true, true),
            ("Connection: Keep-Alive\n", true, true),
            ("Connection: close\n", false, false),
            ("Connection: CLOSE\n", false, false),
            ("Connection: keep-alive, close\n", false, false),
            ("Connection: close, keep-alive\n", false, false),
            ("Connection: keep-alive\nConnection: close\n", false, false),
            ("Connection: keep-alive\nConnection: keep-alive\n", true, true),
            ("Connection: upgrade\n", false, true),
            ("Connection: upgrade, keep-alive\n", true, true),
            ("Connection:\n", false, true),
            ("Connection: closed\n", false, true),
            ("Connection: keep-alive-not\n", false, true),
            ("Connection: \"close\"\n", false, true),
            ("Keep-Alive: timeout=5\n", false, true),
            ("Proxy-Connection: keep-alive\n", false, true),
        ];
        for (lines, http10, http11) in cases {
            let (fields, seen) = fields(lines);
            let stays = [Http10, Http11].map(|version| persists(&fields, seen, version));
            assert_eq!(stays, [http10, http11], "{lines:?}");
        }
    }

    #[test]
    fn a_length_has_digits_and_64_bits() {
        let cases: [(&[u8], Option<u64>); 12] = [
            (b"0", Some(0)),
            (b"00", Some(0)),
            (b"42", Some(42)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"018446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"99999999999999999999", None),
            (b"", None),
            (b"+1", None),
            (b"1_0", None),
            (b"1 ", None),
            (b"\xd9\xa1", None),
        ];
        for (digits, want) in cases {
            assert_eq!(decimal(digits), want, "{}", digits.escape_ascii());
        }
    }

    #[test]
    fn framing_is_declared_once_or_not_at_all() {
        let cases = [
            ("", Ok(Declared::Nothing)),
            ("Content-Length: 7\n", Ok(Declared::Length(7))),
            ("Transfer-Encoding: Chunked\n", Ok(Declared::Chunked)),
            ("Content-Length: 7\nContent-Length: 7\n", Err(Fault::RepeatedLength)),
            ("Content-Length: 7\nTransfer-Encoding: chunked\n", Err(Fault::LengthAndEncoding)),
            ("Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n", Err(Fault::ChunkedNotLast)),
            ("Transfer-Encoding: gzip\nTransfer-Encoding: chunked\n", Err(Fault::UnknownCoding)),
        ];
        for (lines, want) in cases {
            let (fields, seen) = fields(lines);
            assert_eq!(declared(&fields, seen, Http11), want, "{lines:?}");
            // HTTP/1.0 has no transfer codings.
            let encoded = seen.has(Known::TransferEncoding) && want != Err(Fault::LengthAndEncoding);
            let old = if encoded { Err(Fault::EncodingInHttp10) } else { want };
            assert_eq!(declared(&fields, seen, Http10), old, "{lines:?} in HTTP/1.0");
        }
    }
}
