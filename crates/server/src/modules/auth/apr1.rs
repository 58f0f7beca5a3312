//! APR1, Apache's MD5-based password hash, and MD5-crypt, from which it is derived: a thousand rounds.

use md5::{Digest, Md5};

/// Digits of the result, each six bits, the lowest first.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The order in which the bytes of the digest become digits, three at a time.
const ORDER: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];

/// The 22 digits for a password; `magic` is `$apr1$` or `$1$`.
pub(super) fn digits(password: &[u8], salt: &[u8], magic: &[u8]) -> Vec<u8> {
    let digest = digest(password, salt, magic);
    let mut digits = Vec::with_capacity(22);
    let mut push = |mut bits: u32, count: usize| {
        for _ in 0..count {
            digits.push(DIGITS[(bits & 63) as usize]);
            bits >>= 6;
        }
    };
    for [high, middle, low] in ORDER {
        let byte = |at: usize| u32::from(digest[at]);
        push(byte(high) << 16 | byte(middle) << 8 | byte(low), 4);
    }
    push(u32::from(digest[11]), 2);
    digits
}

fn digest(password: &[u8], salt: &[u8], magic: &[u8]) -> [u8; 16] {
    let inner: [u8; 16] = of(&[password, salt, password]);
    let mut outer = Md5::new();
    [password, magic, salt].iter().for_each(|part| outer.update(part));
    for piece in password.chunks(16) {
        outer.update(&inner[..piece.len()]);
    }
    let mut bits = password.len();
    while bits > 0 {
        let byte: &[u8] = if bits & 1 == 1 { &[0] } else { &password[..1] };
        outer.update(byte);
        bits >>= 1;
    }
    let mut digest: [u8; 16] = outer.finalize().into();
    for round in 0..1000 {
        let odd = round % 2 == 1;
        let none: &[u8] = b"";
        digest = of(&[
            if odd { password } else { &digest[..] },
            if round % 3 == 0 { none } else { salt },
            if round % 7 == 0 { none } else { password },
            if odd { &digest[..] } else { password },
        ]);
    }
    digest
}

fn of(parts: &[&[u8]]) -> [u8; 16] {
    let mut md5 = Md5::new();
    parts.iter().for_each(|part| md5.update(part));
    md5.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_are_those_of_openssl() {
        // openssl passwd -apr1 -salt …, and -1
        for (password, salt, magic, want) in [
            ("secret", "tzFGqvBh", "$apr1$", "sct63ESNHPh2ADluBMaqk0"),
            ("", "abcdefgh", "$apr1$", "L.PT565ESX4Tp2bqNs7Ie."),
            ("a password of more than sixteen bytes", "x", "$apr1$", ".61V/urwpq5/FHUkybitK1"),
            ("secret", "tzFGqvBh", "$1$", "qlx4kxd2rfm7zIOn5OeI4/"),
        ] {
            let digits = digits(password.as_bytes(), salt.as_bytes(), magic.as_bytes());
            assert_eq!(String::from_utf8_lossy(&digits), want, "{password} {magic}");
        }
    }
}
