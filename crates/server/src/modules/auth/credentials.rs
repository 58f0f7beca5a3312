//! The credentials of a request (RFC 7617 §2).

use hayami_http::RequestHead;

/// Longer credentials are rejected: they would only slow down verification.
const LONGEST: usize = 1024;

/// A user name and a password, as the client sends them.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    bytes: Vec<u8>,
    /// Index of the colon.
    colon: usize,
}

impl Credentials {
    /// The credentials in the field of this name. `None`: missing, of another scheme, or the field is repeated.
    pub(super) fn of(head: &RequestHead, name: &[u8]) -> Option<Self> {
        let mut lines = head.fields().iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        let (Some((_, value)), None) = (lines.next(), lines.next()) else { return None };
        let (scheme, rest) = value.split_at_checked(5)?;
        // RFC 9110 §11.1: schemes are case-insensitive.
        if !scheme.eq_ignore_ascii_case(b"basic") || !rest.starts_with(b" ") {
            return None;
        }
        let bytes = decoded(rest.trim_ascii())?;
        let colon = bytes.iter().position(|byte| *byte == b':')?;
        (bytes.len() <= LONGEST).then_some(Self { bytes, colon })
    }

    /// The user's name.
    pub(super) fn user(&self) -> &[u8] {
        &self.bytes[..self.colon]
    }

    /// The password.
    pub(super) fn password(&self) -> &[u8] {
        &self.bytes[self.colon + 1..]
    }
}

/// Decodes base64 (RFC 4648 §4); the padding may be missing.
pub(super) fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = &text[..text.len() - padding];
    if padding > 2 || digits.len() % 4 == 1 || (padding > 0 && !text.len().is_multiple_of(4)) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for byte in group {
            bits = bits << 6 | value(*byte)?;
        }
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;

    fn read(values: &[&str]) -> Option<(String, String)> {
        let mut head = testing::get("/");
        for value in values {
            head.fields_mut().append(b"Authorization", value.as_bytes());
        }
        let found = Credentials::of(&head, b"authorization")?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Some((text(found.user()), text(found.password())))
    }

    #[test]
    fn credentials_are_read() {
        for (value, user, password) in [
            ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"),
            ("basic  QWxhZGRpbjpvcGVuIHNlc2FtZQ", "Aladdin", "open sesame"),
            ("BASIC dGVzdDoxMjPCow==", "test", "123£"),
            ("Basic YTpiOmM=", "a", "b:c"),
            ("Basic Og==", "", ""),
        ] {
            assert_eq!(read(&[value]), Some((user.to_owned(), password.to_owned())), "{value}");
        }
    }

    #[test]
    fn what_is_malformed_is_none() {
        for values in [
            &[][..],
            &["Bearer abc"],
            &["Basic"],
            &["Basic "],
            &["BasicYTpi"],
            &["Basic YQ=="],
            &["Basic YTpi YTpi"],
            &["Basic YTpi!"],
            &["Basic YTpiO==="],
            &["Basic YTpiO"],
            &["Basic YTpi", "Basic YTpi"],
        ] {
            assert_eq!(read(values), None, "{values:?}");
        }
        // 1026 bytes.
        let long = format!("Basic {}", "YTpi".repeat(342));
        assert_eq!(read(&[&long]), None);
    }
}
