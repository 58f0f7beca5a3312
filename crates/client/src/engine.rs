//! The protocols with one call per connection at a time. Whatever the wire format, the parts of a response
//! have HTTP/1.1's types.

use super::cause::Cause;
use super::fastcgi::{ErrorSink, FastCgi};
use super::origin::Protocol;
use hayami_h1::{Client, ClientEvent, ClientReceived, CutShort, Limits, RequestContent};
use hayami_http::{FieldSection, ResponseHead};

/// Encodes requests and decodes responses.
pub(super) enum Engine {
    /// RFC 9112.
    Http1(Client),
    /// FastCGI 1.0.
    FastCgi(Box<FastCgi>),
}

impl Engine {
    /// The engine of a new connection.
    pub(super) fn new(protocol: Protocol) -> Self {
        match protocol {
            Protocol::FastCgi => Self::FastCgi(Box::default()),
            _ => Self::Http1(Client::new()),
        }
    }

    /// The engine of a new connection with the same protocol.
    pub(super) fn anew(&self) -> Self {
        match self {
            Self::Http1(_) => Self::Http1(Client::new()),
            Self::FastCgi(_) => Self::FastCgi(Box::default()),
        }
    }

    /// Directs the application's standard error to `errors`, if the protocol has one.
    #[inline]
    pub(super) fn tell(&mut self, errors: Option<&ErrorSink>) {
        match self {
            Self::Http1(_) => {}
            Self::FastCgi(fastcgi) => fastcgi.tell(errors.cloned()),
        }
    }

    /// Writes a request head; `last` makes this the last request on the connection.
    #[inline]
    pub(super) fn send_head(
        &mut self,
        last: bool,
        (method, target, fields): (&[u8], &[u8], &FieldSection),
        content: RequestContent,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Http1(client) => {
                let send = if last { Client::send_last_head } else { Client::send_head };
                let written = send(client, method, target, fields, content, out);
                debug_assert!(written.is_ok(), "the connection is new, or fit");
            }
            Self::FastCgi(fastcgi) => fastcgi.send_head(last, (method, fields), content, out),
        }
    }

    /// Writes the head of an upgrade request, which only HTTP/1.1 supports.
    #[cold]
    pub(super) fn send_upgrade_head(
        &mut self,
        (method, target, fields): (&[u8], &[u8], &FieldSection),
        protocols: &[u8],
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Http1(client) => {
                let written = client.send_upgrade_head(method, target, fields, protocols, out);
                debug_assert!(written.is_ok(), "the connection is new, or fit");
            }
            Self::FastCgi(_) => {
                self.send_head(false, (method, target, fields), RequestContent::None, out);
            }
        }
    }

    /// Reserves room for the framing in front of a chunk of content.
    #[inline]
    pub(super) fn begin_chunk(&mut self, out: &mut Vec<u8>) -> usize {
        match self {
            Self::Http1(client) => client.begin_chunk(out),
            Self::FastCgi(fastcgi) => fastcgi.begin_chunk(out),
        }
    }

    /// Frames the bytes appended since `mark` as a chunk of content.
    #[inline]
    pub(super) fn end_chunk(&mut self, mark: usize, out: &mut Vec<u8>) {
        match self {
            Self::Http1(client) => client.end_chunk(mark, out),
            Self::FastCgi(fastcgi) => fastcgi.end_chunk(mark, out),
        }
    }

    /// Ends the request's content.
    ///
    /// # Errors
    /// The content is shorter than announced.
    #[inline]
    pub(super) fn send_end(
        &mut self,
        trailers: Option<&FieldSection>,
        out: &mut Vec<u8>,
    ) -> Result<(), CutShort> {
        match self {
            Self::Http1(client) => client.send_end(trailers, out),
            Self::FastCgi(fastcgi) => fastcgi.send_end(out),
        }
    }

    /// See [`Client::receive`].
    ///
    /// # Errors
    /// The upstream violated the protocol.
    #[inline]
    pub(super) fn receive(
        &mut self,
        limits: &Limits,
        input: &[u8],
        head: &mut ResponseHead,
    ) -> Result<ClientReceived, Cause> {
        match self {
            Self::Http1(client) => client.receive(limits, input, head).map_err(Cause::from),
            Self::FastCgi(fastcgi) => fastcgi.receive(limits, input, head),
        }
    }

    /// See [`Client::receive_eof`].
    ///
    /// # Errors
    /// The response is incomplete.
    pub(super) fn receive_eof(&mut self) -> Result<ClientEvent, Cause> {
        match self {
            Self::Http1(client) => client.receive_eof().map_err(Cause::from),
            Self::FastCgi(fastcgi) => fastcgi.receive_eof(),
        }
    }

    /// The trailers of the completed response.
    #[inline]
    pub(super) fn take_trailers(&mut self) -> Option<FieldSection> {
        match self {
            Self::Http1(client) => client.take_trailers(),
            Self::FastCgi(_) => None,
        }
    }

    /// Whether another request may be sent.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Http1(client) => client.is_idle(),
            Self::FastCgi(fastcgi) => fastcgi.is_idle(),
        }
    }

    /// Whether the connection stays open after the response.
    #[inline]
    pub(super) fn persists(&self) -> bool {
        match self {
            Self::Http1(client) => client.persists(),
            Self::FastCgi(fastcgi) => fastcgi.persists(),
        }
    }

    /// Whether content of known length is interspersed with framing.
    #[inline]
    pub(super) fn is_framed(&self) -> bool {
        matches!(self, Self::FastCgi(_))
    }

    /// Whether the input holds the rest of a response that is chunked or [`is_framed`](Self::is_framed).
    pub(super) fn is_complete_in(&self, input: &[u8]) -> bool {
        match self {
            Self::Http1(_) => chunks_end_with(input),
            Self::FastCgi(fastcgi) => fastcgi.is_complete_in(input),
        }
    }
}

