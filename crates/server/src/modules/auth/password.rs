//! A stored password, in one of the formats of `htpasswd` and similar programs.

use super::{apr1, credentials};
use argon2::Argon2;
use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use sha_crypt::ShaCrypt;
use std::fmt;

/// A stored password.
#[derive(PartialEq, Eq)]
pub(super) struct Stored {
    kind: Kind,
    text: Box<str>,
}

/// Its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `$2y$`, `$2b$`, `$2a$`
    Bcrypt,
    /// `$argon2id$` and its relatives
    Argon2,
    /// `$5$` and `$6$`: SHA-256 and SHA-512
    ShaCrypt,
    /// `$apr1$` and `$1$`
    Md5Crypt,
    /// `{SHA}` and, with salt, `{SSHA}`
    Sha1,
}

impl Stored {
    /// Parses a stored password.
    ///
    /// # Errors
    /// Describes the format of the password, if it cannot be used.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let kind = kind(text)?;
        let stored = Self { kind, text: text.into() };
        if stored.is_whole() {
            return Ok(stored);
        }
        let name = match kind {
            Kind::Bcrypt => "bcrypt",
            Kind::Argon2 => "argon2",
            Kind::ShaCrypt => "SHA-crypt",
            Kind::Md5Crypt => "APR1",
            Kind::Sha1 => "SHA-1",
        };
        Err(format!("as {name}, but is incomplete or damaged"))
    }

    /// As written in the file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Describes why passwords should not be stored like this.
    pub(super) fn weakness(&self) -> Option<&'static str> {
        (self.kind == Kind::Sha1).then_some("with SHA-1, which is fast to guess")
    }

    /// Verifies a password. Takes up to a second of CPU time; results are compared in constant time.
    pub(super) fn verify(&self, password: &[u8]) -> bool {
        match self.kind {
            Kind::Bcrypt => bcrypt::verify(password, &self.text).unwrap_or(false),
            Kind::Argon2 => PasswordHash::new(&self.text)
                .is_ok_and(|stored| Argon2::default().verify_password(password, &stored).is_ok()),
            Kind::ShaCrypt => ShaCrypt::default().verify_password(password, &*self.text).is_ok(),
            Kind::Md5Crypt => md5_parts(&self.text).is_some_and(|(magic, salt, stored)| {
                let digits = apr1::digits(password, salt.as_bytes(), magic.as_bytes());
                verify_slices_are_equal(&digits, stored.as_bytes()).is_ok()
            }),
            Kind::Sha1 => sha1_parts(&self.text).is_some_and(|(stored, salt)| {
                let mut sha1 = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
                sha1.update(password);
                sha1.update(&salt);
                verify_slices_are_equal(sha1.finish().as_ref(), &stored).is_ok()
            }),
        }
    }

    /// Whether no part is missing.
    fn is_whole(&self) -> bool {
        let text = &*self.text;
        match self.kind {
            Kind::Bcrypt => {
                let cost = text.get(4..6).and_then(|cost| cost.parse::<u8>().ok());
                let digits = text.get(7..).unwrap_or_default();
                cost.is_some_and(|cost| (4..=31).contains(&cost))
                    && text.as_bytes().get(6) == Some(&b'$')
                    && digits.len() == 53
                    && is_crypt(digits)
            }
            Kind::Argon2 => {
                PasswordHash::new(text).is_ok_and(|hash| hash.salt.is_some() && hash.hash.is_some())
            }
            Kind::ShaCrypt => {
                let digits = text.rsplit('$').next().unwrap_or_default();
                let wanted = if text.starts_with("$5$") { 43 } else { 86 };
                let parts = text.split('$').count();
                let rounds = text[3..].starts_with("rounds=");
                digits.len() == wanted && is_crypt(digits) && parts == 4 + usize::from(rounds)
            }
            Kind::Md5Crypt => md5_parts(text).is_some(),
            Kind::Sha1 => sha1_parts(text).is_some(),
        }
    }
}

/// Hides the password from logs.
impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stored").field(&self.kind).finish()
    }
}

