//! Request content on its way from the connection to the handler.
//!
//! ```text
//! connection ── BodySender ──▸ a few bytes in memory ──▸ RequestBody ── handler
//!                 ◂── bytes taken, and whether more is wanted ──
//! ```
//!
//! This module knows nothing of frames or chunks: the protocols put in the content they receive, and read on, or open
//! flow-control windows, as the handler takes it.

use crate::byte_budget::{ByteBudget, ByteShare};
use crate::clock::Millis;
use crate::pace::{Pace, Patience};
use crate::service::Refusal;
use hayami_http::{FieldSection, Source, SourceError};
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::fmt;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Bytes that may wait for the handler before reading stops. One more read may exceed this.
const ROOM: usize = 48 * 1024;
/// Bytes that a request may always buffer. Only bytes beyond count towards the memory budget shared by all requests,
/// in steps of this size: a request whose content is taken promptly touches no shared counter.
const FREE: usize = 16 * 1024;
/// Buffer capacity that is kept while no bytes wait.
const KEPT: usize = 4 * 1024;

/// Content of a request, pulled by the handler.
///
/// It is a [`Source`], so that request and response content share one interface. An error means that the client
/// aborted the request, violated the protocol, or sent too much or too slowly; see [`refusal`](Self::refusal). When
/// it is dropped, the remaining content is discarded.
pub struct RequestBody(Rc<RefCell<Pipe>>);

/// Reports whether content of a request was refused.
#[derive(Clone, Debug)]
pub struct Refusals(Weak<RefCell<Pipe>>);

/// The connection's end of the content of a request.
pub(crate) struct BodySender(Rc<RefCell<Pipe>>);

/// State shared by both ends.
#[derive(Debug)]
struct Pipe {
    state: State,
    /// Length of the whole content, if announced.
    length: Option<u64>,
    /// Bytes waiting to be taken.
    waiting: VecDeque<u8>,
    trailers: Option<Box<FieldSection>>,
    /// Bytes received.
    received: u64,
    /// Bytes taken since the connection last asked.
    taken: usize,
    /// The handler has asked for content.
    asked: bool,
    /// Bytes were taken and cannot be put back.
    touched: bool,
    /// The task that waits for content.
    reader: Option<Waker>,
    /// The task to wake when content is refused, even if it does not wait for content.
    watcher: Option<Waker>,
    /// The client's sending rate while the handler waits; set when it first waits.
    pace: Option<Pace>,
    /// The read timeout is disabled.
    patient: bool,
    /// The connection is running and will check this afterwards, so it need not be woken.
    attended: bool,
    connection: Waker,
    /// The part of the memory budget this request uses.
    share: ByteShare,
}

/// Progress of the content.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// More is to come.
    Coming,
    /// All of it has arrived.
    Complete,
    /// The content was rejected; the rest is not read.
    Refused(Refusal),
    /// The client is gone, or was already answered.
    Gone,
}

/// Creates both ends of the content of a request, with `length` bytes if known. `connection` wakes the connection;
/// `budget` is the memory shared by all requests.
pub(crate) fn content(
    length: Option<u64>,
    connection: Waker,
    budget: &Arc<ByteBudget>,
) -> (BodySender, RequestBody) {
    let pipe = Rc::new(RefCell::new(Pipe {
        state: State::Coming,
        length,
        waiting: VecDeque::new(),
        trailers: None,
        received: 0,
        taken: 0,
        asked: false,
        touched: false,
        reader: None,
        watcher: None,
        pace: None,
        patient: false,
        attended: false,
        connection,
        share: budget.share(),
    }));
    (BodySender(Rc::clone(&pipe)), RequestBody(pipe))
}

impl RequestBody {
    /// Length of the whole content, if the client announced it.
    pub fn length(&self) -> Option<u64> {
        self.0.borrow().length
    }

    /// Whether nothing was taken yet: the request can still be sent elsewhere.
    pub fn is_untouched(&self) -> bool {
        !self.0.borrow().touched
    }

