//! The protocols that serve one call of a connection at a time. Whatever they are on the wire, a response's parts
//! come as HTTP/1.1's.

use super::cause::Cause;
use super::fastcgi::{ErrorSink, FastCgi};
use super::origin::Protocol;
use hayami_h1::{Client, ClientEvent, ClientReceived, CutShort, Limits, RequestContent};
use hayami_http::{FieldSection, ResponseHead};

/// What makes bytes of requests, and responses of bytes.
pub(super) enum Engine {
    /// RFC 9112.
    Http1(Client),
    /// FastCGI 1.0.
    FastCgi(Box<FastCgi>),
}

impl Engine {
    /// That of a new connection.
    pub(super) fn new(protocol: Protocol) -> Self {
        match protocol {
            Protocol::FastCgi => Self::FastCgi(Box::default()),
            _ => Self::Http1(Client::new()),
        }
    }

    /// That of a new connection of the same protocol.
    pub(super) fn anew(&self) -> Self {
        match self {
            Self::Http1(_) => Self::Http1(Client::new()),
            Self::FastCgi(_) => Self::FastCgi(Box::default()),
        }
    }

    /// What the upstream says beside its response goes to `errors`, if its protocol knows such words.
    #[inline]
    pub(super) fn tell(&mut self, errors: Option<&ErrorSink>) {
        match self {
            Self::Http1(_) => {}
            Self::FastCgi(fastcgi) => fastcgi.tell(errors.cloned()),
        }
    }

    /// Writes a request's head; with `last`, the connection serves no other one.
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

    /// Writes the head of a request that asks to go on in another protocol, which only HTTP/1.1 can.
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

    /// Makes room for what is said in front of a piece of content.
    #[inline]
    pub(super) fn begin_chunk(&mut self, out: &mut Vec<u8>) -> usize {
        match self {
            Self::Http1(client) => client.begin_chunk(out),
            Self::FastCgi(fastcgi) => fastcgi.begin_chunk(out),
        }
    }

    /// What was appended since `mark` is a piece of content.
    #[inline]
    pub(super) fn end_chunk(&mut self, mark: usize, out: &mut Vec<u8>) {
        match self {
            Self::Http1(client) => client.end_chunk(mark, out),
            Self::FastCgi(fastcgi) => fastcgi.end_chunk(mark, out),
        }
    }

    /// The request's content is complete.
    ///
    /// # Errors
    /// It is shorter than was said.
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

    /// As [`Client::receive`].
    ///
    /// # Errors
    /// The rule that the upstream broke.
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

    /// As [`Client::receive_eof`].
    ///
    /// # Errors
    /// The response is not complete.
    pub(super) fn receive_eof(&mut self) -> Result<ClientEvent, Cause> {
        match self {
            Self::Http1(client) => client.receive_eof().map_err(Cause::from),
            Self::FastCgi(fastcgi) => fastcgi.receive_eof(),
        }
    }

    /// The trailers of the response that has ended.
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

    /// Whether the response leaves the connection open.
    #[inline]
    pub(super) fn persists(&self) -> bool {
        match self {
            Self::Http1(client) => client.persists(),
            Self::FastCgi(fastcgi) => fastcgi.persists(),
        }
    }

    /// Whether content of known length has other bytes in between.
    #[inline]
    pub(super) fn is_framed(&self) -> bool {
        matches!(self, Self::FastCgi(_))
    }

    /// Whether the rest of a response that is chunked, or [`is_framed`](Self::is_framed), is in the input.
    pub(super) fn is_complete_in(&self, input: &[u8]) -> bool {
        match self {
            Self::Http1(_) => chunks_end_with(input),
            Self::FastCgi(fastcgi) => fastcgi.is_complete_in(input),
        }
    }
}

/// Whether these are chunks up to the last one, without extensions or trailers (RFC 9112 §7.1). It is only a guess that
/// saves time: the engine decides what they are.
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

/// Digits of chunk sizes that fit into an input buffer, and the byte behind them.
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
