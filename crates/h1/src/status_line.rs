//! The status line: `HTTP-version SP status-code SP [reason-phrase]` (RFC 9112 §4).

use crate::bytes::value_end;
use crate::fault::{Fault, Stop};
use hayami_http::{Status, Version};

/// Parses the status line at the start of `bytes`; returns version, status and the index after its line end.
/// An incomplete line is not validated.
pub(crate) fn parse(bytes: &[u8]) -> Result<(Version, Status, usize), Stop> {
    let lf = memchr::memchr(b'\n', bytes).ok_or(Stop::Incomplete)?;
    let line = bytes[..lf].strip_suffix(b"\r").unwrap_or(&bytes[..lf]);
    let (version, rest) = version(line)?;
    let (status, reason) = match rest {
        // Some servers leave out the space together with the reason; this causes no ambiguity.
        [a, b, c] => (code([*a, *b, *c]), &[][..]),
        [a, b, c, b' ', reason @ ..] => (code([*a, *b, *c]), reason),
        _ => (None, &[][..]),
    };
    match status {
        Some(status) if value_end(reason, 0) == reason.len() => Ok((version, status, lf + 1)),
        _ => Err(Fault::MalformedStatusLine.into()),
    }
}

fn version(line: &[u8]) -> Result<(Version, &[u8]), Fault> {
    match line {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9', b' ', rest @ ..] => {
            // RFC 9110 §2.5: higher minor versions are read as the highest one known.
            Ok((if *minor == b'0' { Version::Http10 } else { Version::Http11 }, rest))
        }
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9', b' ', ..] => {
            Err(Fault::UnsupportedVersion)
        }
        _ => Err(Fault::MalformedStatusLine),
    }
}

/// RFC 9110 §15: three digits, the first of which is at least 1.
fn code(digits: [u8; 3]) -> Option<Status> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
    Status::new(digit(digits[0])? * 100 + digit(digits[1])? * 10 + digit(digits[2])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_are_read_strictly() {
        type Parsed = Result<(Version, Status, usize), Stop>;
        let bad = Err(Stop::Fault(Fault::MalformedStatusLine));
        let ok = |version, code, len| Ok((version, Status::new(code).unwrap(), len));
        let cases: [(&[u8], Parsed); 17] = [
            (b"HTTP/1.1 200 OK\r\n", ok(Version::Http11, 200, 17)),
            (b"HTTP/1.1 200 OK\nx", ok(Version::Http11, 200, 16)),
            (b"HTTP/1.0 404 Not Found\r\n", ok(Version::Http10, 404, 24)),
            (b"HTTP/1.9 599 \r\n", ok(Version::Http11, 599, 15)),
            (b"HTTP/1.1 204\r\n", ok(Version::Http11, 204, 14)),
            (b"HTTP/1.1 200 \xe9t\xe9\t!\r\n", ok(Version::Http11, 200, 20)),
            (b"HTTP/1.1 200 OK", Err(Stop::Incomplete)),
            (b"HTTP/2.0 200 OK\r\n", Err(Stop::Fault(Fault::UnsupportedVersion))),
            (b"HTTP/1.1  200 OK\r\n", bad),
            (b"HTTP/1.1 099 OK\r\n", bad),
            (b"HTTP/1.1 20 OK\r\n", bad),
            (b"HTTP/1.1 2000 OK\r\n", bad),
            (b"HTTP/1.1 +20 OK\r\n", bad),
            (b"HTTP/1.1 200 O\rK\r\n", bad),
            (b"HTTP/1.1 200 O\0K\r\n", bad),
            (b"http/1.1 200 OK\r\n", bad),
            (b"ICY 200 OK\r\n", bad),
        ];
        for (line, want) in cases {
            assert_eq!(parse(line), want, "{}", line.escape_ascii());
        }
    }
}
