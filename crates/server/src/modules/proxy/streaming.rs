//! Streaming calls, gRPC above all: both sides may pause, for up to `proxy.timeout.stream`.
//!
//! The client of such a call sends data only now and then, so the deadlines for its content do not apply. Instead the
//! call as a whole is watched: it ends when there is no data in either direction for too long.
//!
//! This applies to calls that reach their upstream over HTTP/2, as gRPC must. Over HTTP/1.1 the content type, which the
//! client can choose freely, changes nothing.

use super::Settings;
use crate::config::directive::{Directive, Levels};
use hayami_client::OverHttp2;
use hayami_http::{Content, Known, PassThrough, RequestHead, SourceError, Version};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "proxy.timeout.stream",
    levels: Levels::GLOBAL_HOST_PATH,
    argument: "milliseconds",
    default: "300000",
    help: "How long a streaming call may be idle in both directions: a request whose content is gRPC or Connect, from a \
           client and to an upstream that speak HTTP/2. It replaces the timeouts for request content; once an upstream has \
           the whole request, `proxy.timeout.first_byte` and `proxy.timeout.io` apply.",
    set: |scope, node| {
        let millis = node.integer(1..=i32::MAX as u64)?;
        let Settings { streaming, .. } = scope.inherited.get_mut::<super::Settings>();
        *streaming = Streaming(Duration::from_millis(millis));
        Ok(())
    },
}];

/// How long a streaming call may be idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streaming(Duration);

impl Default for Streaming {
    fn default() -> Self {
        // The same as for tunnels, and for streams in Envoy.
        Self(Duration::from_secs(300))
    }
}

impl Streaming {
    /// Starts to watch a request if it is a streaming call.
    pub(super) fn watch(self, head: &RequestHead) -> Option<Watch> {
        let multiplexed = matches!(head.version(), Version::Http2 | Version::Http3);
        let kind = head.fields().get(Known::ContentType).filter(|_| multiplexed)?;
        is_streamed(kind).then(|| Watch::new(self.0))
    }
}

/// Matches gRPC, gRPC-Web and the streams of Connect, with any message encoding.
fn is_streamed(content_type: &[u8]) -> bool {
    let rest = |name: &[u8]| {
        content_type.get(..name.len())?.eq_ignore_ascii_case(name).then(|| &content_type[name.len()..])
    };
    match rest(b"application/grpc") {
        Some(rest) => matches!(rest.first(), None | Some(b'+' | b'-' | b';' | b' ')),
        None => rest(b"application/connect+").is_some(),
    }
}

/// The time of the last activity.
#[derive(Clone, Debug)]
pub(super) struct Activity {
    last: Rc<Cell<Instant>>,
    over_http2: OverHttp2,
}

impl Activity {
    /// Records activity.
    pub(super) fn note(&self) {
        self.last.set(Instant::now());
    }

    /// Whether the call is watched, so that the client may pause.
    pub(super) fn is_watched(&self) -> bool {
        self.over_http2.get()
    }
}

/// Detects that a call has been idle for too long.
#[derive(Debug)]
pub(super) struct Watch {
    activity: Activity,
    most: Duration,
    sleep: Pin<Box<Sleep>>,
}

/// A call was idle for this long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stalled(Duration);

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        write!(f, "no data in either direction for {millis} ms (proxy.timeout.stream)")
    }
}

impl Watch {
    fn new(most: Duration) -> Self {
        let now = Instant::now();
        let activity = Activity { last: Rc::new(Cell::new(now)), over_http2: OverHttp2::default() };
        Self { activity, most, sleep: Box::pin(sleep_until(now + most)) }
    }

    /// The flag that is set once the call goes over HTTP/2.
    pub(super) fn over_http2(&self) -> OverHttp2 {
        self.activity.over_http2.clone()
    }

    /// The handle to record activity with.
    pub(super) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Ready when the call has been idle for too long. The timer is reset only when it fires.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Stalled> {
        if !self.activity.is_watched() {
            // Ordinary deadlines apply. If that changes, the call itself has been polled.
            return Poll::Pending;
        }
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            let until = self.activity.last.get() + self.most;
            if until <= Instant::now() {
                return Poll::Ready(Stalled(self.most));
            }
            self.sleep.as_mut().reset(until);
        }
    }

    /// Wraps the content of the response; it is watched until its end.
    pub(super) fn follow(mut self, content: Content) -> Content {
        self.activity.note();
        match content {
            Content::Stream(source) if self.activity.is_watched() => Content::Stream(Box::new(
                PassThrough::new(source, move |cx: &mut Context<'_>, bytes, filled| {
                    if bytes > 0 {
                        self.activity.note();
                    }
                    if filled.is_ready() {
                        return filled;
                    }
                    self.poll(cx).map(|stalled| Err(SourceError(stalled.to_string())))
                }),
            )),
            content => content,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};

    #[test]
    fn calls_are_known_by_their_content_type() {
        let cases = [
            ("application/grpc", true),
            ("Application/gRPC+proto", true),
            ("application/grpc; x=y", true),
            ("application/grpc-web+proto", true),
            ("application/connect+json", true),
            ("application/grpcx", false),
            ("application/connect", false),
            ("application/json", false),
            ("", false),
        ];
        for (kind, want) in cases {
            assert_eq!(is_streamed(kind.as_bytes()), want, "{kind}");
        }
    }

    #[test]
    fn settings_are_read() {
        assert_eq!(
            set(&[]).inherited.get::<crate::modules::proxy::Settings>().streaming,
            Streaming(Duration::from_secs(300))
        );
        let settings =
            set(&["proxy.timeout.stream: 1500"]).inherited.get::<crate::modules::proxy::Settings>().clone();
        assert_eq!(settings.streaming, Streaming(Duration::from_millis(1500)));
        assert_eq!(error("proxy.timeout.stream: 0"), "expected an integer from 1 to 2147483647, found `0`");
    }
}
