//! From the text of one file to its raw tree.

use super::{ConfigError, Position};
use crate::config::source::floor;
use granit_parser::{ErrorKind, Event, Options, Parser, ScanError, Span, Tag};
use std::borrow::Cow;

/// Deepest nesting within a file. Real configurations have some ten levels.
const DEEPEST: usize = 64;

/// A node as written in the file.
pub(super) struct Raw {
    pub(super) at: Position,
    pub(super) tag: Option<RawTag>,
    pub(super) anchor: Option<Anchor>,
    pub(super) value: RawValue,
}

/// The value of a raw node.
pub(super) enum RawValue {
    Scalar(String),
    Sequence(Vec<Raw>),
    Mapping(Vec<(Raw, Raw)>),
    Alias(Alias),
}

/// A tag as written: `!file`.
pub(super) struct RawTag {
    pub(super) text: String,
    pub(super) at: Position,
}

/// `&name`
pub(super) struct Anchor {
    /// Unique in the file, even if names repeat.
    pub(super) id: usize,
    pub(super) name: String,
}

/// `*name`
pub(super) enum Alias {
    /// For an anchor above it in the file.
    Above(usize),
    /// For an anchor below it, in an included file, or missing.
    Elsewhere(String),
}

/// Parses `text`, the file with index `file`. An empty file has no tree.
pub(super) fn parse(text: &str, file: u32) -> Result<Option<Raw>, ConfigError> {
    let mut options = Options::default();
    options.emit_anchor_events = true;
    options.emit_unresolved_aliases = true;
    options.flow_nesting_limit = DEEPEST;
    options.block_nesting_limit = DEEPEST;
    let mut builder =
        Builder { events: Parser::new_from_str_with_options(text, options), text, file, star: None };
    let tree = builder.document()?;
    builder.end()?;
    Ok(tree)
}

struct Builder<'t> {
    events: Parser<'t, granit_parser::StrInput<'t>>,
    text: &'t str,
    file: u32,
    /// The last alias without an anchor: often it is an unquoted host name with a star.
    star: Option<Position>,
}

impl<'t> Builder<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), ConfigError> {
        match self.events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(self.explain(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn place(&self, span: Span) -> Position {
        let range = span.byte_range().unwrap_or(0..0);
        let byte = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Position { file: self.file, start: byte(range.start), end: byte(range.end.max(range.start)) }
    }

    fn document(&mut self) -> Result<Option<Raw>, ConfigError> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(..), _) => {}
                (Event::StreamEnd | Event::DocumentEnd, _) => return Ok(None),
                (event, span) => return self.node(event, span).map(Some),
            }
        }
    }

    /// There must be no second document.
    fn end(&mut self) -> Result<(), ConfigError> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentStart(..), span) => {
                    let error = ConfigError::new(self.place(span), "a second YAML document starts here");
                    return Err(error.help("a configuration is a single document: remove the `---` line"));
                }
                _ => {}
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span) -> Result<Raw, ConfigError> {
        let mut at = self.place(span);
        let tag = event.tag().map(|tag| self.tag(tag, span));
        let anchor = if event.anchor_id().is_some() { self.anchor()? } else { None };
        let value = match event {
            Event::Scalar(text, ..) => RawValue::Scalar(scalar(text, at)),
            Event::SequenceStart(..) => RawValue::Sequence(self.sequence(&mut at)?),
            Event::MappingStart(..) => RawValue::Mapping(self.mapping(&mut at)?),
            Event::Alias(id) => RawValue::Alias(Alias::Above(id)),
            Event::UnresolvedAlias(name) => {
                self.star = Some(at);
                RawValue::Alias(Alias::Elsewhere(name.into_owned()))
            }
            _ => return Err(ConfigError::new(at, "a value is missing here")),
        };
        Ok(Raw { at, tag, anchor, value })
    }

    fn tag(&self, tag: &Tag, span: Span) -> RawTag {
        let at = span.tag_span().map_or_else(|| self.place(span), |span| self.place(span));
        let written = span.tag_span().and_then(|span| span.slice(self.text));
        RawTag { text: written.map_or_else(|| tag.original(), str::to_owned), at }
    }

    /// The event of the anchor, which follows the node's own.
    fn anchor(&mut self) -> Result<Option<Anchor>, ConfigError> {
        match self.next()? {
            (Event::Anchor(id, name), _) => Ok(Some(Anchor { id, name: name.into_owned() })),
            _ => Ok(None),
        }
    }

    fn sequence(&mut self, at: &mut Position) -> Result<Vec<Raw>, ConfigError> {
        let mut elements = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                self.close(at, span, elements.last());
                return Ok(elements);
            }
            elements.push(self.node(event, span)?);
        }
    }

    fn mapping(&mut self, at: &mut Position) -> Result<Vec<(Raw, Raw)>, ConfigError> {
        let mut pairs: Vec<(Raw, Raw)> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                self.close(at, span, pairs.last().map(|(_, value)| value));
                return Ok(pairs);
            }
            let key = self.node(event, span)?;
            let (event, span) = self.next()?;
            pairs.push((key, self.node(event, span)?));
        }
    }

    /// The end of a collection: its bracket if it has any, otherwise its last element.
    fn close(&self, at: &mut Position, span: Span, last: Option<&Raw>) {
        let end = self.place(span);
        at.end = match last {
            _ if end.end > end.start => end.end,
            Some(last) => last.at.end,
            None => at.end,
        };
    }

    /// Explains a YAML error.
    fn explain(&self, error: &ScanError) -> ConfigError {
        let start = error.marker().byte_offset().unwrap_or(0).min(self.text.len());
        let width = self.text[floor(self.text, start)..].chars().next().map_or(0, char::len_utf8);
        let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let at = Position { file: self.file, start: byte(start), end: byte(start + width) };
        if let (Some(star), ErrorKind::ExpectedBlockMappingKey) = (self.star, error.kind()) {
            let error = ConfigError::new(star, "a name that starts with `*` must be quoted");
            return error.help("write \"*.example.org\": without quotes, `*` refers to an anchor");
        }
        let (message, help) = words(error.kind());
        let message = if message.is_empty() { error.info() } else { message.to_owned() };
        ConfigError::new(at, message).help(help)
    }
}

