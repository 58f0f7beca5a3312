//! The request line: `method SP request-target SP HTTP-version` (RFC 9112 §3).
//!
//! Only single spaces are accepted and nothing is repaired: programs that repair differently see different
//! requests.

use crate::bytes::{target_end, token_end};
use crate::fault::{Fault, Stop};
use hayami_http::authority::split_authority;
use hayami_http::request::RequestLine;
use hayami_http::{Span, TargetForm, Version};

/// Parses the request line at the start of `bytes`; returns it and the index after its line end.
///
/// Anything in an incomplete line may be reported as a fault; the caller makes sure that only complete lines
/// are judged.
pub(crate) fn parse(bytes: &[u8]) -> Result<(RequestLine, usize), Stop> {
    let method_end = token_end(bytes, 0);
    match bytes.get(method_end) {
        Some(b' ') if method_end > 0 => {}
        Some(_) => return Err(Fault::MalformedMethod.into()),
        None => return Err(Stop::Incomplete),
    }
    let start = method_end + 1;
    let end = target_end(bytes, start);
    match bytes.get(end) {
        Some(b' ') if end > start => {}
        Some(byte) => return Err(bad_target(*byte, end == start).into()),
        None => return Err(Stop::Incomplete),
    }
    let (version, next) = version_and_line_end(bytes, end + 1)?;
    let mut line = RequestLine { method: Span::new(0, method_end), version, ..RequestLine::default() };
    if bytes[start] == b'/' && &bytes[..method_end] != b"CONNECT" {
        split_target(&mut line, bytes, start, start, end);
    } else {
        other_form(&mut line, bytes, start, end)?;
    }
    Ok((line, next))
}

#[cold]
fn bad_target(byte: u8, empty: bool) -> Fault {
    match byte {
        b'#' => Fault::TargetFragment,
        b' ' => Fault::MissingTarget,
        b'\r' | b'\n' if empty => Fault::MissingTarget,
        // HTTP/0.9 had no version (RFC 9112 §2.3); no client uses it today.
        b'\r' | b'\n' => Fault::MissingVersion,
        _ => Fault::TargetCharacter,
    }
}

fn version_and_line_end(bytes: &[u8], at: usize) -> Result<(Version, usize), Stop> {
    match bytes[at..].first_chunk::<10>() {
        Some(b"HTTP/1.1\r\n") => Ok((Version::Http11, at + 10)),
        _ => other_version(bytes, at),
    }
}

/// Versions above 1.1 are answered as 1.1: their minor number promises that this works (RFC 9110 §2.5).
fn other_version(bytes: &[u8], at: usize) -> Result<(Version, usize), Stop> {
    let rest = &bytes[at..];
    let Some(lf) = memchr::memchr(b'\n', rest) else { return Err(Stop::Incomplete) };
    let text = rest[..lf].strip_suffix(b"\r").unwrap_or(&rest[..lf]);
    let version = match text {
        b"HTTP/1.0" => Version::Http10,
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0'..=b'9'] => Version::Http11,
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => {
            return Err(Fault::UnsupportedVersion.into());
        }
        b"" => return Err(Fault::MissingVersion.into()),
        _ if !text.windows(4).any(|w| w.eq_ignore_ascii_case(b"HTTP")) => return Err(Fault::NotHttp.into()),
        _ => return Err(Fault::MalformedVersion.into()),
    };
    Ok((version, at + lf + 1))
}

fn split_target(line: &mut RequestLine, bytes: &[u8], start: usize, path_start: usize, end: usize) {
    line.target = Span::new(start, end);
    let question = memchr::memchr(b'?', &bytes[path_start..end]).map(|i| path_start + i);
    line.path = Span::new(path_start, question.unwrap_or(end));
    line.query = question.map(|q| Span::new(q + 1, end));
}

