//! Separates the fields of a single hop (RFC 9110 §7.6.1) from those that are forwarded.

use hayami_http::{FieldSection, Known};
use std::fmt;

/// Most elements of a message's Connection fields, empty ones included. Clients name two or three; every field is
/// compared with every name, so an unbounded list would cost the square of the message's length.
const MOST_ELEMENTS: usize = 64;

/// The Connection fields of a message have too many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::modules) struct TooManyElements;

impl fmt::Display for TooManyElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the Connection field has more than {MOST_ELEMENTS} elements")
    }
}

/// Appends the fields of `from` to `to` that `passes` lets through and that no Connection field names.
///
/// # Errors
/// The Connection fields have too many elements; `to` is unchanged.
pub(super) fn pass_on(
    from: &FieldSection,
    to: &mut FieldSection,
    passes: impl Fn(&[u8], Option<Known>) -> bool,
) -> Result<(), TooManyElements> {
    let named = named_by_connection(from)?;
    for line in from.lines() {
        if passes(line.name, line.known) && !named.iter().any(|own| own.eq_ignore_ascii_case(line.name)) {
            to.append_line(line);
        }
    }
    Ok(())
}

/// The fields named by Connection (RFC 9110 §7.6.1), except those that are removed in any case. Usually there are
/// none, and nothing is allocated.
fn named_by_connection(fields: &FieldSection) -> Result<Vec<&[u8]>, TooManyElements> {
    let mut named = Vec::new();
    let lists = fields.get_all(Known::Connection).flat_map(|value| value.split(|byte| *byte == b','));
    for (index, element) in lists.enumerate() {
        if index == MOST_ELEMENTS {
            return Err(TooManyElements);
        }
        let name = element.trim_ascii();
        let usual: [&[u8]; 5] = [b"", b"close", b"keep-alive", b"upgrade", b"te"];
        if !usual.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            named.push(name);
        }
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_compared_up_to_its_bound_and_refused_beyond() {
        let names = |count: usize| (0..count).map(|number| format!("x-{number}")).collect::<Vec<_>>();
        let passed = |lists: &[String]| {
            let (mut from, mut to) = (FieldSection::default(), FieldSection::default());
            lists.iter().for_each(|list| from.append(b"Connection", list.as_bytes()));
            from.append(b"X-63", b"named last");
            from.append(b"x-64", b"not named");
            let result = pass_on(&from, &mut to, |_, known| known.is_none());
            result.map(|()| to.iter().map(|(name, _)| name.to_vec()).collect::<Vec<_>>())
        };
        assert_eq!(passed(&[names(64).join(", ")]), Ok(vec![b"x-64".to_vec()]));
        assert_eq!(passed(&names(64)), Ok(vec![b"x-64".to_vec()]), "in as many fields");
        for list in [names(65).join(","), ",".repeat(64), ["close"; 65].join(",")] {
            assert_eq!(passed(&[list]), Err(TooManyElements));
        }
    }
}
