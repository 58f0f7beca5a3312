//! Which bytes may stand where, and how far a run of them reaches. Eight bytes at a time where the runs
//! are long.

const TOKEN: u8 = 1;
const TARGET: u8 = 2;
const PLAIN_HOST: u8 = 4;

/// The classes of each byte.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0x21;
    while byte < 0x7f {
        classes[byte] = class_of(byte as u8);
        byte += 1;
    }
    // Raw UTF-8 in a target, which hand-written links and scripts send: taken as nginx and h2o do. It is
    // no delimiter of anything (RFC 3986 §2.1 wants it percent-encoded).
    let mut byte = 0x80;
    while byte <= 0xff {
        classes[byte] = TARGET;
        byte += 1;
    }
    classes
};

const fn class_of(byte: u8) -> u8 {
    // RFC 9110 §5.6.2: tchar.
    let token = byte.is_ascii_alphanumeric() || is_one_of(byte, b"!#$%&'*+-.^_`|~");
    // RFC 9112 §3.2 wants a URI's characters; as nginx and h2o do, all visible ones are taken, because
    // browsers send `|`, `{` and `"` unencoded. Not the fragment's `#` (RFC 9110 §7.1).
    let target = byte != b'#';
    let plain_host = byte.is_ascii_alphanumeric() || is_one_of(byte, b"-._");
    (token as u8 * TOKEN) | (target as u8 * TARGET) | (plain_host as u8 * PLAIN_HOST)
}

const fn is_one_of(byte: u8, set: &[u8]) -> bool {
    let mut i = 0;
    while i < set.len() {
        if set[i] == byte {
            return true;
        }
        i += 1;
    }
    false
}

/// The index after the token that starts at `at`. Field names are mostly letters and `-`, which are found
/// eight at a time.
#[inline]
pub(crate) fn token_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = eight_at(bytes, at) {
        let others = HIGHS & !letters_and_hyphens(eight);
        if others != 0 {
            at += others.trailing_zeros() as usize / 8;
            break;
        }
        at += 8;
    }
    run_end(bytes, at, TOKEN)
}

/// Bit 0x80 of every byte that is a letter or `-`.
fn letters_and_hyphens(eight: u64) -> u64 {
    let lower = (eight | (ONES * 0x20)) & !HIGHS;
    let from_a = lower + ONES * (0x80 - b'a' as u64);
    let beyond_z = lower + ONES * (0x7f - b'z' as u64);
    let not_hyphen = ((eight ^ (ONES * b'-' as u64)) & !HIGHS) + !HIGHS;
    ((from_a & !beyond_z) | !not_hyphen) & !eight & HIGHS
}

/// Whether all of `bytes` is one token.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && token_end(bytes, 0) == bytes.len()
}

/// Whether it is a host as most are: letters, digits, `.`, `-` and `_`, with a port or none. Others may
/// be valid too.
pub(crate) fn is_plain_host(bytes: &[u8]) -> bool {
    let end = run_end(bytes, 0, PLAIN_HOST);
    match &bytes[end..] {
        [] => end > 0,
        [b':', port @ ..] => end > 0 && is_port(port),
        _ => false,
    }
}

/// A number up to 65535, without more zeros in front than needed, or nothing (RFC 3986 §3.2.3).
fn is_port(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_digit) && (digits.len() < 5 || (digits.len() == 5 && digits <= b"65535"))
}

fn run_end(bytes: &[u8], mut at: usize, class: u8) -> usize {
    while at < bytes.len() && CLASSES[bytes[at] as usize] & class != 0 {
        at += 1;
    }
    at
}

/// The index of the first byte from `at` that no target may have.
pub(crate) fn target_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = eight_at(bytes, at) {
        // Which one it is, is looked up by the table.
        if below_or_equal(eight, 0x21, b'#') | below_or_equal(eight, 0, 0x7f) | (eight & HIGHS) != 0 {
            break;
        }
        at += 8;
    }
    run_end(bytes, at, TARGET)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES * 0x80;

/// Eight bytes; the one at `at` is the lowest.
fn eight_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..).and_then(<[u8]>::first_chunk::<8>).map(|eight| u64::from_le_bytes(*eight))
}

