//! `server-timing`: reports durations of a request to the client (W3C Server Timing): those known when the head is sent
//! in a field, the rest in a trailer.

use crate::config::directive::{Directive, Levels, group};
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings as config;
use crate::content_source::ContentSource;
use crate::feature::Feature;
use crate::upstream_trace::UpstreamTrace;
use hayami_http::{Content, FieldSection, Method, Response, Source, SourceError, Version};
use hayami_net::service::Request;
use hayami_net::{Clock, Instant};
use std::fmt::Write;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Whether durations are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No.
    #[default]
    Off,
    /// Yes; those of the trailer only if the response can have one.
    On,
    /// Yes; a response over HTTP/1.1 loses its `content-length`, so that it can have a trailer.
    Enforce,
}

impl FeatureSetting for Mode {}

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("Server timing", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "server-timing",
    levels: Levels::ALL,
    argument: "ON | OFF | ENFORCE",
    default: "OFF",
    help: "Whether responses carry a `server-timing` field with the times in milliseconds up to the response \
           head, and a trailer of that name with the remaining times: over HTTP/2, and over HTTP/1.1 if the \
           content is chunked. ENFORCE forces chunked content. The times are those of the access log: \
           connect, request-header, request-body, request-total, process, and for upstreams proxy-idle, \
           proxy-connect, proxy-request, proxy-process; in the trailer response, total, proxy-response and \
           proxy-total.",
    set: |scope, node| {
        *scope.inherited.get_mut::<Mode>() =
            [Mode::On, Mode::Off, Mode::Enforce][node.one_of(&["ON", "OFF", "ENFORCE"])?];
        Ok(())
    },
}];

/// Whether durations are reported at any path.
pub fn is_used(settings: &config::Settings) -> bool {
    settings.places().any(|inherited| *inherited.get::<Mode>() != Mode::Off)
}

/// The times of a request, until its response is sent.
pub struct Timing {
    accepted: Instant,
    /// When the first byte was received, and when the head was complete.
    begun: Instant,
    received: Instant,
    version: Version,
    /// Whether the request has no content.
    bare: bool,
    /// Whether the response has content, and is no tunnel.
    answered: bool,
    trace: Rc<UpstreamTrace>,
    clock: Rc<Clock>,
}

impl Timing {
    /// Uses the log's trace of upstreams, if there is one.
    pub fn new(request: &Request<'_>, trace: Option<&Rc<UpstreamTrace>>, clock: &Rc<Clock>) -> Self {
        Self {
            accepted: request.connection.accepted,
            begun: request.begun,
            received: request.received,
            version: request.head.version(),
            bare: request.content_length == Some(0),
            answered: request.upgrade.is_none() && request.head.method() != Method::Head,
            trace: trace.cloned().unwrap_or_default(),
            clock: Rc::clone(clock),
        }
    }

    /// The trace of the upstreams.
    pub fn trace(&self) -> &Rc<UpstreamTrace> {
        &self.trace
    }

    /// Adds the field, and the trailer if the response can have one.
    pub fn apply(self, mode: Mode, response: &mut Response) {
        if mode == Mode::Off {
            return;
        }
        let now = self.clock.now();
        response.head.append(b"server-timing", self.metrics(now).as_bytes());
        if self.takes_trailer(mode, response) {
            response.head.append(b"trailer", b"server-timing");
            let content = ContentSource::new(std::mem::take(&mut response.content));
            let chunked = mode == Mode::Enforce && self.version == Version::Http11;
            response.content =
                Content::Stream(Box::new(Timed { content, chunked, began: now, timing: self }));
        }
    }

    /// Whether the response can have a trailer section. Without content none is needed.
    fn takes_trailer(&self, mode: Mode, response: &Response) -> bool {
        let framed = match self.version {
            Version::Http10 => false,
            Version::Http11 => mode == Mode::Enforce || response.content.len().is_none(),
            _ => true,
        };
        framed && self.answered && !response.head.status().forbids_content() && !response.content.is_empty()
    }

    fn metrics(&self, now: Instant) -> String {
        let since = |earlier: Instant, later: Instant| later.saturating_duration_since(earlier);
        let mut text = String::new();
        push(&mut text, "connect", since(self.accepted, self.begun));
        push(&mut text, "request-header", since(self.begun, self.received));
        // With content, this is not known yet.
        if self.bare {
            push(&mut text, "request-body", Duration::ZERO);
            push(&mut text, "request-total", since(self.begun, self.received));
        }
        push(&mut text, "process", since(self.received, now));
        for (name, time) in self.trace.times_of_head(self.received) {
            push(&mut text, name, time);
        }
        text
    }
}

