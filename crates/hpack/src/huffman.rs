//! The Huffman code of string literals (RFC 7541 §5.2 and Appendix B).
//!
//! The code is canonical: within a length, codes count up in the order of their bytes. So only the lengths of
//! the bytes' codes are listed here; the compiler derives the tables.

use crate::Fault;

/// Length of a code and the bytes that have it, in order. EOS comes last of all.
const ROWS: &[(u32, &[u8])] = &[
    (5, b"012aceiost"),
    (6, b" %-./3456789=A_bdfghlmnpru"),
    (7, b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
    (8, b"&*,;XZ"),
    (10, b"!\"()?"),
    (11, b"'+|"),
    (12, b"#>"),
    (13, b"\x00$@[]~"),
    (14, b"^}"),
    (15, b"<`{"),
    (19, b"\\\xc3\xd0"),
    (20, b"\x80\x82\x83\xa2\xb8\xc2\xe0\xe2"),
    (21, b"\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6"),
    (22, b"\x81\x84\x85\x86\x88\x92\x9a\x9c\xa0\xa3\xa4\xa9\xaa\xad\xb2\xb5\xb9\xba\xbb\xbd\xbe\xc4\xc6\xe4\xe8\xe9"),
    (23, b"\x01\x87\x89\x8a\x8b\x8c\x8d\x8f\x93\x95\x96\x97\x98\x9b\x9d\x9e\xa5\xa6\xa8\xae\xaf\xb4\xb6\xb7\xbc\xbf\xc5\xe7\xef"),
    (24, b"\x09\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed"),
    (25, b"\xc7\xcf\xea\xeb"),
    (26, b"\xc0\xc1\xc8\xc9\xca\xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff"),
    (27, b"\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\xfb\xfc\xfd\xfe"),
    (28, b"\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f\xdc\xf9"),
    (30, b"\x0a\x0d\x16"),
];

/// Length of the longest codes, among them EOS.
const LONGEST: u32 = 30;

/// By byte: its code and the length of that.
static CODES: [Code; 256] = codes();

#[derive(Clone, Copy)]
struct Code {
    code: u32,
    bits: u32,
}

const fn codes() -> [Code; 256] {
    let mut codes = [Code { code: 0, bits: 0 }; 256];
    let (mut next, mut row) = (0, 0);
    while row < ROWS.len() {
        let (bits, bytes) = ROWS[row];
        next <<= bits - if row == 0 { bits } else { ROWS[row - 1].0 };
        let mut at = 0;
        while at < bytes.len() {
            codes[bytes[at] as usize] = Code { code: next, bits };
            next += 1;
            at += 1;
        }
        row += 1;
    }
    codes
}

/// Number of bytes that `text` takes as a Huffman string.
pub(crate) fn encoded_len(text: impl Iterator<Item = u8>) -> usize {
    let bits: usize = text.map(|byte| CODES[byte as usize].bits as usize).sum();
    bits.div_ceil(8)
}

/// Appends `text` as a Huffman string.
pub(crate) fn encode(text: impl Iterator<Item = u8>, out: &mut Vec<u8>) {
    let (mut word, mut used) = (0u64, 0);
    for byte in text {
        let Code { code, bits } = CODES[byte as usize];
        word = word << bits | u64::from(code);
        used += bits;
        if used >= 32 {
            used -= 32;
            out.extend_from_slice(&((word >> used) as u32).to_be_bytes());
        }
    }
    // RFC 7541 §5.2: the last byte is filled with the first bits of EOS, which are ones.
    let aligned = (word << 32 | 0xffff_ffff) >> used;
    out.extend_from_slice(&(aligned as u32).to_be_bytes()[..used.div_ceil(8) as usize]);
}

/// Bits per lookup in [`STEPS`]: enough for two frequent bytes. With 11, the literals of browsers take a
/// fifth longer (`examples/hpack_speed.rs`); with 13 the table alone fills a core's cache.
const LOOK: u32 = 12;

/// By the next bits: the bytes whose codes they contain completely.
static STEPS: [Step; 1 << LOOK] = steps();

/// What [`LOOK`] bits begin with.
#[derive(Clone, Copy)]
struct Step {
    bytes: [u8; 2],
    /// Number of these bytes. 0: the code is longer than [`LOOK`].
    count: u8,
    /// Bits of all of them.
    bits: u8,
}

const fn steps() -> [Step; 1 << LOOK] {
    let codes = codes();
    let mut steps = [Step { bytes: [0; 2], count: 0, bits: 0 }; 1 << LOOK];
    let mut first = 0;
    while first < 256 {
        let Code { code, bits } = codes[first];
        if bits <= LOOK {
            let step = Step { bytes: [first as u8, 0], count: 1, bits: bits as u8 };
            fill(&mut steps, code, bits, step);
            let mut second = 0;
            while second < 256 {
                let both = bits + codes[second].bits;
                if both <= LOOK {
                    let step = Step { bytes: [first as u8, second as u8], count: 2, bits: both as u8 };
                    fill(&mut steps, code << codes[second].bits | codes[second].code, both, step);
                }
                second += 1;
            }
        }
        first += 1;
    }
    steps
}

const fn fill(steps: &mut [Step; 1 << LOOK], code: u32, bits: u32, step: Step) {
    let mut at = (code as usize) << (LOOK - bits);
    let end = (code as usize + 1) << (LOOK - bits);
    while at < end {
        steps[at] = step;
        at += 1;
    }
}

/// Bytes that decoding `coded` bytes may write, including those written in advance.
pub(crate) const fn room_for(coded: usize) -> usize {
    2 * coded + 2
}

/// Decodes a Huffman string into `out`, which has [`room_for`] it, and returns its length.
pub(crate) fn decode(coded: &[u8], out: &mut [u8]) -> Result<usize, Fault> {
    let (mut bit, mut len) = (0, 0);
    while let Some(chunk) = coded.get(bit / 8..).and_then(<[u8]>::first_chunk::<8>) {
        let mut word = u64::from_be_bytes(*chunk) << (bit % 8);
        let before = bit;
        // 57 bits at least are in the word.
        for _ in 0..57 / LOOK {
            let step = STEPS[(word >> (64 - LOOK)) as usize];
            if step.count == 0 {
                break;
            }
            write_step(step, out, &mut len);
            word <<= step.bits;
            bit += usize::from(step.bits);
        }
        if bit == before {
            let (byte, bits) = long(word).ok_or(Fault::EndOfString)?;
            out[len] = byte;
            len += 1;
            bit += bits as usize;
        }
    }
    decode_end(coded, bit, out, len)
}

#[inline]
fn write_step(step: Step, out: &mut [u8], len: &mut usize) {
    if let Some(place) = out.get_mut(*len..).and_then(<[u8]>::first_chunk_mut::<2>) {
        *place = step.bytes;
    }
    *len += usize::from(step.count);
}

/// Decodes what begins within the last eight bytes.
fn decode_end(coded: &[u8], bit: usize, out: &mut [u8], mut len: usize) -> Result<usize, Fault> {
    let mut chunk = [0xff; 8];
    let end = &coded[bit / 8..];
    chunk[..end.len()].copy_from_slice(end);
    // Inverted, so that ones are shifted in, as in padding.
    let mut inverted = !u64::from_be_bytes(chunk) << (bit % 8);
    let mut left = 8 * coded.len() - bit;
    loop {
        let step = STEPS[(!inverted >> (64 - LOOK)) as usize];
        if step.count == 0 || usize::from(step.bits) > left {
            break;
        }
        write_step(step, out, &mut len);
        inverted <<= step.bits;
        left -= usize::from(step.bits);
    }
    while left > 0 {
        let step = last_step(!inverted, left)?;
        if step.count == 0 {
            break;
        }
        write_step(step, out, &mut len);
        inverted <<= step.bits;
        left -= usize::from(step.bits);
    }
    check_padding(!inverted, left)?;
    Ok(len)
}

/// What the next bits begin with, `left` of which are valid. No byte if they contain no complete code.
fn last_step(word: u64, left: usize) -> Result<Step, Fault> {
    let none = Step { bytes: [0; 2], count: 0, bits: 0 };
    let step = STEPS[(word >> (64 - LOOK)) as usize];
    if step.count > 0 && usize::from(step.bits) <= left {
        return Ok(step);
    }
    let (byte, bits) = match step.count {
        0 => match long(word) {
            Some(found) => found,
            None if left >= LONGEST as usize => return Err(Fault::EndOfString),
            None => return Ok(none),
        },
        _ => (step.bytes[0], CODES[usize::from(step.bytes[0])].bits),
    };
    let whole = bits as usize <= left;
    Ok(if whole { Step { bytes: [byte, 0], count: 1, bits: bits as u8 } } else { none })
}

/// The byte whose code, longer than [`LOOK`], the word begins with; none for EOS.
#[cold]
fn long(word: u64) -> Option<(u8, u32)> {
    ROWS.iter().filter(|(bits, _)| *bits > LOOK).find_map(|(bits, bytes)| {
        let first = CODES[usize::from(bytes[0])].code;
        let code = (word >> (64 - bits)) as u32;
        Some((*bytes.get(code.checked_sub(first)? as usize)?, *bits))
    })
}

/// RFC 7541 §5.2: less than a byte of padding, all of it ones, as EOS begins.
fn check_padding(word: u64, left: usize) -> Result<(), Fault> {
    match left {
        0 => Ok(()),
        _ if word.leading_ones() < left as u32 => Err(Fault::PaddingNotOnes),
        1..=7 => Ok(()),
        _ => Err(Fault::PaddingTooLong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(text.iter().copied(), &mut out);
        assert_eq!(out.len(), encoded_len(text.iter().copied()));
        out
    }

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut out = vec![0; room_for(coded.len())];
        let len = decode(coded, &mut out)?;
        out.truncate(len);
        Ok(out)
    }

    #[test]
    fn codes_are_those_of_the_rfc() {
        // RFC 7541 Appendix B: one of each length.
        let cases: &[(u8, u32, u32)] = &[
            (b'0', 0x0, 5),
            (b't', 0x9, 5),
            (b'u', 0x2d, 6),
            (b'z', 0x7b, 7),
            (b'Z', 0xfd, 8),
            (b'?', 0x3fc, 10),
            (b'|', 0x7fc, 11),
            (b'>', 0xffb, 12),
            (b'~', 0x1ffd, 13),
            (b'}', 0x3ffd, 14),
            (b'{', 0x7ffe, 15),
            (b'\\', 0x7fff0, 19),
            (226, 0xfffed, 20),
            (230, 0x1fffe8, 21),
            (233, 0x3fffeb, 22),
            (239, 0x7ffff4, 23),
            (237, 0xfffff5, 24),
            (235, 0x1ffffef, 25),
            (255, 0x3ffffee, 26),
            (254, 0x7fffff0, 27),
            (249, 0xffffffe, 28),
            (22, 0x3ffffffe, 30),
        ];
        for &(byte, code, bits) in cases {
            assert_eq!((CODES[byte as usize].code, CODES[byte as usize].bits), (code, bits), "{byte}");
        }
    }

    #[test]
    fn every_pair_of_bytes_comes_back_at_every_offset() {
        for first in 0..=255 {
            for second in 0..=255 {
                for text in [&[first, second][..], &[b'0', first, b'a', b'X', second, first, b'/']] {
                    assert_eq!(decoded(&encoded(text)).as_deref(), Ok(text));
                }
            }
        }
        for len in 0..100 {
            let text: Vec<u8> = (0..len).map(|at| b"0aA:&!'#[^<"[at % 11]).collect();
            assert_eq!(decoded(&encoded(&text)), Ok(text));
        }
    }

    #[test]
    fn padding_is_less_than_a_byte_of_ones() {
        assert_eq!(decoded(&[]), Ok(vec![]));
        assert_eq!(decoded(&[0b0001_1111]), Ok(b"a".to_vec()));
        assert_eq!(decoded(&[0b0001_1110]), Err(Fault::PaddingNotOnes));
        assert_eq!(decoded(&[0b0001_1000]), Err(Fault::PaddingNotOnes));
        assert_eq!(decoded(&[0xff]), Err(Fault::PaddingTooLong));
        assert_eq!(decoded(&[0b0001_1111, 0xff]), Err(Fault::PaddingTooLong));
        assert_eq!(decoded(&[0xf8, 0xff]), Err(Fault::PaddingTooLong));
        assert_eq!(decoded(&[0xff, 0xff, 0xff]), Err(Fault::PaddingTooLong));
        // Most of a long code.
        assert_eq!(decoded(&encoded(&[249])[..3]), Err(Fault::PaddingTooLong));
        assert_eq!(decoded(&[0xff, 0xfe]), Err(Fault::PaddingNotOnes));
    }

    #[test]
    fn the_end_of_string_is_no_byte() {
        for before in 0..20 {
            let mut coded = vec![0; 5 * before];
            coded.extend_from_slice(&[0xff; 4]);
            assert_eq!(decoded(&coded), Err(Fault::EndOfString), "{before}");
            coded.extend_from_slice(&[0xff; 9]);
            assert_eq!(decoded(&coded), Err(Fault::EndOfString), "{before}");
        }
    }
}
