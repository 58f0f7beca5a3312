//! Parses the parameters of a query, as sent by forms (application/x-www-form-urlencoded).

use percent_encoding::percent_decode;
use std::borrow::Cow;

/// Names and values as sent, still [encoded](decoded). The value of a parameter without `=` is empty.
pub(crate) fn parameters(query: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        match pair.iter().position(|byte| *byte == b'=') {
            Some(mark) => (&pair[..mark], &pair[mark + 1..]),
            None => (pair, &b""[..]),
        }
    })
}

/// Decodes a name or value.
pub(crate) fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'+') {
        return percent_decode(text).into();
    }
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_decode(&spaced).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_pairs_whose_value_may_be_missing() {
        let pairs = |query: &'static str| {
            let text = |bytes| str::from_utf8(bytes).expect("as written").to_owned();
            parameters(query.as_bytes()).map(|(name, value)| (text(name), text(value))).collect::<Vec<_>>()
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        assert_eq!(pairs(""), []);
        assert_eq!(pairs("a=1&&b&c=d=e&=f"), [("a", "1"), ("b", ""), ("c", "d=e"), ("", "f")].map(owned));
    }

    #[test]
    fn plus_is_a_space_and_percent_a_byte() {
        for (text, want) in [("a+b%2Bc", &b"a b+c"[..]), ("%e4%zz", b"\xe4%zz"), ("plain", b"plain")] {
            assert_eq!(&*decoded(text.as_bytes()), want, "{text}");
        }
    }
}
