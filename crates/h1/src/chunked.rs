//! The chunked coding, received (RFC 9112 §7.1). Here CRLF is CRLF: a chunk is made by programs, and
//! leniency in framing is how requests are smuggled.

use crate::chunk_extension;
use crate::fault::{Fault, Stop};
use crate::field_line::{self, Line};
use crate::limits::Limits;
use crate::trailer::may_be_trailer;
use hayami_http::FieldSection;
use std::ops::Range;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Next {
    /// A chunk-size line.
    #[default]
    Size,
    /// This many bytes of chunk data.
    Data(u64),
    /// The CRLF after a chunk's data.
    DataEnd,
    /// A trailer line or the empty line.
    Trailer,
    /// Nothing: the content is complete.
    Nothing,
}

/// Decodes chunks.
#[derive(Default, Debug)]
pub(crate) struct Chunked {
    next: Next,
    /// Bytes of data that the chunk sizes have announced.
    total: u64,
    /// Bytes that a chunk-size line could do without: extensions, and leading zeros.
    extensions: u32,
    /// Bytes of the trailer section.
    trailer_bytes: u32,
    /// Bytes at the front of the input in which no LF was found.
    scanned: u32,
    /// Trailer fields, if there are any.
    trailers: Option<Box<FieldSection>>,
}

/// What a step found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// More bytes are needed.
    More,
    /// Data at these indices of the input.
    Data(Range<usize>),
    /// The content is complete.
    End,
}

impl Chunked {
    /// Reads from `input` up to the end of one piece of data. Returns the bytes consumed too.
    pub(crate) fn receive(&mut self, limits: &Limits, input: &[u8]) -> Result<(usize, Piece), Fault> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match self.step(limits, rest) {
                Ok(Step::Consumed(bytes)) => at += bytes,
                Ok(Step::Data(bytes)) => return Ok((at + bytes, Piece::Data(at..at + bytes))),
                Ok(Step::End) => return Ok((at, Piece::End)),
                Err(Stop::Incomplete) => return Ok((at, Piece::More)),
                Err(Stop::Fault(fault)) => return Err(fault),
            }
        }
    }

    /// The trailer section.
    pub(crate) fn take_trailers(&mut self) -> Option<Box<FieldSection>> {
        self.trailers.take()
    }

    fn step(&mut self, limits: &Limits, rest: &[u8]) -> Result<Step, Stop> {
        match self.next {
            Next::Size => self.size_line(limits, rest),
            Next::Data(left) => self.data(left, rest),
            Next::DataEnd => self.data_end(rest),
            Next::Trailer => self.trailer_line(limits, rest),
            Next::Nothing => Ok(Step::End),
        }
    }

    fn size_line(&mut self, limits: &Limits, rest: &[u8]) -> Result<Step, Stop> {
        let len = self.line_len(rest, limits.chunk_line, Fault::ChunkLineTooLong)?;
        let Some(line) = rest[..len].strip_suffix(b"\r\n") else {
            return Err(Fault::MalformedChunkSize.into());
        };
        let (size, digits) = chunk_size(line)?;
        chunk_extension::check(&line[digits..])?;
        self.extensions = self.extensions.saturating_add(superfluous(line, size, digits));
        if self.extensions > limits.chunk_extensions {
            return Err(Fault::ExtensionsTooLong.into());
        }
        self.total = self.total.saturating_add(size);
        if self.total > limits.content {
            return Err(Fault::ContentTooLarge.into());
        }
        self.next = if size == 0 { Next::Trailer } else { Next::Data(size) };
        Ok(Step::Consumed(len))
    }

    fn data(&mut self, left: u64, rest: &[u8]) -> Result<Step, Stop> {
        if rest.is_empty() {
            return Err(Stop::Incomplete);
        }
        let bytes = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
        self.next = match left - bytes as u64 {
            0 => Next::DataEnd,
            left => Next::Data(left),
        };
        Ok(Step::Data(bytes))
    }

    fn data_end(&mut self, rest: &[u8]) -> Result<Step, Stop> {
        match rest {
            [b'\r', b'\n', ..] => {
                self.next = Next::Size;
                Ok(Step::Consumed(2))
            }
            [] | [b'\r'] => Err(Stop::Incomplete),
            _ => Err(Fault::MissingChunkEnd.into()),
        }
    }

    fn trailer_line(&mut self, limits: &Limits, rest: &[u8]) -> Result<Step, Stop> {
        let room = limits.trailer.saturating_sub(self.trailer_bytes);
        let len = self.line_len(rest, room, Fault::TrailerTooLarge)?;
        if !rest[..len].ends_with(b"\r\n") {
            return Err(Fault::FieldValue.into());
        }
        match field_line::parse(&rest[..len], 0) {
            Ok(Line::Empty { .. }) => self.next = Next::Nothing,
            Ok(Line::Field { name, value, .. }) => {
                self.add_trailer(limits, name.of(rest), value.of(rest))?;
            }
            Err(Stop::Fault(fault)) => return Err(fault.into()),
            // A CR inside the line's own CRLF cannot be the last byte.
            Err(Stop::Incomplete) => return Err(Fault::BareCr.into()),
        }
        self.trailer_bytes += len as u32;
        Ok(Step::Consumed(len))
    }

    fn add_trailer(&mut self, limits: &Limits, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        if !may_be_trailer(name) {
            return Ok(());
        }
        let trailers = self.trailers.get_or_insert_default();
        if trailers.len() >= limits.fields as usize {
            return Err(Fault::TooManyFields);
        }
        trailers.append(name, value);
        Ok(())
    }

    /// Length of the line at the front, with its LF. Each byte is examined once, however the line is split.
    fn line_len(&mut self, rest: &[u8], limit: u32, fault: Fault) -> Result<usize, Stop> {
        let scanned = (self.scanned as usize).min(rest.len());
        let len = memchr::memchr(b'\n', &rest[scanned..]).map(|i| scanned + i + 1);
        if len.unwrap_or(rest.len()) > limit as usize {
            return Err(fault.into());
        }
        self.scanned = if len.is_none() { rest.len() as u32 } else { 0 };
        len.ok_or(Stop::Incomplete)
    }
}

