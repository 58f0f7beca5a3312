//! `throttle-response`: limits the rate of responses with an `x-traffic` field.

use crate::config::directive::{Directive, Levels, group};
use crate::config::feature_settings::FeatureSetting;
use crate::content_source::ContentSource;
use crate::feature::Feature;
use crate::handler::{Filter, RequestInfo};
use hayami_http::{Content, FieldSection, Method, Response, Source, SourceError};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Whether responses are throttled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `throttle-response`
    pub on: bool,
}

impl FeatureSetting for Settings {}

/// This feature.
pub const FEATURE: Feature = Feature {
    body_filter: Some(|route| build(route.innermost().get())),
    ..Feature::new(&[group("Throttling", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "throttle-response",
    levels: Levels::ALL,
    argument: "ON | OFF",
    default: "OFF",
    help: "Whether a response with an `x-traffic` field is limited to that many bytes per second; the field \
           is not sent to the client. Set it in an upstream, or with `header.add: \"x-traffic: 100000\"`. \
           The limit applies to each response separately.",
    set: |scope, node| node.on_off().map(|on| scope.inherited.get_mut::<Settings>().on = on),
}];

const FIELD: &[u8] = b"x-traffic";

/// Interval between two pieces.
const TICK: Duration = Duration::from_millis(100);

/// Throttles responses.
struct Throttle;

/// The filter for these settings, if throttling is on.
pub fn build(settings: &Settings) -> Option<Box<dyn Filter>> {
    settings.on.then(|| Box::new(Throttle) as Box<dyn Filter>)
}

impl Filter for Throttle {
    fn apply(&self, request: &RequestInfo<'_>, response: &mut Response) {
        let Some(rate) = response.head.get_named(FIELD).and_then(rate) else { return };
        response.head.remove(FIELD);
        let has_content = !request.tunnel && request.head.method() != Method::Head;
        if has_content && !response.head.status().forbids_content() && !response.content.is_empty() {
            let content = ContentSource::new(std::mem::take(&mut response.content));
            response.content = Content::Stream(Box::new(Throttled::new(content, rate)));
        }
    }
}

/// Bytes per second.
fn rate(value: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|rate| *rate > 0)
}

/// Content limited in rate by a token bucket; each byte takes one token.
struct Throttled {
    content: ContentSource,
    /// Bytes per second.
    rate: f64,
    tokens: f64,
    /// When the tokens were last refilled.
    counted: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Throttled {
    fn new(content: ContentSource, rate: u64) -> Self {
        let rate = rate as f64;
        Self { content, rate, tokens: tick(rate), counted: Instant::now(), sleep: None }
    }

    /// Adds tokens for the time that has passed. The bucket holds those of two ticks: time lost is not caught up.
    fn refill(&mut self) {
        let now = Instant::now();
        let earned = self.rate * now.duration_since(self.counted).as_secs_f64();
        self.tokens = (self.tokens + earned).min(2.0 * tick(self.rate));
        self.counted = now;
    }

    /// Waits for the tokens of a tick.
    fn poll_tokens(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.refill();
            if self.tokens >= 1.0 && self.sleep.is_none() {
                return Poll::Ready(());
            }
            let wait = ((tick(self.rate) - self.tokens) / self.rate).max(0.001);
            let sleep =
                self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(Duration::from_secs_f64(wait))));
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
        }
    }
}

/// Bytes of a tick, at least one.
fn tick(rate: f64) -> f64 {
    (rate * TICK.as_secs_f64()).max(1.0)
}

impl Source for Throttled {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        ready!(self.poll_tokens(cx));
        let before = out.len();
        let filled = self.content.fill(cx, room.min(self.tokens as usize), out);
        self.tokens -= (out.len() - before) as f64;
        filled
    }

    fn length(&self) -> Option<u64> {
        self.content.length()
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.content.trailers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use hayami_http::Status;

    /// Whether the content is throttled, and whether the field is kept.
    fn throttled(method: &str, status: Status, value: &str) -> (bool, bool) {
        let mut response = Response::text(status, "x".repeat(100));
        response.head.append(b"X-Traffic", value.as_bytes());
        let filter = build(&Settings { on: true }).expect("a filter");
        let (head, tunnel) = (testing::head(method, "/"), method == "CONNECT");
        filter.apply(&RequestInfo { head: &head, path: b"/", tunnel }, &mut response);
        let kept = response.head.get_named(FIELD).is_some();
        (matches!(response.content, Content::Stream(_)), kept)
    }

    #[test]
    fn a_legal_field_throttles_and_goes_an_illegal_one_stays() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let _entered = runtime.enter();
        for (method, status, value, want) in [
            ("GET", Status::OK, "1000", (true, false)),
            ("GET", Status::PARTIAL_CONTENT, "1000", (true, false)),
            ("POST", Status::NOT_FOUND, "1000", (true, false)),
            ("HEAD", Status::OK, "1000", (false, false)),
            ("CONNECT", Status::OK, "1000", (false, false)),
            ("GET", Status::OK, "0", (false, true)),
            ("GET", Status::OK, "-1", (false, true)),
            ("GET", Status::OK, "fast", (false, true)),
            ("GET", Status::OK, "", (false, true)),
            ("GET", Status::OK, "99999999999999999999999", (false, true)),
        ] {
            assert_eq!(throttled(method, status, value), want, "{method} {status:?} {value}");
        }
        assert!(build(&Settings::default()).is_none());
    }

    #[test]
    fn content_comes_at_its_rate_whatever_room_there_is() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            for (bytes, rate, least) in [(30_000, 100_000, 200), (3, 10, 200)] {
                let content = ContentSource::new(Content::from(vec![b'x'; bytes]));
                let mut source = Throttled::new(content, rate);
                let (begun, mut out) = (Instant::now(), Vec::new());
                while !std::future::poll_fn(|cx| source.fill(cx, 1 << 20, &mut out)).await.expect("content") {
                }
                assert_eq!(out.len(), bytes);
                // The first tick's bytes are sent at once.
                assert!(begun.elapsed() >= Duration::from_millis(least - 10), "{:?}", begun.elapsed());
            }
        });
    }
}
