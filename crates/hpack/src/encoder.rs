//! Fields to field blocks (RFC 7541 §6).
//!
//! The table's entries are found by hash: `heads` has the newest entry of each hash, and each entry links to
//! the next older one with the same hash. Evicted entries need no cleanup: a chain ends at the first of them.
//! A chain can't be longer than the table, which has at most 128 entries, so an attacker gains nothing by
//! provoking collisions.

use crate::dynamic_table::DynamicTable;
use crate::{Token, bytes, huffman, integer, static_table};
use std::hash::{BuildHasher, RandomState};

/// The largest table that is used, whatever the peer offers: the protocol's default. It has ample room for
/// what repeats in response heads, and costs memory per connection.
pub const MAX_TABLE_SIZE: u32 = 4096;

/// Whether a field enters the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// It does, and costs a byte or two from then on (RFC 7541 §6.2.1).
    Add,
    /// It doesn't (RFC 7541 §6.2.2).
    No,
    /// It doesn't, nor may it at any later hop (RFC 7541 §6.2.3).
    Never,
}

/// Numbers of the youngest entry with a hash of name and value, and with a hash of the name.
#[derive(Clone, Copy, Debug, Default)]
struct Heads {
    whole: u32,
    name: u32,
}

/// An entry's metadata: its hashes, and the numbers of the next older entries in its chains.
#[derive(Clone, Copy, Debug, Default)]
struct Links {
    hashes: Hashes,
    older: Heads,
}

#[derive(Clone, Copy, Debug, Default)]
struct Hashes {
    whole: u32,
    name: u32,
}

