//! HTTP/2: timeouts, limits on streams and on request content in flight, and HTTP/2 without TLS.
//!
//! The limits against abuse are the engine's and have no directives: no legitimate client exceeds them. `ignored` has
//! the directives of h2o beyond this.

mod ignored;

pub(crate) use ignored::DIRECTIVES as TOLERATED;

use crate::config::directive::{Directive, Levels, group};
use crate::config::feature_settings::FeatureSetting;
use crate::feature::Feature;
use std::time::Duration;

/// The settings of this feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `http2-idle-timeout`: how long a connection may have no streams.
    pub idle_timeout: Duration,
    /// `http2-graceful-shutdown-timeout`: from GOAWAY to the close; `None` waits for the peer.
    pub graceful_shutdown_timeout: Option<Duration>,
    /// `http2-max-streams`, if it is set.
    pub max_streams: Option<u32>,
    /// `http2-max-concurrent-requests-per-connection`
    pub max_requests: u32,
    /// `http2-input-window-size`, bytes.
    pub input_window: u32,
    /// `http2-prior-knowledge`: whether a connection without TLS may begin with HTTP/2.
    pub prior_knowledge: bool,
}

impl FeatureSetting for Settings {}

impl Default for Settings {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_secs(10),
            graceful_shutdown_timeout: None,
            max_streams: None,
            max_requests: 100,
            input_window: 16 << 20,
            prior_knowledge: true,
        }
    }
}

impl Settings {
    /// Streams that a peer may have open at once: SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 §6.5.2). As in h2o 2.2, it
    /// defaults to the number of requests.
    pub fn concurrent_streams(&self) -> u32 {
        self.max_streams.unwrap_or(self.max_requests)
    }
}

/// The largest flow-control window (RFC 9113 §6.9.1).
const LARGEST_WINDOW: u64 = (1 << 31) - 1;

/// This feature.
pub const FEATURE: Feature = Feature {
    ignored: &[group("HTTP/2 and HTTP/3: accepted without effect", TOLERATED)],
    ..Feature::new(&[group("HTTP/2", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "http2-idle-timeout",
        levels: Levels::GLOBAL,
        argument: "seconds",
        default: "10",
        help: "How long an HTTP/2 connection is kept open without open streams, or while all its streams \
               wait for content from the client. Then the server sends GOAWAY and closes it.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().idle_timeout = node.seconds()?;
            Ok(())
        },
    },
    Directive {
        name: "http2-graceful-shutdown-timeout",
        levels: Levels::GLOBAL,
        argument: "seconds",
        default: "0",
        help: "How long an HTTP/2 connection may stay open after GOAWAY when the server stops; 0 waits for \
               the last stream.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().graceful_shutdown_timeout =
                Some(node.seconds()?).filter(|seconds| !seconds.is_zero());
            Ok(())
        },
    },
    Directive {
        name: "http2-max-streams",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "",
        help: "The maximum number of concurrent streams that a client may open on a connection \
               (SETTINGS_MAX_CONCURRENT_STREAMS). The default is the value of \
               `http2-max-concurrent-requests-per-connection`.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().max_streams = Some(node.integer(1..=MOST_STREAMS)? as u32);
            Ok(())
        },
    },
    Directive {
        name: "http2-max-concurrent-requests-per-connection",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "100",
        help: "The maximum number of requests per connection that are processed concurrently; also the \
               number of streams, unless `http2-max-streams` sets another one. Response content is scheduled \
               by the client's priorities.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().max_requests = node.integer(1..=MOST_STREAMS)? as u32;
            Ok(())
        },
    },
    Directive {
        name: "http2-input-window-size",
        levels: Levels::GLOBAL,
        argument: "bytes",
        default: "16777216",
        help: "The maximum size of the flow-control window for the content of a request. It starts small and \
               grows with use.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().input_window =
                node.bytes_within(65_535..=LARGEST_WINDOW)? as u32;
            Ok(())
        },
    },
    Directive {
        name: "http2-prior-knowledge",
        levels: Levels::GLOBAL,
        argument: "ON | OFF",
        default: "ON",
        help: "Whether clients may use HTTP/2 without TLS with prior knowledge (RFC 9113 §3.3). \
               `http1-upgrade-to-http2` controls the upgrade from HTTP/1.1.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().prior_knowledge = node.on_off()?;
            Ok(())
        },
    },
];

/// No client opens more streams than this on one connection; h2o's limit is 256, before 2.3 it was 1024.
const MOST_STREAMS: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::load_text;

    fn settings(lines: &str) -> Settings {
        let text = format!("{lines}\nlisten: 80\nhosts: {{a: {{paths: {{}}}}}}\n");
        load_text("test", &text)
            .unwrap_or_else(|errors| panic!("{errors}"))
            .settings
            .global
            .get::<Settings>()
            .clone()
    }

    #[test]
    fn every_directive_sets_what_it_names() {
        let set = settings(
            "http2-idle-timeout: 20
http2-graceful-shutdown-timeout: 0.5
http2-max-streams: 128
http2-max-concurrent-requests-per-connection: 1024
http2-input-window-size: 1m
http2-prior-knowledge: OFF",
        );
        let want = Settings {
            idle_timeout: Duration::from_secs(20),
            graceful_shutdown_timeout: Some(Duration::from_millis(500)),
            max_streams: Some(128),
            max_requests: 1024,
            input_window: 1 << 20,
            prior_knowledge: false,
        };
        assert_eq!(set, want);
        assert_eq!(settings(""), Settings::default());
    }

    #[test]
    fn the_number_of_streams_is_that_of_requests_unless_it_is_written() {
        for (lines, want) in [
            ("", 100),
            ("http2-max-concurrent-requests-per-connection: 1024", 1024),
            ("http2-max-streams: 7", 7),
            ("http2-max-streams: 7\nhttp2-max-concurrent-requests-per-connection: 1024", 7),
        ] {
            assert_eq!(settings(lines).concurrent_streams(), want, "{lines}");
        }
    }

    #[test]
    fn no_time_for_a_graceful_end_means_waiting() {
        assert_eq!(settings("http2-graceful-shutdown-timeout: 0").graceful_shutdown_timeout, None);
    }
}
