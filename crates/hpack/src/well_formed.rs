//! The characters that HTTP/2 allows in names and values (RFC 9113 §8.2.1).

use crate::Token;

/// By byte: whether a name may hold it: the token bytes (RFC 9110 §5.6.2) except upper case.
static IN_NAMES: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// The token of a name and whether it is well-formed.
pub(crate) fn name(name: &[u8]) -> (Token, bool) {
    let well_formed = match name {
        [] => false,
        [b':', ..] => Token::of(name) != Token::Other,
        _ => name.iter().all(|byte| IN_NAMES[usize::from(*byte)]),
    };
    (if well_formed { Token::of(name) } else { Token::Other }, well_formed)
}

/// Whether a value is well-formed.
#[inline]
pub(crate) fn value(value: &[u8]) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    // Checks all of it without a branch: few values have any byte below 16.
    let low = value.iter().fold(false, |low, byte| low | (*byte < 16));
    let bad = is_space(value.first()) || is_space(value.last()) || (low && holds_forbidden(value));
    !bad
}

#[cold]
fn holds_forbidden(value: &[u8]) -> bool {
    value.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_http::Known;

    #[test]
    fn names_are_lower_case_tokens_or_pseudo_headers_we_know() {
        assert_eq!(name(b"host"), (Token::Known(Known::Host), true));
        assert_eq!(name(b"x-1_~"), (Token::Other, true));
        assert_eq!(name(b":protocol"), (Token::Protocol, true));
        for bad in [&b"Host"[..], b"", b":", b":other", b"a b", b"a:", b"\xc3\xa4", b"a\0", b"a(", b":Path"] {
            assert_eq!(name(bad), (Token::Other, false), "{bad:?}");
        }
    }

    #[test]
    fn values_hold_no_line_ends_nul_or_surrounding_space() {
        for good in
            [&b""[..], b"a", b"a b", b"a\tb", b"\x01", b"\xff\x7f", b"long enough for words\t\x0e\x0f."]
        {
            assert!(value(good), "{good:?}");
        }
        for bad in
            [&b" "[..], b"\t", b" a", b"a ", b"\ta", b"a\t", b"a\0b", b"a\nb", b"long enough for words\r."]
        {
            assert!(!value(bad), "{bad:?}");
        }
    }
}
