//! The format of a log line, compiled once: literal text and values.

use super::escape::Escape;
use super::specifier::{self, Stage, Value};
use crate::environment::Environment;

/// NCSA's combined format, h2o's default.
pub(super) const COMBINED: &str = r#"%h %l %u %t "%r" %s %b "%{Referer}i" "%{User-agent}i""#;

/// A compiled format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pub(super) escape: Escape,
    pub(super) pieces: Vec<Piece>,
    /// The text after the last value, with the line's end.
    pub(super) tail: Vec<u8>,
}

/// A value and the text before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) before: Vec<u8>,
    pub(super) value: Value,
    /// The quote on both sides of the value; JSON omits it for a missing value.
    pub(super) quote: Option<u8>,
}

impl Format {
    /// Compiles `text`.
    ///
    /// # Errors
    /// What is wrong with the format, in one line.
    pub fn new(text: &str, escape: Escape) -> Result<Self, String> {
        let mut format = Self { escape, pieces: Vec::new(), tail: Vec::new() };
        let mut rest = text;
        while let Some(percent) = rest.find('%') {
            format.tail.extend_from_slice(&rest.as_bytes()[..percent]);
            rest = format.specifier(&rest[percent + 1..])?;
        }
        format.tail.extend_from_slice(rest.as_bytes());
        format.tail.push(b'\n');
        if escape == Escape::Json {
            format.own_quotes();
        }
        Ok(format)
    }

    /// Parses the specifier after a `%`; returns what follows it.
    fn specifier<'a>(&mut self, text: &'a str) -> Result<&'a str, String> {
        if let Some(rest) = text.strip_prefix('%') {
            self.tail.push(b'%');
            return Ok(rest);
        }
        let unmarked = text.trim_start_matches(['<', '>']);
        let original = text[..text.len() - unmarked.len()].ends_with('<');
        let (value, rest) = match unmarked.strip_prefix('{') {
            Some(name) => braced(name, original)?,
            None => lettered(unmarked, original)?,
        };
        self.pieces.push(Piece { before: std::mem::take(&mut self.tail), value, quote: None });
        Ok(rest)
    }

    /// Moves the quotes directly around a value into its piece, so that `"%h"` can become `null`.
    fn own_quotes(&mut self) {
        let mut open = None;
        for index in 0..self.pieces.len() {
            open = open_quote(&self.pieces[index].before, open);
            let Some(quote) = open.filter(|quote| self.pieces[index].before.ends_with(&[*quote])) else {
                continue;
            };
            let Some(after) = self.text_behind(index).filter(|text| text.starts_with(&[quote])) else {
                continue;
            };
            after.remove(0);
            self.pieces[index].before.pop();
            self.pieces[index].quote = Some(quote);
            open = None;
        }
    }

    fn text_behind(&mut self, index: usize) -> Option<&mut Vec<u8>> {
        match self.pieces.get_mut(index + 1) {
            Some(next) => Some(&mut next.before),
            None => Some(&mut self.tail),
        }
    }

    /// The same format with the environment of a path inserted.
    pub(super) fn with_environment(&self, env: &Environment) -> Self {
        let mut format = self.clone();
        for piece in &mut format.pieces {
            let text = |name: &str| env.get(name).map(|text| Value::Text(text.to_owned()));
            match &piece.value {
                Value::Environment(name) => piece.value = text(name).unwrap_or(Value::Nothing),
                // As for applications, `setenv` takes precedence.
                Value::User => piece.value = text("REMOTE_USER").unwrap_or(Value::User),
                _ => {}
            }
        }
        format
    }

    /// Whether it contains a value about upstreams.
    pub(super) fn wants_upstreams(&self) -> bool {
        self.pieces.iter().any(|piece| piece.value.is_of_upstreams())
    }

    /// Whether it contains a value of this stage.
    pub(super) fn has(&self, stage: Stage) -> bool {
        self.pieces.iter().any(|piece| piece.value.stage() == stage)
    }

    /// Whether it contains a time finer than a second, for which the worker's clock is too coarse.
    pub(super) fn wants_microseconds(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(&piece.value, Value::Time(time) if time.is_fine()))
    }

    /// Whether it contains durations, for which the worker's clock is too coarse.
    pub(super) fn wants_durations(&self) -> bool {
        self.pieces.iter().any(|piece| piece.value.is_duration())
    }

    /// Whether it contains the local address of a connection.
    pub(super) fn wants_local_address(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece.value, Value::LocalAddress))
    }
}

