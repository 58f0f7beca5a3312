//! The parameters of a query, as forms write them (application/x-www-form-urlencoded).

use percent_encoding::percent_decode;
use std::borrow::Cow;

/// Names and values as they were sent, still [encoded](decoded). The value of a parameter without `=` is empty.
pub(crate) fn parameters(query: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
        match pair.iter().position(|byte| *byte == b'=') {
            Some(mark) => (&pair[..mark], &pair[mark + 1..]),
            None => (pair, &b""[..]),
        }
    })
}

/// A name or value as it is meant.
pub(crate) fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'+') {
        return percent_decode(text).into();
    }
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_decode(&spaced).collect())
}
