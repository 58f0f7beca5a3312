//! Between turns: what a connection waits for, for how long, and how it ends.

use super::state::{Event, Stage, Wait};
use super::{Connection, Turn};
use crate::any_session::ask;
use crate::clock::Millis;
use crate::pace::Pace;
use crate::proxy_protocol::Fault;
use crate::service::Service;
use crate::session::Session;
use crate::worker::Worker;
use std::time::Duration;

/// Maximum lifetime of a connection that counts as opened for a single request.
const SHORT: Duration = Duration::from_secs(1);

/// How long a connection that leaves is idle before it is closed: the client may be sending its next request, and
/// learns from the response that it is the last.
const LEAVING_IDLE: Duration = Duration::from_secs(1);

impl Connection {
    /// Whether the connection carried one request at the client's wish: it ends soon after it was accepted, and the
    /// client has not closed it.
    pub(crate) fn was_short<S>(&self, worker: &Worker<S>) -> bool {
        let lived = worker.clock.now().saturating_duration_since(self.link.info.accepted);
        self.link.requests <= 1 && lived < SHORT && !self.socket().has_ended()
    }

    /// Lets other connections have a turn.
    pub(super) fn yield_turn<S>(&mut self, worker: &Worker<S>) -> Turn {
        self.rest(worker, Wait::Turn);
        Turn::Again
    }

    /// Waits: returns unused memory, and sets the deadline.
    pub(super) fn rest<S>(&mut self, worker: &Worker<S>, wait: Wait) -> Turn {
        self.link.input.release(&worker.pool);
        self.link.output.release(&worker.pool);
        self.transport.release(&worker.pool);
        let (now, timeouts) = (worker.clock.millis(), &worker.timeouts);
        let (latest, idle) = ask!(&mut self.session, own => {
            own.release();
            (own.deadline(now, timeouts), own.idle_timeout(timeouts))
        });
        self.wait = match wait {
            Wait::Request if self.transport.is_handshaking() => Wait::Preamble,
            wait => wait,
        };
        let deadline = match self.wait {
            Wait::Preamble => self.link.idle_since.after(timeouts.handshake),
            Wait::Request if self.leaves_idle() => self.link.idle_since.after(idle.min(LEAVING_IDLE)),
            Wait::Request => self.link.idle_since.after(idle),
            Wait::Room => self.note_sending(worker),
            Wait::Answer | Wait::Client | Wait::Turn => Millis::NEVER,
            Wait::Close => self.deadline,
        };
        self.deadline = deadline.min(latest);
        Turn::Waits
    }

    /// Updates the peer's pace of reading pending output. Returns when the send timeout expires.
    #[cold]
    fn note_sending<S>(&mut self, worker: &Worker<S>) -> Millis {
        let patience = worker.timeouts.sending();
        let delivered = self.transport.socket().delivered();
        let pace = self.sending.get_or_insert_with(|| Box::new(Pace::new(delivered, patience)));
        pace.note(worker.clock.millis(), delivered, true, patience);
        pace.due()
    }

    /// Handles an expired deadline; a turn follows.
    #[cold]
    pub(crate) fn expire<S: Service>(&mut self, worker: &Worker<S>) -> Turn {
        if !ask!(&mut self.session, own => own.expire_exchanges(&mut self.link, worker)) {
            self.expire_wait(worker);
        }
        if self.link.stage == Stage::Over { Turn::Over } else { Turn::Waits }
    }

    fn expire_wait<S: Service>(&mut self, worker: &Worker<S>) {
        match self.wait {
            Wait::Room => {
                if self.note_sending(worker) <= worker.clock.millis() {
                    self.abort(worker, "the client did not read in time");
                }
            }
            Wait::Turn => {}
            Wait::Preamble | Wait::Close => {
                if self.transport.lacks_announcement() {
                    worker.service.report(&self.link.info, &Fault::Late);
                }
                self.link.on(Event::Lost);
            }
            Wait::Request if self.leaves_idle() => _ = self.close_if_idle(worker),
            Wait::Request | Wait::Client | Wait::Answer => {
                ask!(&mut self.session, own => own.expire(&mut self.link, worker));
            }
        }
    }

    /// Whether the connection leaves between two requests, and the client does not know. A client without a request so far
    /// has just connected: it has the usual time for the first one.
    fn leaves_idle(&self) -> bool {
        let link = &self.link;
        link.leaves && link.requests > 0 && self.is_between_requests() && !self.says_goodbye()
    }

    /// Whether the connection ends now if the client loses nothing.
    pub(super) fn ends_now<S>(&self, worker: &Worker<S>) -> bool {
        worker.draining.get() || self.link.leaves && self.says_goodbye()
    }

    /// Whether nothing of a request has arrived.
    fn is_between_requests(&self) -> bool {
        let link = &self.link;
        link.input.is_empty() && link.stage == Stage::Open && ask!(&self.session, own => own.is_idle())
    }

    /// Whether the client loses nothing if the connection ends now.
    pub(super) fn may_end(&self) -> bool {
        self.is_between_requests() && ask!(&self.session, own => own.may_end())
    }

    /// How long it has been idle: nothing received, nothing to send.
    pub(crate) fn idle_millis(&self, now: Millis) -> Option<u64> {
        let idle = self.wait == Wait::Request && self.is_between_requests();
        idle.then(|| now.since(self.link.idle_since))
    }

    /// Closes the connection if it is idle and no request has arrived in the meantime.
    pub(crate) fn close_if_idle<S: Service>(&mut self, worker: &Worker<S>) -> bool {
        if self.idle_millis(self.link.idle_since).is_some() && self.read(worker).is_pending() {
            ask!(&mut self.session, own => own.expire(&mut self.link, worker));
            let _ = self.flush(worker);
            self.link.on(Event::Lost);
        }
        self.link.stage == Stage::Over
    }

    /// Aborts the connection with responses incomplete.
    #[cold]
    pub(super) fn abort<S>(&mut self, worker: &Worker<S>, why: &'static str) {
        self.link.abort(worker, why);
        ask!(&mut self.session, own => own.abort(&self.link, worker, why));
    }

    /// Cleans up an ended connection: notifies the observers of incomplete responses, and returns the buffers.
    pub(crate) fn end<S>(&mut self, worker: &Worker<S>) {
        let why = "the connection was reset";
        self.link.reports.aborted(why, self.link.output.sent(), &worker.clock);
        if self.link.resets {
            self.transport.socket().reset_on_close();
        }
        ask!(&mut self.session, own => own.abort(&self.link, worker, why));
        self.link.input.end(&worker.pool);
        self.link.output.end(&worker.pool);
        self.transport.end(&worker.pool);
    }
}
