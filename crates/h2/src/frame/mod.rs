//! The wire format of frames: the header here, a file for each kind of payload (RFC 9113 §4, §6). The meaning
//! of a frame for a stream or a connection is not here.

mod control;
mod goaway;
mod padded;
mod priority;
mod setting;

pub(crate) use control::{ping, ping_ack, ping_request, rst_stream, u32_payload, window_update};
pub(crate) use goaway::{GoAway, goaway};
pub(crate) use padded::{Padded, headers_payload, unpad};
pub(crate) use priority::{Dependency, priority_update};
pub(crate) use setting::{Setting, settings, write_settings};

/// Flags (RFC 9113 §6). END_STREAM of DATA and HEADERS, ACK of SETTINGS and PING.
pub(crate) mod flag {
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// A frame's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    Headers,
    Priority,
    RstStream,
    Settings,
    PushPromise,
    Ping,
    GoAway,
    WindowUpdate,
    Continuation,
    /// RFC 9218 §7.1.
    PriorityUpdate,
    /// An unknown type: the frame is ignored (RFC 9113 §4.1).
    Unknown,
}

impl Kind {
    fn of(byte: u8) -> Self {
        match byte {
            0x0 => Self::Data,
            0x1 => Self::Headers,
            0x2 => Self::Priority,
            0x3 => Self::RstStream,
            0x4 => Self::Settings,
            0x5 => Self::PushPromise,
            0x6 => Self::Ping,
            0x7 => Self::GoAway,
            0x8 => Self::WindowUpdate,
            0x9 => Self::Continuation,
            0x10 => Self::PriorityUpdate,
            _ => Self::Unknown,
        }
    }

    fn byte(self) -> u8 {
        match self {
            Self::PriorityUpdate => 0x10,
            Self::Unknown => 0xff,
            kind => kind as u8,
        }
    }
}

/// A frame header (RFC 9113 §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Bytes of the payload.
    pub(crate) len: usize,
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    /// The stream's number; 0 is the connection.
    pub(crate) stream: u32,
}

impl Header {
    /// Bytes of a frame header.
    pub(crate) const LEN: usize = 9;

    /// The header at the front of the input, if it is complete.
    #[inline]
    pub(crate) fn read(input: &[u8]) -> Option<Self> {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *input.first_chunk()?;
        Some(Self {
            len: u32::from_be_bytes([0, l0, l1, l2]) as usize,
            kind: Kind::of(kind),
            flags,
            // RFC 9113 §4.1: the highest bit is reserved, and ignored.
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        })
    }

    /// Whether a flag is set.
    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The nine bytes of a frame header.
#[inline]
pub(crate) fn header(len: usize, kind: Kind, flags: u8, stream: u32) -> [u8; Header::LEN] {
    let [_, l0, l1, l2] = (len as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    [l0, l1, l2, kind.byte(), flags, s0, s1, s2, s3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_is_written() {
        let bytes = header(0x01_02_03, Kind::PriorityUpdate, 0x29, 0x7fff_fffe);
        assert_eq!(bytes, [1, 2, 3, 0x10, 0x29, 0x7f, 0xff, 0xff, 0xfe]);
        let header = Header::read(&bytes).expect("nine bytes");
        assert_eq!((header.len, header.stream), (0x01_02_03, 0x7fff_fffe));
        assert_eq!((header.kind, header.flags), (Kind::PriorityUpdate, 0x29));
        assert_eq!(Header::read(&bytes[..8]), None);
    }

    #[test]
    fn the_reserved_bit_is_ignored_and_types_are_those_of_the_rfc() {
        for byte in 0..=255 {
            let header = Header::read(&[0, 0, 0, byte, 0, 0x80, 0, 0, 1]).expect("nine bytes");
            assert_eq!(header.stream, 1);
            assert_eq!(header.kind == Kind::Unknown, byte > 9 && byte != 0x10);
            assert!(header.kind == Kind::Unknown || header.kind.byte() == byte);
        }
    }
}
