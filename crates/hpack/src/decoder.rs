//! Field blocks to fields (RFC 7541 §3).
//!
//! A name's token and a field's well-formedness are determined once, when an entry enters the table; a
//! reference to it costs one lookup. Literals are assembled in the tail of the table's buffer, where they
//! stay if they become an entry.
//!
//! The work for a block is bounded by its length, except that a literal may refer to an entry with a long
//! name: that name is copied, at most as many bytes as the table has.

use crate::dynamic_table::DynamicTable;
use crate::{Fault, Field, Sink, Token, huffman, integer, static_table, well_formed};

/// Table size of both ends until settings change it (RFC 9113 §6.5.2).
const DEFAULT_SIZE: u32 = 4096;

/// The result of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Decoded {
    /// Size of the section: 32 and the bytes of name and value for each field (RFC 9113 §6.5.2).
    pub size: usize,
    /// Whether that's more than the limit, so that some fields were not handed out.
    pub too_large: bool,
}

/// An entry's metadata.
#[derive(Clone, Copy, Debug, Default)]
struct Meaning {
    token: Token,
    name_well_formed: bool,
    well_formed: bool,
}

/// The decoder of one connection.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable<Meaning>,
    /// The largest table size that the peer may set.
    limit: u32,
    /// The next block has to begin with a table size no larger than this.
    demanded: Option<u32>,
}

impl Decoder {
    /// A decoder whose side sends `max_table_size` as SETTINGS_HEADER_TABLE_SIZE. It owns no memory yet.
    ///
    /// Until the peer acknowledges the settings it may use the 4096 bytes of the protocol's default; call
    /// [`set_limit`](Self::set_limit) with the same number then, if it's a smaller one.
    pub fn new(max_table_size: u32) -> Self {
        let limit = max_table_size.max(DEFAULT_SIZE);
        Self { table: DynamicTable::new(DEFAULT_SIZE), limit, demanded: None }
    }

    /// The peer acknowledged SETTINGS_HEADER_TABLE_SIZE. If its table is larger, its next block has to begin
    /// by making it smaller (RFC 7541 §4.2).
    pub fn set_limit(&mut self, max_table_size: u32) {
        self.limit = max_table_size;
        let in_use = self.demanded.unwrap_or(self.table.max_size() as u32);
        if max_table_size < in_use {
            self.demanded = Some(max_table_size);
        }
    }

    /// Decodes one whole field block.
    ///
    /// Once the section's size passes `max_section` the rest is still decoded, because the table must stay in
    /// sync with the peer's, but not handed out.
    ///
    /// # Errors
    /// The first rule that the block breaks; the connection can't continue (COMPRESSION_ERROR).
    pub fn decode(
        &mut self,
        block: &[u8],
        max_section: usize,
        sink: &mut impl Sink,
    ) -> Result<Decoded, Fault> {
        let (mut rest, mut size) = (self.table_sizes(block)?, 0);
        while let [first, after @ ..] = rest {
            rest = after;
            let field = match first {
                0x80.. => self.indexed(*first, &mut rest)?,
                0x40..=0x7f => self.literal(*first, 6, true, &mut rest)?,
                0x20..=0x3f => return Err(Fault::SizeNotFirst), // RFC 7541 §4.2
                0x10..=0x1f => Field { never_indexed: true, ..self.literal(*first, 4, false, &mut rest)? },
                0x00..=0x0f => self.literal(*first, 4, false, &mut rest)?,
            };
            size += field.name.len() + field.value.len() + 32;
            if size <= max_section {
                sink.field(field);
            }
        }
        self.table.close();
        Ok(Decoded { size, too_large: size > max_section })
    }