/// The text of a scalar. The parser returns `~` for a missing one; here null is the empty text.
fn scalar(text: Cow<'_, str>, at: Position) -> String {
    if at.start == at.end && text == "~" { String::new() } else { text.into_owned() }
}

/// Message and remedy for common errors; others keep the parser's message.
fn words(kind: &ErrorKind) -> (&'static str, &'static str) {
    match kind {
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
            ("tabs are not allowed for indentation", "indent with spaces")
        }
        ErrorKind::MappingValueNotAllowed => (
            "unexpected `:`",
            "all keys of a mapping must start in the same column, and text that contains `: ` must be quoted",
        ),
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => (
            "the indentation of this line does not match the lines above",
            "all keys of a mapping must start in the same column",
        ),
        ErrorKind::ExpectedBlockSequenceEntry => (
            "expected `- ` before the next element of the sequence",
            "every element of a sequence starts with `- `",
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            ("a key without `:`", "put a space after the colon: `key: value`")
        }
        ErrorKind::InvalidQuotedScalarIndent => (
            "the quoted text of the lines above continues here",
            "close the quote, or indent the lines that belong to it",
        ),
        ErrorKind::UnclosedQuotedScalar => ("unterminated quoted text", ""),
        ErrorKind::UnclosedFlowCollection { .. } => ("unclosed bracket", ""),
        ErrorKind::MisplacedFlowCollectionEnd => ("unmatched closing bracket", ""),
        ErrorKind::UnexpectedCharacter { .. } => {
            ("a value cannot start with this character", "quote the value")
        }
        ErrorKind::UnknownQuotedScalarEscape => (
            "unknown escape sequence",
            "double the backslash, or use single quotes, which have no escape sequences",
        ),
        ErrorKind::RecursionLimitExceeded => ("nested deeper than 64 levels", ""),
        ErrorKind::UndeclaredTagHandle => {
            ("unknown tag", "the supported tags are `!file PATH` and `!env NAME`")
        }
        ErrorKind::MissingAnchorOrAliasName => {
            ("expected a name after this character", "a value that starts with `*` or `&` must be quoted")
        }
        _ => ("", ""),
    }
}
