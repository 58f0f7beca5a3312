//! The content of a listing page made for a single response.
//!
//! The plain page of a directory is in the file cache, once. Every sorted or filtered page belongs to one response and
//! stays in memory until the client has read it; so all of them together are limited.

use hayami_http::{FieldSection, Source, SourceError};
use std::task::{Context, Poll};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Bytes of all such pages of the process: two dozen of the largest, or thousands of ordinary ones.
const MOST_BYTES: usize = 32 << 20;
/// Bytes that one permit stands for.
const UNIT: usize = 1024;

/// Bytes reserved for a page before it is made; most need less.
const RESERVED: usize = 2 << 20;

static ROOM: Semaphore = Semaphore::const_new(MOST_BYTES / UNIT);

/// A page that counts towards the limit until it is dropped.
pub(in crate::modules::file) struct CountedPage {
    page: Vec<u8>,
    sent: usize,
    _room: SemaphorePermit<'static>,
}

/// Memory reserved for a page.
pub(in crate::modules::file) struct Room {
    semaphore: &'static Semaphore,
    permit: SemaphorePermit<'static>,
}

impl Room {
    /// Reserves memory for a page. `None` if the limit is reached.
    pub(in crate::modules::file) fn reserve() -> Option<Self> {
        Self::within(&ROOM, RESERVED)
    }

    fn within(semaphore: &'static Semaphore, bytes: usize) -> Option<Self> {
        let permit = semaphore.try_acquire_many(units(bytes)?).ok()?;
        Some(Self { semaphore, permit })
    }

    /// Adjusts the reservation to the page's size. `None` if that exceeds the limit.
    pub(in crate::modules::file) fn fill(mut self, page: Vec<u8>) -> Option<CountedPage> {
        let (reserved, needed) = (self.permit.num_permits(), units(page.len())?);
        match (needed as usize).checked_sub(reserved) {
            Some(more) => self.permit.merge(self.semaphore.try_acquire_many(u32::try_from(more).ok()?).ok()?),
            None => drop(self.permit.split(reserved - needed as usize)),
        }
        Some(CountedPage { page, sent: 0, _room: self.permit })
    }
}

fn units(bytes: usize) -> Option<u32> {
    u32::try_from(bytes.div_ceil(UNIT)).ok()
}

impl Source for CountedPage {
    fn fill(
        &mut self,
        _: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let rest = &self.page[self.sent..];
        let piece = &rest[..rest.len().min(room)];
        out.extend_from_slice(piece);
        self.sent += piece.len();
        Poll::Ready(Ok(self.sent == self.page.len()))
    }

    fn length(&self) -> Option<u64> {
        Some(self.page.len() as u64)
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn room(units: usize) -> &'static Semaphore {
        Box::leak(Box::new(Semaphore::new(units)))
    }

    #[test]
    fn a_page_takes_the_room_that_it_needs_until_it_is_dropped() {
        let all = room(5);
        let first = Room::within(all, 3 * UNIT).expect("there is room").fill(vec![b'a'; UNIT + 1]);
        assert_eq!((first.is_some(), all.available_permits()), (true, 3));
        assert!(Room::within(all, 4 * UNIT).is_none());
        // More than was reserved.
        let second = Room::within(all, UNIT).expect("there is room").fill(vec![b'b'; 3 * UNIT]);
        assert_eq!((second.is_some(), all.available_permits()), (true, 0));
        drop(first);
        assert!(Room::within(all, UNIT).expect("there is room").fill(vec![b'c'; 3 * UNIT]).is_none());
        drop(second);
        assert_eq!(all.available_permits(), 5);
    }

    #[test]
    fn a_page_is_given_in_pieces_that_fit() {
        let mut page = Room::within(room(1), 0).and_then(|own| own.fill(b"abcde".to_vec())).expect("room");
        assert_eq!(page.length(), Some(5));
        let (mut cx, mut out) = (Context::from_waker(Waker::noop()), Vec::new());
        for (want, ended) in [("abc", false), ("abcde", true)] {
            assert!(matches!(page.fill(&mut cx, 3, &mut out), Poll::Ready(Ok(end)) if end == ended));
            assert_eq!(out, want.as_bytes());
        }
    }
}