    /// Applies the table sizes that a block begins with (RFC 7541 §6.3) and returns the rest.
    #[inline]
    fn table_sizes<'b>(&mut self, block: &'b [u8]) -> Result<&'b [u8], Fault> {
        match block {
            [0x20..=0x3f, ..] => self.set_table_sizes(block),
            _ if self.demanded.is_some() => Err(Fault::SizeMissing), // RFC 7541 §4.2
            _ => Ok(block),
        }
    }

    #[cold]
    fn set_table_sizes<'b>(&mut self, mut rest: &'b [u8]) -> Result<&'b [u8], Fault> {
        while let [first @ 0x20..=0x3f, after @ ..] = rest {
            rest = after;
            let size = integer::read(*first, 5, &mut rest)?;
            if size > self.limit {
                return Err(Fault::SizeAboveLimit);
            }
            // RFC 7541 §4.2: the smallest size that was demanded is among them; some encoders send the larger
            // ones too.
            self.demanded.take_if(|demanded| size <= *demanded);
            self.table.set_max_size(size);
        }
        if self.demanded.is_some() { Err(Fault::SizeMissing) } else { Ok(rest) }
    }

    /// RFC 7541 §6.1. Always inlined: a field returned through memory is read before its stores complete, and
    /// that stall costs more than everything else here.
    #[inline(always)]
    fn indexed(&self, first: u8, rest: &mut &[u8]) -> Result<Field<'_>, Fault> {
        match integer::read(first, 7, rest)? {
            0 => Err(Fault::IndexZero),
            index @ 1..=static_table::LAST => Ok(static_table::TABLE[index as usize]),
            index => {
                let age = index - static_table::LAST - 1;
                let (entry, name, value) = self.table.get(age).ok_or(Fault::IndexOutOfRange)?;
                let Meaning { token, well_formed, .. } = entry.meta;
                Ok(Field { name, value, token, well_formed, never_indexed: false })
            }
        }
    }

    /// RFC 7541 §6.2; `add` to the table or not.
    #[inline(never)]
    fn literal(&mut self, first: u8, prefix: u32, add: bool, rest: &mut &[u8]) -> Result<Field<'_>, Fault> {
        self.table.open();
        let start = self.table.tail_start();
        let (name_len, mut meaning) = match integer::read(first, prefix, rest)? {
            0 => self.literal_name(rest)?,
            index => self.name_of(index)?,
        };
        let value_len = self.string(name_len, rest)?;
        let (_, value) = self.table.made(start, name_len, value_len);
        meaning.well_formed = meaning.name_well_formed && well_formed::value(value);
        if add {
            self.table.insert(name_len, value_len, meaning);
        }
        let Meaning { token, well_formed, .. } = meaning;
        let (name, value) = self.table.made(start, name_len, value_len);
        Ok(Field { name, value, token, well_formed, never_indexed: false })
    }

    fn literal_name(&mut self, rest: &mut &[u8]) -> Result<(usize, Meaning), Fault> {
        let len = self.string(0, rest)?;
        let (name, _) = self.table.made(self.table.tail_start(), len, 0);
        let (token, name_well_formed) = well_formed::name(name);
        Ok((len, Meaning { token, name_well_formed, well_formed: false }))
    }

    /// Copies the name of an entry to where the literal is assembled: the literal may evict that entry (RFC
    /// 7541 §4.4).
    #[inline]
    fn name_of(&mut self, index: u32) -> Result<(usize, Meaning), Fault> {
        match static_table::TABLE.get(index as usize) {
            Some(Field { name, token, .. }) => {
                self.table.tail(0, name.len()).copy_from_slice(name);
                Ok((name.len(), Meaning { token: *token, name_well_formed: true, well_formed: true }))
            }
            None => {
                let age = index - static_table::LAST - 1;
                self.table.copy_name(age).ok_or(Fault::IndexOutOfRange)
            }
        }
    }

    /// Reads a string literal (RFC 7541 §5.2) into the tail from its byte `at` on. Returns its length.
    #[inline]
    fn string(&mut self, at: usize, rest: &mut &[u8]) -> Result<usize, Fault> {
        let (first, after) = rest.split_first().ok_or(Fault::Truncated)?;
        *rest = after;
        let len = integer::read(*first, 7, rest)? as usize;
        let (text, after) = rest.split_at_checked(len).ok_or(Fault::Truncated)?;
        *rest = after;
        if first & 0x80 != 0 {
            return huffman::decode(text, self.table.tail(at, huffman::room_for(len)));
        }
        self.table.tail(at, len).copy_from_slice(text);
        Ok(len)
    }
}
