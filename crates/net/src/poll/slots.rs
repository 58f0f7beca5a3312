//! A slot table: each entry is at the slot that its token names.

use super::{Kind, Token};
use std::ops::Deref;

/// An entry that knows its own token.
pub trait Tokened {
    /// The token that its table assigned to it.
    fn token(&self) -> Token;
}

/// A table of boxes or shared pointers with free slots; the slot freed last is reused first, while its memory is
/// still warm.
///
/// Generations are counted per table, not per slot, and each entry stores its own: an empty slot costs eight bytes,
/// and detecting a stale event costs one comparison with data that is read anyway.
#[derive(Debug)]
pub struct Slots<P> {
    kind: Kind,
    slots: Vec<Option<P>>,
    free: Vec<u32>,
    taken: usize,
    generation: u32,
}

impl<P: Deref<Target: Tokened>> Slots<P> {
    /// Creates an empty table for tokens of this kind.
    pub fn new(kind: Kind) -> Self {
        Self { kind, slots: Vec::new(), free: Vec::new(), taken: 0, generation: 0 }
    }

    /// Returns the token of the next entry. It is unique to that entry, even if the entry is never
    /// [inserted](Self::insert).
    pub fn announce(&mut self) -> Token {
        let slot = self.free.last().copied().unwrap_or(self.slots.len() as u32);
        self.generation = self.generation.wrapping_add(1);
        Token::new(self.kind, slot, self.generation)
    }

    /// Inserts the entry that was announced last.
    pub fn insert(&mut self, entry: P) {
        let slot = entry.token().slot();
        match self.free.pop() {
            Some(hole) => {
                debug_assert_eq!(slot, hole as usize, "announced last");
                self.slots[hole as usize] = Some(entry);
            }
            None => self.slots.push(Some(entry)),
        }
        self.taken += 1;
    }

    /// Returns the entry with this token, or `None` if it was removed, even if its slot is in use again.
    #[inline]
    pub fn get(&self, token: Token) -> Option<&P> {
        self.slots.get(token.slot())?.as_ref().filter(|entry| entry.token() == token)
    }

    /// Like [`get`](Self::get).
    #[inline]
    pub fn get_mut(&mut self, token: Token) -> Option<&mut P> {
        self.slots.get_mut(token.slot())?.as_mut().filter(|entry| entry.token() == token)
    }

    /// The token of the entry in a slot.
    pub fn at(&self, slot: usize) -> Option<Token> {
        Some(self.slots.get(slot)?.as_ref()?.token())
    }

    /// Number of slots; all entries are in slots below it.
    pub fn end(&self) -> usize {
        self.slots.len()
    }

    /// Removes an entry. The caller drops it, with its slot already free.
    pub fn remove(&mut self, token: Token) -> Option<P> {
        self.get(token)?;
        self.free.push(token.slot() as u32);
        self.taken -= 1;
        self.slots[token.slot()].take()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.taken
    }

    /// Whether the table has no entries.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Iterates over the entries.
    pub fn iter(&self) -> impl Iterator<Item = &P> {
        self.slots.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Entry(Token, char);

    impl Tokened for Entry {
        fn token(&self) -> Token {
            self.0
        }
    }

    fn insert(slots: &mut Slots<Box<Entry>>, what: char) -> Token {
        let token = slots.announce();
        slots.insert(Box::new(Entry(token, what)));
        token
    }

    fn what(slots: &Slots<Box<Entry>>, token: Token) -> Option<char> {
        slots.get(token).map(|entry| entry.1)
    }

    #[test]
    fn a_hole_is_filled_before_the_table_grows() {
        let mut slots = Slots::new(Kind::Connection);
        let (a, b) = (insert(&mut slots, 'a'), insert(&mut slots, 'b'));
        slots.remove(a);
        assert!(slots.remove(a).is_none());
        assert_eq!(slots.len(), 1);
        let (c, d) = (insert(&mut slots, 'c'), insert(&mut slots, 'd'));
        assert_eq!([a, b, c, d].map(Token::slot), [0, 1, 0, 2]);
        let entries: Vec<char> = slots.iter().map(|entry| entry.1).collect();
        assert_eq!((entries, slots.at(2), slots.at(3)), (vec!['c', 'b', 'd'], Some(d), None));
    }

    #[test]
    fn a_late_token_does_not_find_the_next_entry_of_its_slot() {
        let mut slots = Slots::new(Kind::Upstream);
        let first = insert(&mut slots, 'a');
        slots.remove(first);
        assert_eq!(what(&slots, first), None);
        let second = insert(&mut slots, 'b');
        assert_eq!(
            (first.slot(), what(&slots, first), what(&slots, second)),
            (second.slot(), None, Some('b'))
        );
        assert!(slots.remove(first).is_none() && slots.get_mut(first).is_none());
        assert_eq!(what(&slots, second), Some('b'));
    }

    #[test]
    fn a_token_that_was_announced_in_vain_is_never_another_entrys() {
        let mut slots = Slots::new(Kind::Connection);
        let in_vain = slots.announce();
        let token = insert(&mut slots, 'a');
        assert_eq!((in_vain.slot(), what(&slots, in_vain)), (token.slot(), None));
    }

    #[test]
    fn generations_may_start_over() {
        let mut slots = Slots::new(Kind::Connection);
        slots.generation = u32::MAX - 1;
        let tokens = ['a', 'b', 'c'].map(|each| insert(&mut slots, each));
        assert_eq!(tokens.map(|token| what(&slots, token)), [Some('a'), Some('b'), Some('c')]);
    }
}
