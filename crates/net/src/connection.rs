//! One connection: its turns of the loop, its deadlines, its end.
//!
//! A turn answers what has arrived, sends what there is in one write, and reads when nothing is left
//! to answer. What the octets mean is the engine's affair and `exchange`'s; nothing here knows HTTP.

use crate::buffer::Input;
use crate::exchange::{Exchange, Need, Reports};
use crate::output::{Flushed, Output};
use crate::service::{ConnectionInfo, Refusal, Service};
use crate::socket::Socket;
use crate::timer::Slot;
use crate::worker::Worker;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

/// Octets that are thrown away after the last response, so that the peer can read it: closing with
/// unread octets makes the kernel reset the connection (RFC 9112 §9.6).
const LINGER_OCTETS: usize = 1024 * 1024;

/// How far a connection is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Requests are answered.
    Open,
    /// What waits is still sent; `linger`: octets of the peer's may be on the way.
    Closing { linger: bool },
    /// Everything is sent; octets that come are thrown away until the peer closes.
    Lingering { octets: usize },
    /// Over.
    Over,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Head,
    Content,
    Room,
    Answer,
    Close,
}

pub(crate) struct Connection<S: Service> {
    pub(crate) worker: Rc<Worker<S>>,
    pub(crate) info: Rc<ConnectionInfo>,
    pub(crate) engine: hayami_h1::Server,
    pub(crate) exchange: Exchange,
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) stage: Stage,
    /// Requests so far.
    pub(crate) requests: u32,
    /// When the connection became idle, and when the first octet of the request at hand was seen.
    pub(crate) idle_since: Instant,
    pub(crate) begun: Instant,
    pub(crate) reports: Reports,
    /// Content of the request at hand is still to come.
    pub(crate) unread_content: bool,
    socket: Socket,
    slot: Option<Slot>,
    wait: Wait,
    deadline: Option<Instant>,
}

impl<S: Service> Connection<S> {
    pub(crate) fn new(worker: Rc<Worker<S>>, socket: Socket, info: ConnectionInfo) -> Self {
        worker.live.set(worker.live.get() + 1);
        Self {
            engine: hayami_h1::Server::new(),
            exchange: Exchange::Reading,
            input: Input::default(),
            output: Output::default(),
            stage: Stage::Open,
            requests: 0,
            idle_since: info.accepted,
            begun: info.accepted,
            reports: Reports::default(),
            unread_content: false,
            info: Rc::new(info),
            socket,
            slot: None,
            wait: Wait::Head,
            deadline: None,
            worker,
        }
    }

    /// Makes the connection a task of its own.
    pub(crate) fn spawn(mut self) {
        if self.socket.register().is_ok() {
            tokio::task::spawn_local(self);
        }
    }

