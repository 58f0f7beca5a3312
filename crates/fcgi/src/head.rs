//! Heads of CGI responses (RFC 3875 §6.2, §6.3): lines that end with LF or CRLF, and an empty one.
//!
//! A head is refused unless names are tokens and values have no control characters: an application cannot end
//! a line that this server writes.

use crate::fault::Fault;
use crate::limits::Limits;
use hayami_http::{FieldSection, Known, ResponseHead, Span, Status, field};

/// The properties of a head apart from its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// Content-Length.
    pub(crate) length: Option<u64>,
}

/// The index after the empty line, searched from `from` on; `from` is at most two bytes past the end of the
/// last search.
pub(crate) fn end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut line = from;
    while let Some(lf) = memchr::memchr(b'\n', &bytes[line..]) {
        let before = &bytes[..line + lf];
        line += lf + 1;
        let before = before.strip_suffix(b"\r").unwrap_or(before);
        if before.is_empty() || before.ends_with(b"\n") {
            return Some(line);
        }
    }
    None
}

/// Reads a whole head, its empty line included, into `head`. The Status field becomes its status and stays
/// among the fields: without it, a Location may mean a redirect inside the server (RFC 3875 §6.2.2).
pub(crate) fn parse(bytes: &[u8], limits: &Limits, head: &mut ResponseHead) -> Result<Said, Fault> {
    let fields = head.own_all();
    fields.clear();
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let start = at;
        at += line.len();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        if fields.len() >= usize::from(limits.fields) {
            return Err(Fault::TooManyFields);
        }
        let (name, value) = field(line, start)?;
        fields.push_known_span(name, value, Known::of(name.of(bytes)));
    }
    fields.set_bytes(bytes);
    if fields.is_empty() {
        return Err(Fault::EmptyHead);
    }
    let (status, said) = (status(fields)?, Said { length: length(fields)? });
    head.set_status(status);
    Ok(said)
}

/// The spans of name and value of a line that begins at `start`.
fn field(line: &[u8], start: usize) -> Result<(Span, Span), Fault> {
    let colon = memchr::memchr(b':', line).ok_or(Fault::MissingColon)?;
    let (name, rest) = (&line[..colon], &line[colon + 1..]);
    if !field::is_token(name) {
        return Err(Fault::FieldName);
    }
    if rest.iter().any(|byte| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f) {
        return Err(Fault::FieldValue);
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let from = rest.iter().position(|byte| !is_space(byte)).unwrap_or(rest.len());
    let to = rest.iter().rposition(|byte| !is_space(byte)).map_or(from, |last| last + 1);
    let value = start + colon + 1;
    Ok((Span::new(start, start + colon), Span::new(value + from, value + to)))
}

/// RFC 3875 §6.3.3: the Status field; without one 302 if there is a Location (§6.2.3), else 200.
fn status(fields: &FieldSection) -> Result<Status, Fault> {
    let mut lines = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"status"));
    let Some((_, value)) = lines.next() else {
        let moved = fields.get(Known::Location).is_some();
        return Ok(if moved { Status::FOUND } else { Status::OK });
    };
    if lines.next().is_some() {
        return Err(Fault::RepeatedStatus);
    }
    let digits = value.first_chunk::<3>().ok_or(Fault::MalformedStatus)?;
    let ends = matches!(value.get(3), None | Some(b' ' | b'\t'));
    let code = decimal(digits).filter(|_| ends).and_then(|code| Status::new(code as u16));
    // CGI has no interim responses.
    code.filter(|status| !status.is_informational()).ok_or(Fault::MalformedStatus)
}

fn length(fields: &FieldSection) -> Result<Option<u64>, Fault> {
    let mut lines = fields.get_all(Known::ContentLength);
    let Some(value) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        return Err(Fault::RepeatedLength);
    }
    decimal(value).map(Some).ok_or(Fault::MalformedLength)
}

