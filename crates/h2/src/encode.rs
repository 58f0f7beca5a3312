//! Encodes heads: fields to field blocks, with a memo of the last blocks.

use crate::field_block::is_of_connection;
use hayami_hpack::{Encoder, Indexing, indexing_of};
use hayami_http::field::FieldLine;
use hayami_http::{FieldSection, Known, ResponseHead, Status};
use std::sync::Arc;

/// Blocks in the memo. A client mostly requests the same few resources repeatedly, or all different ones.
const REMEMBERED: usize = 4;

/// The last response heads, encoded: while the encoder's table is unchanged, the same head has the same
/// bytes.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    blocks: Vec<Remembered>,
    /// Index of the block to be replaced next.
    oldest: usize,
}

#[derive(Debug)]
struct Remembered {
    head: Subject,
    /// Kept, so that no other section gets its address.
    _shared: Option<Arc<FieldSection>>,
    block: Vec<u8>,
}

/// The input of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Subject {
    /// Address of the shared section; 0 is none.
    shared: usize,
    status: u16,
    length: Option<u64>,
    common_version: u64,
    generation: u64,
}

/// A response head to be encoded.
#[derive(Clone, Copy)]
pub(crate) struct Response<'a> {
    pub(crate) head: &'a ResponseHead,
    /// For the Content-Length field.
    pub(crate) length: Option<u64>,
    /// Fields of every response.
    pub(crate) common: &'a FieldSection,
    /// Changes with `common`.
    pub(crate) common_version: u64,
}

impl Memo {
    /// Appends the block of a response head.
    #[inline]
    pub(crate) fn response(&mut self, encoder: &mut Encoder, response: Response<'_>, out: &mut Vec<u8>) {
        encoder.begin(out);
        let (shared, own) = response.head.parts();
        if own.is_some_and(|own| !own.is_empty()) {
            return encode_response(encoder, response, out);
        }
        let head = Subject {
            shared: shared.map_or(0, |shared| Arc::as_ptr(shared) as usize),
            status: response.head.status().code(),
            length: response.length,
            common_version: response.common_version,
            generation: encoder.generation(),
        };
        match self.blocks.iter().find(|remembered| remembered.head == head) {
            Some(remembered) => out.extend_from_slice(&remembered.block),
            None => self.encode_and_remember(encoder, response, head, shared, out),
        }
    }

    #[cold]
    fn encode_and_remember(
        &mut self,
        encoder: &mut Encoder,
        response: Response<'_>,
        head: Subject,
        shared: Option<&Arc<FieldSection>>,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        encode_response(encoder, response, out);
        if encoder.generation() != head.generation {
            return; // it adds entries to the table
        }
        let shared = shared.cloned();
        if self.blocks.len() < REMEMBERED {
            let block = out[start..].to_vec();
            self.blocks.push(Remembered { head, _shared: shared, block });
            return;
        }
        let place = &mut self.blocks[self.oldest];
        self.oldest = (self.oldest + 1) % REMEMBERED;
        place.block.clear();
        place.block.extend_from_slice(&out[start..]);
        (place.head, place._shared) = (head, shared);
    }

    /// Removes everything and frees the memory.
    pub(crate) fn release(&mut self) {
        *self = Self::default();
    }
}

/// Called after `begin`.
fn encode_response(encoder: &mut Encoder, response: Response<'_>, out: &mut Vec<u8>) {
    encoder.status(response.head.status().code(), out);
    fields(encoder, response.common, out);
    if let Some(length) = response.length {
        let mut digits = itoa::Buffer::new();
        let value = digits.format(length).as_bytes();
        let (known, name) = (Known::ContentLength, Known::ContentLength.name());
        encoder.field(name, value, indexing_of(Some(known), name, value), out);
    }
    for section in response.head.sections() {
        fields(encoder, section, out);
    }
}

/// Appends the block of an interim response.
pub(crate) fn interim(encoder: &mut Encoder, status: Status, section: &FieldSection, out: &mut Vec<u8>) {
    encoder.begin(out);
    encoder.status(status.code(), out);
    fields(encoder, section, out);
}

/// Appends fields to a started block, without those that the engine writes itself or that HTTP/2 forbids (RFC
/// 9113 §8.2.2).
pub(crate) fn fields(encoder: &mut Encoder, section: &FieldSection, out: &mut Vec<u8>) {
    for line in section.lines().filter(|line| line.known != Some(Known::ContentLength)) {
        field(encoder, line, out);
    }
}

/// As [`fields`], without Host: the request has an authority.
pub(crate) fn fields_but_host(encoder: &mut Encoder, section: &FieldSection, out: &mut Vec<u8>) {
    let written_separately = |known| matches!(known, Some(Known::ContentLength | Known::Host));
    for line in section.lines().filter(|line| !written_separately(line.known)) {
        field(encoder, line, out);
    }
}

#[inline]
fn field(encoder: &mut Encoder, line: FieldLine<'_>, out: &mut Vec<u8>) {
    let FieldLine { name, value, known, sensitive } = line;
    if is_of_connection(known) || name.starts_with(b":") {
        return;
    }
    let indexing = if sensitive { Indexing::Never } else { indexing_of(known, name, value) };
    encoder.field(name, value, indexing, out);
}
