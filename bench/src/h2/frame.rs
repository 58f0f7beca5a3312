//! Frames (RFC 9113 §4 and §6), as far as the client of a race needs them.

use super::Request;

/// Octets of a frame's head.
pub(super) const HEAD: usize = 9;
/// An empty SETTINGS frame with ACK (RFC 9113 §6.5).
pub(super) const SETTINGS_ACKNOWLEDGED: [u8; HEAD] = [0, 0, 0, 4, 1, 0, 0, 0, 0];

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Larger than every document that is checked.
const WINDOW: u32 = 1 << 24;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PRIORITY: u8 = 0x20;
const PADDED: u8 = 0x8;

/// What a frame is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Headers,
    Reset,
    Settings,
    GoAway,
    Other,
}

/// A frame as received.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// Of a frame's head; the payload has its length and is to be read.
    pub(super) fn new(head: &[u8; HEAD]) -> Self {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let kind = match head[3] {
            0x0 => Kind::Data,
            0x1 => Kind::Headers,
            0x3 => Kind::Reset,
            0x4 => Kind::Settings,
            0x7 => Kind::GoAway,
            _ => Kind::Other,
        };
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        Self { kind, flags: head[4], stream, payload: vec![0; length as usize] }
    }

    pub(super) fn is_acknowledgement(&self) -> bool {
        self.kind == Kind::Settings && self.flags & 0x1 != 0
    }

    pub(super) fn ends_stream(&self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Headers) && self.flags & END_STREAM != 0
    }

    /// Whether the field block begins with `:status: 200` as the static table has it (0x88), perhaps
    /// behind an update of the table's size (RFC 7541 §6.1, §6.3). A padded block is not looked into.
    pub(super) fn is_ok(&self) -> bool {
        let skipped = if self.flags & PRIORITY != 0 { 5 } else { 0 };
        let block = self.payload.get(skipped..).unwrap_or_default();
        let mut rest = block.iter();
        let mut first = rest.next();
        while let Some(update @ 0x20..=0x3f) = first {
            if update & 0x1f == 0x1f {
                // The size goes on until an octet without the highest bit (RFC 7541 §5.1).
                rest.by_ref().find(|octet| *octet & 0x80 == 0);
            }
            first = rest.next();
        }
        self.flags & PADDED == 0 && first == Some(&0x88)
    }
}

/// The preface: its octets, SETTINGS, and a window for the connection (RFC 9113 §3.4).
pub(super) fn greeting() -> Vec<u8> {
    let mut octets = PREFACE.to_vec();
    let mut settings = Vec::new();
    // ENABLE_PUSH 0, INITIAL_WINDOW_SIZE (RFC 9113 §6.5.2).
    for (name, value) in [(0x2_u16, 0_u32), (0x4, WINDOW)] {
        settings.extend(name.to_be_bytes());
        settings.extend(value.to_be_bytes());
    }
    push(&mut octets, 0x4, 0, 0, &settings);
    push(&mut octets, 0x8, 0, 0, &WINDOW.to_be_bytes());
    octets
}

/// A GET, all its field lines without Huffman and without the dynamic table.
pub(super) fn request(stream: u32, request: &Request) -> Vec<u8> {
    // `:method: GET`, `:scheme` (RFC 7541 Appendix A); `:path` is index 4, `:authority` index 1.
    let mut block = vec![0x82, if request.secure { 0x87 } else { 0x86 }];
    for (index, value) in [(4, request.target), (1, &request.authority)] {
        // Values of the race are far shorter than the 127 octets that fit one octet of length.
        block.extend([index, value.len() as u8]);
        block.extend(value.as_bytes());
    }
    let mut octets = Vec::new();
    push(&mut octets, 0x1, END_STREAM | END_HEADERS, stream, &block);
    octets
}

fn push(octets: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    octets.extend(&(payload.len() as u32).to_be_bytes()[1..]);
    octets.extend([kind, flags]);
    octets.extend(stream.to_be_bytes());
    octets.extend(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(flags: u8, block: &[u8]) -> Frame {
        Frame { kind: Kind::Headers, flags, stream: 1, payload: block.to_vec() }
    }

    #[test]
    fn a_status_of_200_is_known_behind_table_updates_and_priority() {
        for (flags, block, expected) in [
            (0x4, &b"\x88\x40"[..], true),
            (0x4, b"\x20\x88", true),
            (0x4, b"\x3f\xe1\x1f\x88", true),
            (0x24, b"\0\0\0\0\x10\x88", true),
            (0x4, b"\x8d", false),
            (0x4, b"\x20\x3f", false),
            (0x4, b"", false),
            (0xc, b"\x88", false),
        ] {
            assert_eq!(headers(flags, block).is_ok(), expected, "{flags:x} {block:x?}");
        }
    }

    #[test]
    fn a_frame_is_read_as_it_is_written() {
        let mut octets = Vec::new();
        push(&mut octets, 0x0, END_STREAM, 7, b"hello");
        let frame = Frame::new(octets[..HEAD].try_into().unwrap());
        assert_eq!((frame.kind, frame.stream, frame.payload.len()), (Kind::Data, 7, 5));
        assert!(frame.ends_stream() && !frame.is_acknowledgement());
        assert!(Frame::new(&SETTINGS_ACKNOWLEDGED).is_acknowledgement());
    }
}
