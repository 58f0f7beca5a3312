//! Happy Eyeballs (RFC 8305): uses the first of a name's addresses to accept a connection; an unresponsive
//! address costs a quarter of a second instead of the whole connect timeout.

use super::backend::Backend;
use super::cause::{Cause, Phase};
use super::connection::Connection;
use super::reply::Failure;
use super::upstream::Upstream;
use hayami_net::clock::Millis;
use hayami_net::poll::Sleep;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// How long to wait for an address before trying the next one in parallel (RFC 8305 §5).
const DELAY: Duration = Duration::from_millis(250);

/// Connection attempts to addresses of one name, one of which will be used.
pub(super) struct Race {
    runners: Vec<Runner>,
    /// The address to try next.
    next: usize,
    /// Time until that one is tried, unless another fails first; `None` if there is no next one.
    pause: Option<Pin<Box<Sleep>>>,
    /// Cause of the most recent failure.
    failure: Option<Cause>,
}

struct Runner {
    /// Index of its address.
    at: usize,
    connection: Box<Connection>,
    /// Its connect deadline, in milliseconds of the clock.
    until: Millis,
}

impl Race {
    /// Creates a race among the addresses from index `from` on.
    pub(super) fn new(from: usize, failure: Option<Cause>) -> Self {
        Self { runners: Vec::new(), next: from, pause: None, failure }
    }

    /// Returns the first established connection and its address; closes the others.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        upstream: &Upstream,
    ) -> Poll<Result<(Box<Connection>, usize), Cause>> {
        if self.runners.is_empty() {
            self.start(upstream);
        }
        loop {
            let made = self.poll_runners(cx, upstream);
            let pause = self.pause.as_mut().filter(|_| made.is_pending());
            // Poll the connection just started, too.
            match pause.map(|pause| pause.as_mut().poll(cx)) {
                Some(Poll::Ready(())) => self.start(upstream),
                Some(Poll::Pending) | None => return made,
            }
        }
    }

    fn poll_runners(
        &mut self,
        cx: &mut Context<'_>,
        upstream: &Upstream,
    ) -> Poll<Result<(Box<Connection>, usize), Cause>> {
        let mut at = 0;
        while let Some(runner) = self.runners.get_mut(at) {
            match runner.poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(Ok(())) => {
                    let Runner { at, connection, .. } = self.runners.swap_remove(at);
                    self.runners.clear();
                    upstream.prefer(at);
                    return Poll::Ready(Ok((connection, at)));
                }
                Poll::Ready(Err(cause)) => {
                    upstream.count(|counters| counters.failed += 1);
                    self.failure = Some(cause);
                    self.runners.remove(at);
                    self.start(upstream);
                }
            }
        }
        match self.runners.is_empty() {
            true => Poll::Ready(Err(self.failure.take().unwrap_or(Cause::NoPeers))),
            false => Poll::Pending,
        }
    }

    /// Starts connecting to the next address that does not fail immediately.
    fn start(&mut self, upstream: &Upstream) {
        self.pause = None;
        while let Some(begun) = upstream.open(self.next) {
            let at = self.next;
            self.next += 1;
            match begun {
                Ok(connection) => {
                    let until = upstream.outbound.clock().millis().after(upstream.timeouts.connect);
                    if upstream.has(self.next) {
                        let delay = DELAY.min(upstream.timeouts.connect);
                        self.pause = Some(Box::pin(upstream.outbound.timers().sleep(delay)));
                    }
                    return self.runners.push(Runner { at, connection, until });
                }
                Err(error) => {
                    upstream.count(|counters| counters.failed += 1);
                    self.failure = Some(Cause::Io(error));
                }
            }
        }
    }
}

impl Runner {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        let channel = &self.connection.channel;
        ready!(channel.poll_made(cx))?;
        channel.wire.progressed();
        // What follows, such as a TLS handshake, gets the remaining time.
        channel.wire.set_deadline(self.until);
        Poll::Ready(Ok(()))
    }
}

/// Checks whether a connection to an origin can be established, TLS included, and closes it again.
///
/// # Errors
/// Why the connection failed.
pub async fn reach(backend: &Rc<Backend>) -> Result<(), Failure> {
    let upstream = &backend.upstream;
    let began = upstream.outbound.clock().now();
    let mut race = Race::new(0, None);
    let mut made: Option<Box<Connection>> = None;
    let reached: Result<(), Cause> = poll_fn(|cx| {
        if made.is_none() {
            made = Some(ready!(race.poll(cx, upstream))?.0);
        }
        let Some(connection) = &mut made else { return Poll::Pending };
        let channel = &mut connection.channel;
        if channel.wire.is_late() {
            return Poll::Ready(Err(Cause::Timeout));
        }
        if let Poll::Ready(connected) = channel.poll_connected() {
            return Poll::Ready(connected);
        }
        channel.wait(cx).map_err(Cause::Io)?;
        Poll::Pending
    })
    .await;
    let elapsed = || upstream.outbound.clock().now().saturating_duration_since(began);
    reached.map_err(|cause| Failure { phase: Phase::Connect, cause, elapsed: elapsed(), call: None })
}
