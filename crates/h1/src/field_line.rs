//! Field lines: `field-name ":" OWS field-value OWS` (RFC 9112 §5), and whole sections of them.

use crate::bytes::{token_end, value_end};
use crate::fault::{Fault, Stop};
use crate::limits::Limits;
use hayami_http::{FieldSection, Known, Span};

/// What is at the start of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A field line and the index after its line end.
    Field { name: Span, value: Span, next: usize },
    /// The empty line that ends a section, and the index after it.
    Empty { next: usize },
}

/// Which known names a section has, and which of them more than once.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    once: u64,
    again: u64,
}

impl Seen {
    fn add(&mut self, known: Known) {
        self.again |= self.once & bit(known);
        self.once |= bit(known);
    }

    /// Whether there is a line of that name.
    pub(crate) fn has(self, known: Known) -> bool {
        self.once & bit(known) != 0
    }

    /// Whether there is more than one line of that name.
    pub(crate) fn repeats(self, known: Known) -> bool {
        self.again & bit(known) != 0
    }
}

const fn bit(known: Known) -> u64 {
    const { assert!(Known::COUNT <= 64) };
    1 << known as u64
}

/// Parses the field lines of a head from `at` on into `section`, and the empty line after them. Spans count
/// from the start of `bytes`. Returns the index after the empty line.
pub(crate) fn section(
    bytes: &[u8],
    mut at: usize,
    limits: &Limits,
    section: &mut FieldSection,
) -> Result<(usize, Seen), Stop> {
    let first = at;
    let mut seen = Seen::default();
    loop {
        match parse(bytes, at) {
            Ok(Line::Field { name, value, next }) if next <= limits.head as usize => {
                if section.len() >= limits.fields as usize {
                    return Err(Fault::TooManyFields.into());
                }
                let known = Known::of(name.of(bytes));
                if let Some(known) = known {
                    seen.add(known);
                }
                section.push_known_span(name, value, known);
                at = next;
            }
            Ok(Line::Empty { next }) if next <= limits.head as usize => return Ok((next, seen)),
            Ok(_) => return Err(Fault::HeadTooLarge.into()),
            Err(stop) => return Err(judge(bytes, at, first, limits, stop)),
        }
    }
}

/// Decides about the line at `at` that could not be parsed. Only a complete line is judged, its length first,
/// so that the result does not depend on how the bytes were split in transit.
#[cold]
pub(crate) fn judge(bytes: &[u8], at: usize, first: usize, limits: &Limits, stop: Stop) -> Stop {
    let lf = memchr::memchr(b'\n', &bytes[at..]).map(|i| at + i);
    if lf.map_or(bytes.len(), |lf| lf + 1) > limits.head as usize {
        return Fault::HeadTooLarge.into();
    }
    match (lf, stop) {
        (None, _) => Stop::Incomplete,
        // A fold needs a line before it (RFC 9112 §2.2, §5.2).
        (_, Stop::Fault(Fault::ObsoleteFold)) if at == first => Fault::LeadingWhitespace.into(),
        (Some(_), stop) => stop,
    }
}

/// Parses one line at `at`. LF alone ends it too, as RFC 9112 §2.2 allows and nginx and h2o do.
#[inline(always)] // returning the line through memory costs 5 ns
pub(crate) fn parse(bytes: &[u8], at: usize) -> Result<Line, Stop> {
    let name_end = token_end(bytes, at);
    match bytes.get(name_end) {
        Some(b':') if name_end > at => {}
        Some(byte) => return no_field(bytes, at, name_end, *byte),
        None => return Err(Stop::Incomplete),
    }
    let mut start = name_end + 1;
    while let Some(b' ' | b'\t') = bytes.get(start) {
        start += 1;
    }
    let mut end = value_end(bytes, start);
    let next = line_end(bytes, end)?;
    while end > start && matches!(bytes[end - 1], b' ' | b'\t') {
        end -= 1;
    }
    Ok(Line::Field { name: Span::new(at, name_end), value: Span::new(start, end), next })
}

/// The index after the line end at `at`.
fn line_end(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    match bytes.get(at..) {
        Some([b'\r', b'\n', ..]) => Ok(at + 2),
        Some([b'\n', ..]) => Ok(at + 1),
        Some([] | [b'\r']) | None => Err(Stop::Incomplete),
        Some([b'\r', ..]) => Err(Fault::BareCr.into()),
        Some(_) => Err(Fault::FieldValue.into()),
    }
}

/// The line at `at` does not begin with `name ":"`: it is empty, or malformed at `name_end`.
#[inline(never)]
fn no_field(bytes: &[u8], at: usize, name_end: usize, byte: u8) -> Result<Line, Stop> {
    Err(match byte {
        b'\r' | b'\n' if name_end == at => {
            return line_end(bytes, at).map(|next| Line::Empty { next });
        }
        b' ' | b'\t' if name_end == at => Fault::ObsoleteFold,
        // RFC 9112 §5.1: differences between proxies here have been used to smuggle requests.
        b' ' | b'\t' => space_or_name(&bytes[name_end..]),
        b'\r' | b'\n' => line_end(bytes, name_end).map_or(Fault::BareCr, |_| Fault::MissingColon),
        _ => Fault::FieldName,
    }
    .into())
}

fn space_or_name(rest: &[u8]) -> Fault {
    match rest.iter().find(|o| !matches!(o, b' ' | b'\t')) {
        Some(b':') => Fault::SpaceBeforeColon,
        _ => Fault::FieldName,
    }
}