fn kind(text: &str) -> Result<Kind, String> {
    const KINDS: [(&str, Kind); 9] = [
        ("$2y$", Kind::Bcrypt),
        ("$2b$", Kind::Bcrypt),
        ("$2a$", Kind::Bcrypt),
        ("$argon2", Kind::Argon2),
        ("$5$", Kind::ShaCrypt),
        ("$6$", Kind::ShaCrypt),
        ("$apr1$", Kind::Md5Crypt),
        ("$1$", Kind::Md5Crypt),
        ("{SHA}", Kind::Sha1),
    ];
    if let Some((_, kind)) = KINDS.iter().find(|(prefix, _)| text.starts_with(prefix)) {
        return Ok(*kind);
    }
    if text.starts_with("{SSHA}") {
        return Ok(Kind::Sha1);
    }
    // crypt(3): two digits of salt, eleven of the hash.
    if text.len() == 13 && is_crypt(text) {
        return Err("with DES, which is not supported".to_owned());
    }
    let format = text.strip_prefix('$').and_then(|rest| rest.split_once('$')).map(|(name, _)| name);
    match format.filter(|name| name.len() <= 16 && name.bytes().all(|byte| byte.is_ascii_graphic())) {
        Some(name) => Err(format!("in the unknown format `${name}$`")),
        None => Err("as plain text".to_owned()),
    }
}

/// Whether all are digits of crypt(3)'s base64.
fn is_crypt(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./".contains(&byte))
}

/// Magic, salt and digits of `$apr1$salt$digits`. Only the first eight bytes of the salt count.
fn md5_parts(text: &str) -> Option<(&str, &str, &str)> {
    let end = text[1..].find('$')? + 2;
    let (salt, digits) = text[end..].split_once('$')?;
    let salt = salt.get(..8).unwrap_or(salt);
    (digits.len() == 22 && is_crypt(digits)).then_some((&text[..end], salt, digits))
}

/// The digest and the salt.
fn sha1_parts(text: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let (is_salted, digits) = match text.strip_prefix("{SSHA}") {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix("{SHA}")?),
    };
    let mut digest = credentials::decoded(digits.as_bytes())?;
    if digest.len() < 20 || (digest.len() > 20) != is_salted {
        return None;
    }
    let salt = digest.split_off(20);
    Some((digest, salt))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passwords as stored by various programs.
    const STORED: [(&str, &str); 11] = [
        // htpasswd of Apache 2.4: -B, -2, -5, -m, -s
        ("secret", "$2y$04$KWit./ToewSlFOOeYEFpVeuoQGn1enVxQAJkX0ACg.JvEPrqGAS7y"),
        ("secret", "$5$2McgYZfSe8CheUd8$B4ZLjhJfMXCAk91ZPU7mkIaV4C/Hkj8Kzzt5L.ROsC4"),
        (
            "secret",
            "$6$j9CEX4N8UbLRJPz2$2/acFJw2qz.4xt8CVY.jxT9WyrGAYWPlqylQ5Df/iyeQfsOexIZCjxSc99.m7UyHqHwfxsr28it9wT3qFOx6y.",
        ),
        ("secret", "$apr1$jZcQR0je$5lpDHEL9TskdC3WoWP6Kf0"),
        ("secret", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="),
        // openssl passwd -1
        ("secret", "$1$tzFGqvBh$qlx4kxd2rfm7zIOn5OeI4/"),
        // openssl passwd -5 and -6; a number of rounds
        ("Hello world!", "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA"),
        ("Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
        (
            "Hello world!",
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
        ),
        // Test vectors of the Argon2 authors
        ("password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"),
        // slappasswd -h '{SSHA}'
        ("testing123", "{SSHA}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr"),
    ];

    #[test]
    fn passwords_are_verified_as_programs_have_stored_them() {
        for (password, text) in STORED {
            let stored = Stored::parse(text).unwrap_or_else(|how| panic!("{text}: {how}"));
            assert!(stored.verify(password.as_bytes()), "{text}");
            for wrong in ["", "Secret", "secret ", "x"] {
                assert!(!stored.verify(wrong.as_bytes()), "{text}: {wrong}");
            }
        }
    }

    #[test]
    fn what_is_damaged_is_not_taken() {
        // The salt of SSHA may have any length.
        for (_, text) in STORED.into_iter().filter(|(_, text)| !text.starts_with("{SSHA}")) {
            for damaged in [&text[..text.len() - 2], &format!("{text}xx")] {
                let how = Stored::parse(damaged).expect_err(damaged);
                assert!(how.ends_with(", but is incomplete or damaged"), "{damaged}: {how}");
            }
        }
        for text in ["$2y$99$KWit./ToewSlFOOeYEFpVeuoQGn1enVxQAJkX0ACg.JvEPrqGAS7y", "$apr1$", "$6$", "$5$$"]
        {
            assert!(Stored::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nothing_of_a_password_is_shown() {
        let stored = Stored::parse(STORED[0].1).expect("a password");
        assert_eq!(format!("{stored:?}"), "Stored(Bcrypt)");
        assert!(stored.weakness().is_none() && Stored::parse(STORED[4].1).expect("one").weakness().is_some());
    }
}
