//! Password files: `name:password` on each line, as Apache's `htpasswd` writes them.

use super::password::Stored;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Remedy for a password that is stored weakly.
pub(super) const REMEDY: &str = "`htpasswd -B FILE USER` stores it with bcrypt";

/// The users of a file.
#[derive(Debug)]
pub(super) struct Users {
    users: HashMap<Box<[u8]>, Arc<Stored>>,
    /// Some of their passwords, as decoys for unknown names.
    stored: Vec<Arc<Stored>>,
    /// Chooses a decoy: the same for a name until the file is reloaded.
    choice: RandomState,
    /// A warning about the first user whose password is stored weakly.
    weak: Option<String>,
}

impl Users {
    /// The stored password of a user.
    pub(super) fn get(&self, name: &[u8]) -> Option<&Arc<Stored>> {
        self.users.get(name)
    }

    /// The stored password of some user, to check the password of an unknown name against: it cannot match, but takes
    /// as long as for a real user. `None`: there are no users.
    pub(super) fn decoy(&self, name: &[u8]) -> Option<&Arc<Stored>> {
        let number = self.choice.hash_one(name) as usize;
        self.stored.get(number.checked_rem(self.stored.len())?)
    }

    /// A warning about the file for the operator.
    pub(super) fn warning(&self) -> Option<&str> {
        self.weak.as_deref()
    }
}

/// Parses a file. Empty lines and lines that begin with `#` are skipped; what follows a second colon is a comment. If a
/// user has two lines, the first counts, as in Apache and nginx.
///
/// # Errors
/// The first line that is malformed, or whose password is stored in an unsupported way.
pub(super) fn parse(bytes: &[u8]) -> Result<Users, String> {
    let mut users = HashMap::new();
    let mut stored = Vec::new();
    let mut weak = None;
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let number = index + 1;
        let mut parts = line.splitn(3, |byte| *byte == b':');
        let (Some(name), Some(text)) = (parts.next(), parts.next()) else {
            return Err(format!("line {number} is not of the form `user:password`"));
        };
        if name.is_empty() {
            return Err(format!("line {number} has no user name before the `:`"));
        }
        let shown = shown(name);
        let text = str::from_utf8(text).unwrap_or_default();
        let password = Stored::parse(text)
            .map_err(|how| format!("line {number}: the password of `{shown}` is stored {how}"))?;
        if let Some(how) = password.weakness() {
            weak.get_or_insert_with(|| format!("the password of `{shown}` is stored {how}"));
        }
        let password = Arc::new(password);
        users.entry(Box::from(name)).or_insert_with(|| {
            stored.push(Arc::clone(&password));
            password
        });
    }
    Ok(Users { users, stored, choice: RandomState::new(), weak })
}

/// A name for messages: on one line, and not too long.
pub(super) fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().take(64).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMY: &str = "$apr1$tzFGqvBh$sct63ESNHPh2ADluBMaqk0";

    #[test]
    fn users_are_read_with_comments_and_whatever_ends_a_line() {
        let other = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=";
        let text = format!("# users\r\namy:{AMY}\r\n\n bob:{AMY}:of the office\namy:{other}\n");
        let users = parse(text.as_bytes()).expect("users");
        for (name, known) in [("amy", true), ("bob", true), ("Amy", false), ("", false), ("# users", false)] {
            assert_eq!(users.get(name.as_bytes()).is_some(), known, "{name}");
        }
        assert!(users.get(b"amy").expect("amy").verify(b"secret"), "the first line counts");
        let decoy = users.decoy(b"eve").expect("somebody else's");
        assert!(std::ptr::eq(decoy, users.decoy(b"eve").expect("the same")));
        assert!(parse(b"").expect("nobody").decoy(b"eve").is_none());
    }

    #[test]
    fn a_line_that_cannot_be_used_is_named() {
        for (line, want) in [
            ("amy", "line 2 is not of the form `user:password`"),
            (":x", "line 2 has no user name before the `:`"),
            ("amy:secret", "line 2: the password of `amy` is stored as plain text"),
            ("amy:", "line 2: the password of `amy` is stored as plain text"),
            ("amy:{PLAIN}x", "line 2: the password of `amy` is stored as plain text"),
            (
                "a\x1by:OdiGHOSKg4jq2",
                "line 2: the password of `a\\u{1b}y` is stored with DES, which is not supported",
            ),
            ("amy:$y$j9T$x", "line 2: the password of `amy` is stored in the unknown format `$y$`"),
            (
                "amy:$2y$04$KWit",
                "line 2: the password of `amy` is stored as bcrypt, but is incomplete or damaged",
            ),
        ] {
            assert_eq!(parse(format!("\n{line}\n").as_bytes()).expect_err(line), want);
        }
    }
}
