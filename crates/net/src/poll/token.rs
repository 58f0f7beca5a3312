//! Tokens: the names of event sources.

use std::fmt;

/// Bits of a generation. Two tokens of a table are equal only after the table has had half a billion entries in
/// between and the last of those takes the same slot.
const GENERATION: u32 = 29;

/// What a token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client connection.
    Connection,
    /// An upstream connection.
    Upstream,
    /// A listening socket.
    Listener,
    /// A datagram socket.
    Datagram,
    /// An eventfd, which only interrupts the wait.
    Notifier,
}

/// An event source: its kind, its slot, and its generation, which distinguishes it from earlier entries in the same
/// slot. The kernel stores it with the registration, as one 64-bit number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u64);

impl Token {
    /// Creates a token; `generation` is truncated to the bits available.
    #[inline]
    pub const fn new(kind: Kind, slot: u32, generation: u32) -> Self {
        let generation = generation & ((1 << GENERATION) - 1);
        Self((kind as u64) << (32 + GENERATION) | (generation as u64) << 32 | slot as u64)
    }

    /// What the token names.
    #[inline]
    pub fn kind(self) -> Kind {
        match self.0 >> (32 + GENERATION) {
            0 => Kind::Connection,
            1 => Kind::Upstream,
            2 => Kind::Listener,
            3 => Kind::Datagram,
            // The kernel returns the bits it was given: there are no other values.
            _ => Kind::Notifier,
        }
    }

    /// Its index in the table.
    #[inline]
    pub const fn slot(self) -> usize {
        self.0 as u32 as usize
    }

    /// The number stored in the kernel.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generation = (self.0 >> 32) as u32 & ((1 << GENERATION) - 1);
        write!(f, "{:?} {} ({generation})", self.kind(), self.slot())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_keeps_kind_and_slot_apart_whatever_the_generation() {
        for kind in [Kind::Connection, Kind::Upstream, Kind::Listener, Kind::Datagram, Kind::Notifier] {
            for (slot, generation) in [(0, 0), (u32::MAX, u32::MAX), (7, 1 << (GENERATION - 1))] {
                let token = Token::from_bits(Token::new(kind, slot, generation).to_bits());
                assert_eq!((token.kind(), token.slot()), (kind, slot as usize), "{token:?}");
            }
        }
    }

    #[test]
    fn generations_start_over_without_touching_the_kind() {
        let last = Token::new(Kind::Upstream, 3, (1 << GENERATION) - 1);
        let next = Token::new(Kind::Upstream, 3, 1 << GENERATION);
        assert_ne!(last, next);
        assert_eq!(next, Token::new(Kind::Upstream, 3, 0));
        assert_eq!(format!("{last:?}"), "Upstream 3 (536870911)");
    }
}
