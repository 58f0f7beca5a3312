//! The connection as a tunnel: octets go both ways without framing, until each side has ended.
//!
//! What the client sends goes to the content of the request, [`Upgrade::octets`], and what the answer's content
//! yields goes to the client. Asking that content for octets moves both directions (see [`Upgrade`]), so a client
//! that does not read is still heard. Each side may end first: its end is passed on, and the other goes on.

use super::content::Fed;
use super::{Exchange, Http1};
use crate::clock::Millis;
use crate::incoming::Feed;
use crate::link::{Link, Need, Stage};
use crate::service::{Service, Upgrade};
use crate::upgrade;
use crate::worker::{Timeouts, Worker};
use hayami_h1::Event;
use hayami_http::{RequestHead, Source};
use std::task::{Context, Poll};
use std::time::Duration;

/// How long tunnels may go on while the worker ends, if nothing is said of it: other than answers, they come to no end
/// by themselves.
pub(crate) const LEAVE: Duration = Duration::from_secs(30);

/// A tunnel that is open.
pub(crate) struct Tunnel {
    outward: Outward,
    /// Since when the worker has been draining, in milliseconds of its clock.
    leaves_since: Option<Millis>,
}

/// The direction to the client.
enum Outward {
    /// Octets come from here.
    Open(Box<dyn Source>),
    /// There are no more; the client is told when the last one has left.
    Ending,
    /// The client has been told.
    Ended,
}

impl Tunnel {
    /// Until when it may go on while the worker ends.
    pub(super) fn latest(&self, timeouts: &Timeouts) -> Millis {
        let graceful = if timeouts.graceful.is_zero() { LEAVE } else { timeouts.graceful };
        self.leaves_since.map_or(Millis::NEVER, |since| since.after(graceful))
    }
}

impl Http1 {
    /// What the request at hand asks for instead of an answer, with both ends of what would come then.
    #[cold]
    pub(super) fn offer<S>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        head: &RequestHead,
    ) -> Option<Upgrade> {
        let (wish, protocols) = upgrade::wish(head)?;
        let octets = self.expect_content(link, worker, None)?;
        octets.be_patient();
        Some(Upgrade { wish, protocols, octets })
    }

    /// The head that begins the tunnel is in the output.
    #[cold]
    pub(super) fn begin_tunnel(&mut self, source: Box<dyn Source>) {
        let tunnel = Tunnel { outward: Outward::Open(source), leaves_since: None };
        self.exchange = Exchange::Tunnel(Box::new(tunnel));
    }

    /// Whether the connection is a tunnel.
    #[inline]
    pub(crate) fn is_tunnel(&self) -> bool {
        matches!(self.exchange, Exchange::Tunnel(_))
    }

    /// Moves octets both ways, as far as they go.
    #[inline(never)]
    pub(super) fn pass_on<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Option<Need> {
        let fed = self.feed(link, worker);
        let Exchange::Tunnel(tunnel) = &mut self.exchange else { return None };
        if worker.draining.get() && tunnel.leaves_since.is_none() {
            tunnel.leaves_since = Some(worker.clock.millis());
        }
        match &mut tunnel.outward {
            Outward::Open(_) => self.pull_outward(link, worker, fed),
            Outward::Ending => Some(Need::HalfClose { hears: self.hears(fed) == Some(true) }),
            Outward::Ended => self.hear_out(link, fed),
        }
    }

    fn pull_outward<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, fed: Fed) -> Option<Need> {
        let waker = link.waker(worker);
        let Exchange::Tunnel(tunnel) = &mut self.exchange else { return None };
        let outward = &mut tunnel.outward;
        let Outward::Open(source) = outward else { return None };
        let room = link.output.room();
        let mut fill = || {
            link.output.write(&worker.pool, |out| source.fill(&mut Context::from_waker(&waker), room, out))
        };
        let filled = match &self.content {
            Some(feed) => feed.attend(fill),
            None => fill(),
        };
        match filled {
            Poll::Ready(Ok(true)) => {
                *outward = Outward::Ending;
                let engine = &mut self.engine;
                // Nothing was announced, so nothing can be missing.
                let _ = link.output.write(&worker.pool, |out| engine.send_end(None, out));
                None
            }
            Poll::Ready(Err(_)) => {
                link.resets = true;
                link.abort(worker, "the tunnel was reset");
                Some(Need::Close)
            }
            Poll::Ready(Ok(false)) if !link.output.is_full() => None,
            Poll::Ready(Ok(false)) | Poll::Pending => self.need(link, fed),
        }
    }

    /// What the tunnel waits for.
    fn need(&self, link: &Link, fed: Fed) -> Option<Need> {
        let hears = self.hears(fed);
        match (hears, link.output.is_full()) {
            // What the client has sent goes on first.
            (None, _) => None,
            (Some(true), true) => Some(Need::RoomOrContent),
            (Some(false), true) => Some(Need::Room),
            (Some(true), false) => Some(Need::Content),
            (Some(false), false) => Some(Need::Later),
        }
    }

    /// Whether the client is to be read. `None`: octets that were read can go on.
    fn hears(&self, fed: Fed) -> Option<bool> {
        match &self.content {
            Some(feed) if feed.has_room() => (fed == Fed::All).then_some(true),
            _ => Some(false),
        }
    }

    /// Only the client still speaks.
    fn hear_out(&mut self, link: &mut Link, fed: Fed) -> Option<Need> {
        if self.content.as_ref().is_some_and(Feed::is_open) {
            return match self.hears(fed) {
                None => None,
                Some(true) => Some(Need::Content),
                Some(false) => Some(Need::Later),
            };
        }
        if self.observed {
            link.reports.ends(link.output.position());
        }
        // Whom it spoke to is gone, and the client may not have read everything yet.
        link.stage = Stage::Closing { linger: self.engine.receive_eof() == Event::End };
        Some(Need::Close)
    }

    /// The client's half of the connection has ended. Whether that leaves the other.
    #[cold]
    pub(crate) fn half_closed(&mut self) -> bool {
        if !self.is_tunnel() {
            return false;
        }
        if self.engine.receive_eof() == Event::End
            && let Some(feed) = self.content.as_ref().filter(|feed| feed.is_open())
        {
            feed.complete(None);
        }
        true
    }

    /// The client was told that nothing more will come.
    pub(crate) fn told_end(&mut self) {
        if let Exchange::Tunnel(tunnel) = &mut self.exchange {
            tunnel.outward = Outward::Ended;
        }
    }

    /// The worker waits no longer: both ends are closed.
    #[cold]
    pub(crate) fn leave_tunnel<S>(&mut self, link: &mut Link, worker: &Worker<S>) {
        if worker.clock.millis() < self.latest(worker.clock.millis(), &worker.timeouts) {
            return;
        }
        link.reports.aborted("the server is shutting down", link.output.sent(), &worker.clock);
        self.content = None;
        self.exchange = Exchange::Reading;
        self.engine.refuse();
        link.stage = Stage::Closing { linger: true };
    }
}
