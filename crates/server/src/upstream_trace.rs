//! Which upstreams a request was sent to, and how long they took: recorded by the handler that sends it, read by logs
//! when the response has been sent. A request has one only if a log or `server-timing` needs it.

use hayami_client::Timing;
use hayami_http::{PassThrough, Source};
use hayami_net::{Clock, Instant};
use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

/// A time of the last upstream that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamTime {
    /// Until connected; zero if a connection was reused.
    Connect,
    /// From there until the request was sent.
    Request,
    /// From there until the response's head was received.
    Process,
    /// From there to the end of its content.
    Response,
    /// The last three together.
    Total,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its head.
    Head,
    /// Its content.
    Content,
    /// Both.
    Both,
}

/// The upstreams of one request. Times are those of the last upstream that was tried.
#[derive(Debug, Default)]
pub struct UpstreamTrace {
    upstreams: RefCell<String>,
    /// When the first upstream was tried, and when the last.
    first: Cell<Option<Instant>>,
    last: Cell<Option<Instant>>,
    answered: Cell<Option<Timing>>,
    ended: Cell<Option<Instant>>,
    sent: Cell<u64>,
    received: Cell<u64>,
}

/// The direction of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To an upstream.
    Up,
    /// From it.
    Down,
}

impl UpstreamTrace {
    /// Records that this upstream is being tried.
    pub fn called(&self, upstream: &str, now: Instant) {
        let mut upstreams = self.upstreams.borrow_mut();
        if !upstreams.is_empty() {
            upstreams.push_str(", ");
        }
        upstreams.push_str(upstream);
        self.last.set(Some(now));
        self.first.set(self.first.get().or(Some(now)));
    }

    /// Records its response; `bytes` is the length of the content, if that came along with the head.
    pub fn answered(&self, timing: Timing, bytes: Option<u64>) {
        self.answered.set(Some(timing));
        if let Some(bytes) = bytes {
            self.received.set(bytes);
            self.ended.set(self.last.get().map(|last| last + timing.head));
        }
    }

    /// Wraps content to count its bytes.
    pub fn counted(
        self: &Rc<Self>,
        source: Box<dyn Source>,
        direction: Direction,
        clock: &Rc<Clock>,
    ) -> Box<dyn Source> {
        let (trace, clock) = (Rc::clone(self), Rc::clone(clock));
        Box::new(PassThrough::new(source, move |_: &mut Context<'_>, bytes, filled| {
            let count = if direction == Direction::Up { &trace.sent } else { &trace.received };
            count.set(count.get() + bytes as u64);
            if direction == Direction::Down {
                trace.ended.set(Some(clock.now()));
            }
            filled
        }))
    }

    /// The upstreams that were tried, in order, separated by commas.
    pub fn upstreams(&self) -> impl Deref<Target = String> + '_ {
        self.upstreams.borrow()
    }

    /// From `received`, the time of the request's head, to the first attempt.
    pub fn idle(&self, received: Instant) -> Option<Duration> {
        self.first.get().map(|first| first.saturating_duration_since(received))
    }

    /// Bytes of the request that was sent.
    pub fn request_bytes(&self, part: Part) -> Option<u64> {
        self.bytes(part, self.sent.get(), |timing| timing.request_head)
    }

    /// Bytes of the response that was received.
    pub fn response_bytes(&self, part: Part) -> Option<u64> {
        self.bytes(part, self.received.get(), |timing| timing.response_head)
    }

    /// A time of the last upstream that was tried.
    pub fn time(&self, time: UpstreamTime) -> Option<Duration> {
        let Timing { connected, sent, head, .. } = self.answered.get()?;
        let connected = connected.unwrap_or_default();
        // Over HTTP/2 the time when a request was sent is unknown.
        let sent = sent.max(connected);
        let end = || Some(self.ended.get()?.saturating_duration_since(self.last.get()?));
        Some(match time {
            UpstreamTime::Connect => connected,
            UpstreamTime::Request => sent.saturating_sub(connected),
            UpstreamTime::Process => head.saturating_sub(sent),
            UpstreamTime::Response => end()?.saturating_sub(head),
            UpstreamTime::Total => end()?.saturating_sub(connected),
        })
    }

    /// The times known when the head of the response is sent, by their names in `server-timing`.
    pub fn times_of_head(&self, received: Instant) -> impl Iterator<Item = (&'static str, Duration)> {
        let times = [
            ("proxy-idle", self.idle(received)),
            ("proxy-connect", self.time(UpstreamTime::Connect)),
            ("proxy-request", self.time(UpstreamTime::Request)),
            ("proxy-process", self.time(UpstreamTime::Process)),
        ];
        times.into_iter().filter_map(|(name, time)| Some((name, time?)))
    }

    /// The times known when its content has been sent, by their names in `server-timing`.
    pub fn times_of_end(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let times = [
            ("proxy-response", self.time(UpstreamTime::Response)),
            ("proxy-total", self.time(UpstreamTime::Total)),
        ];
        times.into_iter().filter_map(|(name, time)| Some((name, time?)))
    }

    fn bytes(&self, part: Part, content: u64, head: impl Fn(&Timing) -> usize) -> Option<u64> {
        let head = head(&self.answered.get()?) as u64;
        // Over HTTP/2 heads are not counted: requests share what is sent.
        let head = if part == Part::Content { Some(0) } else { Some(head).filter(|bytes| *bytes > 0) };
        let content = if part == Part::Head { 0 } else { content };
        Some(head? + content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parts_of_a_whole() {
        let (trace, now, millis) = (UpstreamTrace::default(), Instant::now(), Duration::from_millis);
        assert_eq!((trace.upstreams().as_str(), trace.idle(now)), ("", None));
        assert_eq!(trace.time(UpstreamTime::Total), None);
        trace.called("http://a", now + millis(1));
        trace.called("http://b", now + millis(10));
        let (sent, head) = (millis(5), millis(25));
        let timing = Timing { connected: Some(millis(2)), sent, head, request_head: 100, response_head: 50 };
        trace.answered(timing, Some(7));
        assert_eq!((trace.upstreams().as_str(), trace.idle(now)), ("http://a, http://b", Some(millis(1))));
        let cases = [
            (UpstreamTime::Connect, 2),
            (UpstreamTime::Request, 3),
            (UpstreamTime::Process, 20),
            (UpstreamTime::Response, 0),
            (UpstreamTime::Total, 23),
        ];
        for (time, want) in cases {
            assert_eq!(trace.time(time), Some(millis(want)), "{time:?}");
        }
        assert_eq!(trace.request_bytes(Part::Both), Some(100));
        let response = [Part::Head, Part::Content, Part::Both].map(|part| trace.response_bytes(part));
        assert_eq!(response, [Some(50), Some(7), Some(57)]);
        trace.answered(Timing { request_head: 0, ..timing }, Some(7));
        assert_eq!(trace.request_bytes(Part::Both), None);
    }
}
