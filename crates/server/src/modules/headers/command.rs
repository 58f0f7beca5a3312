//! What a command does to the fields of a response.

use super::field::Line;
use hayami_http::{FieldSection, ResponseHead};

/// A change of fields. Names are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
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
    pub(super) fn apply(&self, head: &mut ResponseHead) {
        match self {
            Self::Add(line) => head.append(&line.name, &line.value),
            Self::Append(line) => append(head, &line.name, &line.value),
            Self::Merge(line) => merge(head, &line.name, &line.value),
            Self::Set(line) => head.set(&line.name, &line.value),
            Self::SetIfEmpty(line) if head.get_named(&line.name).is_some() => {}
            Self::SetIfEmpty(line) => head.append(&line.name, &line.value),
            Self::Unset(names) => names.iter().for_each(|name| _ = head.remove(name)),
            Self::UnsetUnless(names) => {
                head.own_all().retain(|own, _| names.iter().any(|name| own.eq_ignore_ascii_case(name)));
            }
            Self::CookieUnset(names) => filter_cookies(head, |own| !is_among(own, names)),
            Self::CookieUnsetUnless(names) => filter_cookies(head, |own| is_among(own, names)),
        }
    }
}

/// Adds a line, or appends `value` to the first line of that name (RFC 9110 §5.3 tells how).
fn append(head: &mut ResponseHead, name: &[u8], value: &[u8]) {
    let longer = match head.get_named(name) {
        None => return head.append(name, value),
        Some(b"") => value.to_vec(),
        Some(first) => [first, b", ", value].concat(),
    };
    replace_first(head.own_all(), name, &longer);
}

/// Adds a line, or appends `value` to the first line of that name unless it is in that list.
pub fn merge(head: &mut ResponseHead, name: &[u8], value: &[u8]) {
    let has =
        |list: &[u8]| list.split(|&b| b == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(value));
    if !head.get_named(name).is_some_and(has) {
        append(head, name, value);
    }
}

fn replace_first(fields: &mut FieldSection, name: &[u8], value: &[u8]) {
    let mut changed = FieldSection::default();
    let mut found = false;
    for (own, old) in fields.iter() {
        let first = !found && own.eq_ignore_ascii_case(name);
        found |= first;
        changed.append(own, if first { value } else { old });
    }
    *fields = changed;
}

/// Keeps those cookies of `cookie` lines (RFC 6265 §4.2.1) that `keep` wants.
fn filter_cookies(head: &mut ResponseHead, keep: impl Fn(&[u8]) -> bool) {
    if head.get_named(b"cookie").is_none() {
        return;
    }
    let fields = head.own_all();
    let mut changed = FieldSection::default();
    for (name, value) in fields.iter() {
        if !name.eq_ignore_ascii_case(b"cookie") {
            changed.append(name, value);
            continue;
        }
        let pairs =
            value.split(|&b| b == b';').map(<[u8]>::trim_ascii).filter(|pair| keep(cookie_name(pair)));
        let kept = pairs.collect::<Vec<_>>().join(&b"; "[..]);
        if !kept.is_empty() {
            changed.append(name, &kept);
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