/// Whether the input is a complete sequence of chunks without extensions or trailers (RFC 9112 §7.1). This is
/// only a fast-path guess; the engine does the real parsing.
fn chunks_end_with(mut input: &[u8]) -> bool {
    loop {
        let line = input.iter().take(MOST_DIGITS).position(|byte| *byte == b'\r');
        let Some(digits) = line.and_then(|end| str::from_utf8(&input[..end]).ok()) else { return false };
        let Ok(size) = usize::from_str_radix(digits, 16) else { return false };
        let end = size.saturating_add(digits.len() + 2);
        match (size, input.get(end..)) {
            (0, Some(rest)) => return rest == b"\r\n",
            (_, Some([b'\r', b'\n', rest @ ..])) => input = rest,
            _ => return false,
        }
    }
}

/// The maximum number of chunk-size digits for a chunk that fits the input buffer, plus one byte.
const MOST_DIGITS: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_whole_with_their_last_byte_only() {
        let whole: [&[u8]; 3] =
            [b"0\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n", b"1\r\na\r\n00A\r\n0123456789\r\n0\r\n\r\n"];
        for input in whole {
            assert!(chunks_end_with(input), "{}", input.escape_ascii());
            for end in 0..input.len() {
                assert!(!chunks_end_with(&input[..end]), "{}", input[..end].escape_ascii());
            }
        }
        let others: [&[u8]; 6] = [
            b"5\r\nhello\r\n0\r\nx: y\r\n\r\n",
            b"5;a\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhello\r\n0\r\n\r\nHTTP/1.1",
            b"5\r\nhello!\r\n0\r\n\r\n",
            b"ffffffffffffffff\r\n0\r\n\r\n",
            b"\r\n0\r\n\r\n",
        ];
        for input in others {
            assert!(!chunks_end_with(input), "{}", input.escape_ascii());
        }
    }
}