    /// Why the content was rejected: the request is to be answered with the status of the refusal, if no response was
    /// sent yet. `None` if there is no error, or the client is gone.
    pub fn refusal(&self) -> Option<Refusal> {
        match &self.0.borrow().state {
            State::Refused(refusal) => Some(refusal.clone()),
            State::Coming | State::Complete | State::Gone => None,
        }
    }

    /// A handle that reports a refusal, whichever task takes the content.
    pub fn refusals(&self) -> Refusals {
        Refusals(Rc::downgrade(&self.0))
    }

    /// Lets the client pause for as long as it likes: for tunnels, in which it sends only now and then. Otherwise a
    /// client that sends nothing for a while when it should is refused.
    pub fn disable_read_timeout(&self) {
        self.0.borrow_mut().patient = true;
    }
}

impl Refusals {
    /// Why the content was rejected, by the client's fault or for lack of memory, if it was.
    pub fn get(&self) -> Option<Refusal> {
        match &self.0.upgrade()?.borrow().state {
            State::Refused(refusal) => Some(refusal.clone()),
            State::Coming | State::Complete | State::Gone => None,
        }
    }

    /// Ready when content is refused. The task that takes it notices only when it asks for more, which may be much
    /// later.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<Refusal> {
        let Some(pipe) = self.0.upgrade() else { return Poll::Pending };
        let mut pipe = pipe.borrow_mut();
        match &pipe.state {
            State::Refused(refusal) => return Poll::Ready(refusal.clone()),
            State::Coming => {}
            State::Complete | State::Gone => return Poll::Pending,
        }
        if !pipe.watcher.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            pipe.watcher = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl BodySender {
    /// Whether the handler still holds its end.
    pub(crate) fn has_reader(&self) -> bool {
        Rc::strong_count(&self.0) > 1
    }

    /// Whether more content is to come and the handler still holds its end.
    pub(crate) fn is_open(&self) -> bool {
        self.has_reader() && self.0.borrow().state == State::Coming
    }

    /// Whether all content has arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.borrow().state == State::Complete
    }

    /// Whether it is open and more should be read.
    pub(crate) fn has_room(&self) -> bool {
        self.is_open() && self.0.borrow().has_room()
    }

