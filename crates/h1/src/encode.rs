//! Writes heads: status lines and field lines.

use hayami_http::{FieldSection, Known, ResponseHead, Status};

/// The framing and connection fields, which only the engine writes (RFC 9112 §6, §9.6).
const ENGINE_FIELDS: [Known; 3] = [Known::Connection, Known::ContentLength, Known::TransferEncoding];

/// Writes the status line (RFC 9112 §4). The version is the server's, not the request's (RFC 9110 §6.2).
#[inline(always)] // 20 instructions for each response
pub(crate) fn status_line(status: Status, out: &mut Vec<u8>) {
    match ready_line(status) {
        Some(line) => out.extend_from_slice(line),
        None => other_status_line(status, out),
    }
}

macro_rules! ready_lines {
    ($($code:literal $reason:literal,)*) => {
        fn ready_line(status: Status) -> Option<&'static [u8]> {
            Some(match status.code() {
                $($code => concat!("HTTP/1.1 ", $code, " ", $reason, "\r\n").as_bytes(),)*
                _ => return None,
            })
        }
    };
}

ready_lines! {
    200 "OK",
    204 "No Content",
    206 "Partial Content",
    301 "Moved Permanently",
    302 "Found",
    304 "Not Modified",
    400 "Bad Request",
    403 "Forbidden",
    404 "Not Found",
    405 "Method Not Allowed",
    500 "Internal Server Error",
    502 "Bad Gateway",
    503 "Service Unavailable",
}

fn other_status_line(status: Status, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 ");
    decimal(u64::from(status.code()), out);
    // The space stays even without a reason phrase (RFC 9112 §4).
    out.push(b' ');
    out.extend_from_slice(status.reason().as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes the field lines of a head, without those that the engine writes itself.
#[inline(always)] // as status_line
pub(crate) fn head_fields(head: &ResponseHead, out: &mut Vec<u8>) {
    for section in head.sections() {
        fields(section, |_| true, out);
    }
}

/// Writes the lines of a section that `keep` wants, without those that the engine writes itself. A
/// section prepared as a whole is copied as a whole.
#[inline]
pub(crate) fn fields(section: &FieldSection, keep: impl Fn(&[u8]) -> bool, out: &mut Vec<u8>) {
    if section.is_empty() {
        return;
    }
    let clean = ENGINE_FIELDS.iter().all(|known| section.get(*known).is_none());
    match section.wire_form() {
        Some(lines) if clean && section.iter().all(|(name, _)| keep(name)) => out.extend_from_slice(lines),
        _ => kept_lines(section, keep, out),
    }
}

fn kept_lines(section: &FieldSection, keep: impl Fn(&[u8]) -> bool, out: &mut Vec<u8>) {
    for (name, value) in section.iter() {
        if keep(name) && !Known::of(name).is_some_and(|known| ENGINE_FIELDS.contains(&known)) {
            field_line(name, value, out);
        }
    }
}

/// Writes one field line.
pub(crate) fn field_line(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Writes a Content-Length line.
pub(crate) fn content_length(length: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"content-length: ");
    decimal(length, out);
    out.extend_from_slice(b"\r\n");
}

fn decimal(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_http::Span;

    #[test]
    fn ready_lines_have_the_registered_reasons() {
        for code in 100..1000 {
            let status = Status::new(code).expect("three digits");
            let (mut ready, mut other) = (Vec::new(), Vec::new());
            status_line(status, &mut ready);
            other_status_line(status, &mut other);
            assert_eq!(ready, other);
        }
    }

    #[test]
    fn sections_that_a_parser_made_are_written_line_by_line() {
        let bytes = b"A:1\nConnection:x\nB:\t2 \n";
        let mut section = FieldSection::default();
        section.reset_to(bytes);
        section.push_span(Span::new(0, 1), Span::new(2, 3));
        section.push_span(Span::new(4, 14), Span::new(15, 16));
        section.push_span(Span::new(17, 18), Span::new(20, 21));
        let mut out = Vec::new();
        fields(&section, |_| true, &mut out);
        assert_eq!(out, b"A: 1\r\nB: 2\r\n");
        out.clear();
        fields(&section, |name| name != b"A", &mut out);
        assert_eq!(out, b"B: 2\r\n");
    }
}