enum Step {
    /// This many bytes of framing.
    Consumed(usize),
    /// This many bytes of data.
    Data(usize),
    End,
}

/// The size at the front of a line, and the number of its digits.
fn chunk_size(line: &[u8]) -> Result<(u64, usize), Fault> {
    let mut size = 0_u64;
    let mut digits = 0;
    while let Some(digit) = line.get(digits).and_then(|o| char::from(*o).to_digit(16)) {
        // RFC 9112 §7.1: recipients must not lose precision.
        if size >> 60 != 0 {
            return Err(Fault::ChunkSizeOverflow);
        }
        size = size << 4 | u64::from(digit);
        digits += 1;
    }
    if digits == 0 { Err(Fault::MalformedChunkSize) } else { Ok((size, digits)) }
}

/// Bytes of a chunk-size line without a purpose: its extensions, and leading zeros in excess of the data.
/// Programs that write fixed-width sizes send such zeros with every chunk of a long body.
fn superfluous(line: &[u8], size: u64, digits: usize) -> u32 {
    let needed = (u64::BITS - size.leading_zeros()).div_ceil(4).max(1);
    let zeros = (digits as u32).saturating_sub(needed);
    let paid = u32::try_from(size).unwrap_or(u32::MAX);
    (line.len() - digits) as u32 + zeros.saturating_sub(paid)
}

#[cfg(test)]
impl Chunked {
    /// A decoder that has already counted this many bytes of extensions.
    pub(crate) fn having_counted(extensions: u32) -> Self {
        Self { extensions, ..Self::default() }
    }
}
