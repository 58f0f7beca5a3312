//! State shared by a call and its session: the response so far, and the waker of the task that waits for it.

use super::super::cause::Cause;
use super::super::retry::Reach;
use hayami_h2::ResponseContent;
use hayami_http::{FieldSection, ResponseHead};
use hayami_net::clock::Millis;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;

/// What the engine stores for each stream.
pub(super) type Slot = Option<Rc<Stream>>;

/// A response as received so far.
#[derive(Default)]
pub(super) struct Stream {
    waker: Cell<Option<Waker>>,
    /// The deadline for progress, in milliseconds of the worker's clock, and when it was set.
    deadline: Cell<Millis>,
    since: Cell<Millis>,
    /// Offset of the request in the session's output.
    pub(super) start: u64,
    /// Whether the call wants interim responses.
    reports_interim: bool,
    course: RefCell<Course>,
}

/// The progress of a response.
#[derive(Default)]
struct Course {
    interim: Vec<ResponseHead>,
    head: Option<(ResponseHead, ResponseContent)>,
    /// Whether the final head has arrived.
    answered: bool,
    /// Content not yet taken.
    content: VecDeque<u8>,
    trailers: Option<FieldSection>,
    end: End,
}

/// How a stream ends.
#[derive(Debug, Default)]
pub(super) enum End {
    /// Not ended yet.
    #[default]
    None,
    /// The response is complete.
    Complete,
    /// The response will stay incomplete.
    Failed(Ending),
}

/// Why a stream failed.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) cause: Cause,
    /// How much of the request the upstream may have acted on.
    pub(super) reach: Reach,
}

impl Stream {
    pub(super) fn new(start: u64, reports_interim: bool) -> Rc<Self> {
        Rc::new(Self { deadline: Cell::new(Millis::NEVER), start, reports_interim, ..Self::default() })
    }

    /// Registers `waker` for the next event.
    pub(super) fn wakes(&self, waker: &Waker) {
        let known = self.waker.take().filter(|known| known.will_wake(waker));
        self.waker.set(Some(known.unwrap_or_else(|| waker.clone())));
    }

    /// Wakes the waiting task.
    #[inline]
    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Sets the deadline for progress; the wait starts at `now`.
    pub(super) fn set_deadline(&self, now: Millis, deadline: Millis) {
        self.since.set(now);
        self.deadline.set(deadline);
    }

    /// Clears the deadline.
    pub(super) fn clear_deadline(&self) {
        self.deadline.set(Millis::NEVER);
    }

    pub(super) fn deadline(&self) -> Millis {
        self.deadline.get()
    }

    /// When the current deadline was set.
    pub(super) fn since(&self) -> Millis {
        self.since.get()
    }

    pub(super) fn interim(&self, head: &ResponseHead) {
        if self.reports_interim {
            self.course.borrow_mut().interim.push(head.clone());
            self.wake();
        }
    }

    pub(super) fn answer(&self, head: ResponseHead, content: ResponseContent) {
        let mut course = self.course.borrow_mut();
        course.head = Some((head, content));
        course.answered = true;
        if content == ResponseContent::None {
            course.end = End::Complete;
        }
        self.wake();
    }

    pub(super) fn put(&self, bytes: &[u8], end: bool) {
        let mut course = self.course.borrow_mut();
        course.content.extend(bytes);
        if end {
            course.end = End::Complete;
        }
        self.deadline.set(Millis::NEVER);
        self.wake();
    }

    pub(super) fn complete(&self, trailers: Option<FieldSection>) {
        let mut course = self.course.borrow_mut();
        (course.end, course.trailers) = (End::Complete, trailers);
        self.wake();
    }

    /// Fails the response unless it is complete: a server may reset the rest of a request after a complete
    /// response (RFC 9113 §8.1).
    pub(super) fn fail(&self, cause: Cause, reach: Reach) {
        let mut course = self.course.borrow_mut();
        if let End::None = course.end {
            let reach = if course.answered { Reach::Seen } else { reach };
            course.end = End::Failed(Ending { cause, reach });
        }
        self.wake();
    }

    pub(super) fn take_interim(&self) -> Vec<ResponseHead> {
        std::mem::take(&mut self.course.borrow_mut().interim)
    }

    /// Takes the response head.
    pub(super) fn take_head(&self) -> Option<(ResponseHead, ResponseContent)> {
        self.course.borrow_mut().head.take()
    }

    /// Takes the failure, if the stream has failed.
    pub(super) fn take_ending(&self) -> Option<Ending> {
        let mut course = self.course.borrow_mut();
        match std::mem::take(&mut course.end) {
            End::Failed(ending) => Some(ending),
            end => {
                course.end = end;
                None
            }
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        matches!(self.course.borrow().end, End::Complete)
    }

    /// Takes the content if it is complete and no trailers follow.
    pub(super) fn take_whole<T>(&self, share: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let mut course = self.course.borrow_mut();
        if !matches!(course.end, End::Complete) || course.trailers.is_some() {
            return None;
        }
        let shared = share(course.content.make_contiguous());
        course.content = VecDeque::new();
        Some(shared)
    }

    /// Takes at most `room` bytes of content; returns how many, and whether they were the last.
    pub(super) fn take(&self, room: usize, out: &mut Vec<u8>) -> (usize, bool) {
        let mut course = self.course.borrow_mut();
        let bytes = room.min(course.content.len());
        let (front, back) = course.content.as_slices();
        let first = bytes.min(front.len());
        out.extend_from_slice(&front[..first]);
        out.extend_from_slice(&back[..bytes - first]);
        course.content.drain(..bytes);
        if course.content.is_empty() {
            // Free the memory: the client may be slow.
            course.content = VecDeque::new();
        }
        let last = course.content.is_empty() && matches!(course.end, End::Complete);
        (bytes, last)
    }

    pub(super) fn take_trailers(&self) -> Option<FieldSection> {
        self.course.borrow_mut().trailers.take()
    }
}
