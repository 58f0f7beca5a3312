//! HTTP/1: timeouts, and limits of message heads.
//!
//! The limits are those of the protocol engine; each has a directive, and a reason for its default.

use crate::config::directive::{Directive, Levels, group};
use crate::config::feature_settings::FeatureSetting;
use crate::feature::Feature;
use std::time::Duration;

/// The settings of this feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `http1-request-timeout`: for a whole head, and how long an idle connection is kept.
    pub request_timeout: Duration,
    /// `http1-request-io-timeout`: between two reads of content.
    pub request_io_timeout: Duration,
    /// `http1-response-io-timeout`: between two writes of a response.
    pub response_io_timeout: Duration,
    /// `http1-upgrade-to-http2`
    pub upgrade_to_http2: bool,
    /// `limit-request-line`, bytes.
    pub request_line: u32,
    /// `limit-request-head`, bytes.
    pub head: u32,
    /// `limit-request-fields`
    pub fields: u16,
    /// `limit-chunk-line`, bytes.
    pub chunk_line: u32,
    /// `limit-chunk-extensions`, bytes.
    pub chunk_extensions: u32,
    /// `limit-request-trailer`, bytes.
    pub trailer: u32,
}

impl FeatureSetting for Settings {}

impl Default for Settings {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(10),
            request_io_timeout: Duration::from_secs(5),
            response_io_timeout: Duration::from_secs(60),
            upgrade_to_http2: true,
            request_line: 8192,
            head: 65536,
            fields: 100,
            chunk_line: 256,
            chunk_extensions: 16384,
            trailer: 8192,
        }
    }
}

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("HTTP/1", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "http1-request-timeout",
        levels: Levels::GLOBAL,
        argument: "seconds",
        default: "10",
        help: "How long a client may take to send a complete request head, counted from the end of the \
               previous request. A connection that is idle for this time is closed.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().request_timeout = node.seconds()?;
            Ok(())
        },
    },
    Directive {
        name: "http1-request-io-timeout",
        levels: Levels::GLOBAL,
        argument: "seconds",
        default: "5",
        help: "How long a client may send nothing while request content is outstanding: it gets 408, or the \
               connection is closed if a response was already sent. For slow clients see `min-rate`.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().request_io_timeout = node.seconds()?;
            Ok(())
        },
    },
    Directive {
        name: "http1-response-io-timeout",
        levels: Levels::GLOBAL,
        argument: "seconds",
        default: "60",
        help: "How long a client may read nothing of a response before the connection is closed, so that it \
               does not hold memory and file descriptors forever. A minute lets a paused download continue. \
               For slow clients see `min-rate`.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().response_io_timeout = node.seconds()?;
            Ok(())
        },
    },
    Directive {
        name: "http1-upgrade-to-http2",
        levels: Levels::GLOBAL,
        argument: "ON | OFF",
        default: "ON",
        help: "Whether a connection without TLS may be upgraded to HTTP/2 (`upgrade: h2c`).",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().upgrade_to_http2 = node.on_off()?;
            Ok(())
        },
    },
    Directive {
        name: "limit-request-line",
        levels: Levels::GLOBAL,
        argument: "bytes",
        default: "8192",
        help: "The maximum length of a request line; longer ones get 414. RFC 9112 §3 recommends at least \
               8000.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().request_line = node.bytes_within(16..=HEAD)? as u32;
            Ok(())
        },
    },
    Directive {
        name: "limit-request-head",
        levels: Levels::GLOBAL,
        argument: "bytes",
        default: "65536",
        help: "The maximum size of a request head; larger ones get 431. Browsers with many cookies send \
               about 16 KiB, single sign-on up to 48 KiB.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().head = node.bytes_within(64..=HEAD)? as u32;
            Ok(())
        },
    },
    Directive {
        name: "limit-request-fields",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "100",
        help: "The maximum number of field lines in a request; more get 431. Browsers send about 15, chains \
               of proxies 40.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().fields = node.integer(1..=10_000)? as u16;
            Ok(())
        },
    },
    Directive {
        name: "limit-chunk-line",
        levels: Levels::GLOBAL,
        argument: "bytes",
        default: "256",
        help: "The maximum length of a chunk-size line: 16 digits, and room for an extension, which is \
               ignored.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().chunk_line = node.bytes_within(18..=HEAD)? as u32;
            Ok(())
        },
    },
    Directive {
        name: "limit-chunk-extensions",
        levels: Levels::GLOBAL,
        argument: "bytes",
        default: "16384",
        help: "The maximum total size of the chunk extensions of a request. Without a limit, one-byte chunks \
               with long extensions cost 200 times the content that they carry. Leading zeros of a chunk \
               size count too, where they outnumber the chunk's data.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().chunk_extensions = node.bytes_within(0..=HEAD)? as u32;
            Ok(())
        },
    },
    Directive {
        name: "limit-request-trailer",
        levels: Levels::GLOBAL,
        argument: "bytes",
        default: "8192",
        help: "The maximum size of the trailer section of chunked content. Trailers such as digests and \
               timings are short.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().trailer = node.bytes_within(2..=HEAD)? as u32;
            Ok(())
        },
    },
];

/// The largest value of any limit on heads: a head is kept in memory as a whole.
const HEAD: u64 = 16 << 20;