/// Authority-form is CONNECT's only form and only CONNECT's; asterisk-form is only OPTIONS's
/// (RFC 9112 §3.2.3, §3.2.4).
fn other_form(line: &mut RequestLine, bytes: &[u8], start: usize, end: usize) -> Result<(), Fault> {
    line.target = Span::new(start, end);
    match (line.method.of(bytes), &bytes[start..end]) {
        (b"CONNECT", target) => {
            line.form = TargetForm::Authority;
            line.authority = Some(line.target);
            // RFC 9110 §9.3.6: the port is not optional here.
            match split_authority(target) {
                Some((_, Some(_))) => Ok(()),
                _ => Err(Fault::TargetAuthority),
            }
        }
        (b"OPTIONS", b"*") => {
            line.form = TargetForm::Asterisk;
            Ok(())
        }
        (_, target) => absolute_form(line, bytes, start, scheme_len(target)?, end),
    }
}

/// Length of `http://` or `https://`, in any case (RFC 9110 §4.2.3); other schemes are not served here.
fn scheme_len(target: &[u8]) -> Result<usize, Fault> {
    let has = |scheme: &[u8]| target.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme));
    match () {
        () if has(b"http://") => Ok(7),
        () if has(b"https://") => Ok(8),
        () => Err(Fault::TargetForm),
    }
}

fn absolute_form(
    line: &mut RequestLine,
    bytes: &[u8],
    start: usize,
    scheme: usize,
    end: usize,
) -> Result<(), Fault> {
    let host = start + scheme;
    let path = memchr::memchr2(b'/', b'?', &bytes[host..end]).map_or(end, |i| host + i);
    line.form = TargetForm::Absolute;
    line.authority = Some(Span::new(host, path));
    split_target(line, bytes, start, path, end);
    match split_authority(&bytes[host..path]) {
        Some(_) => Ok(()),
        // RFC 9110 §4.2.4: userinfo is used to deceive readers.
        None if bytes[host..path].contains(&b'@') => Err(Fault::TargetUserinfo),
        None => Err(Fault::TargetAuthority),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TargetForm::{Absolute, Asterisk, Authority, Origin};

    #[test]
    fn each_form_is_split_into_its_parts() {
        type Parts = (TargetForm, &'static str, Option<&'static str>, Option<&'static str>);
        let cases: [(&str, Parts); 13] = [
            ("GET /", (Origin, "/", None, None)),
            ("GET /a?b", (Origin, "/a", Some("b"), None)),
            ("GET /?", (Origin, "/", Some(""), None)),
            ("GET /a?b?c/d", (Origin, "/a", Some("b?c/d"), None)),
            ("GET //a:1/b", (Origin, "//a:1/b", None, None)),
            ("GET http://a", (Absolute, "", None, Some("a"))),
            ("GET http://a:1/b", (Absolute, "/b", None, Some("a:1"))),
            ("GET http://a?b", (Absolute, "", Some("b"), Some("a"))),
            ("GET https://a/?b", (Absolute, "/", Some("b"), Some("a"))),
            ("OPTIONS HTTPS://[::1]:1", (Absolute, "", None, Some("[::1]:1"))),
            ("OPTIONS *", (Asterisk, "", None, None)),
            ("OPTIONS /*", (Origin, "/*", None, None)),
            ("CONNECT a:1", (Authority, "", None, Some("a:1"))),
        ];
        for (start, want) in cases {
            let wire = format!("{start} HTTP/1.1\r\n");
            let (line, next) = parse(wire.as_bytes()).expect(start);
            let text = |span: Span| str::from_utf8(span.of(wire.as_bytes())).expect("ASCII");
            assert_eq!((line.form, text(line.path), line.query.map(text), line.authority.map(text)), want);
            assert_eq!(format!("{} {}", text(line.method), text(line.target)), start);
            assert_eq!((line.version, next), (Version::Http11, wire.len()));
        }
    }

    #[test]
    fn the_beginning_of_a_line_is_incomplete() {
        let wire = b"OPTIONS https://a:1/b?c HTTP/1.0\r\n";
        for end in 0..wire.len() {
            let begun = parse(&wire[..end]).map(drop);
            assert_eq!(begun, Err(Stop::Incomplete), "{}", wire[..end].escape_ascii());
        }
        assert_eq!(parse(&[&wire[..], b"a"].concat()).map(|(_, next)| next), Ok(wire.len()));
    }
}
