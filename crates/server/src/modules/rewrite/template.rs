//! The syntax of a target: text, and groups of a regular expression.

use crate::config::error::ConfigError;
use crate::config::location;
use crate::config::yaml::Node;
use crate::pattern::Pattern;
use hayami_http::{encode_path, encode_query, encode_query_value};
use std::ops::Range;

/// A target with placeholders for groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// Whether the query of the request is appended.
    keeps_query: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A group by its number.
    Group(usize),
}

impl Template {
    /// Reads the target at `node`, whose groups are those of `pattern`.
    ///
    /// # Errors
    /// It is not the beginning of a path or URL, or names a group that the pattern does not have.
    pub(super) fn read(node: &Node, pattern: Option<&str>) -> Result<Self, ConfigError> {
        let wanted = || node.expected("a path such as `/new/$1`, or a URL");
        let text = node.text().map_err(|_| wanted())?;
        let is_url = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
        if !text.starts_with('/') && !is_url {
            return Err(wanted());
        }
        let compiled = pattern.map(Pattern::new).transpose().map_err(|error| node.error(error))?;
        let names: Vec<_> = compiled.iter().flat_map(Pattern::groups).collect();
        let (text, keeps_query) = match text.strip_suffix('?') {
            Some(text) => (text, false),
            None => (text, true),
        };
        Ok(Self { pieces: pieces(node, text, &names)?, keeps_query })
    }

    /// Expands the target with the groups of a match in `path`.
    pub(super) fn expand(
        &self,
        path: &[u8],
        groups: &[Option<Range<usize>>],
        query: Option<&[u8]>,
    ) -> Vec<u8> {
        let (mut target, mut in_query) = (Vec::new(), false);
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => {
                    in_query |= text.contains('?');
                    target.extend_from_slice(text.as_bytes());
                }
                Piece::Group(number) => {
                    let group = groups.get(*number).cloned().flatten().map_or(&b""[..], |range| &path[range]);
                    if in_query {
                        encode_query_value(group, &mut target);
                    } else {
                        encode_path(group, &mut target);
                    }
                }
            }
        }
        if let Some(query) = query.filter(|query| self.keeps_query && !query.is_empty()) {
            target.push(if in_query { b'&' } else { b'?' });
            encode_query(query, &mut target);
        }
        // Two leading slashes would be followed by a host (RFC 3986 §4.2).
        let slashes = target.iter().take_while(|byte| **byte == b'/').count();
        target.split_off(slashes.saturating_sub(1))
    }
}

fn pieces(node: &Node, text: &str, names: &[Option<&str>]) -> Result<Vec<Piece>, ConfigError> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        push_text(node, before, &mut pieces)?;
        rest = match reference(after) {
            Some((name, rest)) => {
                pieces.push(Piece::Group(group(node, name, names)?));
                rest
            }
            None => {
                pieces.push(Piece::Text("$".to_owned()));
                after.strip_prefix('$').unwrap_or(after)
            }
        };
    }
    push_text(node, rest, &mut pieces)?;
    Ok(pieces)
}

fn push_text(node: &Node, text: &str, pieces: &mut Vec<Piece>) -> Result<(), ConfigError> {
    location::check(node, text)?;
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
    Ok(())
}

/// The name or number of a group after a `$`, and what follows: `name`, `{name}`, one digit.
fn reference(text: &str) -> Option<(&str, &str)> {
    if let Some((name, rest)) = text.strip_prefix('{').and_then(|text| text.split_once('}')) {
        return Some((name, rest));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let len = match text.chars().next()? {
        first if first.is_ascii_digit() => 1,
        _ => text.find(|c| !is_name(c)).unwrap_or(text.len()),
    };
    (len > 0).then(|| text.split_at(len))
}

fn group(node: &Node, name: &str, names: &[Option<&str>]) -> Result<usize, ConfigError> {
    let number = match name.parse::<usize>() {
        Ok(number) => Some(number).filter(|number| *number < names.len()),
        Err(_) => names.iter().position(|own| *own == Some(name)),
    };
    number.ok_or_else(|| {
        let known = names.iter().enumerate().skip(1);
        let known: Vec<_> =
            known.map(|(at, name)| format!("${}", name.map_or(at.to_string(), str::to_owned))).collect();
        let help = match known.is_empty() {
            true => "no regular expression has groups here, and variables are not supported".to_owned(),
            false => format!("groups: {}; variables are not supported", known.join(", ")),
        };
        node.error(format!("`${name}` is not a group of the regular expression")).help(help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, pattern: Option<&str>) -> Result<Template, String> {
        Template::read(&Node::scalar(text), pattern).map_err(|error| error.line())
    }

    #[test]
    fn references_are_digits_names_and_words_in_braces() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let template = read("/a$1b${1}c", Some("(?<n>.)")).expect("a template");
        assert_eq!(template.pieces, [text("/a"), Piece::Group(1), text("b"), Piece::Group(1), text("c")]);
        let template = read("/$n/${n}d$$e$-", Some("(?<n>.)")).expect("a template");
        let want = [
            text("/"),
            Piece::Group(1),
            text("/"),
            Piece::Group(1),
            text("d"),
            text("$"),
            text("e"),
            text("$"),
            text("-"),
        ];
        assert_eq!(template.pieces, want);
    }

    #[test]
    fn what_is_no_group_or_no_target_is_an_error() {
        for (text, pattern, want) in [
            ("a", None, "expected a path such as `/new/$1`, or a URL, found `a`"),
            ("$1", Some("(a)"), "expected a path such as `/new/$1`, or a URL, found `$1`"),
            (
                "/$1",
                None,
                "`$1` is not a group of the regular expression; no regular expression has groups here, and variables \
                 are not supported",
            ),
            (
                "/$host/$2",
                Some("(?<n>a)(b)"),
                "`$host` is not a group of the regular expression; groups: $n, $2; variables are not supported",
            ),
            (
                "/$3",
                Some("(?<n>a)(b)"),
                "`$3` is not a group of the regular expression; groups: $n, $2; variables are not supported",
            ),
            ("/ü", None, "a URL must not contain `ü`; write `%C3%BC`"),
        ] {
            assert_eq!(read(text, pattern), Err(want.to_owned()), "{text}");
        }
    }
}
