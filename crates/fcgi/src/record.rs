//! Records: a header of eight bytes, content, padding (FastCGI §3.3).

use std::ops::Range;

/// Bytes of a header.
pub(crate) const HEADER: usize = 8;

/// The identifier of the server's requests: there is one at a time (§3.3).
pub(crate) const ID: u16 = 1;

/// Bytes of content with which a record is filled: the most that needs no padding.
pub const ROOM: usize = 65_528;

/// The types of records (§8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Begin = 1,
    Abort = 2,
    End = 3,
    Params = 4,
    Stdin = 5,
    Stdout = 6,
    Stderr = 7,
    /// DATA, the management types, and unknown types.
    Other,
}

impl Kind {
    fn of(byte: u8) -> Self {
        match byte {
            1 => Self::Begin,
            2 => Self::Abort,
            3 => Self::End,
            4 => Self::Params,
            5 => Self::Stdin,
            6 => Self::Stdout,
            7 => Self::Stderr,
            _ => Self::Other,
        }
    }
}

/// The content of a record header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) id: u16,
    /// Bytes of content.
    pub(crate) content: u16,
    /// Bytes of padding after it.
    pub(crate) padding: u8,
}

impl Header {
    /// Reads a header; `None` if it has another version.
    pub(crate) fn read(bytes: &[u8; HEADER]) -> Option<Self> {
        let [version, kind, id @ .., padding, _reserved] = bytes;
        let [id_high, id_low, high, low] = id;
        let number = |high: &u8, low: &u8| u16::from_be_bytes([*high, *low]);
        let kind = Kind::of(*kind);
        let header =
            Self { kind, id: number(id_high, id_low), content: number(high, low), padding: *padding };
        (*version == 1).then_some(header)
    }

    fn write(kind: Kind, content: u16, padding: u8) -> [u8; HEADER] {
        let ([id_high, id_low], [high, low]) = (ID.to_be_bytes(), content.to_be_bytes());
        [1, kind as u8, id_high, id_low, high, low, padding, 0]
    }
}

/// Appends a record without content: it ends a stream (§3.3).
pub(crate) fn push_empty(kind: Kind, out: &mut Vec<u8>) {
    out.extend_from_slice(&Header::write(kind, 0, 0));
}

/// Appends a record with little content.
pub(crate) fn push(kind: Kind, content: &[u8; 8], out: &mut Vec<u8>) {
    out.extend_from_slice(&Header::write(kind, 8, 0));
    out.extend_from_slice(content);
}

/// Begins a record whose content is appended to `out` next; [`end`] gets the mark.
pub(crate) fn begin(out: &mut Vec<u8>) -> usize {
    let mark = out.len();
    out.extend_from_slice(&[0; HEADER]);
    mark
}

/// Ends the record begun at `mark`: one, none if it would be empty, or as many as its content needs.
pub(crate) fn end(kind: Kind, mark: usize, out: &mut Vec<u8>) {
    let content = out.len() - mark - HEADER;
    match u16::try_from(content) {
        // An empty record would end the stream.
        Ok(0) => out.truncate(mark),
        Ok(content) => {
            let padding = padding(content);
            out[mark..mark + HEADER].copy_from_slice(&Header::write(kind, content, padding));
            out.resize(out.len() + usize::from(padding), 0);
        }
        Err(_) => split(kind, mark, out),
    }
}

/// §3.3 recommends that records begin at multiples of eight bytes.
fn padding(content: u16) -> u8 {
    (content.wrapping_neg() % 8) as u8
}

#[cold]
fn split(kind: Kind, mark: usize, out: &mut Vec<u8>) {
    let content = out.split_off(mark + HEADER);
    out.truncate(mark);
    for piece in content.chunks(ROOM) {
        let mark = begin(out);
        out.extend_from_slice(piece);
        end(kind, mark, out);
    }
}

/// The complete records in `bytes`, type and content: for tests and for mock applications.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    /// Those in `bytes`, from the front.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes that have been read.
    pub fn read(&self) -> usize {
        self.at
    }
}

impl Iterator for Records<'_> {
    /// The number of the type, and the range of the content.
    type Item = (u8, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.bytes.get(self.at..)?.first_chunk::<HEADER>()?;
        let header = Header::read(bytes)?;
        let start = self.at + HEADER;
        let content = start..start + usize::from(header.content);
        let end = content.end + usize::from(header.padding);
        if end > self.bytes.len() {
            return None;
        }
        self.at = end;
        Some((bytes[1], content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_padded_split_and_left_out_as_needed() {
        let cases: [(usize, &[usize]); 7] = [
            (0, &[]),
            (1, &[1]),
            (8, &[8]),
            (65_528, &[65_528]),
            (65_535, &[65_535]),
            (65_536, &[65_528, 8]),
            (200_000, &[65_528, 65_528, 65_528, 3_416]),
        ];
        for (bytes, want) in cases {
            let mut out = b"before.!".to_vec();
            let mark = begin(&mut out);
            out.extend((0..bytes).map(|at| at as u8));
            end(Kind::Stdin, mark, &mut out);
            assert!(out.len().is_multiple_of(8) && out.starts_with(b"before.!"), "{bytes}");
            let mut records = Records::of(&out[8..]);
            let found: Vec<_> = records.by_ref().collect();
            assert_eq!(records.read(), out.len() - 8);
            assert!(found.iter().all(|(kind, _)| *kind == Kind::Stdin as u8));
            assert_eq!(found.iter().map(|(_, range)| range.len()).collect::<Vec<_>>(), want, "{bytes}");
            let content = found.iter().flat_map(|(_, range)| &out[8..][range.clone()]);
            assert!(content.eq(&(0..bytes).map(|at| at as u8).collect::<Vec<_>>()), "{bytes}");
        }
    }

    #[test]
    fn a_header_is_read_as_it_is_written() {
        let bytes = [1, 6, 0x12, 0x34, 0xab, 0xcd, 7, 99];
        let want = Header { kind: Kind::Stdout, id: 0x1234, content: 0xabcd, padding: 7 };
        assert_eq!(Header::read(&bytes), Some(want));
        assert_eq!(Header::read(&[2, 6, 0, 1, 0, 0, 0, 0]), None);
    }
}
