//! RST_STREAM, PING and WINDOW_UPDATE: a few bytes of fixed length (RFC 9113 §6.4, §6.7, §6.9).

use super::{Header, Kind, flag, header};
use crate::code::ErrorCode;
use crate::fault::Fault;

/// A payload of 32 bits: an error code, a window's increment (its reserved bit left in).
pub(crate) fn u32_payload(payload: &[u8]) -> Result<u32, Fault> {
    // RFC 9113 §6.4, §6.9: any other length is a connection error.
    payload.try_into().map(u32::from_be_bytes).map_err(|_| Fault::FrameLength)
}

/// The eight bytes of a PING (RFC 9113 §6.7).
pub(crate) fn ping(payload: &[u8]) -> Result<[u8; 8], Fault> {
    payload.try_into().map_err(|_| Fault::FrameLength)
}

/// Writes a PING (RFC 9113 §6.7).
pub(crate) fn ping_request(opaque: [u8; 8], out: &mut Vec<u8>) {
    out.extend_from_slice(&header(8, Kind::Ping, 0, 0));
    out.extend_from_slice(&opaque);
}

/// Writes the answer to a PING (RFC 9113 §6.7).
pub(crate) fn ping_ack(opaque: [u8; 8], out: &mut Vec<u8>) {
    out.extend_from_slice(&header(8, Kind::Ping, flag::ACK, 0));
    out.extend_from_slice(&opaque);
}

/// Writes RST_STREAM (RFC 9113 §6.4).
pub(crate) fn rst_stream(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    with_u32(Kind::RstStream, stream, code.0, out);
}

/// Writes WINDOW_UPDATE (RFC 9113 §6.9). `increment` has 31 bits and is not 0.
pub(crate) fn window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    with_u32(Kind::WindowUpdate, stream, increment, out);
}

fn with_u32(kind: Kind, stream: u32, number: u32, out: &mut Vec<u8>) {
    let mut frame = [0; Header::LEN + 4];
    frame[..Header::LEN].copy_from_slice(&header(4, kind, 0, stream));
    frame[Header::LEN..].copy_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&frame);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_frames_are_written_as_the_rfc_draws_them() {
        let mut out = Vec::new();
        rst_stream(3, ErrorCode::CANCEL, &mut out);
        window_update(0, 0x0001_0000, &mut out);
        ping_ack(*b"12345678", &mut out);
        ping_request(*b"12345678", &mut out);
        let want = b"\0\0\x04\x03\0\0\0\0\x03\0\0\0\x08\0\0\x04\x08\0\0\0\0\0\0\x01\0\0\0\0\x08\x06\x01\0\0\0\x0012345678\0\0\x08\x06\0\0\0\0\x0012345678";
        assert_eq!(out, want);
    }

    #[test]
    fn payloads_of_other_lengths_are_faults() {
        assert_eq!(u32_payload(&[0, 0, 0, 8]), Ok(8));
        for len in [0, 3, 5, 8] {
            assert_eq!(u32_payload(&[0; 8][..len]), Err(Fault::FrameLength));
        }
        assert_eq!(ping(&[0; 7]), Err(Fault::FrameLength));
    }
}
