//! Errors and warnings as text: the message, the position, the line itself with a marker, the remedy.

use super::error::ConfigError;
use super::position::Position;
use super::source::{Source, Sources, floor};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, normalize_untrusted_str};
use std::ops::Range;

/// More errors or warnings are only counted: a wrong indentation can cause hundreds, of which the first suffice.
const MOST: usize = 20;

/// Of a longer line only the part around the error is shown: such a line is data, not configuration.
const LINE: usize = 400;

/// The text of `errors`; ends in a line break.
pub(super) fn errors(errors: &[ConfigError], sources: &Sources, styled: bool) -> String {
    all(&Level::ERROR, "errors", errors, sources, styled)
}

/// The text of `warnings`; empty if there are none.
pub(super) fn warnings(warnings: &[ConfigError], sources: &Sources, styled: bool) -> String {
    all(&Level::WARNING, "warnings", warnings, sources, styled)
}

fn all(level: &Level<'_>, what: &str, errors: &[ConfigError], sources: &Sources, styled: bool) -> String {
    let shown = errors.iter().take(MOST);
    let texts: Vec<_> = shown.map(|error| one(level, error, sources, styled)).collect();
    let mut text = texts.join("\n");
    if errors.len() > MOST {
        text.push_str(&format!("\nand {} more {what}\n", errors.len() - MOST));
    }
    text
}

fn one(level: &Level<'_>, error: &ConfigError, sources: &Sources, styled: bool) -> String {
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    let title = level.clone().primary_title(normalize_untrusted_str(&error.message));
    let help = normalize_untrusted_str(&error.help);
    if sources.get(error.at).is_none() {
        // Without a snippet there is nothing to attach the help to.
        let text = renderer.render(&[Group::with_title(title)]) + "\n";
        return if help.is_empty() { text } else { format!("{text}  = help: {help}\n") };
    }
    let mut group = title.elements(snippets(error, sources));
    if !help.is_empty() {
        group = group.element(Level::HELP.message(help));
    }
    renderer.render(&[group]) + "\n"
}

/// The line of the error, and that of the related position: in one snippet if they are in one file.
fn snippets<'a>(
    error: &ConfigError,
    sources: &'a Sources,
) -> Vec<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let Some(source) = sources.get(error.at) else { return Vec::new() };
    let main = |snippet: View<'a>| snippet.mark(AnnotationKind::Primary, error.at, None);
    match error.also {
        None => vec![main(View::new(source, &[error.at])).snippet],
        Some((place, what)) if place.file == error.at.file => {
            let view = main(View::new(source, &[error.at, place]));
            vec![view.mark(AnnotationKind::Context, place, Some(what)).snippet]
        }
        Some((place, what)) => {
            let first = main(View::new(source, &[error.at])).snippet;
            let other = sources.get(place).map(|source| View::new(source, &[place]));
            let other = other.map(|view| view.mark(AnnotationKind::Context, place, Some(what)).snippet);
            std::iter::once(first).chain(other).collect()
        }
    }
}

/// The lines of a source from the first position to the last.
struct View<'a> {
    snippet: Snippet<'a, annotate_snippets::Annotation<'a>>,
    text: &'a str,
    /// Where `text` begins in the source.
    start: usize,
}

impl<'a> View<'a> {
    fn new(source: &'a Source, places: &[Position]) -> Self {
        let text = source.text.as_str();
        let starts = || places.iter().map(|place| floor(text, place.start as usize));
        let first = starts().min().unwrap_or(0);
        let last = starts().max().unwrap_or(0);
        let start = text[..first].rfind('\n').map_or(0, |line_break| line_break + 1);
        let end = text[last..].find('\n').map_or(text.len(), |line_break| last + line_break);
        let end = if end - last > LINE { floor(text, last + LINE) } else { end };
        let line = text[..start].matches('\n').count() + 1;
        let window = text[start..end].trim_end_matches('\r');
        let snippet = Snippet::source(window).path(source.name.as_str()).line_start(line);
        Self { snippet, text: window, start }
    }

    /// Marks the first line of `place`.
    fn mark(mut self, kind: AnnotationKind, place: Position, label: Option<&'a str>) -> Self {
        let span = self.span(place);
        self.snippet = self.snippet.annotation(kind.span(span).label(label));
        self
    }

    fn span(&self, place: Position) -> Range<usize> {
        let within = |at: u32| floor(self.text, (at as usize).saturating_sub(self.start));
        let start = within(place.start);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |line_break| start + line_break);
        let end = within(place.end).clamp(start, line_end);
        start..start + self.text[start..end].trim_end().len()
    }
}
