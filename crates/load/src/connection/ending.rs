//! How a connection ends: finished, closed or broken by the server, timed out; and how that is counted.

use super::why::{self, Broken, Why};
use super::{Connection, Cx, Failure, Stage};

/// How long the server may take to close a finished connection, in nanoseconds.
const CLOSING: u64 = 2_000_000_000;

impl Connection {
    /// All requests were sent and answered. In HTTP/1 the server closes: the side that closes first keeps the
    /// port for a minute (TIME-WAIT), and the server was sent `close` (RFC 9112 §9.6). In HTTP/2 the client
    /// closes: servers keep connections open, or have sent GOAWAY (RFC 9113 §6.8).
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
            Stage::Shaking => self.fail(Failure::Tls, why::CLOSED_HANDSHAKE),
            Stage::Open => match self.engine.eof(cx) {
                None => {
                    self.no_longer_usable(cx);
                    self.stage = Stage::Over(None);
                }
                Some(Broken { failure, why }) => self.fail(failure, why),
            },
            _ => self.fail(Failure::Connect, why::CLOSED_UNANSWERED),
        }
    }

    /// The connection was reset.
    pub(super) fn broken(&mut self, why: Why) {
        match self.stage {
            Stage::Closing => self.stage = Stage::Over(None),
            Stage::Shaking => self.fail(Failure::Tls, format!("{why} during the TLS handshake")),
            Stage::Open if self.engine.has_begun() => {
                self.fail(Failure::Short, format!("{why} in the middle of a response"));
            }
            Stage::Open => self.fail(Failure::Reset, why),
            _ => self.fail(Failure::Connect, why),
        }
    }

    /// Consecutive failures, including this connection's end if it was never usable.
    pub(crate) fn failures(&self) -> u32 {
        if self.has_answered { 0 } else { self.failures + 1 }
    }

    pub(super) fn fail(&mut self, failure: Failure, why: impl Into<Why>) {
        if !matches!(self.stage, Stage::Over(_) | Stage::Free | Stage::Gone | Stage::Leaving) {
            self.stage = match self.stage {
                Stage::Closing => Stage::Over(None),
                _ => Stage::Over(Some(failure)),
            };
            self.why = why.into();
        }
    }

    /// Counts a failure. Call it once, before the slot is freed.
    pub(crate) fn count_failure(&mut self, cx: &mut Cx<'_>, failure: Failure) {
        let lost = self.engine.unanswered();
        let was_usable = self.is_usable;
        self.no_longer_usable(cx);
        cx.pace.done(lost);
        if !was_usable && lost == 0 && failure != Failure::Lost {
            cx.pace.spoil();
        }
        // A server may close an idle connection.
        let first = u64::from(lost > 0 || failure != Failure::Reset);
        let others = lost.saturating_sub(1);
        let why = std::mem::take(&mut self.why);
        match failure {
            Failure::Reset | Failure::Timeout => cx.count.failed(failure, &why, first + others, cx.now),
            failure => {
                cx.count.failed(failure, &why, first, cx.now);
                cx.count.failed(Failure::Reset, why::OTHERS, others, cx.now);
            }
        }
    }

    /// Closes the connection if its deadline has passed.
    pub(crate) fn expire(&mut self, cx: &mut Cx<'_>) {
        if self.deadline == 0 || cx.now < self.deadline {
            return;
        }
        match self.stage {
            Stage::Free | Stage::Over(_) | Stage::Leaving | Stage::Gone => {}
            Stage::Closing => self.stage = Stage::Over(None),
            Stage::Astray => self.stage = Stage::Over(Some(Failure::Lost)),
            Stage::Dialing => self.fail(Failure::Timeout, why::late("no connection", cx.job.timeout)),
            Stage::Shaking => self.fail(Failure::Timeout, why::late("no TLS handshake", cx.job.timeout)),
            Stage::Open => {
                // It was set for a request that has been answered since.
                match self.engine.oldest().map(|sent| sent + cx.job.timeout) {
                    Some(deadline) if deadline <= cx.now => {
                        let what = match self.engine.has_begun() {
                            true => "no complete response",
                            false => "no response",
                        };
                        self.fail(Failure::Timeout, why::late(what, cx.job.timeout));
                    }
                    deadline => self.deadline = deadline.unwrap_or(0),
                }
            }
        }
    }
}