    /// Whether the handler has asked for content at least once.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.borrow().asked
    }

    /// A waker of the connection, for the exchange this content belongs to.
    pub(crate) fn waker(&self) -> Waker {
        self.0.borrow().connection.clone()
    }

    /// Runs `work` of the connection on the exchange; meanwhile the connection is not woken for it.
    pub(crate) fn attend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.borrow_mut().attended = true;
        let result = work();
        self.0.borrow_mut().attended = false;
        result
    }

    /// Adds content that had to be received. If there is no memory left for it, the content is refused: this request
    /// is one of those whose content is taken too slowly. Returns what [`put`](Self::put) does.
    pub(crate) fn put_or_refuse(&self, bytes: &[u8], now: Millis, patience: Patience) -> bool {
        let fits = {
            let mut pipe = self.0.borrow_mut();
            let waiting = pipe.waiting.len() + bytes.len();
            pipe.reserve(waiting)
        };
        if fits { self.put(bytes, now, patience) } else { self.refuse(Refusal::Overload) }
    }

    /// Adds received content. Returns true if it is the connection itself that has to poll the waiting reader.
    pub(crate) fn put(&self, bytes: &[u8], now: Millis, patience: Patience) -> bool {
        let mut pipe = self.0.borrow_mut();
        pipe.received += bytes.len() as u64;
        pipe.waiting.extend(bytes);
        let waiting = pipe.waiting.len();
        // The excess is small: callers stop when there is no room.
        let _ = pipe.reserve(waiting);
        pipe.note_pace(now, false, patience);
        self.tell(pipe)
    }

    /// All content has arrived. Returns what [`put`](Self::put) does.
    pub(crate) fn complete(&self, trailers: Option<Box<FieldSection>>) -> bool {
        let mut pipe = self.0.borrow_mut();
        (pipe.state, pipe.trailers, pipe.pace) = (State::Complete, trailers, None);
        self.tell(pipe)
    }

    /// Rejects the content. Returns what [`put`](Self::put) does.
    pub(crate) fn refuse(&self, refusal: Refusal) -> bool {
        let mut pipe = self.0.borrow_mut();
        (pipe.state, pipe.pace) = (State::Refused(refusal), None);
        pipe.discard();
        if let Some(watcher) = pipe.watcher.take().filter(|_| pipe.reader.is_none()) {
            pipe.reader = Some(watcher);
        }
        self.tell(pipe)
    }

    /// Bytes that the handler has taken or dropped since the last call.
    pub(crate) fn taken(&self) -> usize {
        std::mem::take(&mut self.0.borrow_mut().taken)
    }

    /// Like [`taken`](Self::taken), but at the end: includes the bytes still waiting.
    pub(crate) fn end(self) -> usize {
        self.0.borrow_mut().discard();
        self.taken()
    }

    /// Updates the client's pace by whether the handler waits for it. Returns true if it does.
    pub(crate) fn note_starvation(&self, now: Millis, patience: Patience) -> bool {
        let mut pipe = self.0.borrow_mut();
        let starves = pipe.reader.is_some() && pipe.state == State::Coming && !pipe.patient;
        pipe.note_pace(now, starves, patience);
        starves
    }

    /// When the client's read timeout expires, as of the last update.
    pub(crate) fn due(&self) -> Millis {
        let due = self.0.borrow().pace.map_or(Millis::NEVER, |pace| pace.due());
        if self.has_reader() { due } else { Millis::NEVER }
    }

    /// Wakes the task that waits for content. Returns true if that is the connection, which continues the exchange
    /// itself.
    fn tell(&self, mut pipe: RefMut<'_, Pipe>) -> bool {
        let Some(reader) = pipe.reader.take() else { return false };
        if reader.will_wake(&pipe.connection) {
            return true;
        }
        drop(pipe);
        reader.wake();
        false
    }
}

impl Drop for BodySender {
    fn drop(&mut self) {
        let mut pipe = self.0.borrow_mut();
        if pipe.state == State::Coming {
            pipe.state = State::Gone;
            pipe.discard();
        }
        // If the connection itself is the reader, nothing is left to do: the exchange has ended.
        self.tell(pipe);
    }
}

impl Source for RequestBody {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        self.0.borrow_mut().fill(cx, room, out)
    }

    fn length(&self) -> Option<u64> {
        self.0.borrow().length
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.0.borrow_mut().trailers.take().map(|trailers| *trailers)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let mut pipe = self.0.borrow_mut();
        pipe.reader = None;
        pipe.discard();
        if pipe.state == State::Coming {
            pipe.wake_connection();
        }
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pipe = self.0.borrow();
        write!(f, "RequestBody({:?}, {} of {:?} bytes)", pipe.state, pipe.received, pipe.length)
    }
}

impl Pipe {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        self.asked = true;
        match &self.state {
            State::Refused(refusal) => return Poll::Ready(Err(SourceError(refusal.to_string()))),
            State::Gone => return Poll::Ready(Err(SourceError("the client aborted the request".to_owned()))),
            State::Coming | State::Complete => {}
        }
        let bytes = self.take(room, out);
        if self.state == State::Complete {
            return Poll::Ready(Ok(self.waiting.is_empty()));
        }
        self.wake_connection();
        if bytes > 0 || room == 0 {
            return Poll::Ready(Ok(false));
        }
        if !self.reader.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            self.reader = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Takes at most `room` bytes.
    fn take(&mut self, room: usize, out: &mut Vec<u8>) -> usize {
        let bytes = room.min(self.waiting.len());
        let (front, back) = self.waiting.as_slices();
        let first = bytes.min(front.len());
        out.extend_from_slice(&front[..first]);
        out.extend_from_slice(&back[..bytes - first]);
        self.waiting.drain(..bytes);
        if self.waiting.is_empty() && (self.state == State::Complete || self.waiting.capacity() > KEPT) {
            // A handler may hold on to it for a long time.
            self.waiting = VecDeque::new();
        }
        self.taken += bytes;
        self.touched |= bytes > 0;
        self.give_back();
        bytes
    }

