//! How a connection ends: done with, closed or broken by the server, out of time; and what that counts as.

use super::{Connection, Cx, Failure, Stage};

/// How long the server has to close a connection that is done with, in nanoseconds.
const CLOSING: u64 = 2_000_000_000;

impl Connection {
    /// Everything was asked and answered. In HTTP/1 the server closes: whoever closes first keeps the port for a
    /// minute (TIME-WAIT), and it is the server that was told `close` (RFC 9112 §9.6). In HTTP/2 it is us: servers
    /// keep connections open for more, and those that want no more have said so (RFC 9113 §6.8).
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>) {
        cx.pace.put_back(self.engine.unanswered());
        self.engine.forget();
        self.no_longer_usable(cx);
        if !self.engine.is_http1() {
            cx.out.clear();
            self.engine.say_goodbye(cx);
            self.wire.send(cx);
            self.stage = Stage::Over(None);
        } else if self.ended && !self.wire.is_far() {
            self.stage = Stage::Over(None);
        } else {
            self.stage = Stage::Closing;
            self.deadline = cx.now + CLOSING;
        }
    }

    pub(super) fn no_longer_usable(&mut self, cx: &mut Cx<'_>) {
        if std::mem::take(&mut self.is_usable) {
            cx.count.usable -= 1;
        }
    }

    /// The server sends no more.
    pub(super) fn eof(&mut self, cx: &mut Cx<'_>) {
        self.ended = true;
        match self.stage {
            Stage::Closing => self.stage = Stage::Over(None),
            Stage::Shaking => self.fail(Failure::Tls),
            Stage::Open => match self.engine.eof(cx) {
                None => {
                    self.no_longer_usable(cx);
                    self.stage = Stage::Over(None);
                }
                Some(failure) => self.fail(failure),
            },
            _ => self.fail(Failure::Connect),
        }
    }

    /// The connection was reset.
    pub(super) fn broken(&mut self) {
        match self.stage {
            Stage::Closing => self.stage = Stage::Over(None),
            Stage::Shaking => self.fail(Failure::Tls),
            Stage::Open if self.engine.unanswered() == 0 => self.stage = Stage::Over(Some(Failure::Reset)),
            Stage::Open => {
                let begun = self.engine.has_begun();
                self.fail(if begun { Failure::Short } else { Failure::Reset });
            }
            _ => self.fail(Failure::Connect),
        }
    }

    /// Failures one after the other, this connection's end among them if it never was of use.
    pub(crate) fn failures(&self) -> u32 {
        if self.has_answered { 0 } else { self.failures + 1 }
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        if !matches!(self.stage, Stage::Over(_) | Stage::Free | Stage::Gone | Stage::Leaving) {
            self.stage = match self.stage {
                Stage::Closing => Stage::Over(None),
                _ => Stage::Over(Some(failure)),
            };
        }
    }

    /// Counts what a failure cost. To be called once, before the slot is freed.
    pub(crate) fn count_failure(&mut self, cx: &mut Cx<'_>, failure: Failure) {
        let lost = self.engine.unanswered();
        let was_usable = self.is_usable;
        self.no_longer_usable(cx);
        cx.pace.done(lost);
        if !was_usable && lost == 0 && failure != Failure::Lost {
            cx.pace.spoil();
        }
        let errors = &mut cx.count.tally.errors;
        // A server may close a connection that rests.
        let first = u64::from(lost > 0 || failure != Failure::Reset);
        let kind = match failure {
            Failure::Connect => &mut errors.connect,
            Failure::Tls => &mut errors.tls,
            Failure::Reset => &mut errors.reset,
            Failure::Timeout => &mut errors.timeout,
            Failure::Protocol => &mut errors.protocol,
            Failure::Short => &mut errors.short,
            Failure::Lost => &mut errors.lost,
        };
        *kind += first;
        let others = lost.saturating_sub(1);
        *(if failure == Failure::Timeout { &mut errors.timeout } else { &mut errors.reset }) += others;
    }

    /// Gives the connection up if its time has passed.
    pub(crate) fn expire(&mut self, cx: &mut Cx<'_>) {
        if self.deadline == 0 || cx.now < self.deadline {
            return;
        }
        match self.stage {
            Stage::Free | Stage::Over(_) | Stage::Leaving | Stage::Gone => {}
            Stage::Closing => self.stage = Stage::Over(None),
            Stage::Astray => self.stage = Stage::Over(Some(Failure::Lost)),
            Stage::Dialing | Stage::Shaking => self.fail(Failure::Timeout),
            Stage::Open => {
                // It was set for a request that has been answered since.
                match self.engine.oldest().map(|sent| sent + cx.job.timeout) {
                    Some(deadline) if deadline <= cx.now => self.fail(Failure::Timeout),
                    deadline => self.deadline = deadline.unwrap_or(0),
                }
            }
        }
    }
}
