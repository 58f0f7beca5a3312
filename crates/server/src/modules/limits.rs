//! Limits on connections, and on the content of a request.
//!
//! The limits of an HTTP/1 head are in `http1`.

use crate::config::directive::{Directive, Levels, group};
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings::GlobalSettings;
use crate::feature::Feature;
use crate::modules::http1;
use hayami_net::service::Limit;
use std::time::Duration;

/// The settings of this feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `max-connections`; `None`: as many as the open-files limit allows.
    pub max_connections: Option<usize>,
    /// `soft-connection-limit`; `None`: idle connections are closed only for lack of descriptors.
    pub soft_connection_limit: Option<usize>,
    /// `soft-connection-limit.min-age`
    pub soft_connection_min_age: Duration,
    /// `limit-request-body`, bytes.
    pub request_body: u64,
    /// `limit-request-memory`, bytes.
    pub request_memory: u64,
    /// `limit-request-spool`, bytes.
    pub request_spool: u64,
    /// `min-rate`, bytes per second; 0: none.
    pub min_rate: u32,
    /// `handshake-timeout`
    pub handshake_timeout: Duration,
    /// `max-reprocesses`: limit on internal redirects of one request.
    pub max_reprocesses: u32,
    /// `max-delegations`: limit on responses to one request that are followed elsewhere (`reproxy`).
    pub max_delegations: u32,
}

impl FeatureSetting for Settings {}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_connections: None,
            soft_connection_limit: None,
            soft_connection_min_age: Duration::from_secs(30),
            request_body: 1 << 30,
            request_memory: 256 << 20,
            request_spool: 1 << 30,
            min_rate: 256,
            handshake_timeout: Duration::from_secs(10),
            max_reprocesses: 5,
            max_delegations: 5,
        }
    }
}

/// The limits of requests, by name: for messages about a request that exceeds one.
#[derive(Debug)]
pub struct Named {
    http1: http1::Settings,
    request_body: u64,
}

impl Named {
    /// The limits of a configuration.
    pub fn new(settings: &GlobalSettings) -> Self {
        Self {
            http1: settings.get::<http1::Settings>().clone(),
            request_body: settings.get::<Settings>().request_body,
        }
    }

    /// The directive of a limit with its value: `limit-request-body: 1073741824`.
    pub fn directive(&self, limit: Limit) -> String {
        let http1 = &self.http1;
        let (name, value) = match limit {
            Limit::RequestLine => ("limit-request-line", u64::from(http1.request_line)),
            Limit::Head => ("limit-request-head", u64::from(http1.head)),
            Limit::Fields => ("limit-request-fields", u64::from(http1.fields)),
            Limit::Content => ("limit-request-body", self.request_body),
            Limit::ChunkLine => ("limit-chunk-line", u64::from(http1.chunk_line)),
            Limit::ChunkExtensions => ("limit-chunk-extensions", u64::from(http1.chunk_extensions)),
            Limit::Trailer => ("limit-request-trailer", u64::from(http1.trailer)),
        };
        format!("{name}: {value}")
    }

    /// The text for a client whose content is too long.
    pub fn too_large(&self) -> String {
        format!("the content is longer than the limit of {} bytes", self.request_body)
    }
}

/// More connections than the kernel has descriptors for.
const MOST_CONNECTIONS: u64 = 1 << 30;

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("Limits", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "max-connections",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "follows the open-files limit",
        help: "The maximum number of concurrent connections, for all workers together. Further connections \
               wait in the kernel's accept queue.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().max_connections =
                Some(node.integer(1..=MOST_CONNECTIONS)? as usize);
            Ok(())
        },
    },
    Directive {
        name: "soft-connection-limit",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "none",
        help: "Above this number of connections, the connections that have been idle longest are closed \
               early.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().soft_connection_limit =
                Some(node.integer(0..=MOST_CONNECTIONS)? as usize);
            Ok(())
        },
    },
    Directive {
        name: "soft-connection-limit.min-age",
        levels: Levels::GLOBAL,
        argument: "seconds",
        default: "30",
        help: "The minimum idle time before a connection is closed because of the soft limit.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().soft_connection_min_age = node.seconds()?;
            Ok(())
        },
    },
    Directive {
        name: "limit-request-body",
        levels: Levels::GLOBAL,
        argument: "bytes",
        default: "1073741824",
        help: "The maximum size of request content; larger requests get 413.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().request_body = node.bytes()?;
            Ok(())
        },
    },
    Directive {
        name: "limit-request-memory",
        levels: Levels::GLOBAL,
        argument: "bytes",
        default: "256m",
        help: "The maximum total size of request content that is buffered in memory for slow upstreams, in addition to \
               16 KiB per request. Above it, HTTP/2 requests with buffered content get 503, content over HTTP/1.1 is read \
               more slowly, and content that is collected for a FastCGI application goes to temporary files.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().request_memory = node.bytes()?;
            Ok(())
        },
    },
    Directive {
        name: "limit-request-spool",
        levels: Levels::GLOBAL,
        argument: "bytes",
        default: "1g",
        help: "The maximum total size of request content in temporary files: content for FastCGI applications that is \
               longer than 64 KiB and has no `content-length`. Above it, such requests get 503; to make room for a client \
               that holds at most an eighth, the largest incomplete upload of the client that holds most is ended \
               instead.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().request_spool = node.bytes()?;
            Ok(())
        },
    },
    Directive {
        name: "min-rate",
        levels: Levels::GLOBAL,
        argument: "bytes per second",
        default: "256",
        help: "The minimum average rate at which a client must send request content and read responses. It \
               may fall behind by `http1-request-io-timeout` and `http1-response-io-timeout`, so a client \
               that sends a byte now and then does not hold its request forever. The rate is measured only \
               while the server waits for the client; server-sent events, long polling, gRPC and tunnels are \
               exempt. 0 disables it: then any byte within the timeout is enough.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().min_rate = node.integer(0..=1 << 30)? as u32;
            Ok(())
        },
    },
    Directive {
        name: "handshake-timeout",
        levels: Levels::GLOBAL,
        argument: "seconds",
        default: "10",
        help: "How long a new connection may take until it is ready for its first request.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().handshake_timeout = node.seconds()?;
            Ok(())
        },
    },
    Directive {
        name: "max-reprocesses",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "5",
        help: "The maximum number of internal redirects per request (`redirect` with `internal: YES`, \
               `try-files`); one more gets 502. With 0 there are none.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().max_reprocesses = node.integer(0..=1000)? as u32;
            Ok(())
        },
    },
    Directive {
        name: "max-delegations",
        levels: Levels::GLOBAL,
        argument: "a number",
        default: "5",
        help: "The maximum number of upstream responses per request that are followed elsewhere \
               (`x-reproxy-url`, `x-accel-redirect` and `x-sendfile`, see `reproxy`); one more gets 502. With 0 \
               none is followed.",
        set: |scope, node| {
            scope.global.get_mut::<Settings>().max_delegations = node.integer(0..=1000)? as u32;
            Ok(())
        },
    },
];
