//! Content of a request on its way from its connection to whoever answers the request.
//!
//! ```text
//! connection ── Feed ──▸ a few bytes in memory ──▸ Incoming ── handler
//!                 ◂── what was taken, and whether more is wanted ──
//! ```
//!
//! Nothing here knows of frames or chunks: the protocols put in what they have received, and read on, or
//! open windows, as the handler takes.

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

/// Bytes that wait for the handler before no more are read. What one read brings may come on top.
const ROOM: usize = 48 * 1024;
/// Bytes that may wait whatever waits elsewhere. Only what is more counts towards the memory that all requests have
/// together, in steps of as many: a request whose content is taken as it comes touches no number that others touch.
const FREE: usize = 16 * 1024;
/// Memory that is kept for bytes while none wait.
const KEPT: usize = 4 * 1024;

/// Content of a request: pulled by whoever answers.
///
/// It is a [`Source`], so that content goes both ways by one contract. An error means that the client broke
/// off, broke a rule, sent too much or too slowly; [`refusal`](Self::refusal) tells. Whoever drops it has no
/// use for the rest, which is thrown away.
pub struct RequestBody(Rc<RefCell<Pipe>>);

/// Tells whether content of a request was refused.
#[derive(Clone, Debug)]
pub struct Refusals(Weak<RefCell<Pipe>>);

/// The connection's end of the content of a request.
pub(crate) struct BodySender(Rc<RefCell<Pipe>>);

/// What is between the two.
#[derive(Debug)]
struct Pipe {
    state: State,
    /// Bytes of the whole content, if that was said.
    length: Option<u64>,
    /// Bytes that wait to be taken.
    waiting: VecDeque<u8>,
    trailers: Option<Box<FieldSection>>,
    /// Bytes that came.
    received: u64,
    /// Bytes that were taken since the connection last asked.
    taken: usize,
    /// The handler has asked for content.
    asked: bool,
    /// Something was taken for good.
    touched: bool,
    /// Who waits for content.
    reader: Option<Waker>,
    /// Who wants to know that content is refused, even while it does not wait for more.
    watcher: Option<Waker>,
    /// How slowly the client sends while the handler waits for it; from the first time on that it does.
    pace: Option<Pace>,
    /// The client may take its time.
    patient: bool,
    /// The connection is at work, and looks here afterwards: it need not be woken.
    attended: bool,
    connection: Waker,
    /// What of the memory of all requests it has.
    share: ByteShare,
}

/// How far content is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// There is more to come.
    Coming,
    /// All of it has come.
    Complete,
    /// The client broke a rule; the rest is not read.
    Refused(Refusal),
    /// The client is gone, or was answered.
    Gone,
}

/// The two ends of the content of a request, of which `length` bytes will come if that is known. `connection`
/// wakes the connection; `budget` is the memory of all requests.
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
    /// Number of bytes of the whole content, if the client said it beforehand.
    pub fn length(&self) -> Option<u64> {
        self.0.borrow().length
    }

    /// Whether nothing was taken yet: the request can still be sent somewhere else.
    pub fn is_untouched(&self) -> bool {
        !self.0.borrow().touched
    }

    /// Why content broke off by the client's fault: the request is to be answered with that status, if
    /// nothing was answered yet. `None` while there is no error, and if the client is gone.
    pub fn refusal(&self) -> Option<Refusal> {
        match &self.0.borrow().state {
            State::Refused(refusal) => Some(refusal.clone()),
            State::Coming | State::Complete | State::Gone => None,
        }
    }

    /// What tells of a refusal, whoever takes the content by then.
    pub fn refusals(&self) -> Refusals {
        Refusals(Rc::downgrade(&self.0))
    }

    /// Lets the client pause for as long as it likes: for conversations, in which it has something to say
    /// only now and then. Otherwise a client that sends nothing for a while when it should is refused.
    pub fn disable_read_timeout(&self) {
        self.0.borrow_mut().patient = true;
    }
}

impl Refusals {
    /// Why content broke off by the client's fault, or for want of memory, if it did.
    pub fn get(&self) -> Option<Refusal> {
        match &self.0.upgrade()?.borrow().state {
            State::Refused(refusal) => Some(refusal.clone()),
            State::Coming | State::Complete | State::Gone => None,
        }
    }

    /// Ready when content is refused. Whoever takes it learns of that when it asks for more, which may be much later.
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
    /// Whether somebody may still take content.
    pub(crate) fn has_reader(&self) -> bool {
        Rc::strong_count(&self.0) > 1
    }

    /// Whether more content is to come, for somebody who may take it.
    pub(crate) fn is_open(&self) -> bool {
        self.has_reader() && self.0.borrow().state == State::Coming
    }

    /// Whether all content has come.
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

    /// Wakes the connection, for the exchange that this content belongs to.
    pub(crate) fn waker(&self) -> Waker {
        self.0.borrow().connection.clone()
    }

