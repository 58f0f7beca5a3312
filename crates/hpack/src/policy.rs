//! Which fields are worth an entry in the table. The caller decides; this is hayami's policy.

use crate::{Indexing, MAX_TABLE_SIZE};
use hayami_http::Known;

/// The shortest cookie that enters the table: a shorter one could be guessed, byte by byte, by an attacker
/// who sees the length of what is sent (RFC 7541 §7.1.3).
const COOKIE: usize = 20;

/// Bytes of name and value beyond which a field isn't worth the entries that it would evict.
const LARGE: usize = MAX_TABLE_SIZE as usize / 4;

/// How to encode a field, `known` being the name's [`Known::of`].
pub fn indexing_of(known: Option<Known>, name: &[u8], value: &[u8]) -> Indexing {
    match known {
        Some(Known::Authorization) => Indexing::Never,
        Some(Known::Cookie) if value.len() < COOKIE => Indexing::Never,
        // These differ for each request.
        Some(Known::Range | Known::Location) => Indexing::No,
        // By name, known or not.
        _ if is_one_of(SECRET, name) => Indexing::Never,
        None if is_one_of(FLEETING, name) => Indexing::No,
        _ if name.len() + value.len() > LARGE => Indexing::No,
        _ => Indexing::Add,
    }
}

/// Values that are secrets, and short ones among them (RFC 7541 §7.1.3). A new session's cookie comes once.
const SECRET: &[&[u8]] = &[b"set-cookie", b"proxy-authorization", b"authentication-info", b"authorization"];

/// Values that rarely repeat.
const FLEETING: &[&[u8]] = &[
    b":path",
    b"age",
    b"content-range",
    b"request-id",
    b"server-timing",
    b"traceparent",
    b"x-request-id",
    b"x-runtime",
];

fn is_one_of(names: &[&[u8]], name: &[u8]) -> bool {
    names.iter().any(|one| one.len() == name.len() && one.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decoder, Encoder, Field};

    #[test]
    fn secrets_stay_out_and_what_repeats_goes_in() {
        let long = [b'x'; 1100];
        let cases: &[(&[u8], &[u8], Indexing)] = &[
            (b"authorization", b"Basic x", Indexing::Never),
            (b"Proxy-Authorization", b"Basic x", Indexing::Never),
            (b"set-cookie", b"id=1", Indexing::Never),
            (b"cookie", b"id=1", Indexing::Never),
            (b"cookie", b"id=0123456789abcdef", Indexing::Never),
            (b"cookie", b"id=0123456789abcdef0", Indexing::Add),
            (b"cookie", b"", Indexing::Never),
            (b"Cookie", b"id=1", Indexing::Never),
            (b"Authorization", b"Bearer 0123456789abcdef0123456789", Indexing::Never),
            (b"content-range", b"bytes 0-1/2", Indexing::No),
            (b"location", b"/", Indexing::No),
            (b"etag", b"\"1\"", Indexing::Add),
            (b"etag", &long, Indexing::No),
            (b"content-length", b"612", Indexing::Add),
            (b"x-other", b"1", Indexing::Add),
        ];
        for (name, value, want) in cases {
            assert_eq!(indexing_of(Known::of(name), name, value), *want, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn secrets_are_literals_that_are_never_indexed_in_every_block() {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
        for name in ["set-cookie", "cookie", "authorization", "proxy-authorization", "Set-Cookie"] {
            let (name, value) = (name.as_bytes(), &b"0123456789abcdefghi"[..]);
            for _ in 0..3 {
                let (mut block, generation) = (Vec::new(), encoder.generation());
                encoder.begin(&mut block);
                encoder.field(name, value, indexing_of(Known::of(name), name, value), &mut block);
                assert_eq!((block[0] & 0xf0, encoder.generation()), (0x10, generation), "no entry");
                let mut never = false;
                let sink = &mut |field: Field<'_>| never = field.never_indexed && field.value == value;
                decoder.decode(&block, 1000, sink).unwrap();
                assert!(never, "{}", name.escape_ascii());
            }
        }
    }
}
