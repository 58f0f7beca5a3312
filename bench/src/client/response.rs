//! Just enough of HTTP/1.1 to check the responses of a race: status 200, the Content-Length
//! that was expected, and whether the server announced to close. Nothing here is lenient; a
//! server that answers otherwise (chunked, say) counts as broken, and the race says so.

use memchr::memmem;

/// A response that is not what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The status is not 200.
    Status,
    /// No Content-Length, or another one.
    Length,
    /// The head does not end within 16 KiB.
    Head,
}

/// More than any server of a race sends.
const HEAD_LIMIT: usize = 16 * 1024;

/// What a response head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The value of Content-Length.
    pub(crate) content: u64,
    /// Whether the field `Connection: close` is there.
    pub(crate) close: bool,
}

/// The responses of one connection, fed as they come.
#[derive(Debug)]
pub(crate) struct Responses {
    state: State,
    announced_close: bool,
}

#[derive(Debug)]
enum State {
    /// In a head; what came of it so far.
    Head(Vec<u8>),
    /// In content; octets to come.
    Content(u64),
}

impl Responses {
    pub(crate) fn new() -> Self {
        Self { state: State::Head(Vec::new()), announced_close: false }
    }

    /// Whether the last response announced that the server closes, and is complete.
    pub(crate) fn announced_close(&self) -> bool {
        self.announced_close && matches!(self.state, State::Head(_))
    }

    /// Takes octets, gives the number of responses they completed.
    ///
    /// # Errors
    /// The first response that is not a 200 with `expected` octets of content.
    pub(crate) fn feed(&mut self, mut octets: &[u8], expected: u64) -> Result<usize, Fault> {
        let mut complete = 0;
        while !octets.is_empty() {
            octets = match &mut self.state {
                State::Head(_) => self.feed_head(octets, expected)?,
                State::Content(left) => {
                    let taken = (*left).min(octets.len() as u64);
                    *left -= taken;
                    &octets[taken as usize..]
                }
            };
            if matches!(self.state, State::Content(0)) {
                self.state = State::Head(Vec::new());
                complete += 1;
            }
        }
        Ok(complete)
    }

    /// Takes the rest of a head, gives what follows it.
    fn feed_head<'o>(&mut self, octets: &'o [u8], expected: u64) -> Result<&'o [u8], Fault> {
        let State::Head(kept) = &mut self.state else { return Ok(octets) };
        let (head, rest);
        if kept.is_empty()
            && let Some(end) = memmem::find(octets, b"\r\n\r\n")
        {
            (head, rest) = (parse_head(&octets[..end + 4])?, &octets[end + 4..]);
        } else {
            let before = kept.len();
            kept.extend_from_slice(&octets[..octets.len().min(HEAD_LIMIT)]);
            match memmem::find(kept, b"\r\n\r\n") {
                Some(end) => (head, rest) = (parse_head(&kept[..end + 4])?, &octets[end + 4 - before..]),
                None if kept.len() >= HEAD_LIMIT => return Err(Fault::Head),
                None => return Ok(&[]),
            }
        }
        if head.content != expected {
            return Err(Fault::Length);
        }
        self.announced_close = head.close;
        self.state = State::Content(head.content);
        Ok(rest)
    }
}

/// Reads a whole head, its empty line included.
///
/// # Errors
/// The status is not 200 or there is no Content-Length.
pub(crate) fn parse_head(head: &[u8]) -> Result<Head, Fault> {
    let status = head.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(1..5));
    if status != Some(b" 200") {
        return Err(Fault::Status);
    }
    let (mut content, mut close) = (None, false);
    let mut lines = head.split(|octet| *octet == b'\n');
    lines.next();
    for line in lines {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        // RFC 9110 §5.1: field names are case-insensitive; so is `close` (RFC 9110 §7.6.1).
        if name.eq_ignore_ascii_case(b"content-length") {
            content = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        } else if name.eq_ignore_ascii_case(b"connection") {
            close |= value.eq_ignore_ascii_case(b"close");
        }
    }
    content.map(|content| Head { content, close }).ok_or(Fault::Length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\n\r\nhello";

    fn whole(wire: &[u8]) -> Result<usize, Fault> {
        Responses::new().feed(wire, 5)
    }

    fn by_octet(wire: &[u8]) -> Result<usize, Fault> {
        let mut responses = Responses::new();
        wire.iter().map(|octet| responses.feed(&[*octet], 5)).sum()
    }

    #[test]
    fn responses_are_counted_and_checked_however_they_are_split() {
        let cases: &[(Vec<u8>, Result<usize, Fault>)] = &[
            (OK.to_vec(), Ok(1)),
            (OK.repeat(16), Ok(16)),
            (OK[..OK.len() - 1].to_vec(), Ok(0)),
            (b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello".to_vec(), Err(Fault::Status)),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!".to_vec(), Err(Fault::Length)),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(), Err(Fault::Length)),
            (b"x".repeat(HEAD_LIMIT), Err(Fault::Head)),
        ];
        for (wire, expected) in cases {
            assert_eq!(whole(wire), *expected, "{:?} whole", wire.escape_ascii().to_string());
            assert_eq!(by_octet(wire), *expected, "{:?} by octet", wire.escape_ascii().to_string());
        }
    }

    #[test]
    fn an_announced_close_is_seen() {
        let mut responses = Responses::new();
        assert_eq!(responses.feed(OK, 5), Ok(1));
        assert!(!responses.announced_close());
        let closing = b"HTTP/1.0 200 OK\r\nConnection: Close\r\nContent-Length: 5\r\n\r\nhel";
        assert_eq!(responses.feed(closing, 5), Ok(0));
        assert!(!responses.announced_close(), "not before its content is complete");
        assert_eq!(responses.feed(b"lo", 5), Ok(1));
        assert!(responses.announced_close());
    }
}
