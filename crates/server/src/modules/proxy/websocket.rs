//! The key of the WebSocket handshake over HTTP/1.1, which HTTP/2 lacks (RFC 6455 §4.1, RFC 8441 §5), and the proof
//! that the server has read it.
//!
//! An HTTP/2 client sends no key, but HTTP/1.1 upstreams require one. So a key is generated here, and the upstream's
//! reply to it is verified here.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The GUID that servers append to the key (RFC 6455 §1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The value of a `sec-websocket-key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key(Vec<u8>);

impl Key {
    /// Generates an unpredictable key.
    pub(super) fn new() -> Self {
        // Every new state has new SipHash keys, which are random.
        let word = || RandomState::new().build_hasher().finish().to_be_bytes();
        Self(base64(&[word(), word()].concat()))
    }

    /// The value of the field.
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// The `sec-websocket-accept` that proves that a server has read the key (RFC 6455 §4.2.2).
    pub(super) fn accept(&self) -> Vec<u8> {
        base64(&sha1(&[&self.0, GUID].concat()))
    }
}

/// RFC 4648 §4.
fn base64(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { digit } else { b'=' });
        }
    }
    text
}

/// RFC 3174. It protects nothing here: it only shows that the server implements WebSocket.
fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in padded.chunks_exact(64) {
        sha1_block(&mut state, block);
    }
    let mut digest = [0; 20];
    for (to, word) in digest.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

fn sha1_block(state: &mut [u32; 5], block: &[u8]) {
    let mut words = [0_u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for t in 16..80 {
        words[t] = (words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (t, word) in words.into_iter().enumerate() {
        let (mixed, constant) = match t / 20 {
            0 => (b & c | !b & d, 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => (b & c | b & d | c & d, 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6),
        };
        let next = [a.rotate_left(5), mixed, e, constant, word].into_iter().fold(0, u32::wrapping_add);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d, e]) {
        *old = old.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let cases: [(&[u8], &str); 5] = [
            (b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            ),
            (&[b'a'; 1000], "291e9a6c66994949b57ba5e650361e98fc36b1ba"),
            (&[b'x'; 55], "cef734ba81a024479e09eb5a75b6ddae62e6abf1"),
        ];
        for (bytes, want) in cases {
            let hex: String = sha1(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, want, "{} bytes", bytes.len());
        }
    }

    #[test]
    fn base64_is_padded() {
        for (bytes, want) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), want.as_bytes());
        }
    }

    #[test]
    fn the_answer_to_a_key_is_that_of_the_standard() {
        // RFC 6455 §1.3.
        let key = Key(b"dGhlIHNhbXBsZSBub25jZQ==".to_vec());
        assert_eq!(key.accept(), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        let (one, other) = (Key::new(), Key::new());
        assert_eq!(one.as_slice().len(), 24);
        assert_ne!(one, other);
    }
}
