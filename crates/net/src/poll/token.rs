//! Names of what is waited for.

use std::fmt;

/// Bits of a generation. A token is taken for another one's when so many entries of its table have come in the meantime,
/// and the last of them has its slot: half a billion.
const GENERATION: u32 = 29;

/// What a token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client's connection.
    Connection,
    /// A connection to an upstream.
    Upstream,
    /// A listening socket.
    Listener,
    /// A socket of datagrams.
    Datagram,
    /// An eventfd, which only ends the waiting.
    Notifier,
}

/// Something that is waited for: its kind, its slot, and its generation, which tells it from those that had the slot before.
/// The kernel keeps it with what is registered, as one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u64);

impl Token {
    /// Of that generation, as far as the bits go.
    #[inline]
    pub const fn new(kind: Kind, slot: u32, generation: u32) -> Self {
        let generation = generation & ((1 << GENERATION) - 1);
        Self((kind as u64) << (32 + GENERATION) | (generation as u64) << 32 | slot as u64)
    }

    /// What it names.
    #[inline]
    pub fn kind(self) -> Kind {
        match self.0 >> (32 + GENERATION) {
            0 => Kind::Connection,
            1 => Kind::Upstream,
            2 => Kind::Listener,
            3 => Kind::Datagram,
            // The kernel gives back what it was given: there are no others.
            _ => Kind::Notifier,
        }
    }

    /// Where it is.
    #[inline]
    pub const fn slot(self) -> usize {
        self.0 as u32 as usize
    }

    /// As the kernel keeps it.
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
