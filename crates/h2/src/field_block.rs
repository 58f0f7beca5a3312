//! Fields of any message: what HTTP/2 forbids, and trailer sections (RFC 9113 §8.1, §8.2).
//! Request and response heads are read in `request` and `response`.

use crate::fault::Fault;
use hayami_hpack::{Field, Sink, Token};
use hayami_http::{FieldSection, Known};

/// Whether HTTP/2 may carry the field; pseudo-header fields are left to the caller.
#[inline]
pub(crate) fn check(field: &Field<'_>) -> Result<(), Fault> {
    if !field.well_formed {
        return Err(malformed(field.name));
    }
    match field.token {
        Token::Known(known) => check_known(known, field.value),
        _ => Ok(()),
    }
}

#[cold]
fn malformed(name: &[u8]) -> Fault {
    if name.starts_with(b":") { Fault::PseudoUnknown } else { Fault::FieldMalformed }
}

/// RFC 9113 §8.2.2: no connection fields; TE only to say that trailers are accepted.
#[inline]
fn check_known(known: Known, value: &[u8]) -> Result<(), Fault> {
    match known {
        known if known.is_of_connection() => Err(Fault::FieldOfConnection),
        Known::Te if !value.eq_ignore_ascii_case(b"trailers") => Err(Fault::FieldOfConnection),
        _ => Ok(()),
    }
}

/// Fields that an HTTP/2 message never has: they belong to an HTTP/1.1 connection.
pub(crate) fn is_of_connection(known: Option<Known>) -> bool {
    known.is_some_and(Known::is_of_connection)
}

/// A Content-Length: digits alone, at most 64 bits (RFC 9110 §8.6). `before` is the value of an earlier line:
/// two lines are a fault even if they agree.
pub(crate) fn content_length(before: Option<u64>, value: &[u8]) -> Result<u64, Fault> {
    if before.is_some() || value.is_empty() {
        return Err(Fault::ContentLength);
    }
    let number = value.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    });
    // The largest number means "unknown" elsewhere.
    number.filter(|number| *number < u64::MAX).ok_or(Fault::ContentLength)
}

/// Adds a field, cookie crumbs to the previous line (RFC 9113 §8.2.3).
#[inline]
pub(crate) fn append(section: &mut FieldSection, field: &Field<'_>) {
    let known = match field.token {
        Token::Known(known) => Some(known),
        _ => None,
    };
    section.append_known(field.name, field.value, known);
    if field.never_indexed {
        section.mark_sensitive();
    }
}

/// A head that is read field by field, of a request or of a response.
pub(crate) trait HeadFields {
    /// The first rule that a field broke.
    fn fault(&mut self) -> &mut Option<Fault>;

