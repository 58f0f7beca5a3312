//! Encoders and buffers that a thread reuses, so that a response does not allocate, clear and free memory, which would
//! also cause fragmentation.

use super::settings::{PIECE, Target};
use std::cell::RefCell;

/// Encoders kept per thread: as many as it alternates between with typical settings; about 2 MB.
const ENCODERS: usize = 4;

/// Buffers kept per thread: input and output of the current piece, and some more.
const BUFFERS: usize = 4;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Encoders for reuse, the latest last.
pub(super) struct Pool<T>(Vec<(Target, T)>);

impl<T> Pool<T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// An encoder of this coding and quality, if there is one.
    pub(super) fn take(&mut self, target: Target) -> Option<T> {
        let at = self.0.iter().rposition(|(kept, _)| *kept == target)?;
        Some(self.0.remove(at).1)
    }

    /// Keeps an encoder; the oldest is dropped if there are too many. Encoders of slow qualities are not kept: they run
    /// on short-lived threads.
    pub(super) fn give(&mut self, target: Target, encoder: T) {
        if target.is_slow() {
            return;
        }
        if self.0.len() == ENCODERS {
            self.0.remove(0);
        }
        self.0.push((target, encoder));
    }
}

/// An empty buffer.
pub(super) fn take_buffer() -> Vec<u8> {
    KEPT.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Keeps a buffer, if it is of a useful size.
pub(super) fn give_buffer(mut buffer: Vec<u8>) {
    if (PIECE / 4..=2 * PIECE).contains(&buffer.capacity()) {
        buffer.clear();
        KEPT.with_borrow_mut(|kept| {
            if kept.len() < BUFFERS {
                kept.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_http::negotiate::Coding;

    #[test]
    fn encoders_are_kept_by_coding_and_quality_and_the_oldest_make_room() {
        let gzip = |quality| Target { coding: Coding::Gzip, quality };
        let mut pool = Pool::new();
        for (number, quality) in [1, 1, 2, 3, 4].into_iter().enumerate() {
            pool.give(gzip(quality), number);
        }
        pool.give(Target { coding: Coding::Zstd, quality: 19 }, 9);
        assert_eq!(
            [1, 1, 2, 3, 4].map(|quality| pool.take(gzip(quality))),
            [Some(1), None, Some(2), Some(3), Some(4)]
        );
        assert_eq!(pool.take(Target { coding: Coding::Zstd, quality: 19 }), None);
    }

    #[test]
    fn buffers_of_a_useful_size_are_used_again() {
        for (capacity, kept) in
            [(0, false), (PIECE / 8, false), (PIECE, true), (2 * PIECE, true), (4 * PIECE, false)]
        {
            give_buffer(Vec::with_capacity(capacity));
            assert_eq!(take_buffer().capacity() > 0, kept, "{capacity}");
        }
    }
}
