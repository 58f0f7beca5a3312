//! PRIORITY of RFC 7540, which is checked and ignored (RFC 9113 §5.3.2), and PRIORITY_UPDATE
//! (RFC 9218 §7.1).

use crate::fault::Fault;

/// What a stream depended on in RFC 7540 §5.3.1. It is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) on: u32,
}

impl Dependency {
    /// Five bytes: exclusive bit, stream, weight (RFC 9113 §6.3).
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, Fault> {
        let [s0, s1, s2, s3, _weight] = *<&[u8; 5]>::try_from(payload).map_err(|_| Fault::FrameLength)?;
        Ok(Self { on: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff })
    }
}

/// The stream a PRIORITY_UPDATE frame is about, and its priority field value.
pub(crate) fn priority_update(payload: &[u8]) -> Result<(u32, &[u8]), Fault> {
    // RFC 9218 §7.1: shorter than the stream's number is malformed, like any frame of a wrong length.
    let (stream, value) = payload.split_first_chunk().ok_or(Fault::FrameLength)?;
    Ok((u32::from_be_bytes(*stream) & 0x7fff_ffff, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_has_five_bytes_and_its_exclusive_bit_is_ignored() {
        assert_eq!(Dependency::parse(b"\x80\0\0\x07\xff"), Ok(Dependency { on: 7 }));
        assert_eq!(Dependency::parse(b"\x80\0\0\x07"), Err(Fault::FrameLength));
        assert_eq!(Dependency::parse(b"\x80\0\0\x07\0\0"), Err(Fault::FrameLength));
    }

    #[test]
    fn a_priority_update_names_a_stream_and_a_value() {
        assert_eq!(priority_update(b"\x80\0\0\x05u=1, i"), Ok((5, &b"u=1, i"[..])));
        assert_eq!(priority_update(b"\0\0\0\x05"), Ok((5, &b""[..])));
        assert_eq!(priority_update(b"\0\0\x05"), Err(Fault::FrameLength));
    }
}
