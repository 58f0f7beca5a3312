//! The static table (RFC 7541 Appendix A), and the lookup of names in it.

use crate::{Field, Token};
use hayami_http::Known;
use hayami_http::known::slot_of;

/// Index of the last static entry; the dynamic table begins after it (RFC 7541 §2.3.3).
pub(crate) const LAST: u32 = 61;

/// Names and values from index 1 on.
const ENTRIES: [(&[u8], &[u8]); LAST as usize] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// By index; 0 stands for none.
pub(crate) static TABLE: [Field<'static>; LAST as usize + 1] = {
    let mut table = [field(b"", b""); LAST as usize + 1];
    let mut at = 0;
    while at < ENTRIES.len() {
        table[at + 1] = field(ENTRIES[at].0, ENTRIES[at].1);
        at += 1;
    }
    table
};

const fn field(name: &'static [u8], value: &'static [u8]) -> Field<'static> {
    Field { name, value, token: token_of(name), well_formed: true, never_indexed: false }
}

/// [`Token::of`] for the compiler.
const fn token_of(name: &[u8]) -> Token {
    match name {
        b":authority" => return Token::Authority,
        b":method" => return Token::Method,
        b":path" => return Token::Path,
        b":scheme" => return Token::Scheme,
        b":status" => return Token::Status,
        _ => {}
    }
    let mut at = 0;
    while at < Known::COUNT {
        if equal(Known::ALL[at].name(), name) {
            return Token::Known(Known::ALL[at]);
        }
        at += 1;
    }
    Token::Other
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Index of the first entry with that name, in any case; 0 if there is none.
#[inline]
pub(crate) fn name_index(name: &[u8]) -> u32 {
    let index = SLOTS[slot_of(name, FACTOR)];
    let same = TABLE[usize::from(index)].name.eq_ignore_ascii_case(name);
    if same { u32::from(index) } else { 0 }
}

/// Index of the entry with the name of entry `index`, which is the first of that name, and that value.
#[inline]
pub(crate) fn value_index(index: u32, value: &[u8]) -> Option<u32> {
    let first = TABLE[index as usize];
    if index == 0 || value.len() > LONGEST_VALUE {
        return None;
    }
    let of_name = (index..=LAST).take_while(|at| TABLE[*at as usize].name == first.name);
    of_name.into_iter().find(|at| TABLE[*at as usize].value == value)
}

/// Index of an entry of a pseudo-header field that has a value, statuses aside.
#[inline]
pub(crate) fn pseudo_index(name: &[u8], value: &[u8]) -> Option<u8> {
    Some(match (name, value) {
        (b":method", b"GET") => 2,
        (b":method", b"POST") => 3,
        (b":path", b"/") => 4,
        (b":path", b"/index.html") => 5,
        (b":scheme", b"http") => 6,
        (b":scheme", b"https") => 7,
        _ => return None,
    })
}

/// Bytes of `gzip, deflate`.
const LONGEST_VALUE: usize = 13;

/// The first odd factor for [`slot_of`] with which no two names share a slot. Searching for it at compile
/// time takes too long; a test verifies it.
const FACTOR: u32 = 110_605;

/// By [`slot_of`]: the index of the first entry whose name may be there.
static SLOTS: [u8; 256] = {
    let mut slots = [0; 256];
    let mut at = ENTRIES.len();
    while at > 0 {
        slots[slot_of(ENTRIES[at - 1].0, FACTOR)] = at as u8;
        at -= 1;
    }
    slots
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_by_name_and_value() {
        for (at, field) in TABLE.iter().enumerate().skip(1) {
            let first = name_index(field.name);
            assert_eq!(TABLE[first as usize].name, field.name);
            assert_eq!(name_index(&field.name.to_ascii_uppercase()), first);
            assert_eq!(value_index(first, field.value), Some(at as u32), "{field:?}");
            assert_eq!(value_index(first, b"another"), None);
            assert_eq!(field.token, Token::of(field.name));
        }
        for (at, field) in TABLE.iter().enumerate().take(8).skip(2) {
            assert_eq!(pseudo_index(field.name, field.value), Some(at as u8));
        }
        assert_eq!(name_index(b"x-other"), 0);
        assert_eq!(name_index(b""), 0);
        assert_eq!(value_index(0, b""), None);
    }

    #[test]
    fn no_value_is_longer_than_the_longest() {
        assert_eq!(TABLE.iter().map(|field| field.value.len()).max(), Some(LONGEST_VALUE));
    }
}
