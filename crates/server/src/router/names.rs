//! Keys of `hosts` by name, ignoring case (RFC 9110 §4.2.3): a lookup costs the same with ten names and with ten
//! thousand.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

/// The ports of a key.
#[derive(Clone, Debug)]
pub(super) enum Ports {
    Any,
    These(Box<[u16]>),
}

impl Ports {
    #[inline]
    pub(super) fn has(&self, port: u16) -> bool {
        match self {
            Self::Any => true,
            Self::These(ports) => ports.contains(&port),
        }
    }
}

/// Names and their hosts.
#[derive(Debug, Default)]
pub(super) struct Names {
    table: HashTable<Named>,
    /// A bit for each length of a name, modulo 64: most unknown names need no hash.
    lengths: u64,
    /// Length of the longest name in bytes.
    longest: usize,
}

/// A name and its keys: those with a port first, otherwise in the order written.
#[derive(Debug)]
pub(super) struct Named {
    /// In lower case.
    name: Box<[u8]>,
    /// Its position among the names as written.
    pub(super) order: usize,
    keys: Vec<Entry>,
}

/// A key of a name.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) ports: Ports,
    /// Whether the key has a port.
    pub(super) has_port: bool,
    pub(super) host: usize,
}

impl Names {
    /// Adds a key of a name.
    pub(super) fn insert(&mut self, name: &[u8], entry: Entry) {
        let hash = hash(name);
        if let Some(named) = self.table.find_mut(hash, |named| named.is(name)) {
            return named.add(entry);
        }
        let order = self.table.len();
        let named = Named { name: name.to_ascii_lowercase().into(), order, keys: vec![entry] };
        self.table.insert_unique(hash, named, |named| self::hash(&named.name));
        self.lengths |= bit(name);
        self.longest = self.longest.max(name.len());
    }

    /// The keys of `name`.
    #[inline]
    pub(super) fn get(&self, name: &[u8]) -> Option<&Named> {
        if self.lengths & bit(name) == 0 {
            return None;
        }
        self.table.find(hash(name), |named| named.is(name))
    }

    /// Length of the longest name in bytes; longer ones need not be looked up.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}

impl Named {
    fn is(&self, name: &[u8]) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    fn add(&mut self, entry: Entry) {
        let with_port = self.keys.partition_point(|other| other.has_port);
        let at = if entry.has_port { with_port } else { self.keys.len() };
        self.keys.insert(at, entry);
    }

    /// The host for requests to this port.
    #[inline]
    pub(super) fn at(&self, port: u16) -> Option<usize> {
        self.keys.iter().find(|entry| entry.ports.has(port)).map(|entry| entry.host)
    }
}

fn bit(name: &[u8]) -> u64 {
    1 << (name.len() % 64)
}

/// Sets the bit that distinguishes upper from lower case in each of eight letters. This may make other bytes equal,
/// which only costs a comparison.
const LOWER_CASE: u64 = 0x2020_2020_2020_2020;

fn hash(name: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    let (words, rest) = name.as_chunks::<8>();
    for word in words {
        hasher.write_u64(u64::from_le_bytes(*word) | LOWER_CASE);
    }
    let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    hasher.write_u64(rest | LOWER_CASE);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_whatever_their_length() {
        let mut names = Names::default();
        let all: Vec<String> = (0..200).map(|len| format!("{}.example", "Ab-1".repeat(len))).collect();
        for (host, name) in all.iter().enumerate() {
            names.insert(name.as_bytes(), Entry { ports: Ports::Any, has_port: false, host });
        }
        for (host, name) in all.iter().enumerate() {
            for name in [name.clone(), name.to_lowercase(), name.to_uppercase()] {
                let found = names.get(name.as_bytes()).expect(&name);
                assert_eq!((found.order, found.at(80)), (host, Some(host)), "{name}");
            }
        }
        for absent in ["", "a.example", "\0.example", "ab-1\u{e}example"] {
            assert!(names.get(absent.as_bytes()).is_none(), "{absent:?}");
        }
        assert_eq!(names.longest(), all[199].len());
    }
}
