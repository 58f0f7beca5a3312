//! One connection: its turns of the loop, its deadlines, its end.
//!
//! A turn answers what has arrived, sends what there is in one write, and reads when nothing is left
//! to answer. What the octets mean is the protocol's affair.

use crate::blocking::{self, Lane, Task};
use crate::clock::Millis;
use crate::cold;
use crate::link::{Link, Need, Stage};
use crate::output::Flushed;
use crate::pace::Pace;
use crate::poll::{Token, Tokened};
use crate::protocol::Protocol;
use crate::proxy_protocol::Fault;
use crate::service::{ConnectionInfo, Refusal, Service};
use crate::socket::Socket;
use crate::transport::{Read, Transport};
use crate::worker::Worker;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Octets that are thrown away after the last response, so that the peer can read it: closing with
/// unread octets makes the kernel reset the connection (RFC 9112 §9.6).
const LINGER_OCTETS: u32 = 1024 * 1024;
/// Octets that a connection sends before others get their turn.
const SHARE: u64 = 1024 * 1024;

/// A connection for one request is shorter.
const SHORT: Duration = Duration::from_secs(1);

/// Why a response is incomplete whose client has left.
const GONE: &str = "the client closed the connection";

/// Milliseconds after which a connection counts as rested: the kernel begins anew with a small congestion
/// window (RFC 5681 §4.1).
const REST: u64 = 1000;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The TLS handshake to be complete.
    Handshake,
    /// A request.
    Head,
    /// Content of a request.
    Content,
    /// The peer to read.
    Room,
    /// The service, or a file.
    Answer,
    /// The service, and what the client still sends.
    More,
    /// The peer to close.
    Close,
    /// In HTTP/2, a request while no stream is open.
    Stream,
    /// Its next turn.
    Turn,
}

/// What a turn ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The connection waits for its socket, its waker or its deadline.
    Waits,
    /// It has more to send than its share of a turn.
    Again,
    /// It is over.
    Over,
}

pub(crate) struct Connection {
    pub(crate) link: Link,
    protocol: Protocol,
    transport: Transport,
    /// Reads cold file content.
    warming: Option<Task<()>>,
    wait: Wait,
    deadline: Millis,
    /// How slowly the peer takes what waits for it; `None` while nothing does.
    sending: Option<Box<Pace>>,
}

impl Tokened for Connection {
    #[inline]
    fn token(&self) -> Token {
        self.link.token
    }
}

impl Connection {
    /// A connection that will have this token among those of its worker.
    pub(crate) fn new<S: Service>(
        worker: &Worker<S>,
        transport: Transport,
        info: ConnectionInfo,
        token: Token,
    ) -> Self {
        Self {
            link: Link::new(worker, info, token),
            protocol: Protocol::new(),
            transport,
            warming: None,
            wait: Wait::Head,
            deadline: Millis::NEVER,
            sending: None,
        }
    }

    pub(crate) fn socket(&self) -> &Socket {
        self.transport.socket()
    }

    /// When [`expire`](Self::expire) has to be called, in milliseconds of the worker's clock.
    pub(crate) fn deadline(&self) -> Millis {
        self.deadline
    }

    /// Whether it was for one request, as the client wished: it is over soon after it has begun, and the client has not
    /// ended it.
    pub(crate) fn was_short<S>(&self, worker: &Worker<S>) -> bool {
        let lived = worker.clock.now().saturating_duration_since(self.link.info.accepted);
        self.link.requests <= 1 && lived < SHORT && !self.socket().has_ended()
    }

    /// Whether several exchanges go on at a time.
    pub(crate) fn is_multiplexed(&self) -> bool {
        self.protocol.is_multiplexed()
    }

