//! One connection: its turns of the loop, its deadlines, its end.
//!
//! A turn answers what has arrived, sends what there is in one write, and reads when nothing is left
//! to answer. What the octets mean is the engine's affair and `exchange`'s; nothing here knows HTTP.

use crate::buffer::Input;
use crate::clock::Instant;
use crate::cold;
use crate::exchange::{Exchange, Need, Reports};
use crate::output::{Flushed, Output};
use crate::service::{ConnectionInfo, Refusal, Service};
use crate::socket::Socket;
use crate::timer::NEVER;
use crate::worker::Worker;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Octets that are thrown away after the last response, so that the peer can read it: closing with
/// unread octets makes the kernel reset the connection (RFC 9112 §9.6).
const LINGER_OCTETS: u32 = 1024 * 1024;

/// How far a connection is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Requests are answered.
    Open,
    /// What waits is still sent; `linger`: octets of the peer's may be on the way.
    Closing { linger: bool },
    /// Everything is sent; octets that come are thrown away until the peer closes.
    Lingering { octets: u32 },
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
    pub(crate) info: Rc<ConnectionInfo>,
    pub(crate) engine: hayami_h1::Server,
    pub(crate) exchange: Exchange,
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) stage: Stage,
    pub(crate) reports: Reports,
    /// When the first octet of the request at hand was seen.
    pub(crate) begun: Instant,
    /// When the connection became idle, in milliseconds of the worker's clock.
    pub(crate) idle_since: u32,
    /// Requests so far.
    pub(crate) requests: u32,
    /// Content of the request at hand is still to come.
    pub(crate) unread_content: bool,
    /// Wakes this connection; made when something has to be waited for that is not the socket.
    pub(crate) waker: Option<Waker>,
    pub(crate) index: u32,
    pub(crate) socket: Socket,
    /// Reads cold file content.
    warming: Option<JoinHandle<()>>,
    wait: Wait,
    deadline: u32,
}

impl Connection {
    /// A connection that will have the place `index` among those of its worker.
    pub(crate) fn new<S: Service>(
        worker: &Worker<S>,
        socket: Socket,
        info: ConnectionInfo,
        index: usize,
    ) -> Self {
        Self {
            engine: hayami_h1::Server::new(),
            exchange: Exchange::Reading,
            input: Input::default(),
            output: Output::default(),
            stage: Stage::Open,
            reports: Reports::default(),
            begun: info.accepted,
            idle_since: worker.clock.millis(),
            requests: 0,
            unread_content: false,
            waker: None,
            index: index as u32,
            info: Rc::new(info),
            socket,
            warming: None,
            wait: Wait::Head,
            deadline: NEVER,
        }
    }

    /// When [`expire`](Self::expire) has to be called, in milliseconds of the worker's clock.
    pub(crate) fn deadline(&self) -> u32 {
        self.deadline
    }

    /// One turn.
    pub(crate) fn turn<S: Service>(&mut self, worker: &Worker<S>) -> Turn {
        while self.stage != Stage::Over {
            let need = self.answer(worker);
            match self.flush(worker) {
                Poll::Pending => return self.rest(worker, Wait::Room),
                Poll::Ready(Flushed::Share) => return self.yield_turn(worker),
                Poll::Ready(Flushed::Cold) => match self.warm(worker) {
                    Poll::Pending => return self.rest(worker, Wait::Answer),
                    Poll::Ready(()) => continue,
                },
                Poll::Ready(Flushed::All) => {}
            }
            if need == Need::Input && worker.draining.get() && self.is_between_requests() {
                self.stage = Stage::Closing { linger: true };
                continue;
            }
            if self.stage == Stage::Over {
                return Turn::Over;
            }
            let read = match need {
                Need::Room => continue,
                Need::Later => return self.rest(worker, Wait::Answer),
                Need::Close => self.close(worker),
                Need::Input => self.read(worker),
            };
            if read.is_pending() {
                return self.rest(worker, self.wait_for_input());
            }
        }
        Turn::Over
    }

