//! Escapes untrusted bytes for log lines: one line remains one line, whatever a client sends.

/// How untrusted bytes are escaped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escape {
    /// `\xHH`, and `-` for missing values.
    #[default]
    Apache,
    /// `\u00HH`, and `null` without quotes for missing values.
    Json,
}

impl Escape {
    /// The text for a missing value.
    pub(super) fn nothing(self) -> &'static [u8] {
        match self {
            Self::Apache => b"-",
            Self::Json => b"null",
        }
    }

    /// Appends `bytes` to `out`, escaped.
    pub(super) fn push(self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = bytes;
        while let Some(odd) = rest.iter().position(|&byte| !is_plain(byte)) {
            out.extend_from_slice(&rest[..odd]);
            self.push_odd(rest[odd], out);
            rest = &rest[odd + 1..];
        }
        out.extend_from_slice(rest);
    }

    fn push_odd(self, byte: u8, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let prefix: &[u8] = match (self, byte) {
            (Self::Json, b'"' | b'\\') => return out.extend([b'\\', byte]),
            (Self::Json, _) => b"\\u00",
            // Backslashes too, otherwise `\x0a` in a line would be ambiguous: four bytes sent by the client, or one.
            (Self::Apache, _) => b"\\x",
        };
        out.extend_from_slice(prefix);
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

fn is_plain(byte: u8) -> bool {
    (b' '..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_client_sends_ends_a_line_or_a_quoted_text() {
        let cases: [(&[u8], &str, &str); 6] = [
            (b"plain /~user?a=b", "plain /~user?a=b", "plain /~user?a=b"),
            (b"a\nb", r"a\x0ab", r"a\u000ab"),
            (b"\"", r"\x22", r#"\""#),
            (b"\\", r"\x5c", r"\\"),
            (b"\x7f\xff", r"\x7f\xff", r"\u007f\u00ff"),
            (b"", "", ""),
        ];
        for (bytes, apache, json) in cases {
            for (escape, want) in [(Escape::Apache, apache), (Escape::Json, json)] {
                let mut out = Vec::new();
                escape.push(bytes, &mut out);
                assert_eq!(String::from_utf8_lossy(&out), want);
            }
        }
    }
}
