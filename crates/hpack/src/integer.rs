//! Integers with a prefix (RFC 7541 §5.1): the rest of a byte, then seven bits per byte.

use crate::Fault;

/// Bytes accepted after the prefix: 2^28 is more than any index, length or table size needs.
const CONTINUATION: u32 = 4;

/// Reads the integer in the low `prefix` bits of `first` and, if it continues there, the front of `rest`.
#[inline]
pub(crate) fn read(first: u8, prefix: u32, rest: &mut &[u8]) -> Result<u32, Fault> {
    let most = (1 << prefix) - 1;
    let value = u32::from(first) & most;
    if value < most { Ok(value) } else { read_on(most, rest) }
}

fn read_on(mut value: u32, rest: &mut &[u8]) -> Result<u32, Fault> {
    for at in 0..CONTINUATION {
        let (byte, after) = rest.split_first().ok_or(Fault::Truncated)?;
        *rest = after;
        value += u32::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Fault::IntegerTooLong)
}

/// Appends `value` after the bits of `pattern` that stand above the low `prefix` bits.
#[inline]
pub(crate) fn write(pattern: u8, prefix: u32, value: usize, out: &mut Vec<u8>) {
    let most = (1 << prefix) - 1;
    if value < most { out.push(pattern | value as u8) } else { write_on(pattern, most, value, out) }
}

fn write_on(pattern: u8, most: usize, value: usize, out: &mut Vec<u8>) {
    out.push(pattern | most as u8);
    let mut left = value - most;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pattern, bits of prefix, value, bytes.
    const CASES: &[(u8, u32, u32, &[u8])] = &[
        (0, 5, 10, &[0b01010]),               // RFC 7541 §C.1.1
        (0, 5, 1337, &[0b11111, 0x9a, 0x0a]), // §C.1.2
        (0, 8, 42, &[42]),                    // §C.1.3
        (0x80, 7, 126, &[0xfe]),
        (0x80, 7, 127, &[0xff, 0]),
        (0x40, 6, 63 + 127, &[0x7f, 0x7f]),
        (0x40, 6, 63 + 128, &[0x7f, 0x80, 0x01]),
        (0, 4, 15 + (1 << 28) - 1, &[0x0f, 0xff, 0xff, 0xff, 0x7f]),
    ];

    #[test]
    fn integers_are_written_and_read() {
        for &(pattern, prefix, value, bytes) in CASES {
            let mut out = Vec::new();
            write(pattern, prefix, value as usize, &mut out);
            assert_eq!(out, bytes);
            let mut rest = &bytes[1..];
            assert_eq!((read(bytes[0], prefix, &mut rest), rest), (Ok(value), &[][..]));
        }
    }

    #[test]
    fn every_piece_of_an_integer_is_truncated() {
        for (_, prefix, _, bytes) in CASES {
            for end in 1..bytes.len() {
                assert_eq!(read(bytes[0], *prefix, &mut &bytes[1..end]), Err(Fault::Truncated));
            }
        }
    }

    #[test]
    fn a_fifth_byte_behind_the_prefix_is_too_long() {
        let rest = [0x80, 0x80, 0x80, 0x80, 0x00];
        assert_eq!(read(0x1f, 5, &mut &rest[..]), Err(Fault::IntegerTooLong));
        assert_eq!(read(0x1f, 5, &mut &[0xff; 9][..]), Err(Fault::IntegerTooLong));
    }
}
