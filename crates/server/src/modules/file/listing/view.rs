//! Views of a listing: sort order and search. Both are in the query, so links and a form do what elsewhere takes a
//! script.

use super::Line;
use crate::query;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use std::cmp::Ordering;

/// Most bytes of a search; the rest is ignored.
const LONGEST_SEARCH: usize = 200;

/// Characters not allowed in a query's value (RFC 3986 §3.4), or that would end it.
const RESERVED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'\'')
    .add(b'+')
    .add(b'<')
    .add(b'=')
    .add(b'>')
    .add(b'?');

/// What the query of a listed directory requests.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::modules::file) enum ListingQuery {
    /// The default page.
    Plain,
    /// The style sheet of the page.
    Style,
    /// The page in this view.
    View(View),
}

impl ListingQuery {
    /// Parses `query`. Unknown parameters are ignored.
    pub(in crate::modules::file) fn parse(query: Option<&[u8]>) -> Self {
        let mut view = View::default();
        for parameter in query::parameters(query.unwrap_or_default()) {
            match parameter {
                (b"style", _) => return Self::Style,
                (b"sort", b"name") => view.column = Column::Name,
                (b"sort", b"size") => view.column = Column::Size,
                (b"sort", b"time") => view.column = Column::Time,
                (b"order", b"desc") => view.descending = true,
                (b"order", b"asc") => view.descending = false,
                (b"q", text) => {
                    let text = query::decoded(&text[..text.len().min(LONGEST_SEARCH)]);
                    view.search = String::from_utf8_lossy(&text).trim().to_owned();
                }
                _ => {}
            }
        }
        if view == View::default() { Self::Plain } else { Self::View(view) }
    }
}

/// What lines are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Column {
    #[default]
    Name,
    Size,
    Time,
}

/// Which entries are listed, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::modules::file) struct View {
    pub(super) column: Column,
    pub(super) descending: bool,
    /// Part of a name, in any case; empty for all.
    pub(super) search: String,
}

impl View {
    /// Whether the order depends on names only.
    pub(super) fn is_by_name(&self) -> bool {
        self.column == Column::Name
    }

    /// Compares names, each with whether it is a directory: directories come first, whatever the direction.
    pub(super) fn compare_names(&self, one: (bool, &[u8]), other: (bool, &[u8])) -> Ordering {
        other.0.cmp(&one.0).then_with(|| self.directed(by_name(one.1, other.1)))
    }

    /// Compares lines. Ties are sorted by name.
    pub(super) fn compare(&self, one: &Line, other: &Line) -> Ordering {
        let by_column = match self.column {
            Column::Name => by_name(&one.name, &other.name),
            Column::Size if one.is_folder() => Ordering::Equal,
            Column::Size => one.state.size.cmp(&other.state.size),
            Column::Time => one.state.modified.cmp(&other.state.modified),
        };
        let folders = other.is_folder().cmp(&one.is_folder());
        folders.then(self.directed(by_column)).then_with(|| by_name(&one.name, &other.name))
    }

    fn directed(&self, order: Ordering) -> Ordering {
        if self.descending { order.reverse() } else { order }
    }

    /// The query that sorts this view by `column`, or reverses the order if it already does.
    pub(super) fn sorted_by(&self, column: Column) -> String {
        let descending = match column == self.column {
            true => !self.descending,
            // Largest and newest first.
            false => column != Column::Name,
        };
        Self { column, descending, search: self.search.clone() }.query()
    }

    /// The query of this view, `?` included.
    fn query(&self) -> String {
        let column = self.column.name();
        let order = if self.descending { "desc" } else { "asc" };
        let search = match self.search.as_str() {
            "" => String::new(),
            text => format!("&q={}", utf8_percent_encode(text, RESERVED)),
        };
        format!("?sort={column}&order={order}{search}")
    }
}

/// Whether a name contains `part`, ignoring case; `part` is in lower case.
pub(super) fn contains(name: &[u8], part: &str) -> bool {
    part.is_empty() || String::from_utf8_lossy(name).to_lowercase().contains(part)
}

/// Alphabetical order; case only breaks ties.
fn by_name(one: &[u8], other: &[u8]) -> Ordering {
    let (a, b) = (one.iter().map(u8::to_ascii_lowercase), other.iter().map(u8::to_ascii_lowercase));
    a.cmp(b).then_with(|| one.cmp(other))
}

impl Column {
    /// Its name in the query.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Size => "size",
            Self::Time => "time",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(query: &str) -> View {
        match ListingQuery::parse(Some(query.as_bytes())) {
            ListingQuery::View(view) => view,
            other => panic!("{query}: {other:?}"),
        }
    }

    #[test]
    fn a_query_says_what_is_shown_and_in_which_order() {
        for query in
            ["", "a=b", "sort=name", "sort=colour&order=up", "q=", "q=+", "sort=name&order=asc", "&&="]
        {
            assert_eq!(ListingQuery::parse(Some(query.as_bytes())), ListingQuery::Plain, "{query}");
        }
        assert_eq!(ListingQuery::parse(None), ListingQuery::Plain);
        assert_eq!(ListingQuery::parse(Some(b"style=0.1.0")), ListingQuery::Style);
        let size = view("sort=size&order=desc&q=a%20b+c%26");
        assert_eq!((size.column, size.descending, size.search.as_str()), (Column::Size, true, "a b c&"));
        assert!(view(&format!("q={}", "x".repeat(1000))).search.len() <= LONGEST_SEARCH);
        assert_eq!(view("q=%ff%C3%BC").search, "\u{fffd}ü");
    }

    #[test]
    fn a_search_finds_parts_of_names_in_any_case() {
        for (name, part, want) in [
            ("Die ÜBERSICHT.txt".as_bytes(), "über", true),
            (b"uber", "über", false),
            (b"\xff", "", true),
            (b"a\xffb", "b", true),
        ] {
            assert_eq!(contains(name, part), want, "{name:?}");
        }
    }

    #[test]
    fn a_column_that_is_sorted_by_turns_around() {
        let view = view("sort=time&order=desc&q=a%26b");
        assert_eq!(view.sorted_by(Column::Time), "?sort=time&order=asc&q=a%26b");
        assert_eq!(view.sorted_by(Column::Name), "?sort=name&order=asc&q=a%26b");
        assert_eq!(view.sorted_by(Column::Size), "?sort=size&order=desc&q=a%26b");
        assert_eq!(View::default().sorted_by(Column::Name), "?sort=name&order=desc");
    }
}
