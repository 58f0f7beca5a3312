//! What is logged of the upstreams that were asked for a request: noted by whoever asks them, written when the answer
//! has left. There is one only if a log wants it.

use super::value;
use hayami_client::Timing;
use hayami_http::{FieldSection, Source, SourceError};
use hayami_net::{Clock, Instant};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A value of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccountValue {
    /// Those that were asked, in order.
    Upstreams,
    /// From the request's head to the first of them.
    IdleTime,
    /// Until there was a connection; zero if one was used again.
    ConnectTime,
    /// From there until the request had left.
    RequestTime,
    /// From there until the response's head was there.
    ProcessTime,
    /// From there to the end of its content.
    ResponseTime,
    /// The last three together.
    TotalTime,
    RequestOctets(Part),
    ResponseOctets(Part),
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Head,
    Content,
    Both,
}

impl AccountValue {
    pub(super) fn is_duration(self) -> bool {
        !matches!(self, Self::Upstreams | Self::RequestOctets(_) | Self::ResponseOctets(_))
    }
}

/// The account of one request. Times are those of the upstream that was asked last.
#[derive(Debug, Default)]
pub struct Account {
    upstreams: RefCell<String>,
    /// When the first was asked, and when the last was.
    first: Cell<Option<Instant>>,
    last: Cell<Option<Instant>>,
    answered: Cell<Option<Timing>>,
    ended: Cell<Option<Instant>>,
    sent: Cell<u64>,
    received: Cell<u64>,
}

/// Which way content goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To an upstream.
    Up,
    /// From it.
    Down,
}

impl Account {
    /// This upstream is asked now.
    pub fn asks(&self, upstream: &str, now: Instant) {
        let mut upstreams = self.upstreams.borrow_mut();
        if !upstreams.is_empty() {
            upstreams.push_str(", ");
        }
        upstreams.push_str(upstream);
        self.last.set(Some(now));
        self.first.set(self.first.get().or(Some(now)));
    }

    /// It has answered, and its content came with the answer: so many octets, if any.
    pub fn answered(&self, timing: Timing, octets: Option<u64>) {
        self.answered.set(Some(timing));
        if let Some(octets) = octets {
            self.received.set(octets);
            self.ended.set(self.last.get().map(|last| last + timing.head));
        }
    }

    /// Content whose octets are counted here.
    pub fn counted(self: &Rc<Self>, source: Box<dyn Source>, way: Way, clock: &Rc<Clock>) -> Box<dyn Source> {
        Box::new(Counted { source, way, account: Rc::clone(self), clock: Rc::clone(clock) })
    }

    pub(super) fn push(&self, value: AccountValue, received: Instant, out: &mut Vec<u8>) -> bool {
        let pushed = match value {
            AccountValue::Upstreams => {
                out.extend_from_slice(self.upstreams.borrow().as_bytes());
                return !self.upstreams.borrow().is_empty();
            }
            AccountValue::IdleTime => {
                let first = self.first.get();
                first.map(|first| value::duration(first.saturating_duration_since(received), out))
            }
            AccountValue::RequestOctets(part) => {
                self.octets(part, self.sent.get(), |timing| timing.request_head, out)
            }
            AccountValue::ResponseOctets(part) => {
                self.octets(part, self.received.get(), |timing| timing.response_head, out)
            }
            time => self.time(time).map(|time| value::duration(time, out)),
        };
        pushed.unwrap_or(false)
    }

    fn time(&self, value: AccountValue) -> Option<Duration> {
        let Timing { connected, sent, head, .. } = self.answered.get()?;
        let connected = connected.unwrap_or_default();
        // Over HTTP/2 it is not known when a request has left.
        let sent = sent.max(connected);
        let end = || Some(self.ended.get()?.saturating_duration_since(self.last.get()?));
        Some(match value {
            AccountValue::ConnectTime => connected,
            AccountValue::RequestTime => sent.saturating_sub(connected),
            AccountValue::ProcessTime => head.saturating_sub(sent),
            AccountValue::ResponseTime => end()?.saturating_sub(head),
            _ => end()?.saturating_sub(connected),
        })
    }

