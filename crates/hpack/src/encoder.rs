//! Fields to field blocks (RFC 7541 §6).

/// Octets of table we use at most, whatever the peer offers: the protocol's default.
pub const OUR_MOST: u32 = 4096;

/// Whether a field enters the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// It does, and costs an octet or two from then on (RFC 7541 §6.2.1).
    Add,
    /// It doesn't (RFC 7541 §6.2.2).
    No,
    /// It doesn't, nor may it at any hop behind us (RFC 7541 §6.2.3).
    Never,
}

/// The encoder of one connection.
#[derive(Debug, Default)]
pub struct Encoder {
    generation: u64,
}

impl Encoder {
    /// An encoder with the protocol's default table size, 4096 octets. It owns no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The peer's SETTINGS_HEADER_TABLE_SIZE. The next block tells the peer what we make of it.
    pub fn set_peer_limit(&mut self, _size: u32) {}

    /// Starts a block: to be called before its first field.
    pub fn begin(&mut self, _out: &mut Vec<u8>) {}

    /// Appends a field. A name in upper case is written in lower case.
    pub fn field(&mut self, _name: &[u8], _value: &[u8], _indexing: Indexing, _out: &mut Vec<u8>) {}

    /// Appends `:status`.
    pub fn status(&mut self, _code: u16, _out: &mut Vec<u8>) {}

    /// Appends the pseudo-header field `token` (`:method`, `:scheme`, `:authority`, `:path`, `:protocol`).
    pub fn pseudo(&mut self, _token: crate::Token, _value: &[u8], _indexing: Indexing, _out: &mut Vec<u8>) {}

    /// Changes whenever an entry enters or leaves the table. A head that was encoded without changing it
    /// gives the same octets again as long as it's the same.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}
