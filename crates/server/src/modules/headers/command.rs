//! Commands that change the fields of a message.

use super::field::Line;
use hayami_http::field::FieldLine;
use hayami_http::{FieldSection, ResponseHead};

/// A collection of field lines: the head of a response, the fields of a request.
pub(in crate::modules) trait Lines {
    /// The first value of that name.
    fn value(&self, name: &[u8]) -> Option<&[u8]>;
    /// Adds a line.
    fn add(&mut self, name: &[u8], value: &[u8]);
    /// All lines, to be changed at will.
    fn all(&mut self) -> &mut FieldSection;
}

impl Lines for ResponseHead {
    fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.get_named(name)
    }

    fn add(&mut self, name: &[u8], value: &[u8]) {
        self.append(name, value);
    }

    fn all(&mut self) -> &mut FieldSection {
        self.own_all()
    }
}

impl Lines for FieldSection {
    fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.get_named(name)
    }

    fn add(&mut self, name: &[u8], value: &[u8]) {
        self.append(name, value);
    }

    fn all(&mut self) -> &mut FieldSection {
        self
    }
}

/// A change of fields. Names are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::modules) enum Command {
    Add(Line),
    Append(Line),
    Merge(Line),
    Set(Line),
    SetIfEmpty(Line),
    Unset(Vec<Vec<u8>>),
    UnsetUnless(Vec<Vec<u8>>),
    CookieUnset(Vec<Vec<u8>>),
    CookieUnsetUnless(Vec<Vec<u8>>),
}

impl Command {
    /// Whether it adds a `link` to what a page needs: `rel` says preload, modulepreload or preconnect.
    pub(super) fn preloads(&self) -> bool {
        let (Self::Add(line)
        | Self::Append(line)
        | Self::Merge(line)
        | Self::Set(line)
        | Self::SetIfEmpty(line)) = self
        else {
            return false;
        };
        let value = line.value.to_ascii_lowercase();
        let needed = |kind: &&str| {
            ["rel=", "rel=\""]
                .iter()
                .any(|rel| memchr::memmem::find(&value, format!("{rel}{kind}").as_bytes()).is_some())
        };
        line.name == b"link" && ["preload", "modulepreload", "preconnect"].iter().any(needed)
    }

    /// Does it. A command that changes no line leaves the shared fields of a cached file alone.
    pub(in crate::modules) fn apply(&self, lines: &mut impl Lines) {
        match self {
            Self::Add(line) => lines.add(&line.name, &line.value),
            Self::Append(line) => append(lines, &line.name, &line.value),
            Self::Merge(line) => merge(lines, &line.name, &line.value),
            Self::Set(line) => {
                remove(lines, &line.name);
                lines.add(&line.name, &line.value);
            }
            Self::SetIfEmpty(line) if lines.value(&line.name).is_some() => {}
            Self::SetIfEmpty(line) => lines.add(&line.name, &line.value),
            Self::Unset(names) => names.iter().for_each(|name| remove(lines, name)),
            Self::UnsetUnless(names) => {
                lines.all().retain(|own, _| names.iter().any(|name| own.eq_ignore_ascii_case(name)));
            }
            Self::CookieUnset(names) => filter_cookies(lines, |own| !is_among(own, names)),
            Self::CookieUnsetUnless(names) => filter_cookies(lines, |own| is_among(own, names)),
        }
    }
}

fn remove(lines: &mut impl Lines, name: &[u8]) {
    if lines.value(name).is_some() {
        lines.all().remove(name);
    }
}

/// Adds a line, or appends `value` to the first line of that name (RFC 9110 §5.3 tells how).
fn append(lines: &mut impl Lines, name: &[u8], value: &[u8]) {
    let longer = match lines.value(name) {
        None => return lines.add(name, value),
        Some(b"") => value.to_vec(),
        Some(first) => [first, b", ", value].concat(),
    };
    replace_first(lines.all(), name, &longer);
}

/// Adds a line, or appends `value` to the first line of that name unless it is in that list.
pub(in crate::modules) fn merge(lines: &mut impl Lines, name: &[u8], value: &[u8]) {
    let has =
        |list: &[u8]| list.split(|&b| b == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(value));
    if !lines.value(name).is_some_and(has) {
        append(lines, name, value);
    }
}

fn replace_first(fields: &mut FieldSection, name: &[u8], value: &[u8]) {
    let mut changed = FieldSection::default();
    let mut found = false;
    for line in fields.lines() {
        let first = !found && line.name.eq_ignore_ascii_case(name);
        found |= first;
        changed.append_line(if first { FieldLine { value, ..line } } else { line });
    }
    *fields = changed;
}

/// Keeps those cookies of `cookie` lines (RFC 6265 §4.2.1) that `keep` wants.
fn filter_cookies(lines: &mut impl Lines, keep: impl Fn(&[u8]) -> bool) {
    if lines.value(b"cookie").is_none() {
        return;
    }
    let fields = lines.all();
    let mut changed = FieldSection::default();
    for line in fields.lines() {
        if !line.name.eq_ignore_ascii_case(b"cookie") {
            changed.append_line(line);
            continue;
        }
        let pairs =
            line.value.split(|&b| b == b';').map(<[u8]>::trim_ascii).filter(|pair| keep(cookie_name(pair)));
        let kept = pairs.collect::<Vec<_>>().join(&b"; "[..]);
        if !kept.is_empty() {
            changed.append_line(FieldLine { value: &kept, ..line });
        }
    }
    *fields = changed;
}

fn cookie_name(pair: &[u8]) -> &[u8] {
    pair.split(|&b| b == b'=').next().unwrap_or_default().trim_ascii()
}

fn is_among(name: &[u8], names: &[Vec<u8>]) -> bool {
    names.iter().any(|own| own == name)
}
