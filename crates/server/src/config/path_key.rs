//! Keys of `paths`: prefixes, exact paths, regular expressions.

use super::error::ConfigError;
use super::yaml::Node;
use crate::pattern;
use std::fmt;

/// Which paths an entry of `paths` matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathKey {
    /// `/a`: this path, and those below it.
    Prefix(String),
    /// `= /a`: this path only.
    Exact(String),
    /// `~ \.php$`: paths that match the regular expression.
    Pattern(String),
}

impl PathKey {
    /// Reads a key.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(node: &Node) -> Result<Self, ConfigError> {
        let wanted = || node.expected("a path that starts with `/`");
        let text = node.text().map_err(|_| wanted())?;
        if text.starts_with('/') {
            return Ok(Self::Prefix(text.to_owned()));
        }
        if let Some(path) = text.strip_prefix("= ").map(str::trim_start) {
            let help = "an exact path is written `= /path`";
            return if path.starts_with('/') {
                Ok(Self::Exact(path.to_owned()))
            } else {
                Err(wanted().help(help))
            };
        }
        match text.strip_prefix("~ ").map(str::trim_start) {
            Some("") => {
                Err(node.error("the regular expression after `~` is missing").help("such as `~ \\.php$`"))
            }
            Some(pattern) => pattern::check(node, pattern).map(|()| Self::Pattern(pattern.to_owned())),
            None => Err(wanted().help(instead_of(text))),
        }
    }

    /// The prefix for handlers, which use the rest of the path behind it.
    pub fn prefix(&self) -> &str {
        match self {
            Self::Prefix(path) | Self::Exact(path) => path,
            Self::Pattern(_) => "/",
        }
    }
}

/// A replacement for an invalid key that another server accepts.
fn instead_of(text: &str) -> String {
    if let Some(pattern) = text.strip_prefix("~*") {
        return format!("to ignore case, write `~ (?i){}`", pattern.trim_start());
    }
    if let Some(path) = text.strip_prefix("^~") {
        let path = path.trim_start();
        return format!(
            "write `{path}`; regular expressions are tried before prefixes and have to exclude it"
        );
    }
    if text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return format!("write `/{text}`");
    }
    let marked = text.split_at_checked(1).filter(|(mark, _)| matches!(*mark, "~" | "="));
    marked.map_or(String::new(), |(mark, rest)| format!("write `{mark} {rest}`, with a space"))
}

impl Default for PathKey {
    fn default() -> Self {
        Self::Prefix("/".to_owned())
    }
}

impl fmt::Display for PathKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(path) => f.write_str(path),
            Self::Exact(path) => write!(f, "= {path}"),
            Self::Pattern(pattern) => write!(f, "~ {pattern}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_prefixes_exact_paths_or_regular_expressions() {
        let owned = str::to_owned;
        for (text, want, prefix) in [
            ("/a/", PathKey::Prefix(owned("/a/")), "/a/"),
            ("= /a", PathKey::Exact(owned("/a")), "/a"),
            ("=  /", PathKey::Exact(owned("/")), "/"),
            ("~ ^/a$", PathKey::Pattern(owned("^/a$")), "/"),
            ("~  a", PathKey::Pattern(owned("a")), "/"),
        ] {
            let key = PathKey::read(&Node::scalar(text)).expect(text);
            assert_eq!((&key, key.prefix()), (&want, prefix), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_told_what_to_write() {
        for (text, want) in [
            ("a", "expected a path that starts with `/`, found `a`; write `/a`"),
            ("", "expected a path that starts with `/`, found nothing"),
            ("= a", "expected a path that starts with `/`, found `= a`; an exact path is written `= /path`"),
            ("=/a", "expected a path that starts with `/`, found `=/a`; write `= /a`, with a space"),
            (
                "~\\.php$",
                "expected a path that starts with `/`, found `~\\.php$`; write `~ \\.php$`, with a space",
            ),
            (
                "~* \\.php$",
                "expected a path that starts with `/`, found `~* \\.php$`; to ignore case, write `~ (?i)\\.php$`",
            ),
            (
                "^~ /a",
                "expected a path that starts with `/`, found `^~ /a`; write `/a`; regular expressions are tried \
                 before prefixes and have to exclude it",
            ),
            ("~ ", "the regular expression after `~` is missing; such as `~ \\.php$`"),
            (
                "~ ^/(",
                "invalid regular expression `^/(`: unclosed group at character 3; write `\\(` and `\\)` for literal \
                 parentheses",
            ),
        ] {
            assert_eq!(PathKey::read(&Node::scalar(text)).expect_err(text).line(), want);
        }
    }
}