/// Digits alone (RFC 9110 §8.6), at most 64 bits.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, length, fields.
    type Parsed = (u16, Option<u64>, Vec<(String, String)>);

    fn parsed(head: &str) -> Result<Parsed, Fault> {
        let (bytes, mut response) = (head.as_bytes(), ResponseHead::new(Status::OK));
        assert_eq!(end(bytes, 0), Some(bytes.len()), "{head:?}");
        let said = parse(bytes, &Limits { fields: 4, ..Limits::default() }, &mut response)?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let fields = response.iter().map(|(name, value)| (text(name), text(value)));
        Ok((response.status().code(), said.length, fields.collect()))
    }

    #[test]
    fn heads_have_a_status_fields_and_maybe_a_length() {
        type Case<'a> = (&'a str, u16, Option<u64>, &'a [(&'a str, &'a str)]);
        let cases: &[Case<'_>] = &[
            ("Content-Type: text/html\r\n\r\n", 200, None, &[("Content-Type", "text/html")]),
            ("a:b\n\n", 200, None, &[("a", "b")]),
            ("a: \t b c\t \r\nb:\n\r\n", 200, None, &[("a", "b c"), ("b", "")]),
            ("Status: 404 Not Found\n\n", 404, None, &[("Status", "404 Not Found")]),
            ("status: 299\n\n", 299, None, &[("status", "299")]),
            ("Location: /a\n\n", 302, None, &[("Location", "/a")]),
            ("Location: /a\nStatus: 201\n\n", 201, None, &[("Location", "/a"), ("Status", "201")]),
            ("Content-Length: 12\n\n", 200, Some(12), &[("Content-Length", "12")]),
            ("x: \u{e9}\n\n", 200, None, &[("x", "\u{e9}")]),
        ];
        for (head, status, length, fields) in cases {
            let fields = fields.iter().map(|(name, value)| (name.to_string(), value.to_string()));
            assert_eq!(parsed(head), Ok((*status, *length, fields.collect())), "{head:?}");
        }
    }

    #[test]
    fn what_could_split_a_response_or_mislead_about_its_end_is_refused() {
        let cases = [
            ("\n", Fault::EmptyHead),
            ("\r\n", Fault::EmptyHead),
            ("a\n\n", Fault::MissingColon),
            ("HTTP/1.1 200 OK\n\n", Fault::MissingColon),
            (": b\n\n", Fault::FieldName),
            ("a : b\n\n", Fault::FieldName),
            ("a: b\n c: d\n\n", Fault::FieldName),
            ("a\rb: c\n\n", Fault::FieldName),
            ("a: b\rc: d\n\n", Fault::FieldValue),
            ("a: b\0\n\n", Fault::FieldValue),
            ("a: b\r\r\n\n", Fault::FieldValue),
            ("a: \x7f\n\n", Fault::FieldValue),
            ("Status: 100\n\n", Fault::MalformedStatus),
            ("Status: 20\n\n", Fault::MalformedStatus),
            ("Status: 2000\n\n", Fault::MalformedStatus),
            ("Status: +20 x\n\n", Fault::MalformedStatus),
            ("Status: 200\nStatus: 404\n\n", Fault::RepeatedStatus),
            ("Content-Length: 1, 1\n\n", Fault::MalformedLength),
            ("Content-Length: -1\n\n", Fault::MalformedLength),
            ("Content-Length: 18446744073709551616\n\n", Fault::MalformedLength),
            ("Content-Length: 1\ncontent-length: 1\n\n", Fault::RepeatedLength),
            ("a: 1\nb: 2\nc: 3\nd: 4\ne: 5\n\n", Fault::TooManyFields),
        ];
        for (head, fault) in cases {
            assert_eq!(parsed(head), Err(fault), "{head:?}");
        }
    }

    #[test]
    fn a_head_ends_at_its_first_empty_line() {
        let cases: [(&str, Option<usize>); 8] = [
            ("a: b\n\nc", Some(6)),
            ("a: b\r\n\r\nc\n\n", Some(8)),
            ("a: b\r\n\n", Some(7)),
            ("a: b\n\r\n", Some(7)),
            ("\nx", Some(1)),
            ("\r\nx", Some(2)),
            ("a: b\n\r", None),
            ("a: b\n", None),
        ];
        for (bytes, want) in cases {
            assert_eq!(end(bytes.as_bytes(), 0), want, "{bytes:?}");
        }
    }
}