fn lettered(text: &str, original: bool) -> Result<(Value, &str), String> {
    let letter =
        text.chars().next().ok_or("the format ends with a single `%`; write `%%` for a percent sign")?;
    let value = specifier::plain(letter, original)
        .ok_or_else(|| format!("unknown specifier `%{letter}`; write `%%` for a percent sign"))?;
    Ok((value, &text[letter.len_utf8()..]))
}

fn braced(text: &str, original: bool) -> Result<(Value, &str), String> {
    let (name, rest) = text.split_once('}').ok_or_else(|| format!("`%{{{text}` has no closing brace"))?;
    let letter =
        rest.chars().next().ok_or_else(|| format!("`%{{{name}}}` has no letter after the closing brace"))?;
    Ok((specifier::named(name, letter, original)?, &rest[letter.len_utf8()..]))
}

/// The quote that is open after `text`, if `open` was before it.
fn open_quote(text: &[u8], mut open: Option<u8>) -> Option<u8> {
    let mut escaped = false;
    for &byte in text {
        match open {
            Some(_) if escaped => escaped = false,
            Some(_) if byte == b'\\' => escaped = true,
            Some(quote) if byte == quote => open = None,
            None if matches!(byte, b'"' | b'\'') => open = Some(byte),
            _ => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::access_log::specifier::{FieldName, Stage};
    use hayami_http::Known;

    #[test]
    fn every_error_says_what_is_wrong() {
        let cases = [
            ("%", "the format ends with a single `%`; write `%%` for a percent sign"),
            ("%Z", "unknown specifier `%Z`; write `%%` for a percent sign"),
            ("a %é", "unknown specifier `%é`; write `%%` for a percent sign"),
            ("%{user-agent", "`%{user-agent` has no closing brace"),
            ("%{user-agent}", "`%{user-agent}` has no letter after the closing brace"),
            ("%{}i", "`%{}i` has no name between the braces"),
            ("%{x}y", "unknown specifier `%{x}y`: the letter after the braces must be i, o, e, h, t, p or x"),
            ("%{s}h", "unknown specifier `%{s}h`; supported: %h and %{c}h"),
            ("%{both}p", "unknown specifier `%{both}p`; supported: %{local}p and %{remote}p"),
            ("%{durations}x", "unknown specifier `%{durations}x`: no such extension"),
            ("%{%Q}t", "invalid format `%{%Q}t`: strftime has no `%Q`"),
        ];
        for (text, want) in cases {
            assert_eq!(Format::new(text, Escape::Apache).expect_err(text), want);
        }
    }

    #[test]
    fn a_format_is_text_and_values() {
        let format = Format::new("a%%b %<s %>s %{Host}i %{X-A}o.", Escape::Apache).unwrap();
        let values: Vec<_> = format.pieces.iter().map(|p| (&p.before[..], p.value.clone())).collect();
        let want = [
            (&b"a%b "[..], Value::Status(Stage::Original)),
            (b" ", Value::Status(Stage::Response)),
            (b" ", Value::RequestField(FieldName::Known(Known::Host))),
            (b" ", Value::ResponseField(FieldName::Other((*b"x-a").into()), Stage::Response)),
        ];
        assert_eq!(values, want);
        assert_eq!(format.tail, b".\n");
    }

    #[test]
    fn only_quotes_directly_around_a_json_value_belong_to_it() {
        let cases = [
            (r#"{"a":"%h"}"#, vec![Some(b'"')]),
            (r#"{"a":%b,"b":"%m %U"}"#, vec![None, None, None]),
            (r#"{"a":"%h","b":"%m"}"#, vec![Some(b'"'), Some(b'"')]),
            (r#"{'a':'%h'}"#, vec![Some(b'\'')]),
            (r#"{"a":"\"%h\""}"#, vec![None]),
        ];
        for (text, want) in cases {
            let format = Format::new(text, Escape::Json).unwrap();
            assert_eq!(format.pieces.iter().map(|p| p.quote).collect::<Vec<_>>(), want, "{text}");
            let apache = Format::new(text, Escape::Apache).unwrap();
            assert!(apache.pieces.iter().all(|p| p.quote.is_none()));
        }
    }

    #[test]
    fn the_environment_of_the_path_is_put_in() {
        let env = Environment::from_pairs([("SITE", "a")]);
        let format = Format::new("%{SITE}e %{OTHER}e %u", Escape::Apache).unwrap().with_environment(&env);
        let values: Vec<_> = format.pieces.into_iter().map(|p| p.value).collect();
        assert_eq!(values, [Value::Text("a".to_owned()), Value::Nothing, Value::User]);
        let env = Environment::from_pairs([("REMOTE_USER", "b")]);
        let format = Format::new("%u", Escape::Apache).unwrap().with_environment(&env);
        assert_eq!(format.pieces[0].value, Value::Text("b".to_owned()));
    }
}
