//! GOAWAY (RFC 9113 §6.8).

use super::{Kind, header};
use crate::code::ErrorCode;
use crate::fault::Fault;

/// The content of a GOAWAY frame, without debug data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoAway {
    /// No stream beyond this one was or will be processed.
    pub(crate) last: u32,
    pub(crate) code: ErrorCode,
}

impl GoAway {
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, Fault> {
        let [s0, s1, s2, s3, c0, c1, c2, c3] = *payload.first_chunk().ok_or(Fault::FrameLength)?;
        let last = u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff;
        Ok(Self { last, code: ErrorCode(u32::from_be_bytes([c0, c1, c2, c3])) })
    }
}

/// Writes GOAWAY without debug data.
pub(crate) fn goaway(last: u32, code: ErrorCode, out: &mut Vec<u8>) {
    out.extend_from_slice(&header(8, Kind::GoAway, 0, 0));
    out.extend_from_slice(&last.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goaway_is_read_as_it_is_written_whatever_its_debug_data() {
        let mut out = Vec::new();
        goaway(0x7fff_ffff, ErrorCode::ENHANCE_YOUR_CALM, &mut out);
        out.extend_from_slice(b"why");
        let want = GoAway { last: 0x7fff_ffff, code: ErrorCode::ENHANCE_YOUR_CALM };
        assert_eq!(GoAway::parse(&out[9..]), Ok(want));
        assert_eq!(GoAway::parse(&out[9..16]), Err(Fault::FrameLength));
    }
}
