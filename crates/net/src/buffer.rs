//! Input buffers, and a pool of free buffers and field sections.
//!
//! A connection owns memory only while bytes wait in it: an idle one has none.

use hayami_http::FieldSection;
use std::cell::RefCell;

/// Maximum size of one read. Much larger than most request heads; the buffer grows for larger ones.
const READ_SIZE: usize = 16 * 1024;
/// Buffers that grew beyond this are freed.
const KEPT_SIZE: usize = 256 * 1024;
/// Free buffers kept by a worker: as many as there are connections within a turn, and a few more.
const KEPT_COUNT: usize = 64;

/// Bytes and field lines of most heads.
const HEAD: usize = 512;
const LINES: usize = 16;
/// Memory of heads that grew beyond this is freed.
const LARGE_HEAD: usize = 4 * 1024;

/// A worker's free buffers.
#[derive(Debug, Default)]
pub struct Pool {
    buffers: RefCell<Vec<Vec<u8>>>,
    /// Boxed, since they are passed between heads and pool as one pointer.
    #[expect(clippy::vec_box, reason = "a section is larger than what is moved for free")]
    fields: RefCell<Vec<Box<FieldSection>>>,
}

impl Pool {
    /// Returns an empty buffer, reused if possible.
    pub fn take(&self) -> Vec<u8> {
        self.buffers.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(READ_SIZE))
    }

    /// Takes a buffer back.
    pub fn give(&self, mut buffer: Vec<u8>) {
        let mut free = self.buffers.borrow_mut();
        let useful = (READ_SIZE..=KEPT_SIZE).contains(&buffer.capacity());
        if useful && free.len() < KEPT_COUNT {
            buffer.clear();
            free.push(buffer);
        }
    }

    /// Returns an empty field section with capacity for most heads.
    pub fn take_fields(&self) -> Box<FieldSection> {
        let kept = self.fields.borrow_mut().pop();
        kept.unwrap_or_else(|| Box::new(FieldSection::with_capacity(HEAD, LINES)))
    }

    /// Takes a field section back.
    pub fn give_fields(&self, mut fields: Box<FieldSection>) {
        let mut free = self.fields.borrow_mut();
        let bytes = fields.bytes().len();
        if free.len() < KEPT_COUNT && (1..=LARGE_HEAD).contains(&bytes) {
            fields.clear();
            free.push(fields);
        }
    }
}

/// Bytes received and not yet consumed.
#[derive(Debug, Default)]
pub struct Input {
    bytes: Vec<u8>,
    consumed: usize,
}

impl Input {
    /// The bytes not yet consumed.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.consumed..]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.consumed == self.bytes.len()
    }

    /// Removes bytes from the front.
    pub fn consume(&mut self, bytes: usize) {
        self.consumed += bytes;
        debug_assert!(self.consumed <= self.bytes.len());
        if self.is_empty() {
            self.bytes.clear();
            self.consumed = 0;
        }
    }

    /// The buffer, with room for a read behind the unread bytes.
    pub fn room(&mut self, pool: &Pool) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take();
        }
        if self.bytes.len() == self.bytes.capacity() {
            self.make_room();
        }
        &mut self.bytes
    }

    #[cold]
    fn make_room(&mut self) {
        self.bytes.drain(..self.consumed);
        self.consumed = 0;
        self.bytes.reserve(READ_SIZE);
    }

    /// Returns the memory even if it holds data: the connection has ended.
    pub fn end(&mut self, pool: &Pool) {
        pool.give(std::mem::take(&mut self.bytes));
        self.consumed = 0;
    }

    /// Returns the memory if it is empty.
    pub fn release(&mut self, pool: &Pool) {
        if self.is_empty() && self.bytes.capacity() > 0 {
            self.consumed = 0;
            pool.give(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_input_owns_no_memory_and_the_pool_hands_it_on() {
        let pool = Pool::default();
        let mut input = Input::default();
        input.room(&pool).extend_from_slice(b"abc");
        input.consume(1);
        input.release(&pool);
        assert_eq!(input.unread(), b"bc");
        input.consume(2);
        input.release(&pool);
        assert_eq!(input.bytes.capacity(), 0);
        assert!(pool.take().capacity() >= READ_SIZE);
    }

    #[test]
    fn a_full_input_moves_its_bytes_to_the_front_and_grows() {
        let pool = Pool::default();
        let mut input = Input::default();
        let room = input.room(&pool);
        let full = room.capacity();
        room.resize(full, 7);
        input.consume(full - 5);
        assert!(input.room(&pool).capacity() - 5 >= READ_SIZE);
        assert_eq!(input.unread(), [7; 5]);
    }
}