    fn flush<S>(&mut self, worker: &Worker<S>) -> Poll<Flushed> {
        let flushed = self.output.flush(&self.socket);
        self.reports.sent(self.output.sent(), &worker.clock);
        match flushed {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(flushed)) => Poll::Ready(flushed),
            Poll::Ready(Err(error)) => {
                self.abort(worker, reason(&error));
                Poll::Ready(Flushed::All)
            }
        }
    }

    /// Has the blocking pool bring the file content that comes next into memory.
    #[cold]
    fn warm<S>(&mut self, worker: &Worker<S>) -> Poll<()> {
        let Some(slice) = self.output.cold() else { return Poll::Ready(()) };
        let task = self
            .warming
            .get_or_insert_with(|| tokio::task::spawn_blocking(move || cold::read_through(&slice)));
        let waker = self.waker.get_or_insert_with(|| worker.woken.waker(self.index as usize));
        // If the task fails, sending the file tells why.
        let _ = std::task::ready!(Pin::new(task).poll(&mut Context::from_waker(waker)));
        self.warming = None;
        self.output.warmed();
        Poll::Ready(())
    }

    /// Ends the connection with responses unfinished.
    pub(crate) fn abort<S>(&mut self, worker: &Worker<S>, why: &'static str) {
        self.reports.aborted(why, self.output.sent(), &worker.clock);
        self.stage = Stage::Over;
    }

    fn read<S>(&mut self, worker: &Worker<S>) -> Poll<()> {
        let first = self.input.is_empty();
        match std::task::ready!(self.socket.read(self.input.room(&worker.pool))) {
            Ok(0) | Err(_) => self.stage = Stage::Over,
            Ok(_) if first => self.begun = worker.clock.now(),
            Ok(_) => {}
        }
        Poll::Ready(())
    }

    /// Everything is sent: closes, or waits for the peer to close first.
    fn close<S>(&mut self, worker: &Worker<S>) -> Poll<()> {
        match self.stage {
            Stage::Closing { linger: true } => {
                self.socket.shut_down_sending();
                self.deadline = after(worker.clock.millis(), worker.timeouts.linger);
                self.stage = Stage::Lingering { octets: LINGER_OCTETS };
            }
            Stage::Lingering { octets } => {
                self.input.consume(self.input.unread().len());
                std::task::ready!(self.read(worker));
                let left = octets.saturating_sub(self.input.unread().len() as u32);
                if self.stage != Stage::Over {
                    self.stage = if left == 0 { Stage::Over } else { Stage::Lingering { octets: left } };
                }
            }
            _ => self.stage = Stage::Over,
        }
        Poll::Ready(())
    }

    /// Whether nothing of a request has arrived.
    fn is_between_requests(&self) -> bool {
        self.input.is_empty() && self.stage == Stage::Open && matches!(self.exchange, Exchange::Reading)
    }

    fn wait_for_input(&self) -> Wait {
        match (self.stage, &self.exchange) {
            (Stage::Open, Exchange::Discarding) => Wait::Content,
            (Stage::Open, _) => Wait::Head,
            _ => Wait::Close,
        }
    }

    /// Lets others have a turn.
    fn yield_turn<S>(&mut self, worker: &Worker<S>) -> Turn {
        self.rest(worker, Wait::Room);
        Turn::Again
    }

    /// Waits: gives memory back that holds nothing, and sets the deadline.
    fn rest<S>(&mut self, worker: &Worker<S>, wait: Wait) -> Turn {
        self.input.release(&worker.pool);
        self.output.release(&worker.pool);
        self.wait = wait;
        self.deadline = match wait {
            Wait::Head => after(self.idle_since, worker.timeouts.request),
            Wait::Content => after(worker.clock.millis(), worker.timeouts.receive),
            Wait::Room => after(worker.clock.millis(), worker.timeouts.send),
            Wait::Answer => NEVER,
            Wait::Close => self.deadline,
        };
        Turn::Waits
    }

    /// The deadline has passed; a turn follows.
    #[cold]
    pub(crate) fn expire<S: Service>(&mut self, worker: &Worker<S>) {
        match self.wait {
            Wait::Head if !self.input.is_empty() => self.refuse_late(worker),
            Wait::Room => self.abort(worker, "the client did not read in time"),
            Wait::Answer => {}
            Wait::Head | Wait::Content | Wait::Close => self.stage = Stage::Over,
        }
    }

    fn refuse_late<S: Service>(&mut self, worker: &Worker<S>) {
        let mut head = worker.head.borrow_mut();
        head.reset_to(b"");
        self.refuse(worker, &Refusal::Timeout, &mut head);
    }

    /// For how long it has been idle: nothing received, nothing to be sent.
    pub(crate) fn idle_millis(&self, now: u32) -> Option<u32> {
        let idle = self.wait == Wait::Head && self.is_between_requests();
        idle.then(|| now.saturating_sub(self.idle_since))
    }

    /// Closes it if it is idle and no request has arrived in the meantime.
    pub(crate) fn close_if_idle<S>(&mut self, worker: &Worker<S>) -> bool {
        if self.idle_millis(0).is_some() && self.read(worker).is_pending() {
            self.stage = Stage::Over;
        }
        self.stage == Stage::Over
    }

    /// The connection is over: tells those who wait for the end of a response that there will be none,
    /// and gives the buffers back.
    pub(crate) fn end<S>(&mut self, worker: &Worker<S>) {
        self.reports.aborted("the connection was lost", self.output.sent(), &worker.clock);
        self.input.end(&worker.pool);
        self.output.end(&worker.pool);
    }
}

/// A deadline: milliseconds on the worker's clock, never [`NEVER`].
fn after(millis: u32, timeout: Duration) -> u32 {
    let timeout = u32::try_from(timeout.as_millis()).unwrap_or(NEVER);
    millis.saturating_add(timeout).min(NEVER - 1)
}

fn reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file became shorter while it was sent",
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => "the client closed the connection",
        _ => "the response could not be sent",
    }
}