    /// One turn. `Ready`: the connection is over.
    pub(crate) fn turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let need = self.answer(cx);
            match self.flush(cx) {
                Poll::Pending => return self.rest(Wait::Room),
                Poll::Ready(Flushed::Share) => {
                    cx.waker().wake_by_ref();
                    return self.rest(Wait::Room);
                }
                Poll::Ready(Flushed::All) => {}
            }
            let read = match need {
                Need::Room => continue,
                Need::Later => return self.rest(Wait::Answer),
                Need::Close => self.close(cx),
                Need::Input => self.read(cx),
            };
            if read.is_pending() {
                let wait = self.wait_for_input();
                // The server stopped while the response before was on its way.
                let stopped = wait == Wait::Head && self.input.is_empty() && self.worker.draining.get();
                return if stopped { Poll::Ready(()) } else { self.rest(wait) };
            }
            if self.stage == Stage::Over {
                return Poll::Ready(());
            }
        }
    }

    fn flush(&mut self, cx: &mut Context<'_>) -> Poll<Flushed> {
        let flushed = self.output.poll_flush(&self.socket, cx);
        self.reports.sent(self.output.sent(), &self.worker.clock);
        match flushed {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(flushed)) => Poll::Ready(flushed),
            Poll::Ready(Err(error)) => {
                self.abort(reason(&error));
                Poll::Ready(Flushed::All)
            }
        }
    }

    /// Ends the connection with responses unfinished.
    pub(crate) fn abort(&mut self, why: &'static str) {
        self.reports.aborted(why, self.output.sent(), &self.worker.clock);
        self.stage = Stage::Over;
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let first = self.input.is_empty();
        let room = self.input.room(&self.worker.pool);
        match std::task::ready!(self.socket.poll_read(cx, room)) {
            Ok(0) | Err(_) => self.stage = Stage::Over,
            Ok(_) if first => self.begun = self.worker.clock.now(),
            Ok(_) => {}
        }
        Poll::Ready(())
    }

    /// Everything is sent: closes, or waits for the peer to close first.
    fn close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.stage {
            Stage::Closing { linger: true } => {
                self.socket.shut_down_sending();
                self.deadline = Some(self.worker.clock.now() + self.worker.timeouts.linger);
                self.stage = Stage::Lingering { octets: LINGER_OCTETS };
                Poll::Ready(())
            }
            Stage::Lingering { octets } => {
                self.input.consume(self.input.unread().len());
                std::task::ready!(self.read(cx));
                let left = octets.saturating_sub(self.input.unread().len());
                if self.stage != Stage::Over {
                    self.stage = if left == 0 { Stage::Over } else { Stage::Lingering { octets: left } };
                }
                Poll::Ready(())
            }
            _ => {
                self.stage = Stage::Over;
                Poll::Ready(())
            }
        }
    }

    fn wait_for_input(&self) -> Wait {
        match (self.stage, &self.exchange) {
            (Stage::Open, Exchange::Discarding) => Wait::Content,
            (Stage::Open, _) => Wait::Head,
            _ => Wait::Close,
        }
    }

    /// Waits: gives memory back that holds nothing, and sets the deadline.
    fn rest(&mut self, wait: Wait) -> Poll<()> {
        self.input.release(&self.worker.pool);
        self.output.release(&self.worker.pool);
        let timeouts = &self.worker.timeouts;
        let now = self.worker.clock.now();
        self.deadline = match wait {
            Wait::Head => Some(self.idle_since + timeouts.request),
            Wait::Content | Wait::Room => Some(now + timeouts.io),
            Wait::Answer => None,
            Wait::Close => self.deadline,
        };
        self.wait = wait;
        match (&self.slot, self.deadline) {
            (Some(slot), Some(deadline)) => self.worker.timers.set(slot, deadline),
            (Some(slot), None) => self.worker.timers.clear(slot),
            (None, _) => {}
        }
        Poll::Pending
    }

    /// The deadline has passed.
    #[cold]
    fn expire(&mut self) {
        self.deadline = None;
        match self.wait {
            Wait::Head if !self.input.is_empty() => self.refuse_late(),
            Wait::Room => self.abort("the client did not read in time"),
            Wait::Head | Wait::Content | Wait::Close | Wait::Answer => self.stage = Stage::Over,
        }
    }

    fn refuse_late(&mut self) {
        let worker = Rc::clone(&self.worker);
        let mut head = worker.head.borrow_mut();
        head.reset_to(b"");
        self.refuse(&Refusal::Timeout, &mut head);
    }

    /// Whether an idle connection has to go: the server stops, or something is scarce.
    fn must_yield(&self, now: Instant) -> bool {
        let idle = self.wait == Wait::Head && self.input.is_empty() && self.stage == Stage::Open;
        idle && (self.worker.draining.get() || self.is_shed(now))
    }

    fn is_shed(&self, now: Instant) -> bool {
        let shed = self.worker.shed.get();
        let goes = shed > 0 && now.duration_since(self.idle_since) >= self.worker.quota.min_age();
        if goes {
            self.worker.shed.set(shed - 1);
        }
        goes
    }
}

impl<S: Service> Future for Connection<S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let now = self.worker.clock.refresh();
        if self.slot.is_none() {
            self.slot = Some(self.worker.timers.register(cx.waker().clone()));
        } else if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.expire();
        }
        if self.must_yield(now) && self.read(cx).is_pending() {
            return Poll::Ready(());
        }
        if self.stage == Stage::Over { Poll::Ready(()) } else { self.turn(cx) }
    }
}

impl<S: Service> Unpin for Connection<S> {}

impl<S: Service> Drop for Connection<S> {
    fn drop(&mut self) {
        self.reports.aborted("the connection was lost", self.output.sent(), &self.worker.clock);
        if let Some(slot) = self.slot.take() {
            self.worker.timers.release(slot);
        }
        self.worker.live.set(self.worker.live.get() - 1);
        self.worker.quota.leave();
    }
}

fn reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file became shorter while it was sent",
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => "the client closed the connection",
        _ => "the response could not be sent",
    }
}
