//! The payloads of DATA and HEADERS, which may be padded (RFC 9113 §6.1, §6.2).

use super::{Dependency, Header, flag};
use crate::fault::Fault;

/// The position of the content within a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Padded {
    /// Index of the first byte.
    pub(crate) start: usize,
    /// Number of bytes.
    pub(crate) len: usize,
}

/// The payload without its padding. The padding's bytes aren't checked (RFC 9113 §6.1 allows that).
#[inline]
pub(crate) fn unpad(header: Header, payload: &[u8]) -> Result<Padded, Fault> {
    if !header.has(flag::PADDED) {
        return Ok(Padded { start: 0, len: payload.len() });
    }
    let (padding, rest) = payload.split_first().ok_or(Fault::FrameLength)?;
    // RFC 9113 §6.1: padding as long as the payload or longer is a connection error.
    let len = rest.len().checked_sub(usize::from(*padding)).ok_or(Fault::PaddingTooLong)?;
    Ok(Padded { start: 1, len })
}

/// The field block fragment of a HEADERS payload, and what its stream depends on by RFC 7540.
#[inline]
pub(crate) fn headers_payload(header: Header, payload: &[u8]) -> Result<(Padded, Option<Dependency>), Fault> {
    let Padded { start, len } = unpad(header, payload)?;
    if !header.has(flag::PRIORITY) {
        return Ok((Padded { start, len }, None));
    }
    let dependency = Dependency::parse(payload.get(start..start + 5).ok_or(Fault::FrameLength)?)?;
    let len = len.checked_sub(5).ok_or(Fault::PaddingTooLong)?;
    Ok((Padded { start: start + 5, len }, Some(dependency)))
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn header(kind: Kind, flags: u8, payload: &[u8]) -> Header {
        Header { len: payload.len(), kind, flags, stream: 1 }
    }

    /// Flags, a payload, and its content.
    type Case = (u8, &'static [u8], Result<&'static [u8], Fault>);

    #[test]
    fn padding_is_taken_off_and_may_not_reach_beyond_the_payload() {
        let cases: &[Case] = &[
            (0, b"\x02abcd", Ok(b"\x02abcd")),
            (0, b"", Ok(b"")),
            (flag::PADDED, b"\x02abcd", Ok(b"ab")),
            (flag::PADDED, b"\x00abcd", Ok(b"abcd")),
            (flag::PADDED, b"\x04abcd", Ok(b"")),
            (flag::PADDED, b"\x05abcd", Err(Fault::PaddingTooLong)),
            (flag::PADDED, b"\x00", Ok(b"")),
            (flag::PADDED, b"", Err(Fault::FrameLength)),
        ];
        for (flags, payload, want) in cases {
            let got = unpad(header(Kind::Data, *flags, payload), payload);
            assert_eq!(got.map(|p| &payload[p.start..p.start + p.len]), *want, "{payload:?}");
        }
    }

    #[test]
    fn a_dependency_stands_before_the_block_and_behind_the_padding_length() {
        let both = flag::PADDED | flag::PRIORITY;
        let cases: &[Case] = &[
            (flag::PRIORITY, b"\0\0\0\x03\x10block", Ok(b"block")),
            (flag::PRIORITY, b"\0\0\0\x03", Err(Fault::FrameLength)),
            (both, b"\x02\0\0\0\x03\x10block", Ok(b"blo")),
            (both, b"\x06\0\0\0\x03\x10block", Err(Fault::PaddingTooLong)),
            (both, b"\x00\0\0\0\x03", Err(Fault::FrameLength)),
        ];
        for (flags, payload, want) in cases {
            let got = headers_payload(header(Kind::Headers, *flags, payload), payload);
            let got = got.map(|(p, on)| (&payload[p.start..p.start + p.len], on));
            let want = want.map(|block| (block, Some(Dependency { on: 3 })));
            assert_eq!(got, want, "{payload:?}");
        }
    }
}