/// The encoder of one connection.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable<Links>,
    /// By the low bits of a hash; as many as the table has entries.
    heads: Vec<Heads>,
    seed: u64,
    /// What the peer's settings allow of [`MAX_TABLE_SIZE`].
    wanted: u32,
    /// The smallest it has been since the last block.
    smallest: u32,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// An encoder with the protocol's default table size, 4096 bytes. It owns no memory yet.
    pub fn new() -> Self {
        Self::with_seed(RandomState::new().hash_one(0))
    }

    /// The same with a fixed hash seed, for measurements: every run does the same work.
    pub fn with_seed(seed: u64) -> Self {
        Self {
            table: DynamicTable::new(MAX_TABLE_SIZE),
            heads: Vec::new(),
            seed,
            wanted: MAX_TABLE_SIZE,
            smallest: MAX_TABLE_SIZE,
        }
    }

    /// The peer's SETTINGS_HEADER_TABLE_SIZE. The next block announces the size in use to the peer.
    pub fn set_peer_limit(&mut self, size: u32) {
        self.wanted = size.min(MAX_TABLE_SIZE);
        self.smallest = self.smallest.min(self.wanted);
    }

    /// Starts a block. Call it before the first field.
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        let size = self.table.max_size();
        if size != self.wanted as usize || size != self.smallest as usize {
            self.write_sizes(out);
        }
    }

    /// RFC 7541 §4.2: the smallest size since the last block, then the present one.
    #[cold]
    fn write_sizes(&mut self, out: &mut Vec<u8>) {
        for size in [self.smallest, self.wanted] {
            if size as usize != self.table.max_size() {
                integer::write(0x20, 5, size as usize, out);
                self.table.set_max_size(size);
            }
        }
        self.smallest = self.wanted;
    }

    /// Appends a field. A name in upper case is written in lower case.
    #[inline]
    pub fn field(&mut self, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        // The most frequent pseudo-header fields are in the static table.
        if let ([b':', ..], Indexing::Add | Indexing::No) = (name, indexing)
            && let Some(index) = static_table::pseudo_index(name, value)
        {
            return out.push(0x80 | index);
        }
        if indexing != Indexing::Add {
            return self.literal(name, value, indexing, out);
        }
        let hashes = self.hashes(name, value);
        match self.find(hashes, name, value) {
            Some(index) => integer::write(0x80, 7, index, out),
            None => self.add(name, value, hashes, out),
        }
    }

    /// Appends `:status`.
    #[inline]
    pub fn status(&mut self, code: u16, out: &mut Vec<u8>) {
        // RFC 7541 Appendix A
        let index = match code {
            200 => 8,
            204 => 9,
            206 => 10,
            304 => 11,
            400 => 12,
            404 => 13,
            500 => 14,
            _ => return self.other_status(code, out),
        };
        out.push(0x80 | index);
    }

    #[cold]
    fn other_status(&mut self, code: u16, out: &mut Vec<u8>) {
        let digits = [code / 100 % 10, code / 10 % 10, code % 10].map(|digit| b'0' + digit as u8);
        self.field(b":status", &digits, Indexing::Add, out);
    }

    /// Appends the pseudo-header field `token` (`:method`, `:scheme`, `:authority`, `:path`, `:protocol`);
    /// values in the static table cost one byte.
    #[inline]
    pub fn pseudo(&mut self, token: Token, value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        self.field(token.name(), value, indexing, out);
    }

    /// Changes whenever an entry enters or leaves the table, and in [`begin`](Self::begin) when the size
    /// does. While it's unchanged, a head that was encoded without changing it gives the same bytes again.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.table.changes()
    }

    #[inline]
    fn hashes(&self, name: &[u8], value: &[u8]) -> Hashes {
        let name = bytes::hash_name(self.seed, name);
        Hashes { whole: bytes::hash(name, value) as u32, name: name as u32 }
    }

    /// Index of the entry with that name and value in the dynamic table.
    #[inline]
    fn find(&self, hashes: Hashes, name: &[u8], value: &[u8]) -> Option<usize> {
        let mut number = self.heads_of(hashes.whole)?.whole;
        let mut younger = None;
        loop {
            let age = self.age_behind(younger, number)?;
            let (entry, entry_name, entry_value) = self.table.get(age)?;
            let same = entry.meta.hashes.whole == hashes.whole;
            if same && bytes::same(value, entry_value) && bytes::same_name(name, entry_name) {
                return Some(index_of(age));
            }
            (number, younger) = (entry.meta.older.whole, Some(age));
        }
    }

    /// Index of the youngest entry with that name in the dynamic table.
    fn find_name(&self, hash: u32, name: &[u8]) -> Option<usize> {
        let mut number = self.heads_of(hash)?.name;
        let mut younger = None;
        loop {
            let age = self.age_behind(younger, number)?;
            let (entry, entry_name, _) = self.table.get(age)?;
            if entry.meta.hashes.name == hash && bytes::same_name(name, entry_name) {
                return Some(index_of(age));
            }
            (number, younger) = (entry.meta.older.name, Some(age));
        }
    }

    #[inline]
    fn heads_of(&self, hash: u32) -> Option<&Heads> {
        self.heads.get(hash as usize & self.heads.len().wrapping_sub(1))
    }

    /// Age of an entry by its number, if it's older than the previous one in a chain: numbers of entries
    /// evicted long ago may look young again.
    #[inline]
    fn age_behind(&self, younger: Option<u32>, number: u32) -> Option<u32> {
        let age = self.table.inserted().wrapping_sub(number);
        younger.is_none_or(|younger| younger < age).then_some(age)
    }

    /// Inserts a field that is not in the dynamic table.
    #[cold]
    fn add(&mut self, name: &[u8], value: &[u8], hashes: Hashes, out: &mut Vec<u8>) {
        let static_name = static_table::name_index(name);
        if let Some(index) = static_table::value_index(static_name, value) {
            return out.push(0x80 | index as u8);
        }
        if !self.table.takes(name.len(), value.len()) {
            return self.literal(name, value, Indexing::No, out); // it would empty the table: RFC 7541 §4.4
        }
        let index = match static_name {
            0 => self.find_name(hashes.name, name).unwrap_or(0),
            index => index as usize,
        };
        integer::write(0x40, 6, index, out);
        write_literal(index, name, value, out);
        self.insert(name, value, hashes);
    }

    /// RFC 7541 §6.2.2 and §6.2.3, or an index into the static table.
    fn literal(&mut self, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        let static_name = static_table::name_index(name);
        let never = indexing == Indexing::Never;
        match static_table::value_index(static_name, value) {
            Some(index) if !never => return out.push(0x80 | index as u8),
            _ => {}
        }
        let index = match static_name {
            0 => self.find_name(bytes::hash_name(self.seed, name) as u32, name).unwrap_or(0),
            index => index as usize,
        };
        integer::write(if never { 0x10 } else { 0 }, 4, index, out);
        write_literal(index, name, value, out);
    }

    fn insert(&mut self, name: &[u8], value: &[u8], hashes: Hashes) {
        self.table.open();
        let made = self.table.tail(0, name.len() + value.len());
        let (made_name, made_value) = made.split_at_mut(name.len());
        made_name.copy_from_slice(name);
        made_name.make_ascii_lowercase();
        made_value.copy_from_slice(value);
        self.table.insert(name.len(), value.len(), Links { hashes, older: Heads::default() });
        if self.heads.len() == self.table.capacity() { self.link(0) } else { self.link_all() }
    }

    #[cold]
    fn link_all(&mut self) {
        self.heads.clear();
        self.heads.resize(self.table.capacity(), Heads::default());
        (0..self.table.len()).rev().for_each(|age| self.link(age));
    }

    /// Puts an entry before the older ones of its chains.
    fn link(&mut self, age: u32) {
        let number = self.table.inserted().wrapping_sub(age);
        let mask = self.heads.len().wrapping_sub(1);
        let Some(links) = self.table.meta_mut(age) else { return };
        if let Some(heads) = self.heads.get_mut(links.hashes.whole as usize & mask) {
            links.older.whole = std::mem::replace(&mut heads.whole, number);
        }
        if let Some(heads) = self.heads.get_mut(links.hashes.name as usize & mask) {
            links.older.name = std::mem::replace(&mut heads.name, number);
        }
    }
}

fn index_of(age: u32) -> usize {
    (age + static_table::LAST + 1) as usize
}

/// The strings of a literal: the name too if it has no index.
fn write_literal(index: usize, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    if index == 0 {
        // RFC 9113 §8.2: names are in lower case.
        write_string(name.iter().map(u8::to_ascii_lowercase), out);
    }
    write_string(value.iter().copied(), out);
}

/// RFC 7541 §5.2, Huffman-coded when that's shorter.
fn write_string(text: impl ExactSizeIterator<Item = u8> + Clone, out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(text.clone());
    if coded < text.len() {
        integer::write(0x80, 7, coded, out);
        huffman::encode(text, out);
    } else {
        integer::write(0, 7, text.len(), out);
        out.extend(text);
    }
}
