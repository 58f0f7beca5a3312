//! Hash and comparison of short strings, eight bytes at a time.

/// An odd number without a bit pattern.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

const LOWER: u64 = 0x2020_2020_2020_2020;

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * u128::from(FACTOR);
    product as u64 ^ (product >> 64) as u64
}

/// Continues the hash `seed` with `value`.
#[inline]
pub(crate) fn hash(seed: u64, value: &[u8]) -> u64 {
    hash_with(seed, value, 0)
}

/// A hash of `name` that is the same in upper and lower case.
#[inline]
pub(crate) fn hash_name(seed: u64, name: &[u8]) -> u64 {
    hash_with(seed, name, LOWER)
}

#[inline]
fn hash_with(seed: u64, text: &[u8], or: u64) -> u64 {
    let words = text.as_chunks::<8>().0.iter();
    let hash = words.fold(seed ^ text.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word) | or));
    mix(hash, last_word(text) | or)
}

/// The last eight bytes, or all of them.
#[inline]
fn last_word(text: &[u8]) -> u64 {
    if let Some(last) = text.last_chunk() {
        return u64::from_le_bytes(*last);
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last));
    }
    text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Whether both are the same bytes.
#[inline]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    let pairs = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let differ = |a: &[u8; 8], b: &[u8; 8]| u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b);
    let words = pairs.fold(0, |sum, (a, b)| sum | differ(a, b));
    a.len() == b.len() && words | (last_word(a) ^ last_word(b)) == 0
}

/// Whether `name` is `lower`, a name in lower case, in any case.
#[inline]
pub(crate) fn same_name(name: &[u8], lower: &[u8]) -> bool {
    same(name, lower) || name.eq_ignore_ascii_case(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_changed_byte_is_seen() {
        for len in 0..40 {
            let text = vec![b'a'; len];
            assert!(same(&text, &text.clone()) && same_name(&text.to_ascii_uppercase(), &text));
            assert_eq!(hash_name(7, &text.to_ascii_uppercase()), hash_name(7, &text));
            assert!(!same(&text, &vec![b'a'; len + 1]) && !same(&text, &vec![b'a'; len + 8]));
            for at in 0..len {
                let mut other = text.clone();
                other[at] = b'b';
                assert!(!same(&text, &other) && !same_name(&other, &text));
                assert_ne!(hash(7, &other), hash(7, &text));
                assert_ne!(hash(7, &other), hash(8, &other));
            }
        }
    }
}
