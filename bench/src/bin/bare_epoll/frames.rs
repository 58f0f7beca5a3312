//! The bare frame loop: HTTP/2 answered without a decoder, streams or windows. Each HEADERS frame counts as a
//! request and gets the same HEADERS and DATA with its own stream identifier.

/// Length of a frame header (RFC 9113 §4.1).
const HEAD: usize = 9;
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
/// An empty SETTINGS frame, which is the server connection preface (RFC 9113 §3.4).
const SETTINGS: [u8; HEAD] = [0, 0, 0, 0x4, 0, 0, 0, 0, 0];
/// Its acknowledgement (RFC 9113 §6.5).
const ACKNOWLEDGEMENT: [u8; HEAD] = [0, 0, 0, 0x4, 1, 0, 0, 0, 0];
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
/// Position of the stream identifier in a frame.
const STREAM: std::ops::Range<usize> = 5..HEAD;

/// The constant answer as two frames.
pub(crate) struct Frames {
    bytes: Vec<u8>,
    /// Offset of the DATA frame.
    data: usize,
}

impl Frames {
    /// Two frames of `bytes` in total with `content` bytes of content, at most a frame's 16,384. A padding
    /// field line fills up the field block; nothing of it enters the peer's dynamic table.
    pub(crate) fn new(bytes: usize, content: usize) -> Self {
        // `:status: 200`; `content-length`, index 28, a literal that is not indexed (RFC 7541 §6.2.2).
        let length = content.to_string();
        let mut block = vec![0x88, 0x0f, 28 - 15, length.len() as u8];
        block.extend(length.as_bytes());
        let missing = bytes.saturating_sub(2 * HEAD + block.len() + content);
        // The overhead of the line: literal, length of the name, the name, length of the value.
        if let Some(fill @ ..=126) = missing.checked_sub(4) {
            block.extend([0, 1, b'p', fill as u8]);
            block.resize(block.len() + fill, b'p');
        }
        let mut bytes = head(block.len(), 0x1, END_HEADERS);
        bytes.extend(block);
        let data = bytes.len();
        bytes.extend(head(content, 0x0, END_STREAM));
        bytes.resize(bytes.len() + content, b'x');
        Self { bytes, data }
    }

    /// Appends the responses for `input` to `out`; returns how many bytes of `input` were complete and how
    /// many requests they contain.
    pub(crate) fn answer(&self, input: &[u8], greeted: &mut bool, out: &mut Vec<u8>) -> (usize, usize) {
        let (mut at, mut requests) = (0, 0);
        if !*greeted {
            if input.len() < PREFACE {
                return (0, 0);
            }
            out.extend(SETTINGS);
            (*greeted, at) = (true, PREFACE);
        }
        while let Some(head) = input.get(at..at + HEAD) {
            let end = at + HEAD + u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let Some(payload) = input.get(at + HEAD..end) else { break };
            match (head[3], head[4]) {
                (0x1, _) => {
                    self.append(&head[STREAM], out);
                    requests += 1;
                }
                (0x4, 0) => out.extend(ACKNOWLEDGEMENT),
                // A PING is acknowledged (RFC 9113 §6.7).
                (0x6, 0) => {
                    out.extend([0, 0, 8, 0x6, 1, 0, 0, 0, 0]);
                    out.extend(payload);
                }
                _ => {}
            }
            at = end;
        }
        (at, requests)
    }

    fn append(&self, stream: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for frame in [start, start + self.data] {
            out[frame + STREAM.start..frame + STREAM.end].copy_from_slice(stream);
        }
    }
}

fn head(length: usize, kind: u8, flags: u8) -> Vec<u8> {
    let length = (length as u32).to_be_bytes();
    vec![length[1], length[2], length[3], kind, flags, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\
        \0\0\x01\x01\x05\0\0\0\x01\x82\0\0\x04\x08\0\0\0\0\0\0\0\0\x01\0\0\x01\x01\x05\0\0\0\x03\x82";

    #[test]
    fn the_answer_has_the_wanted_size_when_the_head_fits() {
        for bytes in [655, 700, 760] {
            assert_eq!(Frames::new(bytes, 612).bytes.len(), bytes);
        }
        assert_eq!(Frames::new(0, 612).bytes.len(), 612 + 18 + 7);
    }

    #[test]
    fn requests_are_answered_with_their_stream_whole_and_byte_by_byte() {
        let frames = Frames::new(700, 612);
        let (mut greeted, mut whole) = (false, Vec::new());
        assert_eq!(frames.answer(REQUESTS, &mut greeted, &mut whole), (REQUESTS.len(), 2));
        assert_eq!(whole.len(), 2 * HEAD + 2 * 700);
        assert_eq!(whole[18..18 + HEAD][STREAM], [0, 0, 0, 1]);
        assert_eq!(whole[718 + frames.data..][STREAM], [0, 0, 0, 3]);
        let (mut greeted, mut split, mut input) = (false, Vec::new(), Vec::new());
        for byte in REQUESTS {
            input.push(*byte);
            let (consumed, _) = frames.answer(&input, &mut greeted, &mut split);
            input.drain(..consumed);
        }
        assert_eq!(split, whole);
    }
}