/// Appends `name; dur=1.234`, as h2o writes it.
fn push(text: &mut String, name: &str, time: Duration) {
    let separator = if text.is_empty() { "" } else { ", " };
    let (millis, micros) = (time.as_millis(), time.subsec_micros() % 1000);
    // Writing to a String cannot fail.
    let _ = write!(text, "{separator}{name}; dur={millis}");
    if micros > 0 {
        let _ = write!(text, ".{micros:03}");
    }
}

/// Content followed by the trailer.
struct Timed {
    content: ContentSource,
    /// Whether its length is hidden, so that it is sent in chunks.
    chunked: bool,
    /// When the response's head was ready.
    began: Instant,
    timing: Timing,
}

impl Source for Timed {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        self.content.fill(cx, room, out)
    }

    fn length(&self) -> Option<u64> {
        self.content.length().filter(|_| !self.chunked)
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        let now = self.timing.clock.now();
        let mut text = String::new();
        push(&mut text, "response", now.saturating_duration_since(self.began));
        push(&mut text, "total", now.saturating_duration_since(self.timing.begun));
        for (name, time) in self.timing.trace.times_of_end() {
            push(&mut text, name, time);
        }
        let mut trailers = self.content.trailers().unwrap_or_default();
        trailers.append(b"server-timing", text.as_bytes());
        Some(trailers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_http::Status;

    /// The field's value, the trailer's value, and the length of the content.
    fn told(mode: Mode, method: Method, content: Content) -> (String, Option<String>, Option<u64>) {
        let clock = Rc::new(Clock::default());
        let now = clock.now();
        let timing = Timing {
            accepted: now,
            begun: now,
            received: now,
            version: Version::Http11,
            bare: true,
            answered: method != Method::Head,
            trace: Rc::default(),
            clock,
        };
        let mut response = Response { content, ..Response::empty(Status::OK) };
        timing.apply(mode, &mut response);
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let field = response.head.get_named(b"server-timing").map(text).unwrap_or_default();
        let length = response.content.len();
        let trailer = match (&mut response.content, response.head.get_named(b"trailer")) {
            (Content::Stream(source), Some(_)) => source.trailers(),
            _ => None,
        };
        (field, trailer.map(|fields| text(fields.get_named(b"server-timing").expect("the trailer"))), length)
    }

    struct Unknown;

    impl Source for Unknown {
        fn fill(
            &mut self,
            _: &mut Context<'_>,
            _: usize,
            _: &mut Vec<u8>,
        ) -> Poll<Result<bool, SourceError>> {
            Poll::Ready(Ok(true))
        }
    }

    #[test]
    fn the_trailer_comes_where_the_framing_lets_it() {
        let get = Method::Get;
        let known = || Content::from(b"four".to_vec());
        let (field, trailer, length) = told(Mode::On, get, known());
        assert!(field.starts_with("connect; dur="), "{field}");
        for name in ["request-header", "request-body; dur=0,", "request-total", "process; dur=0"] {
            assert!(field.contains(name), "{name}: {field}");
        }
        assert_eq!((trailer, length), (None, Some(4)));
        let (_, trailer, length) = told(Mode::Enforce, get, known());
        let trailer = trailer.expect("a trailer");
        assert!(trailer.starts_with("response; dur=0") && trailer.contains(", total; dur="), "{trailer}");
        assert_eq!(length, None);
        assert!(told(Mode::On, get, Content::Stream(Box::new(Unknown))).1.is_some());
        assert!(told(Mode::Enforce, Method::Head, known()).1.is_none());
        assert!(told(Mode::Enforce, get, Content::Empty).1.is_none());
        assert_eq!(told(Mode::Off, get, known()), (String::new(), None, Some(4)));
    }

    #[test]
    fn times_are_milliseconds_with_their_fraction() {
        let mut text = String::new();
        push(&mut text, "a", Duration::from_micros(1_234));
        push(&mut text, "b", Duration::from_millis(5_000));
        push(&mut text, "c", Duration::from_micros(7));
        assert_eq!(text, "a; dur=1.234, b; dur=5000, c; dur=0.007");
    }
}
