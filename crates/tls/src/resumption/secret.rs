//! Keys made from other keys, and bytes sealed with them.
//!
//! AES-256-GCM with random nonces. One key seals at most some 2^32 messages before two nonces may be equal
//! (NIST SP 800-38D §8.3); at 5,000 tickets a second that is ten days, and keys live for an hour.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{self, HKDF_SHA256, Salt};
use aws_lc_rs::rand;

/// A key for AES-256-GCM.
pub(super) struct SealingKey(LessSafeKey);

impl SealingKey {
    /// The key that `secret` gives for `purpose` and `name` (RFC 5869). It reveals neither `secret` nor the
    /// keys for other names.
    pub(super) fn derive(secret: &[u8], purpose: &[u8], name: &[u8]) -> Self {
        let mut bytes = [0; 32];
        expand(secret, purpose, name, &mut bytes);
        let key = UnboundKey::new(&AES_256_GCM, &bytes).expect("AES-256 keys have 32 bytes");
        wipe(&mut bytes);
        Self(LessSafeKey::new(key))
    }

    /// Nonce, ciphertext and tag are appended to `out`. `None`: there is no randomness.
    pub(super) fn seal(&self, context: &[u8], plain: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let mut sealed = plain.to_vec();
        let key = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(key, Aad::from(context), &mut sealed).ok()?;
        out.extend_from_slice(&nonce);
        out.append(&mut sealed);
        Some(())
    }

    /// The plaintext given to `seal`, if neither it nor the context was changed.
    pub(super) fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut plain = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let len = self.0.open_in_place(nonce, Aad::from(context), &mut plain).ok()?.len();
        plain.truncate(len);
        Some(plain)
    }
}

impl std::fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealingKey")
    }
}

/// Fills `out` (at most 255 * 32 bytes) with what `secret` gives for `purpose` and `name`.
pub(super) fn expand(secret: &[u8], purpose: &[u8], name: &[u8], out: &mut [u8]) {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let key = Salt::new(HKDF_SHA256, purpose).extract(secret);
    let info = [name];
    let material = key.expand(&info, Length(out.len())).expect("less than HKDF can give");
    material.fill(out).expect("the length that was asked for");
}

/// Random bytes; `None` if the system has none.
pub(super) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Overwrites a secret that is no longer needed.
pub(super) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Otherwise the compiler may omit writes that are never read.
    std::hint::black_box(bytes);
}

/// Bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Hexadecimal digits as bytes; `None` for other text.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: &u8| char::from(*c).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(&pair[0])? << 4 | digit(pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_opens_only_unchanged_in_its_context_with_its_key() {
        let key = SealingKey::derive(b"secret", b"test", b"one");
        let mut sealed = Vec::new();
        key.seal(b"here", b"plain", &mut sealed).unwrap();
        assert_eq!(key.open(b"here", &sealed), Some(b"plain".to_vec()));
        assert_eq!(key.open(b"there", &sealed), None);
        for other in [("secret", "test", "two"), ("secret", "toast", "one"), ("other", "test", "one")] {
            let other = SealingKey::derive(other.0.as_bytes(), other.1.as_bytes(), other.2.as_bytes());
            assert_eq!(other.open(b"here", &sealed), None);
        }
        for len in 0..sealed.len() {
            assert_eq!(key.open(b"here", &sealed[..len]), None, "cut at {len}");
            let mut wrong = sealed.clone();
            wrong[len] ^= 1;
            assert_eq!(key.open(b"here", &wrong), None, "changed at {len}");
        }
    }

    #[test]
    fn the_same_is_never_sealed_alike() {
        let key = SealingKey::derive(b"secret", b"test", b"one");
        let (mut first, mut second) = (Vec::new(), Vec::new());
        key.seal(b"", b"plain", &mut first).unwrap();
        key.seal(b"", b"plain", &mut second).unwrap();
        assert_ne!(first, second);
    }

    #[test]
    fn hexadecimal_there_and_back() {
        assert_eq!(hex(&[0, 0xab, 0x1f]), "00ab1f");
        assert_eq!(unhex("00aB1f"), Some(vec![0, 0xab, 0x1f]));
        for wrong in ["0", "0g", "é1"] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }
}