    /// Whether it waits for an answer, and nothing that its client sends could bring that nearer.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.wait == Wait::Answer && !self.protocol.is_multiplexed()
    }

    /// Whether it has something to do when the worker ends, besides its exchange.
    pub(crate) fn takes_leave(&self) -> bool {
        self.protocol.is_multiplexed() || self.protocol.is_tunnel()
    }

    /// Has it take no more requests: it ends when those under way are answered, and at once if there are none.
    pub(crate) fn leave(&mut self) {
        self.link.leaves = true;
    }

    /// Something that one of its streams waits for is there.
    pub(crate) fn woken(&mut self, stream: u32) {
        self.protocol.woken(stream);
    }

    /// One turn.
    pub(crate) fn turn<S: Service>(&mut self, worker: &Worker<S>) -> Turn {
        let share_ends = self.link.output.sent() + SHARE;
        worker.budget.begin();
        if self.transport.socket().has_ended() && self.protocol.ends_with_client(&self.link) {
            self.abort(worker, GONE);
        }
        while self.link.stage != Stage::Over {
            let need = self.protocol.answer(&mut self.link, worker);
            match self.flush(worker) {
                Poll::Pending if need == Need::Turn => return self.yield_turn(worker),
                Poll::Pending if !self.reads_while_blocked(need) => {
                    return self.rest(worker, self.wait_for_room());
                }
                Poll::Pending if !worker.budget.spend_read() => return self.yield_turn(worker),
                Poll::Pending if self.read(worker).is_ready() => continue,
                Poll::Pending => return self.rest(worker, self.wait_for_room()),
                Poll::Ready(Flushed::Share) => return self.yield_turn(worker),
                Poll::Ready(Flushed::Cold) => match self.warm(worker) {
                    Poll::Pending => return self.rest(worker, Wait::Answer),
                    Poll::Ready(()) => continue,
                },
                Poll::Ready(Flushed::All) => self.sending = None,
            }
            if need == Need::Input && self.link.is_leaving(worker) && self.may_end() {
                self.link.stage = Stage::Closing { linger: true };
                continue;
            }
            if self.link.stage == Stage::Over {
                return Turn::Over;
            }
            let read = match need {
                Need::Room | Need::RoomOrContent
                    if self.link.output.sent() >= share_ends || worker.budget.is_used_up() =>
                {
                    return self.yield_turn(worker);
                }
                Need::Room | Need::RoomOrContent => continue,
                Need::Later => return self.rest(worker, self.wait_for_answer()),
                Need::HalfClose { .. } => {
                    self.transport.shut_down_sending();
                    self.protocol.told_end();
                    continue;
                }
                Need::Upgrade => {
                    self.protocol.upgrade(&mut self.link, worker);
                    continue;
                }
                Need::Close => self.close(worker),
                Need::Turn => return self.yield_turn(worker),
                Need::Input | Need::Content if !worker.budget.spend_read() => {
                    return self.yield_turn(worker);
                }
                Need::Input | Need::Content => self.read(worker),
            };
            if read.is_pending() {
                let wait = if need == Need::Content { Wait::More } else { self.wait_for_input() };
                return self.rest(worker, wait);
            }
        }
        Turn::Over
    }

    #[inline]
    fn flush<S>(&mut self, worker: &Worker<S>) -> Poll<Flushed> {
        let flushed = self.link.output.flush(&worker.pool, &mut self.transport, &worker.budget);
        self.link.reports.sent(self.link.output.sent(), &worker.clock);
        match flushed {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(flushed)) => Poll::Ready(flushed),
            Poll::Ready(Err(error)) => {
                self.abort(worker, reason(&error));
                Poll::Ready(Flushed::All)
            }
        }
    }

    /// Whether the connection is read although its peer does not read: the protocol has many things to say at a
    /// time, or the answer is made of what the peer sends, or neither would ever move.
    #[cold]
    fn reads_while_blocked(&self, need: Need) -> bool {
        let reads = self.protocol.is_multiplexed()
            || matches!(need, Need::Content | Need::RoomOrContent | Need::HalfClose { hears: true });
        reads && self.link.stage == Stage::Open && !self.link.output.is_overfull()
    }

    /// Has the blocking pool bring the file content that comes next into memory.
    #[cold]
    fn warm<S>(&mut self, worker: &Worker<S>) -> Poll<()> {
        let Some(slice) = self.link.output.cold() else { return Poll::Ready(()) };
        let task = self
            .warming
            .get_or_insert_with(|| blocking::run(Lane::Files, move || cold::read_through(&slice)));
        let waker = self.link.waker(worker);
        let warmed = std::task::ready!(Pin::new(task).poll(&mut Context::from_waker(&waker)));
        self.warming = None;
        // Sending now would have the worker wait for the disk.
        if warmed.is_err_and(|error| blocking::is_refused(&error)) {
            self.abort(worker, "too many file reads are queued");
        }
        self.link.output.warmed();
        Poll::Ready(())
    }

    #[inline]
    fn read<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        if self.transport.is_held_up() {
            return self.read_later(worker);
        }
        let first = self.link.input.is_empty();
        let read = std::task::ready!(self.transport.read(&worker.pool, &mut self.link.input));
        if first {
            self.link.begun = worker.clock.now();
            if worker.clock.millis().since(self.link.idle_since) >= REST {
                self.transport.was_idle();
            }
        }
        // Early data may come with the news that the handshake is far enough to answer it.
        self.link.early = self.transport.is_early();
        match read {
            Ok(Read::Octets) => {}
            Ok(news) => self.heed(worker, news),
            Err(_) => self.link.stage = Stage::Over,
        }
        Poll::Ready(())
    }

    /// The octets that were read say something of the transport.
    #[cold]
    fn heed<S: Service>(&mut self, worker: &Worker<S>, news: Read) {
        match news {
            Read::Octets | Read::Lookup => {}
            Read::End if self.link.stage == Stage::Open && self.protocol.half_closed() => {}
            Read::End => self.link.stage = Stage::Over,
            Read::Established(info) => self.protocol.establish(&mut self.link, worker, info),
            Read::PlainHttp => {
                self.transport.give_up_tls();
                self.protocol.refuse(&mut self.link, worker, &Refusal::PlainHttp);
            }
        }
    }

    /// Something else comes before reading.
    #[cold]
    fn read_later<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        if self.transport.expects_announcement() {
            self.hear_announcement(worker)
        } else {
            self.look_up(worker)
        }
    }

    /// Waits for the header of the PROXY protocol, which says whose connection it is.
    fn hear_announcement<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        match std::task::ready!(self.transport.poll_announcement()) {
            Some(Ok(ends)) => {
                self.link.idle_since = worker.clock.millis();
                // Nobody has heard of the connection yet.
                if let (Some(ends), Some(info)) = (ends, Rc::get_mut(&mut self.link.info)) {
                    (info.peer, info.local) = (ends.peer, ends.local);
                }
            }
            Some(Err(fault)) => {
                worker.service.report(&self.link.info, &fault);
                self.link.stage = Stage::Over;
            }
            None => self.link.stage = Stage::Over,
        }
        Poll::Ready(())
    }

    /// Waits until it is known whether another server has the client's session.
    #[cold]
    fn look_up<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        let waker = self.link.waker(worker);
        let mut cx = Context::from_waker(&waker);
        let read = std::task::ready!(self.transport.poll_lookup(&mut cx, &worker.pool, &mut self.link.input));
        match read {
            Ok(Some(news)) => self.heed(worker, news),
            Ok(None) => {}
            Err(_) => self.link.stage = Stage::Over,
        }
        Poll::Ready(())
    }

    /// Everything is sent: closes, or waits for the peer to close first.
    fn close<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        match self.link.stage {
            Stage::Closing { linger: true } => {
                self.transport.shut_down_sending();
                self.deadline = worker.clock.millis().after(worker.timeouts.linger);
                self.link.stage = Stage::Lingering { octets: LINGER_OCTETS };
            }
            Stage::Lingering { octets } => {
                self.link.input.consume(self.link.input.unread().len());
                std::task::ready!(self.read(worker));
                let left = octets.saturating_sub(self.link.input.unread().len() as u32);
                if self.link.stage != Stage::Over {
                    self.link.stage = if left == 0 { Stage::Over } else { Stage::Lingering { octets: left } };
                }
            }
            _ => {
                self.transport.say_goodbye();
                self.link.stage = Stage::Over;
            }
        }
        Poll::Ready(())
    }

    /// Whether nothing of a request has arrived.
    fn is_between_requests(&self) -> bool {
        self.link.input.is_empty() && self.link.stage == Stage::Open && self.protocol.is_between_requests()
    }

    /// Whether the client loses nothing if the connection ends now.
    fn may_end(&self) -> bool {
        self.is_between_requests() && self.protocol.may_end()
    }

    fn wait_for_input(&self) -> Wait {
        match self.link.stage {
            Stage::Open if self.transport.is_handshaking() => Wait::Handshake,
            Stage::Open => self.protocol.wait(),
            _ => Wait::Close,
        }
    }

    /// The client does not read. In a tunnel that is no fault of its own, as long as anything moves.
    #[cold]
    fn wait_for_room(&self) -> Wait {
        if self.protocol.is_tunnel() { Wait::More } else { Wait::Room }
    }

    fn wait_for_answer(&self) -> Wait {
        if self.protocol.is_tunnel() { Wait::More } else { Wait::Answer }
    }

    /// Lets others have a turn.
    fn yield_turn<S>(&mut self, worker: &Worker<S>) -> Turn {
        self.rest(worker, Wait::Turn);
        Turn::Again
    }

    /// Waits: gives memory back that holds nothing, and sets the deadline.
    fn rest<S>(&mut self, worker: &Worker<S>, wait: Wait) -> Turn {
        self.link.input.release(&worker.pool);
        self.link.output.release(&worker.pool);
        self.transport.release(&worker.pool);
        self.protocol.rest();
        self.wait = wait;
        let (now, timeouts) = (worker.clock.millis(), &worker.timeouts);
        let deadline = match wait {
            Wait::Handshake => self.link.idle_since.after(timeouts.handshake),
            Wait::Head => self.link.idle_since.after(timeouts.request),
            Wait::Room => self.note_sending(worker),
            Wait::Answer | Wait::More | Wait::Content | Wait::Turn => Millis::NEVER,
            Wait::Close => self.deadline,
            Wait::Stream => self.link.idle_since.after(timeouts.idle),
        };
        self.deadline = deadline.min(self.protocol.latest(now, timeouts));
        Turn::Waits
    }

    /// Takes account of how slowly the peer takes what waits for it; when it will be late.
    #[cold]
    fn note_sending<S>(&mut self, worker: &Worker<S>) -> Millis {
        let patience = worker.timeouts.sending();
        let delivered = self.transport.socket().delivered();
        let pace = self.sending.get_or_insert_with(|| Box::new(Pace::new(delivered, patience)));
        pace.note(worker.clock.millis(), delivered, true, patience);
        pace.due()
    }

    /// The deadline has passed; a turn follows.
    #[cold]
    pub(crate) fn expire<S: Service>(&mut self, worker: &Worker<S>) -> Turn {
        match self.wait {
            _ if self.protocol.streams_are_late(&mut self.link, worker) => {}
            Wait::Room => {
                if self.note_sending(worker) <= worker.clock.millis() {
                    self.abort(worker, "the client did not read in time");
                }
            }
            Wait::Turn => {}
            Wait::Handshake | Wait::Close => {
                if self.transport.lacks_announcement() {
                    worker.service.report(&self.link.info, &Fault::Late);
                }
                self.link.stage = Stage::Over;
            }
            _ => self.protocol.expire(&mut self.link, worker),
        }
        if self.link.stage == Stage::Over { Turn::Over } else { Turn::Waits }
    }

    /// For how long it has been idle: nothing received, nothing to be sent.
    pub(crate) fn idle_millis(&self, now: Millis) -> Option<u64> {
        let idle = matches!(self.wait, Wait::Head | Wait::Stream) && self.is_between_requests();
        idle.then(|| now.since(self.link.idle_since))
    }

    /// Closes it if it is idle and no request has arrived in the meantime.
    pub(crate) fn close_if_idle<S: Service>(&mut self, worker: &Worker<S>) -> bool {
        if self.idle_millis(self.link.idle_since).is_some() && self.read(worker).is_pending() {
            self.protocol.expire(&mut self.link, worker);
            let _ = self.flush(worker);
            self.link.stage = Stage::Over;
        }
        self.link.stage == Stage::Over
    }

    /// Ends the connection with responses unfinished.
    #[cold]
    fn abort<S>(&mut self, worker: &Worker<S>, why: &'static str) {
        self.link.abort(worker, why);
        self.protocol.abort(&self.link, worker, why);
    }

    /// The connection is over: tells those who wait for the end of a response that there will be none,
    /// and gives the buffers back.
    pub(crate) fn end<S>(&mut self, worker: &Worker<S>) {
        self.link.reports.aborted("the connection was reset", self.link.output.sent(), &worker.clock);
        if self.link.resets {
            self.transport.socket().reset_on_close();
        }
        self.protocol.abort(&self.link, worker, "the connection was reset");
        self.link.input.end(&worker.pool);
        self.link.output.end(&worker.pool);
        self.transport.end(&worker.pool);
    }
}

fn reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file was truncated while it was being sent",
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => GONE,
        _ => "the response could not be sent",
    }
}