    /// What is known when the head of the response leaves, by its names in `server-timing`.
    pub fn times_of_head(&self, received: Instant) -> impl Iterator<Item = (&'static str, Duration)> {
        let idle = self.first.get().map(|first| first.saturating_duration_since(received));
        let times = [
            ("proxy-idle", idle),
            ("proxy-connect", self.time(AccountValue::ConnectTime)),
            ("proxy-request", self.time(AccountValue::RequestTime)),
            ("proxy-process", self.time(AccountValue::ProcessTime)),
        ];
        times.into_iter().filter_map(|(name, time)| Some((name, time?)))
    }

    /// What is known when its content has left, by its names in `server-timing`.
    pub fn times_of_end(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let times = [
            ("proxy-response", self.time(AccountValue::ResponseTime)),
            ("proxy-total", self.time(AccountValue::TotalTime)),
        ];
        times.into_iter().filter_map(|(name, time)| Some((name, time?)))
    }

    fn octets(
        &self,
        part: Part,
        content: u64,
        head: impl Fn(&Timing) -> usize,
        out: &mut Vec<u8>,
    ) -> Option<bool> {
        let head = head(&self.answered.get()?) as u64;
        // Over HTTP/2 nobody counts them: many requests share what is sent.
        let head = if part == Part::Content { Some(0) } else { Some(head).filter(|octets| *octets > 0) };
        let content = if part == Part::Head { 0 } else { content };
        Some(value::number(head? + content, out))
    }
}

/// Content on its way.
struct Counted {
    source: Box<dyn Source>,
    way: Way,
    account: Rc<Account>,
    clock: Rc<Clock>,
}

impl Source for Counted {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        let before = out.len();
        let filled = self.source.fill(cx, room, out);
        let count = if self.way == Way::Up { &self.account.sent } else { &self.account.received };
        count.set(count.get() + (out.len() - before) as u64);
        if self.way == Way::Down {
            self.account.ended.set(Some(self.clock.now()));
        }
        filled
    }

    fn length(&self) -> Option<u64> {
        self.source.length()
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.source.trailers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(account: &Account, value: AccountValue, received: Instant) -> Option<String> {
        let mut out = Vec::new();
        account.push(value, received, &mut out).then(|| String::from_utf8(out).expect("text"))
    }

    #[test]
    fn times_are_parts_of_a_whole() {
        let (account, now, millis) = (Account::default(), Instant::now(), Duration::from_millis);
        assert_eq!(written(&account, AccountValue::Upstreams, now), None);
        assert_eq!(written(&account, AccountValue::TotalTime, now), None);
        account.asks("http://a", now + millis(1));
        account.asks("http://b", now + millis(10));
        let (sent, head) = (millis(5), millis(25));
        let timing = Timing { connected: Some(millis(2)), sent, head, request_head: 100, response_head: 50 };
        account.answered(timing, Some(7));
        let cases = [
            (AccountValue::Upstreams, "http://a, http://b"),
            (AccountValue::IdleTime, "0.001000"),
            (AccountValue::ConnectTime, "0.002000"),
            (AccountValue::RequestTime, "0.003000"),
            (AccountValue::ProcessTime, "0.020000"),
            (AccountValue::ResponseTime, "0"),
            (AccountValue::TotalTime, "0.023000"),
            (AccountValue::RequestOctets(Part::Both), "100"),
            (AccountValue::ResponseOctets(Part::Head), "50"),
            (AccountValue::ResponseOctets(Part::Content), "7"),
            (AccountValue::ResponseOctets(Part::Both), "57"),
        ];
        for (value, want) in cases {
            assert_eq!(written(&account, value, now).as_deref(), Some(want), "{value:?}");
        }
        account.answered(Timing { request_head: 0, ..timing }, Some(7));
        assert_eq!(written(&account, AccountValue::RequestOctets(Part::Both), now), None);
    }
}
