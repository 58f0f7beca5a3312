//! Sends content, framed by length, in chunks, or by the end of the connection. Used by both roles.

use hayami_http::FieldSection;

/// The methods by which either role sends content. It has `outgoing` and `end_if_sent`.
macro_rules! content_methods {
    () => {
        /// Writes content, in chunks if need be. What exceeds the announced length, and all content of messages that
        /// have none, is dropped.
        pub fn send_content(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
            self.outgoing.content(bytes, out);
            self.end_if_sent();
        }

        /// Records that bytes of content of known length were sent by other means, by `sendfile` or from a shared
        /// buffer.
        pub fn content_sent(&mut self, bytes: u64) {
            self.outgoing.count(bytes);
            self.end_if_sent();
        }

        /// Starts a piece of content that its producer then appends to `out`; the returned mark goes to
        /// [`end_chunk`](Self::end_chunk). In chunked framing room for the chunk size is left.
        pub fn begin_chunk(&self, out: &mut Vec<u8>) -> usize {
            self.outgoing.begin(out)
        }

        /// Ends the piece begun at `mark`, whatever the framing: fills in the chunk size, or counts the bytes of a
        /// known length. An empty piece writes nothing.
        pub fn end_chunk(&mut self, mark: usize, out: &mut Vec<u8>) {
            self.outgoing.end(mark, out);
            self.end_if_sent();
        }
    };
}
pub(crate) use content_methods;

/// How the content of a message being sent is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// No content, or no more of it.
    Nothing,
    /// By Content-Length; this many bytes are still to be sent.
    Length(u64),
    /// In chunks (RFC 9112 §7.1).
    Chunked,
    /// By the end of the connection (RFC 9112 §6.3).
    UntilClose,
}

/// Bytes of a chunk-size line whose digits are filled in afterwards: 8 digits and CRLF.
const SIZE_LINE: usize = 10;

impl Outgoing {
    /// Writes content.
    pub(crate) fn content(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Nothing => {}
            Self::Length(_) => {
                let allowed = self.count(bytes.len() as u64);
                out.extend_from_slice(&bytes[..allowed as usize]);
            }
            Self::Chunked => {
                // A chunk-size line has room for 32 bits.
                for piece in bytes.chunks(1 << 30) {
                    let mark = self.begin(out);
                    out.extend_from_slice(piece);
                    self.end(mark, out);
                }
            }
            Self::UntilClose => out.extend_from_slice(bytes),
        }
    }

    /// Counts bytes of a length; returns how many of them the framing allows.
    pub(crate) fn count(&mut self, bytes: u64) -> u64 {
        match self {
            Self::Length(left) => {
                let allowed = bytes.min(*left);
                *left -= allowed;
                allowed
            }
            Self::Nothing => 0,
            Self::Chunked | Self::UntilClose => bytes,
        }
    }

    /// Starts a piece of content that is then appended to `out`.
    pub(crate) fn begin(self, out: &mut Vec<u8>) -> usize {
        let mark = out.len();
        if self == Self::Chunked {
            out.extend_from_slice(b"00000000\r\n");
        }
        mark
    }

    /// Ends the piece begun at `mark`. Bytes beyond the announced length are removed, and so is an empty
    /// chunk, which would be the last chunk (RFC 9112 §7.1).
    pub(crate) fn end(&mut self, mark: usize, out: &mut Vec<u8>) {
        if *self != Self::Chunked {
            let allowed = self.count((out.len() - mark) as u64);
            out.truncate(mark + allowed as usize);
            return;
        }
        let size = out.len() - mark - SIZE_LINE;
        debug_assert!(size <= u32::MAX as usize, "a piece has less than 4 GiB");
        if size == 0 {
            out.truncate(mark);
            return;
        }
        for (i, digit) in out[mark..mark + 8].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[size >> (28 - 4 * i) & 0xf];
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Ends the content. Returns the number of bytes that a length still misses.
    pub(crate) fn finish(&mut self, trailers: Option<&FieldSection>, out: &mut Vec<u8>) -> u64 {
        match std::mem::replace(self, Self::Nothing) {
            Self::Length(left) => left,
            Self::Nothing | Self::UntilClose => 0,
            Self::Chunked => {
                out.extend_from_slice(b"0\r\n");
                if let Some(trailers) = trailers {
                    crate::encode::fields(trailers, crate::trailer::may_be_trailer, out);
                }
                out.extend_from_slice(b"\r\n");
                0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_size_is_filled_in_behind_its_data() {
        for size in [1_usize, 15, 16, 255, 4096, 65537] {
            let (mut outgoing, mut out) = (Outgoing::Chunked, b"before".to_vec());
            let mark = outgoing.begin(&mut out);
            out.resize(out.len() + size, b'x');
            outgoing.end(mark, &mut out);
            let line = format!("before{size:08x}\r\n");
            assert!(out.starts_with(line.as_bytes()) && out.ends_with(b"x\r\n"));
            assert_eq!(out.len(), line.len() + size + 2);
        }
    }

    #[test]
    fn what_a_framing_does_not_allow_is_dropped() {
        let cases: [(Outgoing, &[u8], u64); 4] = [
            (Outgoing::Nothing, b"", 0),
            (Outgoing::Length(3), b"abc", 0),
            (Outgoing::Length(9), b"abcde", 4),
            (Outgoing::UntilClose, b"abcde", 0),
        ];
        for (mut outgoing, want, missing) in cases {
            let mut out = Vec::new();
            outgoing.content(b"ab", &mut out);
            let mark = outgoing.begin(&mut out);
            out.extend_from_slice(b"cde");
            outgoing.end(mark, &mut out);
            assert_eq!((&out[..], outgoing.finish(None, &mut Vec::new())), (want, missing));
            assert_eq!(outgoing, Outgoing::Nothing);
        }
    }
}