    /// Whether more content should be read: while memory is short, only up to what is always allowed.
    fn has_room(&self) -> bool {
        let waiting = self.waiting.len();
        waiting < FREE || waiting < ROOM && !self.share.is_spent()
    }

    /// Reserves memory for this many waiting bytes; false if the budget does not allow it.
    fn reserve(&mut self, waiting: usize) -> bool {
        self.share.resize(counted(waiting))
    }

    /// Returns memory of bytes that no longer wait to the budget.
    fn give_back(&mut self) {
        // Shrinking always succeeds.
        let _ = self.share.resize(counted(self.waiting.len()).min(self.share.bytes()));
    }

    /// Updates the client's pace: from now on it `owes` content, or does not.
    fn note_pace(&mut self, now: Millis, owes: bool, patience: Patience) {
        if owes || self.pace.is_some() {
            Pace::noted(&mut self.pace, now, self.received, owes, patience);
        }
    }

    /// Discards waiting bytes that no reader will take.
    fn discard(&mut self) {
        self.taken += std::mem::take(&mut self.waiting).len();
        self.give_back();
    }

    fn wake_connection(&self) {
        if !self.attended {
            self.connection.wake_by_ref();
        }
    }
}

/// How much of the shared memory budget this many waiting bytes use.
fn counted(waiting: usize) -> u64 {
    waiting.saturating_sub(FREE).next_multiple_of(FREE) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> Arc<ByteBudget> {
        Arc::new(ByteBudget::new(1 << 20))
    }
    use std::time::Duration;

    const NOW: Millis = Millis::at(1000);
    const PATIENCE: Patience = Patience { timeout: Duration::from_secs(5), min_rate: 100 };

    fn fill(incoming: &mut RequestBody, room: usize, out: &mut Vec<u8>) -> Poll<bool> {
        let filled = incoming.fill(&mut Context::from_waker(Waker::noop()), room, out);
        filled.map(|filled| filled.expect("no fault"))
    }

    #[test]
    fn bytes_are_taken_in_their_order_and_counted_once() {
        let (feed, mut incoming) = content(Some(9), Waker::noop().clone(), &budget());
        let mut out = Vec::new();
        assert!(fill(&mut incoming, 9, &mut out).is_pending());
        assert!(incoming.is_untouched() && feed.is_asked());
        feed.put(b"abcdef", NOW, PATIENCE);
        assert_eq!(fill(&mut incoming, 4, &mut out), Poll::Ready(false));
        feed.put(b"ghi", NOW, PATIENCE);
        feed.complete(None);
        assert_eq!((feed.taken(), feed.is_complete()), (4, true));
        assert_eq!(fill(&mut incoming, 4, &mut out), Poll::Ready(false));
        assert_eq!(fill(&mut incoming, 4, &mut out), Poll::Ready(true));
        assert_eq!((&out[..], feed.taken()), (&b"abcdefghi"[..], 5));
        assert!(!incoming.is_untouched());
    }

    #[test]
    fn there_is_room_while_somebody_may_take_and_not_too_much_waits() {
        let (feed, mut incoming) = content(None, Waker::noop().clone(), &budget());
        feed.put(&[0; ROOM - 1], NOW, PATIENCE);
        assert!(feed.has_room());
        feed.put(&[0], NOW, PATIENCE);
        assert!(!feed.has_room());
        assert_eq!(fill(&mut incoming, 1, &mut Vec::new()), Poll::Ready(false));
        assert!(feed.has_room());
        drop(incoming);
        assert!(!feed.has_room());
        assert_eq!(feed.end(), ROOM, "what nobody took counts as done with");
    }

    #[test]
    fn what_breaks_off_is_an_error_with_its_reason() {
        let (feed, mut incoming) = content(None, Waker::noop().clone(), &budget());
        feed.put(b"abc", NOW, PATIENCE);
        feed.refuse(Refusal::Timeout);
        let fill = |incoming: &mut RequestBody| {
            let filled = incoming.fill(&mut Context::from_waker(Waker::noop()), 9, &mut Vec::new());
            assert!(matches!(filled, Poll::Ready(Err(_))), "{filled:?}");
        };
        fill(&mut incoming);
        assert_eq!(incoming.refusal(), Some(Refusal::Timeout));
        let (feed, mut incoming) = content(None, Waker::noop().clone(), &budget());
        drop(feed);
        fill(&mut incoming);
        assert_eq!(incoming.refusal(), None);
    }

    #[test]
    fn a_client_is_late_only_while_somebody_waits_for_it() {
        let (feed, mut incoming) = content(None, Waker::noop().clone(), &budget());
        let later = |seconds| NOW.after(Duration::from_secs(seconds));
        assert!(!feed.note_starvation(NOW, PATIENCE), "nobody has asked");
        assert_eq!(feed.due(), Millis::NEVER);
        assert!(fill(&mut incoming, 9, &mut Vec::new()).is_pending());
        assert!(feed.note_starvation(NOW, PATIENCE));
        assert_eq!(feed.due(), later(5));
        // A byte earns little, and time is not counted while the handler is busy elsewhere.
        feed.put(b"a", later(4), PATIENCE);
        assert_eq!(feed.due(), Millis::NEVER);
        assert_eq!(fill(&mut incoming, 9, &mut Vec::new()), Poll::Ready(false));
        assert!(fill(&mut incoming, 9, &mut Vec::new()).is_pending());
        assert!(feed.note_starvation(later(100), PATIENCE));
        assert_eq!(feed.due(), later(101).after(Duration::from_millis(10)));
        // At the minimum rate, the full timeout is restored.
        feed.put(&[0; 500], later(101), PATIENCE);
        assert_eq!(fill(&mut incoming, 999, &mut Vec::new()), Poll::Ready(false));
        assert!(fill(&mut incoming, 9, &mut Vec::new()).is_pending());
        assert!(feed.note_starvation(later(101), PATIENCE));
        assert_eq!(feed.due(), later(106));
        drop(incoming);
        assert_eq!(feed.due(), Millis::NEVER);
    }

    #[test]
    fn memory_is_shared_by_all_requests_and_what_waits_too_long_is_refused() {
        let budget = Arc::new(ByteBudget::new(2 * FREE as u64));
        let new = || content(None, Waker::noop().clone(), &budget);
        let ((slow, mut incoming), (other, _kept)) = (new(), new());
        let put = |feed: &BodySender, bytes: usize| {
            feed.put_or_refuse(&vec![0; bytes], NOW, PATIENCE);
            feed.is_open()
        };
        assert!(put(&slow, FREE) && put(&other, FREE) && !budget.is_spent(), "so many are free");
        assert!(put(&slow, 2 * FREE) && budget.is_spent());
        assert!(!slow.has_room() && !other.has_room(), "HTTP/1.1 stops reading");
        assert!(!put(&other, 1), "there is no more");
        assert_eq!(_kept.refusal(), Some(Refusal::Overload));
        assert_eq!(fill(&mut incoming, 2 * FREE, &mut Vec::new()), Poll::Ready(false));
        assert!(!budget.is_spent() && slow.has_room());
        drop((slow, incoming));
        let (third, _kept) = new();
        assert!(put(&third, 3 * FREE));
    }
}
