//! A turn: answers what has arrived, sends pending output, and reads from the client when that may bring more to do.

use super::Connection;
use super::state::{Event, Stage, Step, Wait};
use crate::any_session::ask;
use crate::blocking::{self, Lane};
use crate::cold;
use crate::output::Flushed;
use crate::service::Service;
use crate::session::Session;
use crate::transport::Read;
use crate::worker::Worker;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Bytes that a connection sends before others get their turn.
const SHARE: u64 = 1024 * 1024;

/// Milliseconds after which a connection counts as idle for TCP: the kernel restarts with a small congestion window
/// (RFC 5681 §4.1).
const REST: u64 = 1000;

/// Reported for responses whose client has disconnected.
const GONE: &str = "the client closed the connection";

/// Result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The connection waits for its socket, its waker or its deadline.
    Waits,
    /// It has more to send than its share of a turn.
    Again,
    /// The connection has ended.
    Over,
}

impl Connection {
    /// Runs one turn.
    pub(crate) fn turn<S: Service>(&mut self, worker: &Worker<S>) -> Turn {
        let share_ends = self.link.output.sent() + SHARE;
        worker.budget.begin();
        if self.transport.socket().has_ended() && ask!(&self.session, own => own.cancels_on_close(&self.link))
        {
            self.abort(worker, GONE);
        }
        while self.link.stage != Stage::Over {
            let need = self.session.answer(&mut self.link, worker);
            let flushed = self.flush(worker);
            if self.link.stage == Stage::Over {
                break;
            }
            match need.step(flushed) {
                Step::Answer if self.link.output.sent() >= share_ends || worker.budget.is_used_up() => {
                    return self.yield_turn(worker);
                }
                Step::Answer => {}
                Step::Read { or: Wait::Request } if self.ends_now(worker) && self.may_end() => {
                    self.link.on(Event::Close { linger: true });
                }
                Step::Read { or } if flushed.is_pending() && self.link.output.is_overfull() => {
                    return self.rest(worker, or);
                }
                Step::Read { .. } if !worker.budget.spend_read() => return self.yield_turn(worker),
                Step::Read { or } => {
                    if self.read(worker).is_pending() {
                        return self.rest(worker, or);
                    }
                }
                Step::Wait(wait) => return self.rest(worker, wait),
                Step::Yield => return self.yield_turn(worker),
                Step::Warm => {
                    if self.warm(worker).is_pending() {
                        return self.rest(worker, Wait::Answer);
                    }
                }
                Step::HalfClose => {
                    self.transport.shut_down_sending();
                    ask!(&mut self.session, own => own.half_close_sent());
                }
                Step::Upgrade => self.session.upgrade(&mut self.link, worker),
                Step::Close => {
                    if self.close(worker).is_pending() {
                        return self.rest(worker, Wait::Close);
                    }
                }
            }
        }
        Turn::Over
    }

    #[inline]
    pub(super) fn flush<S>(&mut self, worker: &Worker<S>) -> Poll<Flushed> {
        let flushed = self.link.output.flush(&worker.pool, &mut self.transport, &worker.budget);
        self.link.reports.sent(self.link.output.sent(), &worker.clock);
        match flushed {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(flushed)) => {
                if flushed == Flushed::All {
                    self.sending = None;
                }
                Poll::Ready(flushed)
            }
            Poll::Ready(Err(error)) => {
                self.abort(worker, reason(&error));
                Poll::Ready(Flushed::All)
            }
        }
    }

    /// Has a blocking thread read the next file content into the page cache.
    #[cold]
    fn warm<S>(&mut self, worker: &Worker<S>) -> Poll<()> {
        let Some(slice) = self.link.output.cold() else { return Poll::Ready(()) };
        let task = self
            .warming
            .get_or_insert_with(|| blocking::run(Lane::Files, move || cold::read_through(&slice)));
        let waker = self.link.waker(worker);
        let warmed = ready!(Pin::new(task).poll(&mut Context::from_waker(&waker)));
        self.warming = None;
        // Sending now would block the worker on the disk.
        if warmed.is_err_and(|error| blocking::is_refused(&error)) {
            self.abort(worker, "too many file reads are queued");
        }
        self.link.output.warmed();
        Poll::Ready(())
    }

    #[inline]
    pub(super) fn read<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        if self.transport.is_held_up() {
            return self.go_on_with_preamble(worker);
        }
        let first = self.link.input.is_empty();
        let read = ready!(self.transport.read(&worker.pool, &mut self.link.input));
        if first {
            self.link.begun = worker.clock.now();
            if worker.clock.millis().since(self.link.idle_since) >= REST {
                self.transport.was_idle();
            }
        }
        // Early data may arrive in the read that also reports the end of the handshake.
        self.link.early = self.transport.is_early();
        match read {
            Ok(Read::Bytes) => {}
            Ok(news) => self.on_news(worker, news),
            Err(_) => self.link.on(Event::Lost),
        }
        Poll::Ready(())
    }

    /// All output is sent: closes the connection, or waits for the peer to close first.
    fn close<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        match self.link.stage {
            Stage::Closing { linger: true } => {
                self.transport.shut_down_sending();
                self.deadline = worker.clock.millis().after(worker.timeouts.linger);
                self.link.on(Event::Sent);
            }
            Stage::Lingering { .. } => {
                self.link.input.consume(self.link.input.unread().len());
                ready!(self.read(worker));
                self.link.on(Event::Discarded(self.link.input.unread().len() as u32));
            }
            Stage::Open | Stage::Closing { linger: false } | Stage::Over => {
                self.transport.say_goodbye();
                self.link.on(Event::Lost);
            }
        }
        Poll::Ready(())
    }
}

fn reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file was truncated while it was being sent",
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => GONE,
        _ => "the response could not be sent",
    }
}
