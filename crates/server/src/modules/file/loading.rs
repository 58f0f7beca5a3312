//! Paths being loaded in the blocking pool, so that a thousand requests for a cold file read it once and occupy one
//! thread.

use std::cell::RefCell;
use std::rc::Rc;
use tokio::sync::Notify;

/// The loads of one handler in progress.
#[derive(Default)]
pub(super) struct Loading(RefCell<Vec<Running>>);

struct Running {
    key: Box<[u8]>,
    ended: Rc<Notify>,
}

impl Loading {
    /// Waits for the end of a load of this key. Returns false at once if there is none.
    pub(super) async fn wait_for(&self, key: &[u8]) -> bool {
        let ended = self.0.borrow().iter().find(|load| *load.key == *key).map(|load| Rc::clone(&load.ended));
        match ended {
            Some(ended) => {
                ended.notified().await;
                true
            }
            None => false,
        }
    }

    /// Starts a load, which ends when the returned guard is dropped, even if nothing waits for it any more.
    pub(super) fn begin(&self, key: &[u8]) -> Load<'_> {
        let ended = Rc::new(Notify::new());
        self.0.borrow_mut().push(Running { key: key.into(), ended: Rc::clone(&ended) });
        Load { loading: self, ended }
    }
}

/// A load in progress.
pub(super) struct Load<'a> {
    loading: &'a Loading,
    ended: Rc<Notify>,
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        self.loading.0.borrow_mut().retain(|load| !Rc::ptr_eq(&load.ended, &self.ended));
        self.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn the_second_request_waits_until_the_first_has_ended() {
        let loading = Loading::default();
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(pin!(loading.wait_for(b"a")).poll(&mut cx), Poll::Ready(false));
        let load = loading.begin(b"a");
        let mut second = pin!(loading.wait_for(b"a"));
        assert_eq!(second.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(pin!(loading.wait_for(b"b")).poll(&mut cx), Poll::Ready(false));
        drop(load);
        assert_eq!(second.as_mut().poll(&mut cx), Poll::Ready(true));
        assert_eq!(pin!(loading.wait_for(b"a")).poll(&mut cx), Poll::Ready(false));
    }
}