    /// Has the connection at work on the exchange, so that it need not be woken for it.
    pub(crate) fn attend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.borrow_mut().attended = true;
        let result = work();
        self.0.borrow_mut().attended = false;
        result
    }

    /// Content has come that had to be taken. If there is no memory left for it, no more is taken from the client: this
    /// request is one of those whose content is taken too slowly. Returns what [`put`](Self::put) does.
    pub(crate) fn put_or_refuse(&self, bytes: &[u8], now: Millis, patience: Patience) -> bool {
        let fits = {
            let mut pipe = self.0.borrow_mut();
            let waiting = pipe.waiting.len() + bytes.len();
            pipe.reserve(waiting)
        };
        if fits { self.put(bytes, now, patience) } else { self.refuse(Refusal::Overload) }
    }

    /// Content has come. Whether it is the connection itself that has to tell who waits for it.
    pub(crate) fn put(&self, bytes: &[u8], now: Millis, patience: Patience) -> bool {
        let mut pipe = self.0.borrow_mut();
        pipe.received += bytes.len() as u64;
        pipe.waiting.extend(bytes);
        let waiting = pipe.waiting.len();
        // What does not fit is little: nobody has to take more than there is room for.
        let _ = pipe.reserve(waiting);
        pipe.note_pace(now, false, patience);
        self.tell(pipe)
    }

    /// All content has come. Returns what [`put`](Self::put) does.
    pub(crate) fn complete(&self, trailers: Option<Box<FieldSection>>) -> bool {
        let mut pipe = self.0.borrow_mut();
        (pipe.state, pipe.trailers, pipe.pace) = (State::Complete, trailers, None);
        self.tell(pipe)
    }

    /// No more content is taken from the client, by its own fault. Returns what [`put`](Self::put) does.
    pub(crate) fn refuse(&self, refusal: Refusal) -> bool {
        let mut pipe = self.0.borrow_mut();
        (pipe.state, pipe.pace) = (State::Refused(refusal), None);
        pipe.discard();
        if let Some(watcher) = pipe.watcher.take().filter(|_| pipe.reader.is_none()) {
            pipe.reader = Some(watcher);
        }
        self.tell(pipe)
    }

    /// Bytes that the handler has done with since this was last asked.
    pub(crate) fn taken(&self) -> usize {
        std::mem::take(&mut self.0.borrow_mut().taken)
    }

    /// The same at the end, when nobody will take what waits.
    pub(crate) fn end(self) -> usize {
        self.0.borrow_mut().discard();
        self.taken()
    }

    /// Notes whether the handler waits for the client. Whether it does.
    pub(crate) fn note_starvation(&self, now: Millis, patience: Patience) -> bool {
        let mut pipe = self.0.borrow_mut();
        let starves = pipe.reader.is_some() && pipe.state == State::Coming && !pipe.patient;
        pipe.note_pace(now, starves, patience);
        starves
    }

    /// When the client is late with what the handler waits for, as far as that was noted.
    pub(crate) fn due(&self) -> Millis {
        let due = self.0.borrow().pace.map_or(Millis::NEVER, |pace| pace.due());
        if self.has_reader() { due } else { Millis::NEVER }
    }

    /// Wakes who waits for content, unless the connection does so by going on with the exchange.
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
        // If it is the connection that takes it, nothing is left to be done: the exchange is over.
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
            // A handler may hold on to it for long.
            self.waiting = VecDeque::new();
        }
        self.taken += bytes;
        self.touched |= bytes > 0;
        self.give_back();
        bytes
    }

    /// Whether more content should be read: while memory is short, only what may wait in any case.
    fn has_room(&self) -> bool {
        let waiting = self.waiting.len();
        waiting < FREE || waiting < ROOM && !self.share.is_spent()
    }

    /// Whether there is memory for so many bytes.
    fn reserve(&mut self, waiting: usize) -> bool {
        self.share.resize(counted(waiting))
    }

    /// Memory of bytes that do not wait any more is there for others.
    fn give_back(&mut self) {
        // Less always fits.
        let _ = self.share.resize(counted(self.waiting.len()).min(self.share.bytes()));
    }

    /// Takes account of the client's pace: from now on it `owes` content, or does not.
    fn note_pace(&mut self, now: Millis, owes: bool, patience: Patience) {
        if owes || self.pace.is_some() {
            Pace::noted(&mut self.pace, now, self.received, owes, patience);
        }
    }

    /// Throws away what waits: nobody will take it.
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

/// What so many bytes that wait count of the memory of all requests.
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
        // A byte earns little, and while the handler does something else time is not counted.
        feed.put(b"a", later(4), PATIENCE);
        assert_eq!(feed.due(), Millis::NEVER);
        assert_eq!(fill(&mut incoming, 9, &mut Vec::new()), Poll::Ready(false));
        assert!(fill(&mut incoming, 9, &mut Vec::new()).is_pending());
        assert!(feed.note_starvation(later(100), PATIENCE));
        assert_eq!(feed.due(), later(101).after(Duration::from_millis(10)));
        // At the minimum rate, it is as if nothing had been missing.
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
