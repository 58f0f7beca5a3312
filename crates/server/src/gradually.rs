//! Work in many small pieces on a worker's thread that no request waits for.

use std::time::Duration;

/// Pieces per turn. Building or freeing a route takes a few microseconds, so that a turn delays a request by about a
/// tenth of a millisecond.
const PIECES: usize = 32;

/// Pause between two turns.
const PAUSE: Duration = Duration::from_millis(1);

/// Does the work for each item, a few per turn; in between, the worker serves requests. To be run on the worker.
pub(crate) async fn gradually<T>(items: impl IntoIterator<Item = T>, mut work: impl FnMut(T)) {
    for (number, item) in items.into_iter().enumerate() {
        if number % PIECES == PIECES - 1 {
            tokio::time::sleep(PAUSE).await;
        }
        work(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn a_few_pieces_are_done_at_a_time() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let done = RefCell::new(Vec::new());
        runtime.block_on(async {
            let mut work = pin!(gradually(0..3 * PIECES, |item| done.borrow_mut().push(item)));
            let first = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!((first, done.borrow().len()), (Poll::Pending, PIECES - 1));
            work.await;
        });
        assert_eq!(*done.borrow(), (0..3 * PIECES).collect::<Vec<_>>());
    }
}