    /// Takes a pseudo-header field.
    fn pseudo(&mut self, field: &Field<'_>) -> Result<(), Fault>;

    /// Takes any other field.
    fn regular(&mut self, field: &Field<'_>) -> Result<(), Fault>;

    /// Takes a field, unless one before broke a rule: then the rest is only decoded, since the decoder has to stay in
    /// sync.
    #[inline]
    fn take(&mut self, field: &Field<'_>) {
        if self.fault().is_some() {
            return;
        }
        let result = match field.token {
            Token::Known(_) | Token::Other => self.regular(field),
            _ => self.pseudo(field),
        };
        if let Err(fault) = result {
            *self.fault() = Some(fault);
        }
    }
}

/// Reads a trailer section.
#[derive(Debug, Default)]
pub(crate) struct Trailers {
    section: FieldSection,
    fault: Option<Fault>,
}

impl Sink for Trailers {
    fn field(&mut self, field: Field<'_>) {
        if self.fault.is_some() {
            return;
        }
        // RFC 9113 §8.1: trailers have no pseudo-header fields.
        let pseudo = field.token.is_pseudo() || field.name.starts_with(b":");
        let checked = if pseudo { Err(Fault::PseudoInTrailers) } else { check(&field) };
        match checked {
            Ok(()) if is_for_heads(field.token) => {}
            Ok(()) => append(&mut self.section, &field),
            Err(fault) => self.fault = Some(fault),
        }
    }
}

/// Fields that frame, route or authenticate a message are not allowed in trailers; they are left out (RFC
/// 9110 §6.5.1).
fn is_for_heads(token: Token) -> bool {
    matches!(
        token,
        Token::Known(
            Known::ContentLength
                | Known::Host
                | Known::Te
                | Known::Trailer
                | Known::Authorization
                | Known::Expect
        )
    )
}

impl Trailers {
    /// The section; `None` if it is empty.
    pub(crate) fn finish(self, too_large: bool) -> Result<Option<Box<FieldSection>>, Fault> {
        match self.fault {
            Some(fault) => Err(fault),
            None if too_large => Err(Fault::TrailersTooLarge),
            None => Ok((!self.section.is_empty()).then(|| Box::new(self.section))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_one_number_of_digits() {
        let cases: &[(&[u8], Result<u64, Fault>)] = &[
            (b"0", Ok(0)),
            (b"42", Ok(42)),
            (b"18446744073709551614", Ok(u64::MAX - 1)),
            (b"18446744073709551615", Err(Fault::ContentLength)),
            (b"18446744073709551616", Err(Fault::ContentLength)),
            (b"", Err(Fault::ContentLength)),
            (b"+1", Err(Fault::ContentLength)),
            (b"1,1", Err(Fault::ContentLength)),
        ];
        for (value, want) in cases {
            assert_eq!(content_length(None, value), *want, "{}", value.escape_ascii());
        }
        assert_eq!(content_length(Some(1), b"1"), Err(Fault::ContentLength));
    }

    fn field<'a>(name: &'a [u8], value: &'a [u8], well_formed: bool) -> Field<'a> {
        Field { name, value, token: Token::of(name), well_formed, never_indexed: false }
    }

    #[test]
    fn fields_of_a_connection_and_malformed_ones_are_faults() {
        let cases: &[(&str, &str, bool, Result<(), Fault>)] = &[
            ("accept", "*/*", true, Ok(())),
            ("Accept", "*/*", false, Err(Fault::FieldMalformed)),
            (":what", "x", false, Err(Fault::PseudoUnknown)),
            ("connection", "close", true, Err(Fault::FieldOfConnection)),
            ("keep-alive", "1", true, Err(Fault::FieldOfConnection)),
            ("proxy-connection", "x", true, Err(Fault::FieldOfConnection)),
            ("transfer-encoding", "chunked", true, Err(Fault::FieldOfConnection)),
            ("upgrade", "h2c", true, Err(Fault::FieldOfConnection)),
            ("te", "trailers", true, Ok(())),
            ("te", "gzip", true, Err(Fault::FieldOfConnection)),
            ("te", "trailers, gzip", true, Err(Fault::FieldOfConnection)),
        ];
        for (name, value, well_formed, want) in cases {
            assert_eq!(check(&field(name.as_bytes(), value.as_bytes(), *well_formed)), *want, "{name}");
        }
    }

    #[test]
    fn trailers_have_no_pseudo_header_fields_and_none_that_belongs_to_heads() {
        let mut trailers = Trailers::default();
        trailers.field(field(b"digest", b"d", true));
        trailers.field(field(b"content-length", b"1", true));
        let section = trailers.finish(false).expect("no fault").expect("one field");
        assert_eq!(section.iter().collect::<Vec<_>>(), [(&b"digest"[..], &b"d"[..])]);
        let mut trailers = Trailers::default();
        trailers.field(field(b":path", b"/", true));
        assert!(matches!(trailers.finish(false), Err(Fault::PseudoInTrailers)));
        assert!(matches!(Trailers::default().finish(false), Ok(None)));
        assert!(matches!(Trailers::default().finish(true), Err(Fault::TrailersTooLarge)));
    }
}