/// The index of the first byte from `at` that no field value may have: any control but HTAB
/// (RFC 9110 §5.5). CR and LF are such bytes.
#[inline]
pub(crate) fn value_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = eight_at(bytes, at) {
        let controls = controls_in(eight);
        if controls == 0 {
            at += 8;
            continue;
        }
        at += controls.trailing_zeros() as usize / 8;
        if bytes[at] != b'\t' {
            return at;
        }
        at += 1;
    }
    while at < bytes.len() && !is_control(bytes[at]) {
        at += 1;
    }
    at
}

/// Bit 0x80 of the first control byte, 0 if there is none.
fn controls_in(eight: u64) -> u64 {
    below_or_equal(eight, 0x20, 0x7f)
}

/// Bit 0x80 of the first byte that is below `limit` or is `byte`, 0 if there is none. Bytes after it may be
/// marked wrongly, since a difference borrows from the next byte.
fn below_or_equal(eight: u64, limit: u8, byte: u8) -> u64 {
    let below = eight.wrapping_sub(ONES * limit as u64) & !eight;
    let equal = eight ^ (ONES * byte as u64);
    (below | (equal.wrapping_sub(ONES) & !equal)) & HIGHS
}

fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t') || byte == 0x7f
}

/// Without spaces and tabs at both ends (OWS, RFC 9110 §5.6.3).
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let is_ows = |byte: &u8| matches!(byte, b' ' | b'\t');
    let Some(start) = bytes.iter().position(|o| !is_ows(o)) else { return &[] };
    let end = bytes.iter().rposition(|o| !is_ows(o)).map_or(start, |last| last + 1);
    &bytes[start..end]
}

/// The elements of a comma-separated list; empty ones are left out (RFC 9110 §5.6.1.2).
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|o| *o == b',').map(trimmed).filter(|element| !element.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_at_the_first_control_wherever_it_stands() {
        for len in 0..40 {
            for at in 0..len {
                for byte in 0..=255 {
                    let mut value = vec![b'x'; len];
                    value[at] = byte;
                    let want = if is_control(byte) { at } else { len };
                    assert_eq!(value_end(&value, 0), want, "{byte} at {at} of {len}");
                }
            }
        }
    }

    #[test]
    fn two_odd_bytes_side_by_side_are_told_apart() {
        for first in 0..=255 {
            for second in 0..=255 {
                let value = [b'a', first, second, b'b', b'c', b'd', b'e', b'f', b'g'];
                let want = value.iter().position(|o| is_control(*o)).unwrap_or(value.len());
                assert_eq!(value_end(&value, 0), want, "{first} {second}");
            }
        }
    }

    #[test]
    fn tokens_and_targets_have_the_characters_of_the_rfcs() {
        let tokens = (0..=255).filter(|o| is_token(&[*o])).count();
        assert_eq!(tokens, 15 + 10 + 26 + 26);
        let targets: Vec<u8> = (0..=255).filter(|o| target_end(&[*o], 0) == 1).collect();
        let visible = (0x21..=0x7e).filter(|o| *o != b'#');
        assert_eq!(targets, visible.chain(0x80..=0xff).collect::<Vec<_>>());
        assert!(!is_token(b""));
    }

    #[test]
    fn runs_end_where_the_tables_say_wherever_the_byte_stands() {
        for byte in 0..=255 {
            for at in 0..19 {
                let mut bytes = [b'x'; 20];
                bytes[at] = byte;
                assert_eq!(token_end(&bytes, 0), run_end(&bytes, 0, TOKEN), "{byte} at {at}");
                assert_eq!(target_end(&bytes, 0), run_end(&bytes, 0, TARGET), "{byte} at {at}");
                bytes[at + 1] = byte.wrapping_add(1);
                assert_eq!(token_end(&bytes, 0), run_end(&bytes, 0, TOKEN), "{byte} at {at}");
                assert_eq!(target_end(&bytes, 0), run_end(&bytes, 0, TARGET), "{byte} at {at}");
            }
        }
    }

    #[test]
    fn list_elements_are_trimmed_and_empty_ones_dropped() {
        assert_eq!(list(b" a ,,\tb\t, ").collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(trimmed(b" \t "), b"");
    }
}
